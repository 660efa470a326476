"""Proves chunks whose rows carry no height (ownership, public transactions of an address).

Their responses are prefixes in height order too, but nobody sees where one ends. So a chunk is requested beyond its
end, where the next chunk's response begins (`overlaps`). Where that proves nothing, the last heights of the chunk are
asked for by themselves: a response that holds those rows, as its last ones, was not cut before them. Where the last
heights hold no rows, counts decide.
"""

from collections import Counter
from collections.abc import Sequence
from math import ceil

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.absence import (
    check_believed,
    check_bounds,
    is_empty,
    part_width,
    parts_of,
    sure_width,
    trust_width,
)
from chainq.planning.dense_height import prove_height
from chainq.planning.look_ahead import ATTEMPTS, count_further
from chainq.planning.server import ServerFacts, start_left_out
from chainq.planning.steps import (
    DIVISIBLE,
    Asking,
    ChunkResult,
    ChunkSpec,
    OverlapRequest,
    Page,
    Proof,
    ProofKind,
    Request,
    Steps,
)

TAIL_ROWS = 12  # that the last heights of a chunk are expected to hold
CLEAR = 8  # times the largest row: bytes before the last heights, with which no byte cap ends both responses alike
LIKELY = 3  # rows a height, on average, so that the last height is likely to have some
SMALL = 0.25  # of a page: rows of half a range whose response was full, so that the other half is full too


def prove_heightless(chunk: ChunkSpec, server: ServerFacts, *, repeats: bool) -> Steps:
    """Fetch a chunk, or the beginning of it, and prove it. `repeats`: equal rows may stand in one response.

    Raises IncompleteError where that cannot be, and the failures of requests.
    """
    heights, full_until = _begin(chunk, server)
    reach = _reach(chunk, heights, server)
    size = chunk.page_size or 0
    responses = most = 0
    while True:
        responses += 1
        page = yield from _request(HeightRange(heights.start, max(heights.end, reach)), size)
        if page is not None and len(page.rows) < size:
            rows, kind = yield from _prove(page, heights, reach, server, doubtful=chunk.doubtful)
            if kind is not None:
                proof = Proof(kind, responses + 1)
                if len(page.rows) > SMALL * size:  # the rest may hold as few as those it lacks
                    full_until = 0
                return ChunkResult(heights, rows, [], proof, more=len(page.rows) < most, full_until=full_until)
            if reach and page.rows:
                reach = 0
                continue
        if len(heights) == 1:
            return (yield from _single(chunk._replace(heights=heights), page, server, repeats=repeats))
        if page is not None:
            most = max(most, len(page.rows))
            if len(page.rows) >= size:
                full_until = heights.end
            elif page.rows:
                server.cut_at(len(page.rows))
        heights, reach = _lower_half(heights), 0


def _request(heights: HeightRange, size: int) -> Asking[Page | None]:
    """Request heights; None where the response fails for its size."""
    try:
        page: Page = yield Request(heights, size)
    except DIVISIBLE:
        return None
    return page


def _reach(chunk: ChunkSpec, heights: HeightRange, server: ServerFacts) -> int:
    """Return up to where a chunk is requested: beyond its end, where the next chunk's response may prove this one's; 0
    where it is not to be."""
    end = min(heights.end + chunk.overlap, chunk.run_end)
    whole = heights == chunk.heights and len(heights) > chunk.overlap
    proving = server.start_included and server.ordered and not server.misses_rows
    return end if end > heights.end and whole and proving else 0


def _prove(
    page: Page, heights: HeightRange, reach: int, server: ServerFacts, *, doubtful: bool
) -> Asking[tuple[list[Raw], ProofKind | None]]:
    """Return the rows of heights, and how a response to them, or to those below `reach`, is proved complete."""
    if not reach or not page.rows:
        requested = HeightRange(heights.start, max(heights.end, reach))
        return page.rows, (yield from _check(page, requested, server, doubtful=doubtful))
    before: list[Raw] | None = yield OverlapRequest(HeightRange(heights.end, reach))
    if before is None:
        return [], None
    server.trusted_width = max(server.trusted_width, len(heights) + 1)
    if server.believed > server.trusted_width:
        yield from check_believed(heights, server)
    return before, ProofKind.OVERLAP


def _begin(chunk: ChunkSpec, server: ServerFacts) -> tuple[HeightRange, int]:
    """Return the heights to request first, and up to which height the rest is likely to fill a response."""
    heights = chunk.heights
    if server.misses_rows:
        heights = HeightRange(heights.start, min(heights.end, heights.start + sure_width(server)))
    if chunk.full and len(heights) > 1:
        return _lower_half(heights), chunk.heights.end
    return heights, 0


