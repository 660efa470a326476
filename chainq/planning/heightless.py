"""Proves chunks whose rows carry no height (ownership, public transactions of an address).

Their responses are prefixes in height order too, but nobody sees where one ends. So the last heights of a chunk are
asked for by themselves: a response that holds those rows, as its last ones, was not cut before them. Where the last
heights hold no rows, counts decide.
"""

from collections import Counter
from math import ceil

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.dense_height import prove_height
from chainq.planning.look_ahead import Asking, count_further
from chainq.planning.server import ServerFacts, start_left_out
from chainq.planning.steps import DIVISIBLE, ChunkResult, ChunkSpec, Page, Proof, ProofKind, Request, Steps

TAIL_ROWS = 12  # that the last heights of a chunk are expected to hold
NARROW = 32  # heights that even a server which refuses wide ranges in silence looks at
SMALL = 0.25  # of a page: rows of half a range whose response was full, so that the other half is full too
DOUBTED = 2  # chunks without rows, in a run, whose narrower parts are looked at
SPORADIC = 6  # further requests for heights without rows, of a server that was seen to leave out rows now and then


def prove_heightless(chunk: ChunkSpec, server: ServerFacts, *, repeats: bool) -> Steps:
    """Fetch a chunk, or the beginning of it, and prove it. `repeats`: equal rows may stand in one response.

    Raises IncompleteError where that cannot be, and the failures of requests.
    """
    heights, responses, most, full_until = chunk.heights, 0, 0, 0
    if chunk.full and len(heights) > 1:
        full_until = heights.end
        heights = _lower_half(heights)
    while True:
        responses += 1
        try:
            page: Page = yield Request(heights, chunk.page_size)
        except DIVISIBLE:
            page = None  # type: ignore[assignment]
        if page is not None and len(page.rows) < (chunk.page_size or 0):
            kind = yield from _check(page, heights, server, doubtful=chunk.doubtful)
            if kind is not None:
                proof = Proof(kind, responses + 1)
                if len(page.rows) > SMALL * (chunk.page_size or 0):  # the rest may hold as few as those it lacks
                    full_until = 0
                return ChunkResult(heights, page.rows, [], proof, more=len(page.rows) < most, full_until=full_until)
        if len(heights) == 1:
            return (yield from _single(chunk._replace(heights=heights), page, server, repeats=repeats))
        if page is not None:
            most = max(most, len(page.rows))
            server.cut_at(len(page.rows))
            if len(page.rows) >= (chunk.page_size or 0):
                full_until = heights.end
        heights = _lower_half(heights)


