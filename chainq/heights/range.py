"""A run of heights."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeightRange:
    """Heights from `start` (included) to `end` (excluded)."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"height {self.start}" if len(self) == 1 else f"heights {self.start}-{self.end - 1}"

    def cut_near(self, height: int | None) -> tuple["HeightRange", "HeightRange"]:
        """Two parts that make up the span, the lower first; needs at least two heights.

        The higher part begins at `height` where that is a useful place, else in the middle: near the end, a hint would
        only shave heights off one by one.
        """
        middle = (self.start + self.end) // 2
        if height is not None and height - self.start <= 0.9 * len(self):
            middle = max(self.start + 1, height)
        return HeightRange(self.start, middle), HeightRange(middle, self.end)
