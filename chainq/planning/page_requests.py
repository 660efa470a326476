"""Requests for pages of a list: requests, results, and the choice of the page size.

A page that is too heavy or too slow is requested again with a smaller size; the size grows again after full pages.
"""

from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

from msgspec import Raw

from chainq import tuning
from chainq.errors import IncompleteError
from chainq.planning.exchange import DIVISIBLE, Proof

_NARROWED = "pages fail for their size or number, so chainq requests fewer rows at a time, which is slow"


class PageRequest(NamedTuple):
    """One call: page `number` of `size` rows. `ahead`: how many pages after it are expected to be needed next."""

    number: int
    size: int
    ahead: int = 0


class BlockRequest(NamedTuple):
    """The transactions of the block of a time, from its full block, in the form of rows; and its height.

    No transaction if it does not come.
    """

    time: int


class PageResult(NamedTuple):
    """Rows of complete blocks in the order of the output, and the grade of their proof."""

    rows: list[Raw]
    proof: Proof


T = TypeVar("T")
PageAsking = Generator[PageRequest | BlockRequest, Any, T]
"""A generator that yields requests, receives their rows (failures are thrown in) and returns a T."""
PageSteps = Generator[PageRequest | BlockRequest | PageResult, Any, None]
"""The same for a whole run, with results in between."""


class PageFacts:
    """What the pages of one run have shown about the service.

    `size`: the current page size in rows. `largest`: the largest allowed page size. `window`: the most pages to
    request ahead. `by_transition`: whether the service returns a transaction once for each transition that calls the
    function, None while unknown. `responses`: the number so far, for a proof. `notes`: notes for the user. `tried`:
    times of blocks whose full blocks were requested.
    """

    def __init__(self, size: int, largest: int, window: int, responses: int = 0) -> None:
        self.size = self._most = size  # pages grow back to `_most` rows
        self.largest, self.window, self.ahead = max(largest, size), window, 0
        self.by_transition: bool | None = None
        self.responses = responses
        self.notes: list[str] = []
        self.tried: set[int | None] = set()
        self._full = 0  # full pages since the size changed

    def ask(self, request: PageRequest) -> PageAsking[list[Raw] | None]:
        """Return the rows of a page, or None if it failed but a smaller page or fewer concurrent ones may not.

        Raises IncompleteError if the service ignores the page size, and the failures of requests.
        """
        self.responses += 1
        try:
            rows: list[Raw] = yield request
        except DIVISIBLE as failure:
            if self.size == 1 and request.size == 1 and not self.ahead:
                failure.hint = f"row {request.number} of the list does not come even by itself"
                raise
            self.narrow()
            return None
        if len(rows) > request.size:
            raise IncompleteError(
                f"page {request.number} of {request.size} rows has {len(rows)}",
                "the service ignores the page size, so that nothing shows where its list ends",
            )
        return rows

    def worked(self, position: int) -> None:
        """Record that a page was full; the next one begins at `position`."""
        self._full += 1
        larger = min(self._most, 2 * self.size)
        if self._full >= tuning.GROW_AFTER and position % larger == 0:  # else it would repeat rows
            self.size, self._full = larger, 0
        if self.size == self._most:  # page 0 alone: most lists have no more
            self.ahead = min(self.window, 2 * self.ahead + 1)

    def narrow(self) -> None:
        """Record that a page was too heavy or too slow, perhaps for the number of requests."""
        self.size, self.ahead, self._full = max(1, self.size // 2), 0, 0
        if _NARROWED not in self.notes:
            self.notes.append(_NARROWED)

    def note_heavy(self, height: int, course: str) -> None:
        """Record a note on the first block where pages were too heavy, and on what chainq does about that."""
        if not any(note.endswith(course) for note in self.notes):
            self.notes.append(f"pages are too heavy from block {height} on, so {course}")

    @property
    def narrowed(self) -> bool:
        """Whether pages have fewer rows than at first, because one was too heavy."""
        return self.size < self._most

    def passed(self, position: int) -> None:
        """Record that a heavy block ends before `position`: pages begin close to there, and soon grow again."""
        self.size, self._full = min(range(self.size, self.size // 2, -1), key=lambda size: position % size), 0

    def cut_at(self, rows: int) -> None:
        """Record that a page was truncated to `rows` rows: later ones request no more. One empty page may be chance."""
        if rows:
            self.size = self._most = self.largest = min(rows, self.size)
        else:
            self.narrow()
