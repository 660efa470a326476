"""What the responses of one run have shown of the server: facts that later proofs rest on."""

from dataclasses import dataclass, field

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.steps import Page, Request

BELOW_TIP = "end the range some blocks below the tip, such as --start -15 --end -5"
"""What helps against servers that are behind: the heights that all of them have."""


def start_left_out(heights: HeightRange) -> IncompleteError:
    """Return the error for rows that exist and are missing where a range starts at them."""
    return IncompleteError(
        f"{heights}: its rows are missing when the range starts there",
        f"the service leaves out `start`, or one of its servers is behind: {BELOW_TIP}",
    )


@dataclass(slots=True)
class ServerFacts:
    """Facts of one run and one method.

    `trusted_width`: the widest request, in heights, whose response showed a row at its far end; only over such widths
    does "no rows" mean that there are none. `start_included`: whether a response showed rows at its first height.
    `ordered`: whether all responses came in height order; `order_seen`: whether
    one of several heights did. `sporadic`: whether a response lacked rows that the next one
    showed. `cut_rows`: the fewest rows of a response that was followed by more rows, None where none was. `highest`:
    the highest height of any row, -1 without one. `tip`: the tip height, None while it is not known. `page_size`: of
    the run's requests. `doubted`: how many wide responses without rows were doubted.
    `saw_rows`: whether any row was seen, of a method without heights. `honours_size`: whether pages have the size that
    is asked for, None while that is not known. `proved_start`, `proved_rows`,
    `proved_last`: of the adjoining chunks proved so far, the first height, the number of rows, and the height of the
    last row. `notes`: what the user should hear of.
    """

    trusted_width: int = 0
    start_included: bool = False
    ordered: bool = True
    order_seen: bool = False
    sporadic: bool = False
    cut_rows: int | None = None
    highest: int = -1
    tip: int | None = None
    page_size: int | None = None
    doubted: int = 0
    saw_rows: bool = False
    honours_size: bool | None = None
    proved_start: int | None = None
    proved_rows: int = 0
    proved_last: int = -1
    notes: list[str] = field(default_factory=list)

    def see(self, request: Request, page: Page) -> None:
        """Take in a response."""
        self.ordered &= page.ordered
        if page.heights and page.heights[0] < page.heights[-1]:
            self.order_seen = self.ordered
        if page.heights:
            self.trusted_width = max(self.trusted_width, page.heights[-1] - request.heights.start + 1)
            self.highest = max(self.highest, page.heights[-1])
            self.start_included |= page.heights[0] == request.heights.start

    def cut_at(self, rows: int) -> None:
        """Take in that a response of so many rows, fewer than requested, was followed by more."""
        self.cut_rows = rows if self.cut_rows is None else min(self.cut_rows, rows)

    def proved(self, heights: HeightRange, row_heights: list[int]) -> None:
        """Take in a chunk that is complete, next to those before it."""
        self.proved_start = heights.start if self.proved_start is None else min(self.proved_start, heights.start)
        self.proved_rows += len(row_heights)
        if row_heights:
            self.proved_last = max(self.proved_last, row_heights[-1])

    @property
    def top(self) -> int | None:
        """The height after the highest block known of; None while the tip is not known.

        One of several servers behind a URL may name a stale tip: rows seen above it outrank it.
        """
        return None if self.tip is None else max(self.tip, self.highest) + 1

    def out_of_order(self) -> None:
        """Take in that responses are not in height order."""
        self.ordered = False
        self.note("the service does not order rows by height: completeness is proved by counts")

    def note(self, text: str) -> None:
        """Keep what the user should hear of, once."""
        if text not in self.notes:
            self.notes.append(text)