def _lower_half(heights: HeightRange) -> HeightRange:
    return HeightRange(heights.start, heights.start + len(heights) // 2)


def _check(
    page: Page, heights: HeightRange, server: ServerFacts, *, doubtful: bool = False
) -> Asking[ProofKind | None]:
    """How a response is proved complete; None where it is not."""
    if not page.rows:
        return ProofKind.COUNTS if (yield from _is_empty(heights, server, doubtful=doubtful)) else None
    if len(heights) > 1 and server.ordered:
        matches = yield from _matches_tail(page, heights, server)
        if matches is not None:
            return ProofKind.TAIL if matches else None
    if not server.start_included:
        yield from _check_bounds(heights, server)
    server.saw_rows = True
    doubted = not server.ordered or len(heights) > server.trusted_width
    if doubted and len(heights) > 1 and not (yield from _adds_up(page, heights)):
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
    for some in dict.fromkeys((width, len(heights) // 2)):
        last = HeightRange(heights.end - some, heights.end)
        tail: Page = yield Request(last, len(page.rows) + 1)
        if not tail.rows or len(tail.rows) >= len(page.rows):  # as long as the response, it may be cut alike
            continue
        if not server.start_included:
            yield from _check_bounds(last, server)
        server.saw_rows = True
        if _counted(tail.rows) == _counted(page.rows[-len(tail.rows) :]):
            server.trusted_width = max(server.trusted_width, len(heights))
            return True
        if not _counted(tail.rows) <= _counted(page.rows):
            return False
        server.out_of_order()
        break
    return None


def _is_empty(heights: HeightRange, server: ServerFacts, *, doubtful: bool) -> Asking[bool]:
    """Whether a range without rows in one response has none in others, narrower ones among them."""
    for _ in range(SPORADIC if doubtful or server.sporadic else 1):
        again: Page = yield Request(heights, 2)
        if again.rows:
            server.sporadic = True
            return False
    if len(heights) > max(server.trusted_width, 1) and (server.saw_rows or server.doubted < DOUBTED):
        server.doubted += 1
        eighth = max(1, -(-len(heights) // 8))
        parts = [HeightRange(at, min(heights.end, at + eighth)) for at in range(heights.start, heights.end, eighth)]
        for part in (*parts, HeightRange(heights.start, min(heights.end, heights.start + NARROW))):
            shown: Page = yield Request(part, 2)
            if shown.rows:
                return False
    if heights.start and not server.start_included:  # what a service loses that leaves out `start`
        before = HeightRange(max(0, heights.start - 64), heights.start)
        without: Page = yield Request(before, server.page_size)
        with_start: Page = yield Request(HeightRange(before.start, heights.start + 1), server.page_size)
        if _counted(without.rows) != _counted(with_start.rows):
            raise start_left_out(HeightRange(heights.start, heights.start + 1))
    return True


def _adds_up(page: Page, heights: HeightRange) -> Asking[bool]:
    """Whether narrower requests show the rows of a response whose last rows prove nothing, and no others."""
    eighth = max(1, -(-len(heights) // 8))
    shown: Counter[bytes] = Counter()
    for at in range(heights.start, heights.end, eighth):
        part: Page = yield Request(HeightRange(at, min(heights.end, at + eighth)), len(page.rows) + 1)
        shown += _counted(part.rows)
    return shown == _counted(page.rows)


def _check_bounds(heights: HeightRange, server: ServerFacts) -> Asking[None]:
    """Make sure that the service includes `start` and excludes `end`, at a height that has rows."""
    while len(heights) > 1:
        middle = heights.start + len(heights) // 2
        upper: Page = yield Request(HeightRange(middle, heights.end), 2)
        heights = HeightRange(middle, heights.end) if upper.rows else HeightRange(heights.start, middle)
    shown: Page = yield Request(heights, server.page_size)
    if not shown.rows:
        raise start_left_out(heights)
    for start in (heights.start - 1, heights.end):
        other: Page = (yield Request(HeightRange(start, start + 1), server.page_size)) if start >= 0 else Page([], [])
        if not {bytes(row) for row in shown.rows}.isdisjoint(map(bytes, other.rows)):
            raise IncompleteError(
                f"heights {heights.start} and {start}: both returned the same rows", "the service includes `end`"
            )
    server.start_included = True


def _counted(rows: list[Raw]) -> Counter[bytes]:
    return Counter(map(bytes, rows))


def _single(chunk: ChunkSpec, page: Page | None, server: ServerFacts, *, repeats: bool) -> Steps:
    """One height that no response proves: by a larger page, or by walks where its rows can be distinguished."""
    if not server.start_included:
        yield from _check_bounds(chunk.heights, server)
    if not repeats:
        return (
            yield from prove_height(
                chunk._replace(overlap=0, horizon=chunk.heights.end), server, too_heavy=page is None
            )
        )
    size = chunk.page_size or 1
    while page is not None and len(page.rows) >= size and size < 100 * (chunk.page_size or 1):
        size *= 4
        page = yield Request(chunk.heights, size)
        if len(page.rows) < size and (yield from _check(page, chunk.heights, server)) is not None:
            return ChunkResult(chunk.heights, page.rows, [], Proof(ProofKind.COUNTS, 2))
    raise IncompleteError(
        f"{chunk.heights}: the height holds more rows than one response returns, and its rows cannot be distinguished",
        "a larger --page-size may return all of them",
    )
