"""Finds out whether a response without rows proves that there are none, where rows carry no height.

A server that looks at the first heights of a wide range only, or at none of them, shows no rows in each response alike.
So "no rows" is believed over trusted widths only, at which the server has shown a row at the far end of a request
(docs/completeness.md, "No rows"). A run that has seen no row yet has nothing to be shown: it looks into some narrower
parts, believes these, and makes sure of it with the first row that it sees.

Rejected: to rely on the failure of one control request. It may be the only one that fails.
"""

from math import ceil

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.look_ahead import ATTEMPTS, narrow_parts
from chainq.planning.server import ServerFacts, start_left_out
from chainq.planning.steps import DIVISIBLE, Asking, Page, Request

BEFORE = 64  # heights before a range without rows, which may show what a server leaves out at its start
DOUBTED = 2  # ranges without rows that a run looks into before it has seen a row
WINDOWS = 128  # requests of a run for parts of ranges, of a server that never missed rows
MOST_WINDOWS = 1000  # the same for one range, of a server that did
MOST_PAGES = 8  # of a range before a known row, of a server that cuts responses
SPORADIC = 6  # further requests for heights without rows, of a server that was seen to leave out rows now and then


def is_empty(heights: HeightRange, server: ServerFacts, *, doubtful: bool) -> Asking[bool]:
    """Return whether a range without rows in one response has none in others, narrower ones among them.

    Raises IncompleteError for a service that leaves out `start`, or whose narrower responses would be too many.
    """
    for _ in range(SPORADIC if doubtful or server.sporadic else 1):
        again: Page = yield Request(heights, 2)
        if again.rows:
            server.lacked_rows()
            return False
    if heights.start and not server.start_included and not (yield from _starts_empty(heights, server)):
        return False
    return (yield from _narrower_are_empty(heights, server))


def _narrower_are_empty(heights: HeightRange, server: ServerFacts) -> Asking[bool]:
    """Return whether the parts of a range have no rows either, if it is wider than the server is trusted with."""
    while len(heights) > sure_width(server):
        witness = server.witness
        if witness is None:
            parts, settled = _some_parts(heights, server), False
        else:
            yield from trust_width(len(heights), server)
            width = part_width(heights, server)
            parts, settled = parts_of(heights, width), width <= sure_width(server)
        for part in parts if len(parts) > 1 else []:
            shown: Page = yield Request(part, 2)
            if shown.rows:
                server.misses_rows = True
                if not server.start_included:
                    yield from check_bounds(part, server)
                return False
        if settled:
            return True
        if witness == server.witness:
            server.believed = max(server.believed, len(heights))
            return True
        # else another chunk has shown the first row meanwhile
    return True


def _starts_empty(heights: HeightRange, server: ServerFacts) -> Asking[bool]:
    """Return whether the first height has no rows in a range that starts below it either."""
    before = HeightRange(max(0, heights.start - BEFORE), heights.start)
    below: Page = yield Request(before, 2)
    if below.rows:
        yield from check_bounds(before, server)
        return True
    with_start: Page = yield Request(HeightRange(before.start, heights.start + 1), 2)
    if not with_start.rows:
        return True
    first = HeightRange(heights.start, heights.start + 1)
    for _ in range(ATTEMPTS):  # near the tip a response may come from a server that is behind
        alone: Page = yield Request(first, 2)
        if alone.rows:
            server.lacked_rows()
            return False
    raise start_left_out(first)


def _some_parts(heights: HeightRange, server: ServerFacts) -> list[HeightRange]:
    """Return the parts of a range without rows that a run looks into before it has seen a row."""
    if server.doubted == DOUBTED:
        return []
    server.doubted += 1
    return [*parts_of(heights, ceil(len(heights) / 8)), *narrow_parts(heights)]


def sure_width(server: ServerFacts) -> int:
    """Return the widest range, in heights, of which no rows means that there are none: one height, if not more."""
    return max(server.trusted_width, 1)


