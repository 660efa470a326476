"""Where rows without heights lie, for rule 1 of the kernel: [low, high) for each, as narrow as responses tell."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange


class Whole(NamedTuple):
    """Heights of which all rows are known. A row that is none of them lies elsewhere."""

    start: int
    end: int
    rows: set[bytes]


class Spans:
    """Where each row lies that is known better than by one response."""

    def __init__(self) -> None:
        self._spans: dict[bytes, tuple[int, int]] = {}

    def narrow(self, row: bytes, low: int, high: int) -> None:
        """Take in that a row lies in [low, high). Raises IncompleteError where it lies at no height then."""
        known = self._spans.get(row, (low, high))
        low, high = max(low, known[0]), min(high, known[1])
        if low >= high:
            raise IncompleteError(
                f"{HeightRange(*known)}: a row of these heights came in a response to others",
                "the service includes `end`, leaves out `start`, or contradicts itself",
            )
        self._spans[row] = low, high

    def shared(self, rows: set[bytes]) -> set[bytes]:
        """Return those of some rows of which more is known."""
        return rows & self._spans.keys()

    def far(self, rows: set[bytes]) -> int:
        """Return the highest height that a row is known to have or exceed; -1 where nothing is known of them."""
        return max((self._spans[row][0] for row in self.shared(rows)), default=-1)

    def from_height(self, start: int) -> Iterable[tuple[int, int]]:
        """Return where the rows lie that are not below a height."""
        return [span for span in self._spans.values() if span[0] >= start]

    def keep(self, alive: set[bytes]) -> None:
        """Forget all rows but these."""
        self._spans = {row: span for row, span in self._spans.items() if row in alive}

    def bounds(
        self, rows: Sequence[bytes], heights: HeightRange, whole: Sequence[Whole]
    ) -> tuple[list[int], list[int]]:
        """Return the lows and highs of the rows of a response to `heights`, as each may lie by itself.

        `whole`: other heights of which all rows are known; of rows that nothing else shows, all say the same.
        """
        unknown = heights.edges
        for known in whole:
            unknown = _without(*unknown, known)
        lows, highs = [], []
        for row in rows:
            low, high = span = self._spans.get(row, unknown)
            if span is not unknown and high - low > 1:
                for known in whole:
                    if row not in known.rows:
                        low, high = _without(low, high, known)
                if (low, high) != span:
                    self.narrow(row, low, high)
            lows.append(low)
            highs.append(high)
        return lows, highs


def in_order(lows: Sequence[int], highs: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return lows and highs that also say that each row lies no lower than the one before."""
    return list(accumulate(lows, max)), list(accumulate(reversed(highs), min))[::-1]


def _without(low: int, high: int, whole: Whole) -> tuple[int, int]:
    """Return where a row of [low, high) lies that is not in other heights: the same, where that is in two parts."""
    if whole.start <= low < whole.end:
        low = whole.end
    elif whole.start < high <= whole.end:
        high = whole.start
    return low, high
