"""Where rows without heights lie, for rule 1 of the kernel: [low, high) for each, as narrow as responses tell."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import ge
from typing import NamedTuple

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange


class Whole(NamedTuple):
    """Heights of which all rows are known. A row that is none of them lies elsewhere."""

    start: int
    end: int
    rows: Collection[bytes]


class Points(NamedTuple):
    """Between which heights rows of a response lie: lows and highs, both rising, of the rows at these places.

    A row between two places lies at or above the low before it, and below the high after it.
    """

    places: list[int]
    lows: list[int]
    highs: list[int]

    def first_from(self, height: int, rows: int) -> int | None:
        """Return from which place on rows lie at a height or above it, if all before lie below; None if that is
        not known, and `rows` if none is known to lie so high."""
        at = bisect_left(self.lows, height)
        place = self.places[at] if at < len(self.places) else rows
        below = not at or (self.places[at - 1] == place - 1 and self.highs[at - 1] <= height)
        return place if below else None


class Spans:
    """Where each row lies that is known better than by one response."""

    def __init__(self) -> None:
        self._spans: dict[bytes, tuple[int, int]] = {}

    def narrow(self, row: bytes, low: int, high: int) -> None:
        """Take in that a row lies in [low, high). Raises IncompleteError if it lies at no height then."""
        known = self._spans.get(row, (low, high))
        low, high = max(low, known[0]), min(high, known[1])
        if low >= high:
            raise IncompleteError(
                f"{HeightRange(*known)}: a row of these heights came in a response to others",
                "the service includes `end`, leaves out `start`, or contradicts itself",
            )
        self._spans[row] = low, high

    def shared(self, rows: Mapping[bytes, int]) -> set[bytes]:
        """Return those of some rows of which more is known."""
        return rows.keys() & self._spans.keys()

    def far(self, rows: Mapping[bytes, int]) -> int:
        """Return the highest height that a row is known to have or exceed; -1 if nothing is known of them."""
        return max((self._spans[row][0] for row in self.shared(rows)), default=-1)

    def from_height(self, start: int) -> Iterable[tuple[int, int]]:
        """Return where the rows lie that are not below a height."""
        return [span for span in self._spans.values() if span[0] >= start]

    def exact(self, rows: Iterable[bytes]) -> list[int]:
        """Return the heights of those of some rows of which they are known, in the order of the rows."""
        known = (self._spans.get(row, (0, 0)) for row in rows)
        return [low for low, high in known if high - low == 1]

    def keep(self, alive: set[bytes]) -> None:
        """Forget all rows but these."""
        self._spans = {row: span for row, span in self._spans.items() if row in alive}

    def points(
        self, rows: Sequence[Raw], keys: Mapping[bytes, int], heights: HeightRange, whole: list[Whole]
    ) -> Points:
        """Return where the rows of a response to `heights` lie. Raises IncompleteError if one lies at no height.

        `keys`: the places of the rows. `whole`: other heights of which all rows are known. Of rows side by
        side that nothing else shows, all say the same: the first and the last of them have a place.
        """
        whole = sorted((known for known in whole if known.start < known.end), key=lambda known: known.start)
        spans = {keys[row]: self._spans[row] for row in keys.keys() & self._spans.keys()}
        ends = {0, len(rows) - 1, *(place - 1 for place in spans), *(place + 1 for place in spans)}
        spans |= {place: heights.edges for place in ends if 0 <= place < len(rows) and place not in spans}
        places = sorted(spans)
        lows, highs = _in_order([spans[place] for place in places])
        open_ = {place for place, low, high in zip(places, lows, highs, strict=True) if high - low > 1}
        for known in whole:  # of rows at one height there is more to say only if they do not lie there
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
            raise IncompleteError(
                f"{heights}: a row of the response lies at no height",
                "the service contradicts itself, or the data changed while it was read; run the command again",
            )
        return Points(places, lows, highs)

    def _narrowed(self, row: bytes, low: int, high: int, whole: Sequence[Whole]) -> tuple[int, int]:
        """Return where a row of [low, high) lies that is not in other heights if it is none of the rows there."""
        for known in whole:
            if row not in known.rows:
                low, high = _without(low, high, known)
        if row in self._spans:
            self.narrow(row, low, high)
        return low, high


def _in_order(spans: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return lows and highs that also say that each row lies no lower than the one before."""
    lows = list(accumulate((low for low, _ in spans), max))
    return lows, list(accumulate((high for _, high in reversed(spans)), min))[::-1]


def _without(low: int, high: int, whole: Whole) -> tuple[int, int]:
    """Return where a row of [low, high) lies that is not in other heights: the same, if that is in two parts."""
    if whole.start <= low < whole.end:
        low = whole.end
    elif whole.start < high <= whole.end:
        high = whole.start
    return low, high
