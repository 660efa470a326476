"""The state that the questions of a run share, and the request that all of them make."""

from dataclasses import dataclass, field

from chainq import tuning
from chainq.errors import TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Chunker
from chainq.planning.evidence import Evidence
from chainq.planning.exchange import DIVISIBLE, UNAVAILABLE, Asking, DueRequest, RowsRequest
from chainq.rows.sorting import Page

NO_HEIGHTS = HeightRange(0, 0)


def behind(first: int, top: int) -> str:
    """Return what to do if a server is behind and lacks rows from `first` on; empty far from the tip.

    `top`: the height after the highest known block.
    """
    blocks = max(tuning.BELOW_TIP, top - first)
    near = top - first <= tuning.NEAR_TIP
    return f"if a server is behind, end {blocks} blocks below the tip (--end -{blocks} or --lag {blocks})" * near


@dataclass(slots=True)
class Facts:
    """The state that the questions of one run share.

    `end`: of the run. `size`: rows per page, None for a method without pages. `tip`: the tip height, None while it
    is unknown; `highest`: the highest height of any row. `blocks`: whether full blocks name the due rows; `locate`:
    whether `records` shows the heights of rows; both become False if the service lacks the method. `checked`: whether
    full blocks were compared at `start`, the beginning of the run; `absent`: a height without a full block, `bare`:
    whether it was one of those heights, and no row has come. `spot_checked`: whether they were compared in the middle
    too, or need not be; `doubts`: in how many more responses to look for heights whose rows a service limits, -1 once
    such a height was compared; `strict`: compare at once. `repeats`: equal rows may occur in one response. `named`: the
    heights last requested from another method; `empty`: how many heights without rows it has named since the last row;
    `heavy`: heights whose full block is too heavy by itself. `dense`: a height that is likely to fill a response.
    `looked`: how often parts of a stretch were requested before any row was seen; `misses`: whether narrower requests
    had rows that a wide one lacked. `widened`: whether another method was asked for that before a wide request.
    `row_ids`: of blocks by height, as far as they were requested; `ranked`: whether the service shows any.
    """

    evidence: Evidence
    pace: Chunker
    end: int
    size: int | None
    start: int
    tip: int | None
    highest: int = -1
    blocks: bool = False
    locate: bool = False
    checked: bool = False
    absent: int = -1
    bare: bool = False
    spot_checked: bool = False
    doubts: int = 0
    strict: bool = False
    repeats: bool = False
    named: HeightRange = NO_HEIGHTS
    dense: int = -1
    empty: int = 0
    looked: int = 0
    misses: bool = False
    widened: bool = False
    ranked: bool = True
    heavy: set[int] = field(default_factory=set)
    row_ids: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def names(self, height: int) -> bool:
        """Return whether the full block of a height may name its rows."""
        return self.blocks and height not in self.heavy

    @property
    def top(self) -> int | None:
        """Return the height after the highest known block, or None while the tip is unknown.

        One of several servers behind a URL may return a stale tip: rows seen above it take precedence.
        """
        return None if self.tip is None else max(self.tip, self.highest) + 1

    def behind(self, first: int) -> str:
        """Return what to do if a server is behind and lacks rows from `first` on; empty far from the tip."""
        return behind(first, self.top or 0)

    def full(self, page: Page) -> bool:
        """Return whether a response has as many rows as were asked for."""
        return self.size is not None and len(page.rows) >= self.size

    def filled_by(self, height: int, page: Page | None) -> bool:
        """Return whether rows of `height` may fill a response that starts there. A `page` of None: it was too large.

        If heights are ordered as text, rows of other heights may fill it.
        """
        return page is None or (self.full(page) and (not page.heights or page.heights[0] == height))

    def note_dense(self, page: Page | None, height: int) -> None:
        """Record that a response proves the heights below `height`, and is full of rows of `height`, at least half."""
        if page is not None and self.full(page) and page.heights[len(page.heights) // 2 :][:1] == [height]:
            self.dense = height

    def note(self, text: str) -> None:
        """Record a note for the user, once."""
        if text not in self.notes:
            self.notes.append(text)


def look_at_row_ids(heights: HeightRange, facts: Facts) -> Asking[bool]:
    """Put heights in doubt whose blocks have a higher row id than later ones, and return whether there are any.

    Deployed servers order rows by these ids: rows of a block that was stored again come late in a response, or not at
    all if it ends before. Servers that show no row ids are taken to order by height.
    """
    ids = facts.row_ids
    for at in range(heights.start, heights.end, tuning.ROW_IDS):
        part = HeightRange(at, min(heights.end, at + tuning.ROW_IDS))
        if facts.ranked and not all(height in ids for height in range(*part.edges)):
            try:
                found: dict[int, int] = yield DueRequest(HeightRange(at, at + tuning.ROW_IDS), row_ids=True)
            except (*UNAVAILABLE, *DIVISIBLE):
                found = {}
            ids.update(found)
            facts.ranked = bool(found)
    lowest, late = None, []
    for height in reversed(range(*heights.edges)):
        row_id = ids.get(height)
        if row_id is not None and lowest is not None and row_id > lowest:
            late.append(height)
        lowest = row_id if lowest is None else min(lowest, row_id or lowest)
    for height in late:
        if facts.evidence.doubted(height) is None:
            facts.evidence.doubt(HeightRange(height, height + 1))
    if late:
        facts.note("the service orders rows by the row ids of blocks, not by height: full blocks name the rows there")
    return bool(late)


def shown(heights: HeightRange, facts: Facts, size: int | None = None) -> Asking[Page | None]:
    """Return the response to a request, or None if it fails because of its size."""
    try:
        page: Page = yield RowsRequest(heights, size or facts.size)
    except DIVISIBLE:
        return None
    yield from settle(facts)
    return page


def settle(facts: Facts) -> Asking[None]:
    """Find out why the heights of responses are out of order, if they are."""
    ev = facts.evidence
    if ev.puzzles:
        edges = [edge for one, _ in ev.puzzles for edge in (one.row_heights[0], one.row_heights[-1] + 1)]
        heights = HeightRange(min(edges), max(edges))
        if len(heights) <= tuning.MOST_ROW_IDS:
            yield from look_at_row_ids(heights, facts)
        ev.settle()


def weigh(height: int, size: int, error: Exception) -> Asking[None]:
    """Request one row of a height whose pages of `size` rows are too heavy, and raise their error: if one row is too
    heavy as well, the service sorts all rows of the height for each page."""
    hint = f"a page of {size} rows was too heavy: try a smaller --page-size"
    try:
        yield RowsRequest(HeightRange(height, height + 1), 1)
    except DIVISIBLE:
        hint = f"the height itself is too heavy for the service: {height + 1}: goes on behind it"
    if isinstance(error, TooHeavyError):
        error.hint = error.hint or hint
    raise error
