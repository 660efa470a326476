"""Values by height in bins of neighboring heights, which merge in pairs when there are too many: memory stays flat."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

BINS = 4096  # a terminal of 200 columns has 400 dots in a line: five bins or more for each


class Summary(NamedTuple):
    """The values of neighboring heights: how many, their sum, the lowest and the highest."""

    values: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def __or__(self, other: "Summary") -> "Summary":
        """Return the summary of both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Summary(self.values + other.values, self.total + other.total, low, high)

    def filled(self, heights: int) -> "Summary":
        """Return the same with a 0 for each of so many heights that has no value."""
        return self | Summary(heights - self.values, 0.0, 0.0, 0.0) if heights > self.values else self

    @property
    def mean(self) -> float:
        """Return the mean of the values, of which there must be some."""
        return self.total / self.values


EMPTY = Summary()


@dataclass(slots=True)
class Bins:
    """Values by height, in at most BINS bins of 1, 2, 4, 8… heights each.

    `default_zero`: a height without a value counts as 0.
    """

    default_zero: bool = False
    first: int = 0
    last: int = -1
    peak: int = 0  # the height of the highest value
    _all: Summary = EMPTY
    _shift: int = 0
    _bins: dict[int, Summary] = field(default_factory=dict)

    def add(self, height: int, value: float) -> None:
        """Add a value of a height; heights may come in any order."""
        self.span(height, height)
        if value > self._all.high:
            self.peak = height
        one, number = Summary(1, value, value, value), height >> self._shift
        self._all |= one
        self._bins[number] = self._bins.get(number, EMPTY) | one

    def span(self, first: int, last: int) -> None:
        """Make these heights part of the picture, with or without values."""
        self.first, self.last = (min(first, self.first), max(last, self.last)) if self.size else (first, last)
        while (self.last >> self._shift) - (self.first >> self._shift) >= BINS:
            merged: dict[int, Summary] = {}
            for number, summary in self._bins.items():
                merged[number >> 1] = merged.get(number >> 1, EMPTY) | summary
            self._bins, self._shift = merged, self._shift + 1

    def __bool__(self) -> bool:
        return self._all.values > 0

    @property
    def size(self) -> int:
        """Return how many heights there are from the first to the last."""
        return self.last - self.first + 1

    def summary(self) -> Summary:
        """Return the summary of all values."""
        return self._all.filled(self.size) if self.default_zero else self._all

    def groups(self, most: int) -> list[Summary]:
        """Return the heights from the first to the last in at most `most` equal groups; some may have no value."""
        groups = [EMPTY] * min(self.size, most)
        for number in range(self.first >> self._shift, (self.last >> self._shift) + 1):
            start = max(number << self._shift, self.first)
            summary = self._bins.get(number, EMPTY)
            if self.default_zero:
                summary = summary.filled(min((number + 1) << self._shift, self.last + 1) - start)
            groups[(start - self.first) * len(groups) // self.size] |= summary
        return groups
