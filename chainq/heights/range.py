"""A range of heights."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise


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

        >>> [str(part) for part in HeightRange(0, 10).split([4, 20])]
        ['heights 0-3', 'heights 4-9']
        """
        cuts = [self.start, *sorted({edge for edge in edges if self.start < edge < self.end}), self.end]
        parts = [HeightRange(start, end) for start, end in pairwise(cuts)]
        return parts[::-1] if reverse else parts
