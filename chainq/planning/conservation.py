"""Conservation: a row that a response showed at heights that are printed was printed, whatever the proofs said.

A check of its own on the makers of proofs, with which it shares nothing: another method may explain rows, and it may
never remove one. It keeps only rows that are not printed yet.
"""

from bisect import bisect_left

from chainq.errors import ProofError
from chainq.heights.range import HeightRange
from chainq.planning.kernel import AGAIN, Proved
from chainq.rows.sorting import Page


class Conservation:
    """The rows with heights that responses of a run have shown, until they are printed."""

    def __init__(self, *, reverse: bool) -> None:
        self._reverse = reverse
        self._seen: list[Page] = []

    def see(self, page: Page) -> None:
        """Record a response that has rows, each with a height."""
        if len(page.heights) == len(page.rows):  # else blocks are read unchecked
            self._seen.append(page)

    def lowest(self, heights: HeightRange) -> int | None:
        """Return the lowest of some heights at which a row was shown; None if there is none."""
        firsts = (page.heights[_at(page, heights)][:1] for page in self._seen)
        return min((first[0] for first in firsts if first), default=None)

    def check(self, proved: Proved) -> None:
        """Raise ProofError if these are not all rows of their heights that responses have shown."""
        heights = proved.heights
        for page in self._seen:
            shown = page.rows[_at(page, heights)]
            there = proved.cut(page.heights[0], page.heights[-1] + 1).rows
            if shown == there:  # most are the same objects, which is quick to see
                continue
            if lost := len(set(map(bytes, shown)) - set(map(bytes, there))):
                rows = "a row that a response showed is" if lost == 1 else f"{lost} rows that responses showed are"
                raise ProofError(f"{heights}: {rows} not among those that are proved there", AGAIN)

    def print(self, heights: HeightRange) -> None:
        """Record that the rows of these heights are printed, and forget what is behind."""
        low, high = (0, heights.start) if self._reverse else (heights.end, 1 << 63)
        self._seen = [page for page in self._seen if page.heights[-1] >= low and page.heights[0] < high]


def _at(page: Page, heights: HeightRange) -> slice:
    return slice(*(bisect_left(page.heights, edge) for edge in heights.edges))
