"""Conservation: a row that a response showed at heights that are printed was printed, whatever the proofs said.

A check of its own on `evidence`, the maker of proofs, with which it shares nothing: another method may explain rows,
and it may never remove one. It keeps only rows that are not printed yet, and the hashes of the last printed ones.
"""

from bisect import bisect_left
from collections import deque
from typing import NamedTuple

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.spans import AGAIN
from chainq.rows.sorting import Page

_KEPT = 20_000  # rows, the last printed: responses to overlapping ranges without heights show them again


class _Seen(NamedTuple):
    """Rows of a response. With heights: in order of height, and `heights` from the first to the last. Without: the
    hashes of those not printed, and `heights` of the request."""

    heights: HeightRange
    rows: list[Raw]
    row_heights: list[int]
    hashes: set[int]


class Conservation:
    """The rows that responses of a run have shown, until they are printed. `with_heights`: whether rows have one.

    Rows at heights that were printed before the response came are not compared, except that rows without heights are if
    the last printed ones are of the same heights.
    """

    def __init__(self, *, with_heights: bool, reverse: bool) -> None:
        self._with_heights, self._reverse = with_heights, reverse
        self._seen: list[_Seen] = []
        self._printed: HeightRange | None = None
        self._last: deque[tuple[HeightRange, set[int]]] = deque()  # what was printed last, each next to the one before

    def see(self, heights: HeightRange, page: Page) -> None:
        """Record a response."""
        if self._with_heights:
            if page.rows and len(page.heights) == len(page.rows):  # else blocks are read unchecked
                edges = HeightRange(page.heights[0], page.heights[-1] + 1)
                self._seen.append(_Seen(edges, page.rows, page.heights, set()))
            return
        left = _hashes(page.rows)
        if self._printed is not None and len(both := heights.common(self._printed)):
            if not all(any(at in part for part, _ in self._last) for at in (both.start, both.end - 1)):
                return
            for _, hashes in self._last:
                left -= hashes
        self._seen.append(_Seen(heights, [], [], left))

    def check(self, heights: HeightRange, rows: list[Raw], row_heights: list[int]) -> None:
        """Raise IncompleteError if these are not all rows of the heights that responses have shown."""
        if self._with_heights:
            for seen in self._seen:
                shown = seen.rows[_at(seen.row_heights, heights)]
                there = rows[_at(row_heights, seen.heights)]
                if shown != there:  # most are the same objects, which is quick to see
                    _refuse(len(set(map(bytes, shown)) - set(map(bytes, there))), heights)
            return
        given, printed = _hashes(rows), self._with(heights)
        for seen in self._seen:
            if seen.heights.common(printed) == seen.heights:
                _refuse(len(seen.hashes - given), seen.heights)

    def unsure(self, heights: HeightRange, rows: list[Raw]) -> bool:
        """Return whether rows without heights that are not among these may be of these heights, for all that responses
        say: a request for these heights only shows whether they are."""
        if self._with_heights or any(seen.heights == heights for seen in self._seen):
            return False
        near = [seen for seen in self._seen if seen.heights.overlaps(heights)]
        given = _hashes(rows) if near else set()
        return any(not seen.hashes <= given for seen in near)

    def print(self, heights: HeightRange, rows: list[Raw]) -> None:
        """Record that these rows are printed, and forget what is behind."""
        printed = self._printed = self._with(heights)
        if not self._with_heights:
            given = _hashes(rows)
            for seen in self._seen:
                seen.hashes.difference_update(given)
            self._last.append((heights, given))
            while len(self._last) > 1 and sum(len(hashes) for _, hashes in self._last) > _KEPT:
                self._last.popleft()
        low, high = (0, printed.start) if self._reverse else (printed.end, 1 << 63)
        self._seen = [seen for seen in self._seen if seen.heights.end > low and seen.heights.start < high]

    def _with(self, heights: HeightRange) -> HeightRange:
        """Return what is printed when these heights are; they adjoin what was printed before."""
        before = self._printed or heights
        return HeightRange(min(before.start, heights.start), max(before.end, heights.end))


def _hashes(rows: list[Raw]) -> set[int]:
    return set(map(hash, map(bytes, rows)))


def _at(row_heights: list[int], heights: HeightRange) -> slice:
    return slice(*(bisect_left(row_heights, edge) for edge in heights.edges))


def _refuse(lost: int, heights: HeightRange) -> None:
    if lost:
        rows = "a row that a response showed is" if lost == 1 else f"{lost} rows that responses showed are"
        raise IncompleteError(f"{heights}: {rows} not among those that are proved there", AGAIN)
