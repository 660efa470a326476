"""Proves chunks complete whose rows carry a height, from the order of responses alone (docs/completeness.md).

Deployed servers order rows by height, so a response is a prefix of the rows that are due: whatever cuts it (a cap in
rows or bytes, a clamped range, a timeout), it lacks the highest heights. Therefore

    a response that shows a row at height m holds every row below m.

A chunk is requested beyond its end. A row there proves the chunk complete. Else the response proves the heights below
its last row, and `look_ahead` finds out whether anything follows that row. Responses out of height order are proved
by counts.

Rejected: to compare numbers of rows ("no response was longer, so this one was not cut"). That holds for caps which are
constant and counted in rows, and for no others.
"""

from bisect import bisect_left

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.counts import prove_by_counts
from chainq.planning.dense_height import prove_height
from chainq.planning.look_ahead import ATTEMPTS, NARROWEST, check_start, first_row_at_or_after, look_ahead
from chainq.planning.server import ServerFacts
from chainq.planning.steps import (
    DIVISIBLE,
    Asking,
    ChunkResult,
    ChunkSpec,
    Page,
    Proof,
    ProofKind,
    Request,
    Steps,
    TipRequest,
    Unsettled,
)

DENSE = 0.5  # of a full page: so many rows at its last height, and that height is likely to fill a page by itself