def part_width(heights: HeightRange, server: ServerFacts) -> int:
    """Return how wide the parts of a range are that are to show its rows: a trusted width where these are not too many.

    Raises IncompleteError where they are, of a service that misses rows.
    """
    narrow = sure_width(server)
    count = ceil(len(heights) / narrow)
    if server.misses_rows and count > MOST_WINDOWS:
        raise IncompleteError(
            f"{heights}: the service misses rows of wide ranges, and narrower ones would be {count} requests",
            "narrow the range to heights that have rows",
        )
    if not server.misses_rows and server.windows + count > WINDOWS:
        return ceil(len(heights) / 8)
    server.windows += count
    return narrow


def parts_of(heights: HeightRange, width: int) -> list[HeightRange]:
    """Return a range in parts of so many heights."""
    return [HeightRange(at, min(heights.end, at + width)) for at in range(heights.start, heights.end, width)]


def trust_width(width: int, server: ServerFacts) -> Asking[None]:
    """Have the server show a known row at the far end of a request of that width, or of narrower ones."""
    if server.witness is None:
        return
    height, row = server.witness
    width = min(width, height + 1)
    while width > max(server.trusted_width, 1):
        try:
            shown: Page = yield Request(HeightRange(height + 1 - width, height + 1), server.page_size)
        except DIVISIBLE:  # too heavy there
            pass
        else:
            if row in map(bytes, shown.rows):
                server.trusted_width = max(server.trusted_width, width)
            elif not shown.rows:
                server.misses_rows = True
        width //= 2


def check_believed(heights: HeightRange, server: ServerFacts) -> Asking[None]:
    """Make sure that the server looks at ranges as wide as those believed to be empty, by a range that shows rows.

    Raises IncompleteError where its lowest rows are missing at the far end of such a range. Where a server fails there,
    or cuts its responses into many pages, nothing is made sure of.
    """
    believed, server.believed = server.believed, 0
    lowest = yield from _bisect(heights, upper=False)
    alone: Page = yield Request(lowest, server.page_size)
    rows = set(map(bytes, alone.rows))
    wide = HeightRange(max(0, lowest.end - believed), lowest.end)
    for _ in range(ATTEMPTS):
        size = server.page_size
        for number in range(MOST_PAGES):
            try:
                shown: Page = yield Request(wide, size, number)
            except DIVISIBLE:
                return
            if not rows.isdisjoint(map(bytes, shown.rows)):
                server.trusted_width = max(server.trusted_width, len(wide))
                return
            if not shown.rows:
                break
            size = size if number else len(shown.rows)  # which may be lower than the size requested
        else:
            return
    raise IncompleteError(
        f"{lowest}: its rows are missing in ranges of {len(wide)} heights, and so rows of lower heights may be",
        "request narrower ranges one after the other",
    )


def check_bounds(heights: HeightRange, server: ServerFacts, page: Page | None = None) -> Asking[None]:
    """Make sure that the service includes `start` and excludes `end`, at a height of a range that shows rows.

    `page`: the response to the range, if it is known. Raises IncompleteError.
    """
    shown = page if page is not None and len(heights) == 1 else Page([], [])
    heights = yield from _bisect(heights, upper=True)
    for _ in range(ATTEMPTS):  # near the tip a response may come from a server that is behind
        if shown.rows:
            break
        shown = yield Request(heights, server.page_size)
    else:
        raise start_left_out(heights)
    for start in (heights.start - 1, heights.end):
        other: Page = (yield Request(HeightRange(start, start + 1), server.page_size)) if start >= 0 else Page([], [])
        if not {bytes(row) for row in shown.rows}.isdisjoint(map(bytes, other.rows)):
            raise IncompleteError(
                f"heights {heights.start} and {start}: both returned the same rows", "the service includes `end`"
            )
    server.start_included |= heights.start > 0  # else no range was requested that ends below these rows
    server.witness = heights.start, bytes(shown.rows[0])


def _bisect(heights: HeightRange, *, upper: bool) -> Asking[HeightRange]:
    """Return one height with rows, of a range that shows some: the highest one (`upper`), or the lowest."""
    while len(heights) > 1:
        middle = heights.start + len(heights) // 2
        halves = HeightRange(heights.start, middle), HeightRange(middle, heights.end)
        shown: Page = yield Request(halves[upper], 2)
        heights = halves[upper if shown.rows else not upper]
    return heights
