"""Requests blocks: every height up to the tip has exactly one, so a missing block is noticed."""

from chainq import tuning
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DIVISIBLE, Asking, RowsRequest, TipRequest
from chainq.planning.facts import Facts
from chainq.rows.sorting import Page

NO_VERIFY = "chainq blocks and chainq full-blocks read such rows unchecked with --no-verify"


def ask_blocks(heights: HeightRange, facts: Facts, *, verify: bool) -> Asking[None]:
    """Request blocks until every height up to the tip is there once, or those of a first part.

    Without `verify`, missing and duplicate blocks are noted and passed on. Raises IncompleteError.
    """
    end, ev = heights.end, facts.evidence
    for _ in range(tuning.BLOCK_ATTEMPTS):
        end, page = yield from _request(heights.start, end)
        if ev.reach(heights.start, end) == end:
            return
        if facts.tip is None:
            facts.tip = yield TipRequest()
        end = max(heights.start, min(end, facts.top or 0))
        if end <= ev.reach(heights.start, end):
            return
    asked = HeightRange(heights.start, end)
    reach = ev.reach(heights.start, end)
    said = _fault(page, asked, reach, facts)
    if verify:
        raise IncompleteError(f"{asked}: {said}", facts.behind(reach) or NO_VERIFY)
    facts.note(f"{asked}: {said}")
    ev.believe(HeightRange(reach, end), page.rows, page.heights)


def _request(start: int, end: int) -> Asking[tuple[int, Page]]:
    """Request blocks; request fewer if a response fails because of its size."""
    while True:
        try:
            page: Page = yield RowsRequest(HeightRange(start, end))
        except DIVISIBLE:
            if end - start == 1:
                raise
            end = (start + end) // 2
        else:
            return end, page


def _fault(page: Page, heights: HeightRange, reach: int, facts: Facts) -> str:
    """Return what is wrong with a response, as text to append to its heights."""
    if len(page.heights) < len(page.rows):
        return "a block has no valid height, so no height can be proved present"
    doubled = sorted({a for a, b in zip(page.heights, page.heights[1:], strict=False) if a == b})
    missing = sorted(set(range(reach, heights.end)) - set(page.heights))
    said = [f"twice in one response: {listed(doubled)}"] if doubled else []
    if missing:
        said.append(lacking(missing, (facts.top or 0) - 1))
    return "; ".join(said)


def lacking(heights: list[int], tip: int) -> str:
    """Return that blocks do not come which must exist, for they are not above the tip."""
    return f"missing {listed(heights)}, though the tip is {tip}"


def listed(heights: list[int]) -> str:
    """Return heights as text: `height 5`, `heights 5, 7, 9 and 40 more`."""
    shown = ", ".join(map(str, heights[:5]))
    more = f" and {len(heights) - 5:,} more" if len(heights) > 5 else ""
    return f"{'height' if len(heights) == 1 else 'heights'} {shown}{more}"
