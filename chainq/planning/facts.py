"""What the questions of a run know, and the request that all of them make."""

from dataclasses import dataclass, field

from chainq import tuning
from chainq.errors import IncompleteError, Phrase
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Chunker
from chainq.planning.evidence import Evidence
from chainq.planning.exchange import DIVISIBLE, Asking, RowsRequest
from chainq.rows.sorting import Page

BELOW_TIP = Phrase("end the range some blocks below the tip, such as {end}", end=-10)
"""What helps against servers that are behind: the heights that all of them have."""
NO_HEIGHTS = HeightRange(0, 0)


class WrongHashError(IncompleteError):
    """A block that does not make the hash, root or ID that it names. Another request would not help."""


class BehindError(IncompleteError):
    """The service has a block, and not all of its rows. `height`: of that block."""

    def __init__(self, message: str, hint: str = "", height: int = 0) -> None:  # all have defaults, for pickle
        super().__init__(message, hint)
        self.height = height


@dataclass(slots=True)
class Facts:
    """What the questions of one run know.

    `end`: of the run. `size`: rows of a page, None for a method without pages. `tip`: the tip height, None while it
    is not known; `highest`: of any row. `blocks`, `locate`: whether full blocks name the rows that are due, and
    `records` where rows lie; both become False if the service lacks them. `checked`: whether that was done at
    `start`, where the run begins. `spot_checked`: whether the same was done in its midst, or need not be; `strict`:
    it is done at once. `repeats`: equal rows may occur in one response. `named`: heights whose rows another method
    was asked to name last; `empty`: how many without rows it has named since the last row. `dense`: a height that
    is likely to fill a response. `looked`: how often parts of a stretch were looked into before any row was seen;
    `misses`: whether these had rows that it lacked.
    """

    evidence: Evidence
    pace: Chunker
    end: int
    size: int | None
    start: int = 0
    tip: int | None = None
    highest: int = -1
    blocks: bool = False
    locate: bool = False
    checked: bool = False
    spot_checked: bool = False
    strict: bool = False
    repeats: bool = False
    named: HeightRange = NO_HEIGHTS
    dense: int = -1
    empty: int = 0
    looked: int = 0
    misses: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def top(self) -> int | None:
        """Return the height after the highest block known of; None while the tip is not known.

        One of several servers behind a URL may name a stale tip: rows seen above it outrank it.
        """
        return None if self.tip is None else max(self.tip, self.highest) + 1

    def full(self, page: Page) -> bool:
        """Return whether a response has as many rows as were asked for."""
        return self.size is not None and len(page.rows) >= self.size

    def filled_by(self, height: int, page: Page | None) -> bool:
        """Return whether a response from a height on may be full of its rows; None failed for its size.

        Where heights are ordered as text, rows of others may fill it.
        """
        return page is None or (self.full(page) and (not page.heights or page.heights[0] == height))

    def note_dense(self, page: Page | None, height: int) -> None:
        """Take in that a response proves the heights below this one, of which it may be full."""
        heights = page.heights if page is not None and self.full(page) else []
        if heights and heights[int(len(heights) * (1 - tuning.DENSE))] == height:
            self.dense = height

    def note(self, text: str) -> None:
        """Keep what the user should hear of, once."""
        if text not in self.notes:
            self.notes.append(text)


def shown(heights: HeightRange, facts: Facts, size: int | None = None) -> Asking[Page | None]:
    """Return the response to a request; None if it fails for its size."""
    try:
        page: Page = yield RowsRequest(heights, size or facts.size)
    except DIVISIBLE:
        return None
    return page
