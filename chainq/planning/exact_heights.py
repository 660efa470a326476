"""Proves chunks of blocks: every height up to the tip comes exactly once."""

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.server import BELOW_TIP, NO_VERIFY, ServerFacts
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
)

NEAR = 64  # blocks below the tip that a server which is behind may lack


def prove_blocks(chunk: ChunkSpec, server: ServerFacts, *, verify: bool) -> Steps:
    """Fetch a chunk of blocks and prove that every height up to the tip is there once.

    Without `verify` what is missing or doubled is noted and passed on. Raises IncompleteError.
    """
    heights, page = yield from _request(chunk.heights)
    if _exact(page, heights):
        return ChunkResult(heights, page.rows, page.heights, Proof(ProofKind.EXACT))
    if server.tip is None:
        server.tip = yield TipRequest()
    if _missing(page, heights, server):  # the tip may have come after the first response
        heights, page = yield from _request(heights)
    faults = list(_faults(page, heights, server))
    if faults and verify:
        behind = f"where a server is behind, {BELOW_TIP}; " if heights.end + NEAR > (server.top or 0) else ""
        raise IncompleteError(f"{heights}: {faults[0]}", f"{behind}{NO_VERIFY}")
    for fault in faults:
        server.note(f"{heights}: {fault}")
    end = max(heights.start, min(heights.end, server.top or 0))
    return ChunkResult(HeightRange(heights.start, end), page.rows, page.heights, Proof(ProofKind.EXACT, 2))


def _request(heights: HeightRange) -> Asking[tuple[HeightRange, Page]]:
    while True:
        try:
            page: Page = yield Request(heights)
        except DIVISIBLE:
            if len(heights) == 1:
                raise
            heights = HeightRange(heights.start, heights.start + len(heights) // 2)
        else:
            return heights, page


def _exact(page: Page, heights: HeightRange) -> bool:
    return page.heights == list(range(heights.start, heights.end))


def _missing(page: Page, heights: HeightRange, server: ServerFacts) -> list[int]:
    return sorted(set(range(heights.start, min(heights.end, server.top or 0))) - set(page.heights))


def _faults(page: Page, heights: HeightRange, server: ServerFacts) -> list[str]:
    """Return what is wrong with a response, in words that follow its heights."""
    if len(page.heights) < len(page.rows):
        return ["a block has no valid height, so no height can be proved present"]
    faults = []
    if missing := _missing(page, heights, server):
        faults.append(f"missing {listed(missing)}, though the tip is {(server.top or 0) - 1}")
    if doubled := sorted({one for one, other in zip(page.heights, page.heights[1:], strict=False) if one == other}):
        faults.append(f"twice in one response: {listed(doubled)}")
    return faults


def listed(heights: list[int]) -> str:
    """Return heights in words: `height 5`, `heights 5, 7, 9 and 40 more`."""
    shown = ", ".join(map(str, heights[:5]))
    more = f" and {len(heights) - 5} more" if len(heights) > 5 else ""
    return f"{'height' if len(heights) == 1 else 'heights'} {shown}{more}"