def prove_rows(chunk: ChunkSpec, server: ServerFacts) -> Steps:
    """Fetch a chunk and prove it, or as much of it as its response proves.

    Raises IncompleteError where that cannot be, and the failures of requests.
    """
    if chunk.full and server.ordered:
        return (yield from prove_height(chunk, server))
    for _ in range(ATTEMPTS):
        chunk, page = yield from _request(chunk)
        if page is None:
            if not server.order_seen:  # nor may the row that follows be relied on
                chunk = chunk._replace(overlap=0, horizon=chunk.heights.end)
            return (yield from prove_height(chunk, server, too_heavy=True))
        if page.rows and not server.order_seen:
            yield from _check_order(chunk, page, server)
        if not server.ordered:
            server.out_of_order()
            return (yield from prove_by_counts(chunk, server))
        if page.rows:
            return (yield from _prove_prefix(chunk, page, server))
        settled = yield from _prove_without_rows(chunk, server)
        # Of a server that may not order rows, the row found first may not be the lowest.
        if isinstance(settled, ChunkResult) and not server.order_seen and (yield from _shows_rows(chunk)):
            settled = None
        if settled is not None:
            return settled
        half = max(1, len(chunk.heights) // 2)  # perhaps the range is too wide for the server
        chunk = chunk._replace(heights=HeightRange(chunk.heights.start, chunk.heights.start + half), overlap=half // 4)
    raise IncompleteError(f"{chunk.heights}: {ATTEMPTS} responses were empty, although rows exist there")


def _request(chunk: ChunkSpec) -> Asking[tuple[ChunkSpec, Page | None]]:
    """Request the chunk and its overlap, less of it where a response fails for its size; no page where one height
    alone does."""
    while True:
        start, end = chunk.heights.start, chunk.heights.end
        reach = max(end, min(end + chunk.overlap, chunk.run_end))
        try:
            page: Page = yield Request(HeightRange(start, reach), chunk.page_size)
        except DIVISIBLE:
            if reach > end and end - start == 1:
                chunk = chunk._replace(overlap=0)
            elif end - start == 1:
                return chunk, None
            else:
                half = (end - start) // 2
                chunk = chunk._replace(heights=HeightRange(start, start + half), overlap=min(chunk.overlap, half))
        else:
            return chunk, page


def _check_order(chunk: ChunkSpec, page: Page, server: ServerFacts) -> Asking[None]:
    """Where all rows of a response have one height, make sure that none was due below it: the order is not known."""
    first = page.heights[0]
    if first == page.heights[-1] and first > chunk.heights.start:
        below: Page = yield Request(HeightRange(chunk.heights.start, first), chunk.page_size)
        server.ordered &= not below.rows


def _prove_prefix(chunk: ChunkSpec, page: Page, server: ServerFacts) -> Steps:
    """Prove what a response with rows proves."""
    start, end = chunk.heights.start, chunk.heights.end
    first, last = page.heights[0], page.heights[-1]
    responses = 1
    if not server.start_included:
        responses += 1
        yield from check_start(first, server)
    if last >= end:
        return cut_page(page, HeightRange(start, end), Proof(ProofKind.OVERLAP, responses))
    known_cut = server.cut_rows is not None and len(page.rows) >= server.cut_rows * 0.9
    full = chunk.page_size is not None and len(page.rows) >= chunk.page_size
    if full or known_cut:
        if last > start:
            result = cut_page(page, HeightRange(start, last), Proof(ProofKind.OVERLAP, responses))
            dense = len(page.rows) - len(result.rows) > DENSE * len(page.rows)
            return result._replace(full_until=last + 1) if dense else result
        return (yield from prove_height(chunk, server, known=len(page.rows)))
    following = yield from look_ahead(page, chunk.horizon, server)
    responses += following.responses
    if not following.complete or (following.height is not None and following.height < end):
        server.cut_at(len(page.rows))
    if not following.complete:  # the last height is cut
        if last > start:
            return cut_page(page, HeightRange(start, last), Proof(ProofKind.OVERLAP, responses))
        return (yield from prove_height(chunk, server, known=len(page.rows)))
    kind = ProofKind.TAIL if following.height is None else ProofKind.OVERLAP
    covered = end if following.height is None else min(end, following.height)
    return cut_page(page, HeightRange(start, covered), Proof(kind, responses))


def _prove_without_rows(chunk: ChunkSpec, server: ServerFacts) -> Asking[ChunkResult | Unsettled | None]:
    """Prove that a chunk holds no rows; None where it does, so that its response was wrong."""
    start, end = chunk.heights.start, chunk.heights.end
    if start and not server.start_included and (yield from _leaves_out(start, chunk.page_size, server)):
        return None
    if server.gap is not None and server.gap.start <= start and end <= server.gap.end:
        return _empty(chunk, ProofKind.OVERLAP if server.gap.end < chunk.run_end else ProofKind.TAIL)
    if server.tip is None:
        near = min(chunk.horizon, end + 8 * len(chunk.heights))
        found = yield from _first_row(start, near, server, thorough=False)
        if found is not None:
            return _empty(chunk, ProofKind.OVERLAP) if found >= end else None
        server.tip = yield TipRequest()
    top = server.top
    if top is not None and start >= top:  # no blocks there, so no rows
        return _empty(chunk, ProofKind.TAIL)
    if chunk.anchor is None:
        found = yield from _first_row(start, chunk.horizon, server, thorough=chunk.first)
        if found is None and not chunk.first:
            return Unsettled()
    else:
        found = (yield from look_ahead(Page([], [chunk.anchor]), chunk.horizon, server)).height
        if found is not None and found < start:
            raise IncompleteError(f"height {found}: its rows appear in only one response", "run the command again")
    if found is None:
        server.gap = HeightRange(start, chunk.horizon)
        _note_unproved(server.gap, server)
        return _empty(chunk, ProofKind.TAIL)
    return _empty(chunk, ProofKind.OVERLAP) if found >= end else None


def _note_unproved(heights: HeightRange, server: ServerFacts) -> None:
    """Say that heights are believed to have no rows, though no row of the run shows that a window is looked at."""
    if not server.trusted_width and len(heights) > NARROWEST:
        server.note(
            f"{heights}: no rows, which is not proved: no response of this run has one, so the service may show none of"
            f" {NARROWEST} heights or more"
        )


def _leaves_out(start: int, page_size: int | None, server: ServerFacts) -> Asking[bool]:
    """Return whether a height that a response began with has rows all the same. Raises IncompleteError."""
    before: Page = yield Request(HeightRange(start - 1, start + 1), page_size)
    if not before.heights or before.heights[-1] != start:
        return False
    yield from check_start(start, server)
    return True


def _shows_rows(chunk: ChunkSpec) -> Asking[bool]:
    for _ in range(3):
        page: Page = yield Request(chunk.heights, chunk.page_size)
        if page.rows:
            return True
    return False


def _first_row(start: int, horizon: int, server: ServerFacts, *, thorough: bool) -> Asking[int | None]:
    """Return the height of the first row from `start` on, of a server that shows the rows of its first height."""
    found = yield from first_row_at_or_after(start, horizon, server, thorough=thorough)
    if found is not None and not server.start_included:
        yield from check_start(found, server)
    return found


def _empty(chunk: ChunkSpec, kind: ProofKind) -> ChunkResult:
    return ChunkResult(chunk.heights, [], [], Proof(kind, 2))


def cut_page(page: Page, heights: HeightRange, proof: Proof) -> ChunkResult:
    """Return the rows of `heights` as a result; the others are kept as rows beyond it."""
    at = bisect_left(page.heights, heights.end)
    beyond = Page(page.rows[at:], page.heights[at:]) if at < len(page.rows) else None
    return ChunkResult(heights, page.rows[:at], page.heights[:at], proof, beyond)
