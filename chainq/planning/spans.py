"""Possible heights of rows without heights, for rule 1 of the kernel: the narrowest [low, high) that responses show."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import ge
from typing import NamedTuple

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange

AGAIN = (
    "the data changed while it was read, or the service contradicts itself; run the command again: if it fails again,"
    " chainq verify on these heights names the rows"
)


class Whole(NamedTuple):
    """Heights whose rows are all known. Any other row is at another height."""

    start: int
    end: int
    rows: Collection[bytes]


class Points(NamedTuple):
    """Bounds of the heights of a response's rows: lows and highs, both rising, of the rows at these indexes.

    A row between two indexes is at or above the low before it, and below the high after it.
    """

    places: list[int]
    lows: list[int]
    highs: list[int]

    def first_from(self, height: int, rows: int) -> int | None:
        """Return the index of the first row at or above a height, if all rows before are below it. Return None if that
        is not known, and `rows` if no row is known to be so high."""
        at = bisect_left(self.lows, height)
        place = self.places[at] if at < len(self.places) else rows
        below = not at or (self.places[at - 1] == place - 1 and self.highs[at - 1] <= height)
        return place if below else None


class Spans:
    """The possible heights of each row that more than one response has narrowed down."""

    def __init__(self) -> None:
        self._spans: dict[bytes, tuple[int, int]] = {}

    def narrow(self, row: bytes, low: int, high: int) -> None:
        """Record that a row is in [low, high). Raises IncompleteError if that leaves no height for it."""
        known = self._spans.get(row, (low, high))
        low, high = max(low, known[0]), min(high, known[1])
        if low >= high:
            raise IncompleteError(
                f"{HeightRange(*known)}: a row of these heights is at none of them, by other responses",
                "the service includes `end`, leaves out `start`, or contradicts itself;"
                f" chainq verify {known[0]}:{known[1]} shows where",
            )
        self._spans[row] = low, high

    def shared(self, rows: Mapping[bytes, int]) -> set[bytes]:
        """Return the given rows that have narrowed heights."""
        return rows.keys() & self._spans.keys()

    def far(self, rows: Mapping[bytes, int]) -> int:
        """Return the highest height that a row is known to have or exceed; -1 if no row has narrowed heights."""
        return max((self._spans[row][0] for row in self.shared(rows)), default=-1)

    def from_height(self, start: int) -> Iterable[tuple[int, int]]:
        """Return the possible heights of the rows that are not below a height."""
        return [span for span in self._spans.values() if span[0] >= start]

    def exact(self, rows: Iterable[bytes]) -> list[int]:
        """Return the heights of the given rows whose heights are known, in the order of the rows."""
        known = (self._spans.get(row, (0, 0)) for row in rows)
        return [low for low, high in known if high - low == 1]

    def rise(self, rows: Mapping[bytes, int]) -> bool:
        """Return whether one of the rows, given with their places, is known to be below a later one."""
        spans = [self._spans[row] for row in sorted(self.shared(rows), key=rows.__getitem__)]
        highs = accumulate((high for _, high in spans), min)
        return any(low >= high for high, (low, _) in zip(highs, spans[1:], strict=False))

    def keep(self, alive: set[bytes]) -> None:
        """Forget all rows but these."""
        self._spans = {row: span for row, span in self._spans.items() if row in alive}

    def points(
        self, rows: Sequence[Raw], keys: Mapping[bytes, int], heights: HeightRange, whole: list[Whole]
    ) -> Points:
        """Return where the rows of a response for `heights` are. Raises IncompleteError if a row has no height left.

        `keys`: the indexes of the rows. `whole`: other heights whose rows are all known. Adjacent rows that no other
        response shows have the same bounds: only the first and the last of them get an index.
        """
        whole = sorted((known for known in whole if known.start < known.end), key=lambda known: known.start)
        spans = {keys[row]: self._spans[row] for row in keys.keys() & self._spans.keys()}
        ends = {0, len(rows) - 1, *(place - 1 for place in spans), *(place + 1 for place in spans)}
        spans |= {place: heights.edges for place in ends if 0 <= place < len(rows) and place not in spans}
        places = sorted(spans)
        lows, highs = _in_order([spans[place] for place in places])
        open_ = {place for place, low, high in zip(places, lows, highs, strict=True) if high - low > 1}
        for known in whole:  # rows at one height can be narrowed only if they are not there
            inside = places[bisect_left(lows, known.start) : bisect_left(lows, known.end)]
            open_.update(place for place in inside if bytes(rows[place]) not in known.rows)
        whole += reversed(whole)  # one may end where another begins
        lows, highs = _in_order(
            [
                self._narrowed(bytes(rows[place]), low, high, whole) if place in open_ else (low, high)
                for place, low, high in zip(places, lows, highs, strict=True)
            ]
        )
        if any(map(ge, lows, highs)):
            raise IncompleteError(f"{heights}: a row of the response lies at no height", AGAIN)
        return Points(places, lows, highs)

    def _narrowed(self, row: bytes, low: int, high: int, whole: Sequence[Whole]) -> tuple[int, int]:
        """Return the possible heights of a row in [low, high), without other heights whose rows do not include it."""
        for known in whole:
            if row not in known.rows:
                low, high = _without(low, high, known)
        if row in self._spans:
            self.narrow(row, low, high)
        return low, high


def _in_order(spans: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return lows and highs tightened so that each row is no lower than the previous row."""
    lows = list(accumulate((low for low, _ in spans), max))
    return lows, list(accumulate((high for _, high in reversed(spans)), min))[::-1]


def _without(low: int, high: int, whole: Whole) -> tuple[int, int]:
    """Return [low, high) without the heights of `whole`: unchanged if two parts would remain."""
    if whole.start <= low < whole.end:
        low = whole.end
    elif whole.start < high <= whole.end:
        high = whole.start
    return low, high
