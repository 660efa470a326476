"""The data that the kernel (`evidence`) keeps from responses and from other methods. Nothing here proves anything."""

from bisect import bisect_left
from dataclasses import dataclass, field

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Due, Key
from chainq.planning.spans import AGAIN, Points


@dataclass(slots=True, eq=False)
class Shown:
    """Page 0 of a range, or what is believed of one.

    For rows with heights, `complete`: the heights whose rows it holds. For rows without heights, `keys`: the index of
    each row; `points`: their possible heights, and `far`: the highest lower bound of a row's height, both None until
    computed (again); `names`: the rows by identity, once they were needed.
    """

    heights: HeightRange
    rows: list[Raw]
    row_heights: list[int]
    complete: list[HeightRange] = field(default_factory=list)
    keys: dict[bytes, int] = field(default_factory=dict)
    points: Points | None = None
    far: int | None = None
    names: dict[Key, Raw] | None = None

    def at(self, heights: HeightRange) -> slice:
        """Return the slice of the rows at these heights."""
        return slice(*(bisect_left(self.row_heights, edge) for edge in heights.edges))

    def from_height(self, start: int) -> range:
        """Return the index of the first row not below `start`, as a range that is empty if there is no such row."""
        at = bisect_left(self.row_heights, start)
        return range(at, len(self.row_heights))[:1]

    def narrows(self, other: "Shown") -> bool:
        """Return whether it locates the rows of another response more closely."""
        return self.heights.start == other.heights.start and self.heights.end <= other.heights.end and bool(self.rows)

    def check(self, other: "Shown") -> None:
        """Raise IncompleteError if one response has a row that the other, complete for its height, does not have."""
        if not self.heights.overlaps(other.heights):
            return
        for whole, some in ((self, other), (other, self)):
            for complete in whole.complete:
                both = complete.common(some.heights)
                rows = set(map(bytes, whole.rows[whole.at(both)]))
                shown = some.at(both)
                for row, height in zip(some.rows[shown], some.row_heights[shown], strict=True):
                    if bytes(row) not in rows:
                        raise IncompleteError(f"height {height}: two responses differ in its rows", AGAIN)


@dataclass(slots=True, eq=False)
class Said:
    """The rows that another method names, and those of them that were shown so far: by what it names them, one for each
    text of its program. `texts`: the texts that a row of any height was shown with, by each of them."""

    due: Due
    by_order: bool = False
    texts: dict[str, set[str]] = field(default_factory=dict)
    found: dict[Key, dict[Key, Raw]] = field(default_factory=dict)
    _due: list[tuple[int, Key]] = field(init=False)
    _known: list[tuple[int, Key]] = field(init=False)

    def __post_init__(self) -> None:
        self._due = sorted((height, key) for key, height in self.due.at.items())
        self._known = sorted((height, key) for key, height in self.due.shown.items()) or self._due

    def keep(self, key: Key, row: Raw, width: int) -> bool:
        """Keep a row that was shown; return whether it is the same as before. `width`: of the key that names it."""
        rows = self.found.setdefault(key[:width], {})
        if bytes(rows.setdefault(key, row)) != bytes(row):
            return False
        if len(rows) > 1:
            texts = {one[-1] for one in rows}.union(*(self.texts.get(one[-1], ()) for one in rows))
            self.texts.update(dict.fromkeys(texts, texts))
        return True

    def shows(self, key: Key) -> bool:
        """Return whether a row was shown, for each known text of its program."""
        rows = self.found.get(key, {})
        return bool(rows) and all((*key, text) in rows for one in rows for text in self.texts.get(one[-1], ()))

    def named(self, heights: HeightRange) -> list[tuple[int, Key]]:
        """Return the rows that are due at some heights."""
        return _within(self._due, heights)

    def known(self, heights: HeightRange) -> list[tuple[int, Key]]:
        """Return the rows known to be at some heights, which may not be all of them."""
        return _within(self._known, heights)


def _within(by_height: list[tuple[int, Key]], heights: HeightRange) -> list[tuple[int, Key]]:
    return by_height[slice(*(bisect_left(by_height, (edge,)) for edge in heights.edges))]