def _lower_half(heights: HeightRange) -> HeightRange:
    return HeightRange(heights.start, heights.start + len(heights) // 2)


def _check(
    page: Page, heights: HeightRange, server: ServerFacts, *, doubtful: bool = False
) -> Asking[ProofKind | None]:
    """Return how a response is proved complete; None where it is not."""
    if not page.rows:
        return ProofKind.COUNTS if (yield from is_empty(heights, server, doubtful=doubtful)) else None
    kind = yield from _check_rows(page, heights, server)
    if kind is not None and server.believed > server.trusted_width:
        yield from check_believed(heights, server)
    return kind


def _check_rows(page: Page, heights: HeightRange, server: ServerFacts) -> Asking[ProofKind | None]:
    """Return how a response with rows is proved complete; None where it is not."""
    if len(heights) > 1 and server.ordered:
        matches = yield from _matches_tail(page, heights, server)
        if matches is not None:
            return ProofKind.TAIL if matches else None
    if not server.start_included:
        yield from check_bounds(heights, server)
    if len(heights) > server.trusted_width:
        yield from trust_width(len(heights), server)
    doubted = not server.ordered or len(heights) > server.trusted_width
    if doubted and len(heights) > 1 and not (yield from _adds_up(page, heights, server)):
        return None
    further = yield from count_further(page, heights, server)
    if further is None:  # no pages: two responses alike, in which a cut would have shown other rows of the height
        again = yield Request(heights, len(page.rows) + 1)
        return ProofKind.COUNTS if _counted(again.rows) == _counted(page.rows) else None
    return ProofKind.COUNTS if further == 0 else None


def _matches_tail(page: Page, heights: HeightRange, server: ServerFacts) -> Asking[bool | None]:
    """Return whether a response ends with the rows of its last heights.

    None where these hold no rows, or where the response has them elsewhere, so that rows are not in height order.
    """
    width = max(1, min(len(heights) // 2, ceil(TAIL_ROWS * len(heights) / len(page.rows))))
    one = not server.start_included and len(page.rows) >= LIKELY * len(heights)  # its rows show the bounds as well
    for some in dict.fromkeys((1 if one else width, width, len(heights) // 2)):
        last = HeightRange(heights.end - some, heights.end)
        tail: Page = yield Request(last, len(page.rows) + 1)
        if not _counted(tail.rows) <= _counted(page.rows):  # the response lacks rows
            return False
        if len(tail.rows) in (0, len(page.rows)):  # all rows of the response: it may be cut alike
            continue
        if not server.start_included:
            yield from check_bounds(last, server, tail)
        if _counted(tail.rows) == _counted(page.rows[-len(tail.rows) :]):
            if (yield from _cut_alike(page, tail, last, server)):
                return False
            server.trusted_width = max(server.trusted_width, len(heights) - some + 1)
            return True
        server.out_of_order()
        break
    return None


def _cut_alike(page: Page, tail: Page, last: HeightRange, server: ServerFacts) -> Asking[bool]:
    """Return whether the last heights, with which a response ends, have more rows than their own response shows.

    A byte cap may end both at the same large row, unless the one has many more bytes than the other; and a row cap that
    varies may end both, unless the other has fewer rows than any response that was cut.
    """
    count = len(tail.rows)
    capped = server.cut_rows is not None and count >= server.cut_rows
    if not capped and _bytes(page.rows) - _bytes(tail.rows) >= CLEAR * max(_bytes([row]) for row in page.rows):
        return False
    further: Page = yield Request(last, max(1, count - 1), 1)
    return not set(map(bytes, further.rows)) <= set(map(bytes, tail.rows))


def _adds_up(page: Page, heights: HeightRange, server: ServerFacts) -> Asking[bool]:
    """Return whether narrower requests show the rows of a response whose last rows prove nothing, and no others."""
    width = part_width(heights, server) if server.ordered else ceil(len(heights) / 8)
    shown: Counter[bytes] = Counter()
    highest = heights.start
    for part in parts_of(heights, min(width, len(heights) // 2)):
        rows: Page = yield Request(part, len(page.rows) + 1)
        shown += _counted(rows.rows)
        highest = part.start if rows.rows else highest
    if shown != _counted(page.rows):
        return False
    server.trusted_width = max(server.trusted_width, highest - heights.start + 1)
    return True


def _bytes(rows: Sequence[Raw]) -> int:
    return sum(len(bytes(row)) for row in rows)


def _counted(rows: list[Raw]) -> Counter[bytes]:
    return Counter(map(bytes, rows))


def _single(chunk: ChunkSpec, page: Page | None, server: ServerFacts, *, repeats: bool) -> Steps:
    """One height that no response proves: by a larger page, or by walks where its rows can be distinguished.

    Raises IncompleteError.
    """
    if page is not None and not page.rows:
        return (yield from _found_again(chunk, server))
    if not server.start_included:
        yield from check_bounds(chunk.heights, server)
    if not repeats:
        alone = chunk._replace(overlap=0, horizon=chunk.heights.end)
        result = yield from prove_height(alone, server, too_heavy=page is None)
        return result._replace(row_heights=[])
    size = chunk.page_size or 1
    while page is not None and len(page.rows) >= size and size < 100 * (chunk.page_size or 1):
        size *= 4
        page = yield Request(chunk.heights, size)
        if len(page.rows) < size and (yield from _check(page, chunk.heights, server)) is not None:
            return ChunkResult(chunk.heights, page.rows, [], Proof(ProofKind.COUNTS, 2))
    raise IncompleteError(
        f"{chunk.heights}: the height holds more rows than one response returns, and its rows cannot be distinguished"
    )


def _found_again(chunk: ChunkSpec, server: ServerFacts) -> Steps:
    """One height whose rows one response lacked and another showed: until a response is proved complete."""
    for _ in range(ATTEMPTS):
        page: Page = yield Request(chunk.heights, chunk.page_size)
        if not page.rows or len(page.rows) >= (chunk.page_size or 0):
            continue
        kind = yield from _check(page, chunk.heights, server)
        if kind is not None:
            return ChunkResult(chunk.heights, page.rows, [], Proof(kind, 2))
    raise start_left_out(chunk.heights)
