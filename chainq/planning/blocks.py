"""Requests blocks: every height up to the tip has exactly one, so a missing block is noticed; and rows like them."""

from itertools import pairwise

from chainq import tuning
from chainq.errors import ProofError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DIVISIBLE, NO_VERIFY, RowsRequest, behind, lacking, listed
from chainq.planning.kernel import Proved, believed, by_height
from chainq.planning.run import Run
from chainq.rows.sorting import Page


def prove_blocks(heights: HeightRange, run: Run) -> list[Proved]:
    """Return the blocks of the first heights, those that adjoin; none if all are above the tip.

    Without verification, missing and duplicate blocks are noted and passed on. Raises ProofError.
    """
    start, end = heights.edges
    for _ in range(tuning.BLOCK_ATTEMPTS):
        asked, page = _request(HeightRange(start, end), run)
        whole = page.heights == [*range(*asked.edges)]
        if (run.query.verify or whole) and (proof := by_height(RowsRequest(asked), page)):
            return [proof]
        end = min(asked.end, run.find_top())
        if end <= start:
            return []
    asked = HeightRange(start, end)
    said = _fault(page, asked, run)
    if run.query.verify:
        hint = NO_VERIFY if run.method.linked else ""
        raise ProofError(f"{asked}: {said}", behind(start, run.top or 0) or hint)
    run.note(f"{asked}: {said}")
    return [believed(asked, page.rows, page.heights)]


def _request(heights: HeightRange, run: Run) -> tuple[HeightRange, Page]:
    """Request blocks; request fewer if a response fails because of its size."""
    while True:
        try:
            return heights, run.page(RowsRequest(heights))
        except DIVISIBLE:
            if len(heights) == 1:
                raise
            run.too_heavy(heights)
            heights = heights.halves()[0]


def _fault(page: Page, heights: HeightRange, run: Run) -> str:
    """Return what is wrong with a response, as text to append to its heights."""
    if len(page.heights) < len(page.rows):
        return "a block has no valid height, so no height can be proved present"
    doubled = sorted({one for one, other in pairwise(page.heights) if one == other})
    missing = sorted(set(range(*heights.edges)) - set(page.heights))
    said = [f"twice in one response: {listed(doubled)}"] if doubled else []
    return "; ".join([*said, lacking(missing, (run.top or 0) - 1)] if missing else said)
