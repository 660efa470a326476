"""Holds adjoining chunks against each other: what one response showed beyond its chunk, the next must hold too.

That finds servers that leave out `start`, include `end`, or give a height other rows in each response; and data that
changed while it was read.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Raw

from chainq.planning.steps import ChunkResult

EDGE_ROWS = 64  # of rows without heights, kept on both sides of an edge


class _Edge(NamedTuple):
    """Rows next to an edge between two chunks: all below `upto`. No heights where rows carry none."""

    rows: Sequence[Raw | bytes]
    heights: list[int]
    upto: int


class Neighbours:
    """What is known next to the edges of chunks that are complete, until both chunks of an edge have been given.

    While a result is in the line its rows are referred to; of one that was given, copies are kept: a row keeps its
    whole response alive.
    """

    def __init__(self) -> None:
        self._below: dict[int, _Edge] = {}  # by the end of a chunk: what its response showed from there on
        self._above: dict[int, _Edge] = {}  # by the start of a chunk: its first rows

    def contradiction(self, result: ChunkResult, overlap: int) -> int | None:
        """Take in a result; return a height at which it differs from a neighbour's, None where it does not."""
        start, end = result.heights.start, result.heights.end
        if not result.row_heights and result.rows:
            self._above[start] = _Edge(result.rows[:EDGE_ROWS], [], start)
            self._below[end] = _Edge(result.rows[-EDGE_ROWS:], [], end)
        else:
            if result.beyond is not None:
                beyond = result.beyond
                self._below[end] = _Edge(beyond.rows, beyond.heights, beyond.heights[-1])
            upto = min(end, start + max(64, 4 * overlap))
            at = bisect_left(result.row_heights, upto)
            self._above[start] = _Edge(result.rows[:at], result.row_heights[:at], upto)
        for edge in (start, end):
            if edge in self._below and edge in self._above:
                wrong = _difference(self._below[edge], self._above[edge], edge)
                if wrong is not None:
                    return wrong
        return None

    def drop(self, result: ChunkResult) -> None:
        """Forget a result that is not to be kept."""
        self._above.pop(result.heights.start, None)
        self._below.pop(result.heights.end, None)

    def given(self, result: ChunkResult, *, reverse: bool) -> None:
        """Take in that a result was given, in its turn: keep copies of what the next one must hold."""
        start, end = result.heights.start, result.heights.end
        behind, ahead = (end, start) if reverse else (start, end)
        self._below.pop(behind, None)
        self._above.pop(behind, None)
        sides = self._above if reverse else self._below
        if ahead in sides:
            kept = sides[ahead]
            sides[ahead] = kept._replace(rows=[bytes(row) for row in kept.rows])


def _difference(below: _Edge, above: _Edge, edge: int) -> int | None:
    if not below.heights:
        if above.heights:
            return None
        return edge if not set(map(bytes, below.rows)).isdisjoint(map(bytes, above.rows)) else None
    last = below.heights[-1]
    upto = min(below.upto, above.upto)
    some, due = (_pairs(side, upto) for side in (below, above))
    if some != due:
        return min(height for height, _ in some ^ due)
    if last < above.upto:  # of the last height shown, the response may lack rows
        whole = _pairs(above, last + 1)
        if not _pairs(below, last + 1) <= whole:
            return last
    return None


def _pairs(side: _Edge, upto: int) -> set[tuple[int, bytes]]:
    at = bisect_left(side.heights, upto)
    return set(zip(side.heights[:at], map(bytes, side.rows[:at]), strict=True))
