"""Rule 2 as requests: ask until each row that another method names was shown."""

from collections.abc import Callable
from math import ceil

from chainq import tuning
from chainq.errors import BehindError, ChainqError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DIVISIBLE, behind
from chainq.planning.kernel import Named
from chainq.rows.sorting import Page

Ask = Callable[[HeightRange, int | None, int], Page]
"""Returns a page of some heights, of a size and with a number. Raises what requests raise."""


class Collector:
    """Collects the rows that another method names. `size`: the rows of a page; `top`: the height after the tip."""

    def __init__(self, named: Named, ask: Ask, size: int | None, top: int) -> None:
        self._named, self._ask, self._size, self._top = named, ask, size, top
        self._failure: ChainqError | None = None  # of the last request that was too large

    def collect(self, *, seen: bool = False) -> int | None:
        """Request the rows, from the first missing one on: fewer heights after a response that does not show all rows
        of its height, and more after one that does. `seen`: a response for the heights came already; else one is
        requested in any case, to see rows that are not due.

        Return the first height where rows do not come that the service need not list, None if all came. Raises
        BehindError if rows do not come that it must list, and the errors of requests if pages are too heavy.
        """
        end, width = self._named.heights.end, len(self._named.heights)
        if not seen:
            self._see(self._named.heights, self._size)
        while missing := self._named.missing():
            low = missing[0][0]
            part = HeightRange(low, min(end, low + width))
            if len(part) == 1:
                self._one_height(low)
                if self._left(low):
                    return low
            elif sum(height in part for height, _ in missing) <= (self._size or len(missing)):
                self._see(part, self._size)
            width = max(1, len(part) // 2) if self._left(low) else 2 * width
        return None

    def _left(self, height: int) -> int:
        return len(self._named.missing(height))

    def _see(self, heights: HeightRange, size: int | None, number: int = 0) -> Page | None:
        try:
            page = self._ask(heights, size, number)
        except DIVISIBLE as error:
            self._failure = error
            return None
        self._named.see(heights, page)
        return page

    def _one_height(self, height: int) -> None:
        """Request the rows of one height: with one page of all of them, as long as it shows further ones, then with the
        pages of the height.

        The rows are in another order in each response. So a page 0 that ends early shows others each time, and the
        pages of a walk repeat some and miss others.
        """
        heights, due = HeightRange(height, height + 1), self._named.count(height)
        size, longest, before = self._size or due, 0, due + 1
        while 0 < self._left(height) < before:
            before = self._left(height)
            page = self._see(heights, min(max(due, size), size * tuning.LARGER**tuning.LARGER_PAGES))
            longest = max(longest, len(page.rows) if page else 0)
        self._walks(height, longest or size, due)
        for _, key in self._named.missing(height):
            self._named.kinds.lack(self._named.kinds_at(key), height)
        if owed := self._named.owed(height):
            raise BehindError(
                f"{heights}: {owed} of its {due} rows do not come, by its full block; the service lacks them",
                behind(height, self._top),
                height,
            )

    def _walks(self, height: int, size: int, due: int) -> None:
        """Walk through the pages of a height until all rows were shown, or walks show no further one."""
        failures, idle, enough = 0, 0, 1
        while (before := self._left(height)) and idle < enough:
            longest, came = self._walk(height, size, due)
            if not longest:
                failures += 1
                if self._failure and failures > tuning.EMPTY_WALKS and size <= tuning.SMALLEST_PAGE:
                    raise weighed(height, size, self._ask, self._failure)
                size = size if failures % 2 else min(size, max(tuning.SMALLEST_PAGE, size // tuning.LARGER))
                continue
            idle, failures = 0 if self._left(height) < before else idle + 1, 0
            size = longest if idle else size
            # A walk that shows a share of the rows, by chance, lacks the last one again and again. Rows that need not
            # come leave their height to belief, which has requests of its own.
            enough = min(tuning.MOST_IDLE, ceil(tuning.CERTAIN * due / came)) if came else tuning.EMPTY_WALKS
            enough = enough if self._named.owed(height) else 1

    def _walk(self, height: int, size: int, due: int) -> tuple[int, int]:
        """Request the pages of a height until all rows were shown. Return the most rows in one page (the server's own
        page size, if lower than `size`; 0 if a page was too heavy) and how many rows arrived."""
        number = came = longest = 0
        while self._left(height) and number * (longest or size) < due:
            page = self._see(HeightRange(height, height + 1), size, number)
            if page is None:
                return 0, came
            if not page.rows:
                break
            longest, came, number = max(longest, len(page.rows)), came + len(page.rows), number + 1
        return min(size, longest or size), came


def weighed(height: int, size: int, ask: Ask, failure: ChainqError) -> ChainqError:
    """Return the failure of a height whose pages of `size` rows are too heavy, with a hint: if one row is too heavy as
    well, the service sorts all rows of the height for each page."""
    hint = f"a page of {size} rows was too heavy: try a smaller --page-size"
    try:
        ask(HeightRange(height, height + 1), 1, 0)
    except DIVISIBLE:
        hint = f"the height itself is too heavy for the service: {height + 1}: goes on behind it"
    if isinstance(failure, TooHeavyError):
        failure.hint = failure.hint or hint
    return failure
