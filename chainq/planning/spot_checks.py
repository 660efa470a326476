"""Compares a few heights that order proves with another method: order cannot show rows that every response lacks."""

from collections import Counter
from math import ceil

from msgspec import Raw

from chainq import tuning
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Asking
from chainq.planning.facts import Facts
from chainq.planning.naming import due_rows
from chainq.rows.fields import Picker
from chainq.rows.sorting import Page

_pick_ids = Picker(("transaction_id", "transition_id"))


def spread(page: Page | None, heights: int) -> int:
    """Return how many heights hold a few rows, estimated from a response for `heights` heights."""
    rows = len(page.rows) if page is not None else 0
    return max(1, min(heights, ceil(tuning.OVERLAP_ROWS * heights / rows))) if rows else heights


def spot_check(heights: HeightRange, end: int, page: Page | None, facts: Facts) -> Asking[None]:
    """Compare some of the heights that order proves, which a chunk that ends at `end` begins with.

    Once per run, the height with the most rows, if a service seems to leave out rows of a height. And once the last
    heights of a chunk, because a service that merges shards misses rows there first. They are the ones below the tip,
    which another method must name anyhow; those of a response that the service seems to have cut; or, in a strict run,
    the first chunk's. In a long run without any of these, they are those of a chunk of final length, so the check is
    one request among ten or more, before most rows are printed but not before the first.
    """
    width = min(tuning.NAMED_BLOCKS, max(2, tuning.LARGER * spread(page, len(heights))))
    if (height := _limited(heights, page, facts)) is not None:
        facts.doubts = -1
        low = max(heights.start, min(height - width // 2, heights.end - width))
        yield from _compare(low, min(heights.end, low + width), facts)
    if facts.spot_checked:
        return
    rest = end - heights.end
    if 0 < rest < tuning.NAMED_BLOCKS and end == facts.top:
        low = max(heights.start, heights.end - width, end - tuning.NAMED_BLOCKS)
        facts.spot_checked = yield from _compare(low, end, facts)
    elif _cut(heights, rest, page, facts):
        width = min(tuning.NAMED_BLOCKS, tuning.LARGER * width)
    elif not (facts.strict or (facts.doubts >= 0 and _amid_long_run(heights, facts))):
        return
    if not facts.spot_checked:
        facts.spot_checked = True
        yield from _compare(max(heights.start, heights.end - width), heights.end, facts)


def _amid_long_run(heights: HeightRange, facts: Facts) -> bool:
    """Return whether heights are amid a run of many chunks, whose lengths do not grow any more."""
    midst = facts.pace.settled and heights.start != facts.start and heights.end < facts.end
    return midst and facts.end - facts.start >= tuning.LONG_RUN * facts.pace.choose()[0]


def _compare(low: int, end: int, facts: Facts) -> Asking[bool]:
    """Request the due rows of some heights, or of the last of them; return whether they came."""
    while facts.blocks and end - low > 1:
        if (yield from due_rows(HeightRange(low, end), facts)):
            return True
        low = (low + end) // 2
    return False


def _limited(heights: HeightRange, page: Page | None, facts: Facts) -> int | None:
    """Return the first height with the most rows, if it looks as if a service leaves out rows of a height: if several
    have as many, if it has far more than others, or if no row of many shares its transaction with another."""
    if page is None or not page.heights or facts.doubts <= 0:
        return None
    facts.doubts -= 1
    inside = (height for height in page.heights if height < heights.end)
    counts = {height: rows for height, rows in Counter(inside).items() if rows <= tuning.MOST_NAMED}
    most, rows = max(counts.values(), default=0), sum(counts.values())
    times = Counter(counts.values())
    alike = most > 1 and times[most] >= tuning.ALIKE and times[most] ** 2 > tuning.ALIKE * times[most - 1]
    burst = most >= tuning.BURST and most * (len(counts) - 1) >= tuning.BURST * (rows - most)
    if not (alike or burst or _each_of_another_transaction(page.rows[: tuning.ALONE])):
        return None
    return next((height for height, rows in counts.items() if rows == most), None)


def _each_of_another_transaction(rows: list[Raw]) -> bool:
    """Return whether many rows are each the only one of its transaction: of its transition, if rows do not name it."""
    if len(rows) < tuning.ALONE:
        return False
    ids = [bytes(of[0] or of[1] or b"") for of in map(_pick_ids, rows)]
    return len({*ids}) == len(ids)


def _cut(heights: HeightRange, rest: int, page: Page | None, facts: Facts) -> bool:
    """Return whether a service seems to have cut a response, `rest` heights before its end, that is not full."""
    if page is None or not page.heights or facts.full(page):
        return False
    return rest * len({*page.heights}) > 2 * tuning.OVERLAP_ROWS * len(heights)
