"""Rows of heights that neither order nor another method proves, if responses agree (docs/completeness.md).

Rule 3 of the kernel. These are the last heights before the tip, and stretches without rows, of a service without full
blocks; `address-transactions`, of which no other method tells; and servers that do not order rows. Nothing here is a
proof: such rows are passed on with the grade BELIEF.
"""

from collections import Counter
from math import ceil, log

from msgspec import Raw

from chainq import tuning
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DIVISIBLE, Asking, RowsRequest
from chainq.planning.facts import Facts, weigh
from chainq.rows.sorting import Page


def believe(heights: HeightRange, facts: Facts) -> Asking[None]:
    """Request heights, or the first of them, more than once, and record rows that agree as belief in the kernel.

    Raises IncompleteError if responses do not agree.
    """
    ev = facts.evidence
    at, width = heights.start, _window(heights, facts)
    while at < heights.end:
        window = HeightRange(at, min(heights.end, at + width))
        rows, row_heights = yield from _agreed(window, facts.size, facts)
        if rows is None and ev.reach(at, heights.end) > at:
            return
        if rows is None:
            if len(window) == 1:
                rows = yield from _one_height(at, facts)
                row_heights = [at] * len(rows)
            else:
                width = max(1, len(window) // 2)
                if facts.misses:
                    width = min(width, _window(heights, facts))
                continue
        ev.believe(window, rows, row_heights)
        at = window.end
        if rows and ev.order.usable:
            return  # the kernel may have proved what follows


def _window(heights: HeightRange, facts: Facts) -> int:
    """Return how many heights one request covers: the widest range that showed a row at its far end, if that does not
    take too many requests. Raises IncompleteError if it does and the service was seen to miss rows of wider ranges."""
    width = min(facts.pace.widest, facts.evidence.widest or len(heights))
    if len(heights) > width * tuning.MOST_WINDOWS and facts.misses:
        raise IncompleteError(
            f"{heights}: the service misses rows of wide ranges, and narrower ones would be {len(heights) // width}"
            " requests",
            "narrow the range to heights that have rows",
        )
    few = ceil(len(heights) / tuning.FEW_WINDOWS)
    return min(facts.pace.widest, width if facts.misses else max(width, few))


def _agreed(window: HeightRange, size: int | None, facts: Facts) -> Asking[tuple[list[Raw] | None, list[int]]]:
    """Return the rows of heights on which several responses agree, and their heights; None if they do not."""
    try:
        page: Page = yield RowsRequest(window, size)
        if size is not None and len(page.rows) >= size:
            return None, []
        if not page.rows:
            return (yield from _agreed_empty(window, facts)), []
        if len(window) > max(1, facts.evidence.widest) and (yield from _parts_differ(page, window)):
            return None, []
        for _ in range(tuning.COUNTS):
            if (yield from _further(page, window, facts)):
                return None, []
    except DIVISIBLE:
        return None, []
    return page.rows, page.heights


def _agreed_empty(window: HeightRange, facts: Facts) -> Asking[list[Raw] | None]:
    for _ in range(tuning.AGREEING - 1):
        again: Page = yield RowsRequest(window, facts.size)
        if again.rows:
            return None
    no_width = not facts.evidence.widest and len(window) > 1  # no row has shown how wide is too wide
    if no_width and facts.looked < tuning.LOOKED_INTO:
        facts.looked += 1
        part_width = ceil(len(window) / tuning.PARTS)
        for width in (one for one in dict.fromkeys((part_width, 16, 1)) if one < len(window)):
            for at in range(window.start, window.end, max(width, part_width)):
                part: Page = yield RowsRequest(HeightRange(at, min(window.end, at + width)), facts.size)
                if part.rows:
                    facts.misses = True
                    yield from _learn_width(HeightRange(at, min(window.end, at + width)), facts)
                    return None
    return []


def _learn_width(part: HeightRange, facts: Facts) -> Asking[None]:
    """Find out how wide requests may be, for a service that misses rows of wide ranges: a width is accepted if both
    halves together show the rows of the whole, and the second half shows at least one."""
    while len(part) > 1:
        lower, upper = part.halves()
        whole: Page = yield RowsRequest(part, facts.size)
        below: Page = yield RowsRequest(lower, facts.size)
        above: Page = yield RowsRequest(upper, facts.size)
        if above.rows and Counter(map(bytes, (*below.rows, *above.rows))) == Counter(map(bytes, whole.rows)):
            break
        part = lower if below.rows else upper
    facts.evidence.widest = max(facts.evidence.widest, len(part) // 2 + 1)


def _further(page: Page, window: HeightRange, facts: Facts) -> Asking[bool]:
    """Return whether more rows follow the n rows of a response. If none does, page 1 of size n - 1 holds one row.

    For a server that does not page in this way: return whether narrower requests show other rows.
    """
    count = len(page.rows)
    size, known = (count - 1, 1) if count > 2 else (count, 0)
    shown: Page = yield RowsRequest(window, size, 1)
    if len(shown.rows) == known:
        again: Page = shown if known else (yield RowsRequest(window, facts.size))
        return not known and not facts.repeats and Counter(map(bytes, again.rows)) != Counter(map(bytes, page.rows))
    if not set(map(bytes, shown.rows)) <= set(map(bytes, page.rows)):
        return True
    # Pages are counted, and there is a further one.
    if shown.rows and not (yield RowsRequest(window, size, tuning.NO_PAGE)).rows:
        return True
    return len(window) == 1 or (yield from _parts_differ(page, window))


def _parts_differ(page: Page, window: HeightRange) -> Asking[bool]:
    """Return whether the halves of a range show other rows than the range."""
    parts: Counter[bytes] = Counter()
    for half in window.halves():
        part: Page = yield RowsRequest(half, len(page.rows) + 1)
        parts.update(map(bytes, part.rows))
    return parts != Counter(map(bytes, page.rows))


def _one_height(height: int, facts: Facts) -> Asking[list[Raw]]:
    """Return the rows of one height that fills a response: with a larger page, else with walks through its pages.

    Raises IncompleteError.
    """
    heights, size = HeightRange(height, height + 1), facts.size or 1
    for power in range(1, tuning.BELIEVED_PAGES + 1):
        rows, _ = yield from _agreed(heights, size * tuning.LARGER**power, facts)
        if rows:
            return rows
    if facts.repeats:
        raise IncompleteError(
            f"{heights}: it has more rows than one response returns, and they cannot be distinguished"
        )
    while True:
        try:
            return (yield from _walk(heights, size, facts))
        except DIVISIBLE as error:
            failed, size = size, size // tuning.LARGER
            if size < tuning.SMALLEST_PAGE:
                yield from weigh(height, failed, error)


def _walk(heights: HeightRange, size: int, facts: Facts) -> Asking[list[Raw]]:
    """Return all rows of one height from its pages, walked until as many rows were seen as the pages add up to.

    Each response has the rows in another order, so the pages of one walk repeat some and miss others (about 1/e).
    """
    seen: dict[bytes, Raw] = {}
    total = walks = idle = 0
    while walks < 1 or len(seen) < total or idle:
        before = len(seen)
        count, size = yield from _pages(heights, size, total, seen, facts)
        if walks and count != total:
            raise _differ(heights, facts, f"its pages held {total} rows in total, and later {count}")
        total, walks = count, walks + 1
        if walks == 1:
            idle = yield from _counts_wrongly(heights, total, facts)
        idle = max(0, idle - 1) if len(seen) == before else idle
        if walks > 3 * log(total + 1) + 10 + tuning.UNCHANGED:
            raise _differ(
                heights, facts, f"{walks} walks through its pages of {size} rows showed {len(seen)} of {total} rows"
            )
    if len(seen) > total:
        raise _differ(heights, facts, f"its {total} rows differ between responses")
    return list(seen.values())


def _pages(
    heights: HeightRange, size: int, total: int, seen: dict[bytes, Raw], facts: Facts
) -> Asking[tuple[int, int]]:
    """Request the pages of one height up to the last row and add their rows to `seen`. Return how many rows arrived
    and the page size. `total`: the number of rows, 0 while unknown. Raises IncompleteError."""
    count = 0
    for number in range(tuning.MOST_PAGES):
        page: Page = yield RowsRequest(heights, size, number)
        if number == 0 and page.rows:
            size = min(size, len(page.rows))  # the server's own
        if page.rows and count != number * size:
            raise _differ(heights, facts, f"its pages of {size} rows differ in length")
        seen.update((bytes(row), row) for row in page.rows)
        count += len(page.rows)
        if not page.rows or (total and count >= total):
            break
        if count > 100 * len(seen):
            raise _differ(heights, facts, f"its pages of {size} rows do not end")
    return count, size


def _counts_wrongly(heights: HeightRange, total: int, facts: Facts) -> Asking[int]:
    """Return how many walks must show no further row: 0 if a page of one row shows the last row at its position.

    The sum of the pages is not enough: pages may be shorter than the steps between them.
    """
    last: Page = yield RowsRequest(heights, 1, max(0, total - 1))
    after: Page = yield RowsRequest(heights, 1, total)
    if len(last.rows) == 1 and not after.rows:
        return 0
    if len(last.rows) <= 1:
        raise _differ(heights, facts, f"its pages add up to {total} rows, and pages of one row do not")
    return tuning.UNCHANGED


def _differ(heights: HeightRange, facts: Facts, said: str) -> IncompleteError:
    return IncompleteError(f"{heights}: {said}", facts.behind(heights.end - 1) or "try again later")
