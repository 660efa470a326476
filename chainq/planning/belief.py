"""Rule 3 as requests: rows of heights that neither order nor another method proves, if responses agree.

These are the last heights before the tip, and stretches without rows, of a service without full blocks;
`address-transactions`, of which no other method tells; and servers that do not order rows. Nothing here is a proof.
"""

from collections import Counter
from math import ceil

from chainq import tuning
from chainq.errors import ChainqError, ProofError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DIVISIBLE
from chainq.planning.kernel import Proved, believed
from chainq.planning.named import Ask, weighed
from chainq.planning.run import Run
from chainq.rows.sorting import Page


class Believer:
    """Requests heights more than once. `ask` returns a page."""

    def __init__(self, run: Run, ask: Ask) -> None:
        self._run, self._ask = run, ask
        self._failure: ChainqError | None = None  # of the last request that was too large

    def believe(self, heights: HeightRange) -> Proved:
        """Return the rows of the first of some heights, on which responses agree. Raises ProofError if they do
        not agree, and what requests raise."""
        width = self._window(heights)
        while True:
            window = HeightRange(heights.start, heights.start + width)
            page = self._agreed(window, self._run.size)
            if page is None and width == 1:
                page = self._one_height(window)
            if page is not None:
                return believed(window, page.rows, page.heights)
            width = max(1, width // 2)

    def _window(self, heights: HeightRange) -> int:
        """Return how many heights one request covers: the widest range that showed a row at its far end, if that does
        not take too many requests."""
        run, width = self._run, min(len(heights), self._run.pace.widest)
        if not run.widest:  # nothing shows how wide is too wide
            return width
        return min(width, max(run.widest, ceil(len(run.heights) / tuning.FEW_WINDOWS)))

    def _agreed(self, window: HeightRange, size: int | None) -> Page | None:
        """Return the rows of heights on which several responses agree; None if they do not."""
        try:
            page = self._ask(window, size, 0)
            if size is not None and len(page.rows) >= size:
                return None
            if not page.rows:
                return None if self._ask(window, size, 0).rows else page
            if self._further(page, window) or self._further(page, window):
                return None
            if len(window) > max(1, self._run.widest):
                if self._parts_differ(page, window):
                    return None
                self._run.widest = len(window)
        except DIVISIBLE as error:
            self._failure = error
            return None
        return page

    def _further(self, page: Page, window: HeightRange) -> bool:
        """Return whether more rows follow the n rows of a response. If none does, page 1 of size n - 1 holds one row.

        For a server that does not page in this way: return whether narrower requests show other rows. For a method
        without pages: whether the next response does.
        """
        if self._run.size is None:
            return _counted(self._ask(window, None, 0)) != _counted(page)
        count = len(page.rows)
        size, known = (count - 1, 1) if count > 2 else (count, 0)
        shown = self._ask(window, size, 1)
        if len(shown.rows) == known:
            again = shown if known else self._ask(window, self._run.size, 0)
            return not known and not self._run.method.repeats and _counted(again) != _counted(page)
        if not _counted(shown).keys() <= _counted(page).keys():
            return True
        # Pages are counted, and there is a further one.
        if shown.rows and not self._ask(window, size, tuning.NO_PAGE).rows:
            return True
        return len(window) == 1 or self._parts_differ(page, window)

    def _parts_differ(self, page: Page, window: HeightRange) -> bool:
        """Return whether the halves of a range show other rows than the range."""
        lower, upper = (self._ask(half, len(page.rows) + 1, 0) for half in window.halves())
        return _counted(lower) + _counted(upper) != _counted(page)

    def _one_height(self, heights: HeightRange) -> Page:
        """Return the rows of one height that fills a response, with a larger page. Raises ProofError."""
        size = self._run.size or 1
        for power in range(tuning.BELIEVED_PAGES + 1):
            if page := self._agreed(heights, size * tuning.LARGER**power):
                return page
        if self._failure:
            raise weighed(heights.start, size, self._ask, self._failure)
        raise ProofError(f"{heights}: it has more rows than one response returns, and no full block names them")


def _counted(page: Page) -> Counter[bytes]:
    return Counter(map(bytes, page.rows))
