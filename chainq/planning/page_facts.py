"""What the pages of one run have shown of the server, and how large pages are therefore requested."""

from dataclasses import dataclass, field

from msgspec import Raw

from chainq.errors import ChainqError, GatewayError
from chainq.planning.page_steps import PageAsking, PageRequest
from chainq.planning.steps import DIVISIBLE

GROW_AFTER = 4  # whole pages before they grow again after a failure; twice as many after each further failure


@dataclass(slots=True)
class PageFacts:
    """Facts of one run, and its pace: smaller pages, one at a time, after failures; and more again when all is well.

    `size`: rows of a page now. `largest`: the most rows that a single page may be asked for. `window`: the most pages
    to request ahead. `fixed`: whether the service ignores the page size, `by_transition`: whether it returns a
    transaction once for each transition that calls the function; both None where nothing has shown that. `notes`: what
    the user should hear of.
    """

    size: int
    largest: int
    window: int
    fixed: bool | None = None
    by_transition: bool | None = None
    notes: list[str] = field(default_factory=list)
    ahead: int = 0
    _most: int = 0  # rows that pages grow back to
    _alone: bool = False  # one page at a time, until pages have grown back
    _worked: int = 0  # whole pages since the last change
    _needed: int = GROW_AFTER

    def __post_init__(self) -> None:
        self._most, self.largest = self.size, max(self.largest, self.size)

    def ask(self, request: PageRequest) -> PageAsking[list[Raw] | None]:
        """Return the rows of a page; None where it failed, and a smaller one, or fewer at a time, may not."""
        try:
            rows: list[Raw] = yield request
            return rows
        except DIVISIBLE as failure:
            if not self.failed(failure) and request.size <= self.size:
                if request.size == 1:
                    failure.hint = f"row {request.number} of the list does not come even by itself"
                raise
        return None

    def worked(self, position: int) -> None:
        """Take in that a page came whole; the next one begins at `position`."""
        self._worked += 1
        larger = min(self._most, 2 * self.size)
        if self._worked >= self._needed and position % larger == 0:  # else it would show rows once more
            self._alone = self._alone and self.size < self._most
            self.size, self._worked = larger, 0
        if not self._alone:
            self.ahead = min(self.window, 2 * self.ahead + 1)  # page 0 alone: most lists have no more

    def failed(self, failure: ChainqError | None = None) -> bool:
        """Take in that a page was too heavy or too slow; return whether a smaller one, or fewer at once, may come."""
        slow = isinstance(failure, GatewayError)
        if (self.fixed or self.size == 1) and not (slow and self.ahead):
            return False
        if slow:  # perhaps for the number of requests
            self._alone, self.largest = True, self.size
        if not self.fixed:
            self.size = max(1, self.size // 2)
        self.ahead, self._worked, self._needed = 0, 0, 2 * self._needed
        return True

    def cut_at(self, rows: int) -> None:
        """Take in that the service cut a page after so many rows: no later one asks for more."""
        self.size = self._most = self.largest = max(1, min(rows, self.size))

    def ignores_size(self, rows: int) -> None:
        """Take in that pages have so many rows, whatever is asked for."""
        self.fixed = True
        self.size = self._most = self.largest = rows
        self.notes.append("the service ignores the page size, so that only an empty page shows where its list ends")
