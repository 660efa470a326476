"""What the pages of one run have shown of the server, and how large pages are therefore requested."""

from dataclasses import dataclass, field

GROW_AFTER = 4  # whole pages before they grow again after a failure; twice as many after each further failure


@dataclass(slots=True)
class PageFacts:
    """Facts of one run, and its pace: smaller pages, one at a time, after failures; and more again when all is well.

    `size`: rows of a page now. `largest`: the most rows that a single page may be asked for. `window`: the most pages
    to request ahead. `capped`: whether the service was seen to cut pages. `fixed`: whether it ignores the page size.
    `by_transition`: whether it returns a transaction once for each transition that calls the function, None where no
    block has shown that. `notes`: what the user should hear of.
    """

    size: int
    largest: int
    window: int
    capped: bool = False
    fixed: bool = False
    by_transition: bool | None = None
    notes: list[str] = field(default_factory=list)
    ahead: int = field(init=False)
    _most: int = field(init=False)  # rows that pages grow back to
    _worked: int = 0  # whole pages since the last change
    _needed: int = GROW_AFTER

    def __post_init__(self) -> None:
        self.ahead, self._most = 0, self.size
        self.largest = max(self.largest, self.size)

    def worked(self, position: int) -> None:
        """Take in that a page came whole; the next one begins at `position`."""
        self.ahead = min(self.window, 2 * self.ahead + 1)  # page 0 alone: most lists have no more
        self._worked += 1
        larger = min(self._most, 2 * self.size)
        if self._worked >= self._needed and position % larger == 0:  # else it would show rows once more
            self.size, self._worked = larger, 0

    def failed(self) -> bool:
        """Take in that a page was too heavy or too slow; return whether there is a smaller one to request."""
        if self.fixed or self.size == 1:
            return False
        self.size //= 2
        self.ahead, self._worked, self._needed = 0, 0, 2 * self._needed
        return True

    def cut_at(self, rows: int) -> None:
        """Take in that the service cut a page after so many rows: no later one asks for more."""
        self.capped = True
        self.size = self._most = self.largest = max(1, min(rows, self.size))

    def ignores_size(self, rows: int) -> None:
        """Take in that pages have so many rows, whatever is asked for."""
        self.fixed = True
        self.size = self._most = self.largest = rows
        self.notes.append("the service ignores the page size, so that only an empty page shows where its list ends")
