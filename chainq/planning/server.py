"""What the responses of one run have shown of the server: facts that later proofs rest on."""

from dataclasses import dataclass, field

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.steps import Page, Request

BELOW_TIP = "end the range some blocks below the tip, such as --end -10"
"""What helps against servers that are behind: the heights that all of them have."""
NO_VERIFY = "blocks and full-blocks skip this check with --no-verify"

SEVERAL = 20  # heights, from which the share of heights that have rows is estimated
UNLIKELY = 0.001  # that heights without rows are so by chance


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
    the run's requests. `honours_size`: whether pages have the size that
    is asked for, None while that is not known. `proved_start`, `proved_rows`,
    `proved_last`: of the adjoining chunks proved so far, the first height, the number of rows, and the height of the
    last row. Of methods without heights, for ranges without rows (`absence`): `witness`: a height with rows, and one of
    them. `misses_rows`: whether wide responses lacked rows that narrower ones showed. `believed`: the widest
    range that was believed to be empty beyond the trusted width. `doubted`: how many were looked into before the first
    row; `windows`: how many narrower parts of others. `gap`: heights without rows, by the last long
    search. `notes`: what the user should hear of.
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
    honours_size: bool | None = None
    proved_start: int | None = None
    proved_rows: int = 0
    proved_last: int = -1
    witness: tuple[int, bytes] | None = None
    misses_rows: bool = False
    believed: int = 0
    doubted: int = 0
    windows: int = 0
    gap: HeightRange | None = None
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
            if self.tip is not None and row_heights[-1] < self.tip < heights.end:
                self._note_behind(row_heights[-1] - heights.start + 1, row_heights, self.tip)

    def _note_behind(self, known: int, row_heights: list[int], tip: int) -> None:
        """Note that no height between the last row and the tip has rows, if the `known` heights make that unlikely."""
        last = row_heights[-1]
        share = (len(set(row_heights)) + 1) / (known + 2)  # of heights that have rows
        if known >= SEVERAL and (1 - share) ** (tip - last) < UNLIKELY:
            self.note(
                f"no rows from height {last + 1} to the tip, {tip}, where most heights have some: the service may be"
                f" behind; {BELOW_TIP}"
            )

    @property
    def top(self) -> int | None:
        """Return the height after the highest block known of; None while the tip is not known.

        One of several servers behind a URL may name a stale tip: rows seen above it outrank it.
        """
        return None if self.tip is None else max(self.tip, self.highest) + 1

    def lacked_rows(self) -> None:
        """Take in that a response lacked rows which another one showed."""
        self.sporadic = True
        self.note(f"responses to one range differ: some lack its rows; where a server is behind, {BELOW_TIP}")

    def out_of_order(self) -> None:
        """Take in that responses are not in height order."""
        self.ordered = False
        self.note("the service does not order rows by height: completeness is proved by counts")

    def note(self, text: str) -> None:
        """Keep what the user should hear of, once."""
        if text not in self.notes:
            self.notes.append(text)
