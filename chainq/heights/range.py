"""Ranges of heights, and sets of them: the heights whose rows rest on belief, or were not compared."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chainq.errors import Shortfall

MOST = 64  # ranges; beyond, the two nearest ones are merged
NAMED = 5  # ranges in words


@dataclass(frozen=True, slots=True)
class HeightRange:
    """Heights from `start` (included) to `end` (excluded)."""

    start: int
    end: int

    @property
    def edges(self) -> tuple[int, int]:
        """`start` and `end`."""
        return self.start, self.end

    def __len__(self) -> int:
        return self.end - self.start

    def __contains__(self, height: int) -> bool:
        return self.start <= height < self.end

    def __str__(self) -> str:
        return f"height {self.start}" if len(self) == 1 else f"heights {self.start}-{self.end - 1}"

    def common(self, other: "HeightRange") -> "HeightRange":
        """Return the heights that both ranges have; an empty range if there are none."""
        start = max(self.start, other.start)
        return HeightRange(start, max(start, min(self.end, other.end)))

    def overlaps(self, other: "HeightRange") -> bool:
        """Return whether both ranges have a height."""
        return len(self.common(other)) > 0

    def halves(self) -> "tuple[HeightRange, HeightRange]":
        """Return the lower and the higher half of a range of at least two heights."""
        middle = (self.start + self.end) // 2
        return HeightRange(self.start, middle), HeightRange(middle, self.end)

    def split(self, edges: Iterable[int], *, reverse: bool = False) -> "list[HeightRange]":
        """Return the parts of the range, split at some heights, first part first, or last with `reverse`.

        An empty range has none.

        >>> [str(part) for part in HeightRange(0, 10).split([4, 20])]
        ['heights 0-3', 'heights 4-9']
        >>> HeightRange(4, 4).split([4])
        []
        """
        cuts = [self.start, *sorted({edge for edge in edges if self.start < edge < self.end}), self.end]
        parts = [HeightRange(start, end) for start, end in pairwise(cuts) if start < end]
        return parts[::-1] if reverse else parts


class HeightSet:
    """Heights as ordered ranges that neither touch nor overlap. If there are too many, it also includes heights between
    them; it never loses a height that was added."""

    def __init__(self, ranges: Iterable[HeightRange] = ()) -> None:
        self._ranges: list[HeightRange] = []
        for heights in ranges:
            self.add(heights)

    def __iter__(self) -> Iterator[HeightRange]:
        return iter(self._ranges)

    def __len__(self) -> int:
        """Return the number of ranges."""
        return len(self._ranges)

    def __str__(self) -> str:
        return in_words(self._ranges)

    def add(self, heights: HeightRange) -> None:
        """Add heights."""
        if not len(heights):
            return
        near = [r for r in self._ranges if r.start <= heights.end and heights.start <= r.end]
        start, end = min([heights.start, *(r.start for r in near)]), max([heights.end, *(r.end for r in near)])
        apart = [r for r in self._ranges if r not in near]
        self._ranges = sorted([*apart, HeightRange(start, end)], key=lambda r: r.start)
        if len(self._ranges) > MOST:
            at = min(range(MOST), key=lambda i: self._ranges[i + 1].start - self._ranges[i].end)
            self._ranges[at : at + 2] = [HeightRange(self._ranges[at].start, self._ranges[at + 1].end)]

    def cut(self, height: int) -> None:
        """Remove all heights from one on."""
        self._ranges = [HeightRange(r.start, min(r.end, height)) for r in self._ranges if r.start < height]


def in_words(ranges: Sequence[HeightRange]) -> str:
    """Return the first ranges, and how many more there are.

    >>> in_words([HeightRange(0, 5), HeightRange(7, 8)])
    'heights 0-4, height 7'
    """
    more = f" and {len(ranges) - NAMED:,} more" if len(ranges) > NAMED else ""
    return f"{', '.join(map(str, ranges[:NAMED]))}{more}"


def chain_end(tip: int) -> str:
    """Return where a chain with that tip height ends, -1 for one without blocks."""
    return f"the tip is {tip}" if tip >= 0 else "the chain has no blocks yet"


def end_above(end: int, tip: int) -> Shortfall:
    """Return that the end of a range is above a chain with that tip height."""
    return Shortfall(f"the end {end} is not reached: {chain_end(tip)}")
