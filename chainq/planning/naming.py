"""Rule 2 as questions: request the rows due at some heights from another method, then request each of them."""

from bisect import bisect_left
from math import ceil
from typing import TYPE_CHECKING

from chainq import tuning
from chainq.errors import BehindError, IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.belief import believe
from chainq.planning.exchange import DIVISIBLE, UNAVAILABLE, Asking, Due, DueRequest, RowsRequest
from chainq.planning.facts import Facts, shown, weigh

if TYPE_CHECKING:
    from chainq.rows.sorting import Page


def due_rows(heights: HeightRange, facts: Facts) -> Asking[Due | None]:
    """Return the due rows from full blocks, or None if these do not arrive or are too many for a response.

    A block that is too heavy by itself is not requested again: other heights may have theirs. After several of them,
    no block is.
    """
    if heights.start in facts.heavy:
        return None
    try:
        due: Due = yield DueRequest(heights)
    except DIVISIBLE:
        if len(heights) == 1:
            facts.heavy.add(heights.start)
            facts.blocks = len(facts.heavy) < tuning.FEW_HEAVY
    except UNAVAILABLE:
        facts.blocks = False
    else:
        facts.empty = 0 if due.at else facts.empty + len(due.heights)
        if len(due.heights):
            return due
        facts.absent = heights.start
        facts.blocks = len(heights) > 1  # else a server that is behind, or one that leaves blocks out
    return None


def collect(start: int, end: int, facts: Facts) -> Asking[None]:
    """Request the due rows of the first heights from another method, then all of these rows; else rely on belief."""
    ev, width, most = facts.evidence, tuning.NAMED_BLOCKS, tuning.MOST_EMPTY
    if not ev.order.usable:
        facts.note("the service does not order rows by height: its full blocks name the rows that are due")
    facts.named = HeightRange(start, end)
    while facts.names(start) and not ev.due(start) and (end - start <= most or facts.empty < most):
        if (yield from due_rows(HeightRange(start, min(end, start + width)), facts)) is None:
            width = max(1, width // 2)
    if not (said := ev.due(start)):
        end = start + 1 if facts.blocks and not facts.names(start) else end
        return (yield from believe(HeightRange(start, end), facts))
    yield from _show_all(HeightRange(start, max(due.heights.end for due in said)), facts)


def confirm(heights: HeightRange, facts: Facts) -> Asking[None]:
    """Request heights alone whose rows another method names: a row that it does not name shows then.

    Raises IncompleteError if such a response is too large.
    """
    if (yield from shown(heights, facts)) is None:
        raise IncompleteError(f"{heights}: a response showed rows that may be there, and by its full block are not")


def _show_all(heights: HeightRange, facts: Facts) -> Asking[None]:
    """Request every due row of some heights, from the first missing row on: fewer heights after a response that does
    not show all rows of its height, and more after one that does."""
    width, end = len(heights), heights.end
    while missing := facts.evidence.missing(heights)[1]:
        at = missing[0]
        part = HeightRange(at, min(end, at + width))
        rows = bisect_left(missing, part.end)
        if len(part) == 1:
            yield from _show_height(part, facts)
            heights = HeightRange(part.end, end)
        elif rows <= (facts.size or rows):  # else one response cannot hold them
            yield from shown(part, facts)
        width = max(1, len(part) // 2) if at in facts.evidence.missing(heights)[1][:1] else 2 * width


def _show_height(heights: HeightRange, facts: Facts) -> Asking[None]:
    """Request the rows of one height: with one page of all of them, as long as it shows further ones, then with the
    pages of the height. Raises BehindError if some do not arrive, and the errors of requests if pages are too heavy.

    The rows are in another order in each response. So a page 0 that ends early shows others each time, and the pages of
    a walk repeat some and miss others.
    """
    ev = facts.evidence
    due, missing = ev.missing(heights)[0], len(ev.missing(heights)[1])
    size, longest, before = facts.size or due, 0, due + 1
    while 0 < missing < before:
        page = yield from shown(heights, facts, min(max(due, size), size * tuning.LARGER**tuning.LARGER_PAGES))
        longest = max(longest, len(page.rows) if page else 0)
        before, missing = missing, len(ev.missing(heights)[1])
    size = longest or size
    failures, idle, enough = 0, 0, 1
    strict = not any(said.kinds for said in ev.due(heights.start))  # else rows may never come
    while missing and idle < enough:
        before = missing
        try:
            longest, came = yield from _walk(heights, size, due, facts)
        except DIVISIBLE as error:
            failures += 1
            if failures > tuning.EMPTY_WALKS and size <= tuning.SMALLEST_PAGE:
                yield from weigh(heights.start, size, error)
            size = size if failures % 2 else min(size, max(tuning.SMALLEST_PAGE, size // tuning.LARGER))
            continue
        missing = len(ev.missing(heights)[1])
        idle, failures = 0 if missing < before else idle + 1, 0
        size = longest if idle else size
        # A walk that shows a share of the rows, by chance, lacks the last one again and again.
        enough = min(tuning.MOST_IDLE, ceil(tuning.CERTAIN * due / came)) if came else tuning.EMPTY_WALKS
        enough = enough if strict or ev.lost(heights) else 1
    if missing and not (strict or ev.lost(heights)):
        yield from believe(heights, facts)
    elif missing:
        raise BehindError(
            f"{heights}: {missing} of its {due} rows do not come, by its full block; the service lacks them",
            facts.behind(heights.start),
            heights.start,
        )


def _walk(heights: HeightRange, size: int, due: int, facts: Facts) -> Asking[tuple[int, int]]:
    """Request the pages of a height until all rows were shown. Return the most rows in one page (the server's own
    page size, if lower than `size`) and how many rows arrived."""
    number = came = longest = 0
    left = len(facts.evidence.missing(heights)[1])
    while left > 0 and number * (longest or size) < due:
        page: Page = yield RowsRequest(heights, size, number)
        if not page.rows:
            break
        longest = max(longest, len(page.rows))
        came, number, left = came + len(page.rows), number + 1, left - len(page.rows)
        if left <= 0:  # else some are missing still, whatever the page had
            left = len(facts.evidence.missing(heights)[1])
    return min(size, longest or size), came
