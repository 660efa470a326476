"""A range of heights."""

from dataclasses import dataclass


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

    def __str__(self) -> str:
        return f"height {self.start}" if len(self) == 1 else f"heights {self.start}-{self.end - 1}"

    def split_near(self, height: int | None) -> tuple["HeightRange", "HeightRange"]:
        """Return two ranges that make up this one of at least two heights, the lower first.

        The higher one starts at `height`, or in the middle where there is none or it is close to the end: splitting
        there would take off few heights at a time.
        """
        middle = (self.start + self.end) // 2
        if height is not None and height - self.start <= 0.9 * len(self):
            middle = max(self.start + 1, height)
        return HeightRange(self.start, middle), HeightRange(middle, self.end)
