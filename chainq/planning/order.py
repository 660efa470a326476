"""Rule 1 of the kernel: which heights page 0 of a range holds whole, by the order of its rows."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chainq.heights.range import HeightRange


def lowest_with_as_many_digits(height: int) -> int:
    """Return the lowest height that has as many digits as this one."""
    return int(10 ** (len(str(height)) - 1)) if height > 9 else 0


def same_digits(heights: HeightRange) -> bool:
    """Return whether heights sort alike as numbers and as text."""
    last = max(heights.start, heights.end - 1)
    return lowest_with_as_many_digits(heights.start) == lowest_with_as_many_digits(last)


@dataclass(slots=True)
class Order:
    """What is known of the order of rows. `linked`: each height has exactly one row, so their order does not matter.

    `usable`: no response was out of order where that matters, but for heights that are sorted as text. `seen`: rows of
    several heights were in order; a response with rows of but one may be the first page of a list that begins with the
    newest. `numeric`: rows in order show that heights are not sorted as text ("10" before "9").
    """

    linked: bool = False
    usable: bool = True
    seen: bool = False
    numeric: bool = False

    @property
    def proves(self) -> bool:
        """Return whether rule 1 may be applied."""
        return self.linked or (self.usable and self.seen)

    def complete(self, heights: HeightRange, row_heights: Sequence[int]) -> list[HeightRange]:
        """Return the heights of which page 0, in order, holds all rows: those below its last row.

        While heights may be sorted as text, the last row of each number of digits proves the heights below it that have
        as many: in both orders they come before it.
        """
        if self.linked:
            runs = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(row_heights)) if b != a + 1), len(row_heights)]
            return [HeightRange(row_heights[a], row_heights[b - 1] + 1) for a, b in pairwise(runs) if a < b]
        if self.numeric:
            return [HeightRange(heights.start, last) for last in row_heights[-1:] if heights.start < last]
        ends = [row_heights[at - 1] for at in _by_digits(row_heights)]
        starts = [max(heights.start, lowest_with_as_many_digits(end)) for end in ends]
        return [HeightRange(start, end) for start, end in zip(starts, ends, strict=True) if start < end]

    def note(self, row_heights: Sequence[int]) -> None:
        """Take in the heights of rows in order: 9 before 10 shows that they are sorted as numbers."""
        self.seen |= len(row_heights) > 1 and row_heights[0] < row_heights[-1]
        if not self.numeric and row_heights and len(str(row_heights[0])) < len(str(row_heights[-1])):
            edges = [row_heights[at - 1 : at + 1] for at in _by_digits(row_heights) if at < len(row_heights)]
            self.numeric = any(str(before) > str(after) for before, after in edges)

    def broken(self, *, as_text: bool) -> bool:
        """Take in that rows came out of order; return whether what was complete by their order is so no more."""
        if self.linked:
            return False
        before, self.numeric = self.numeric, False
        self.usable &= as_text
        return before or not as_text


def _by_digits(row_heights: Sequence[int]) -> Iterator[int]:
    """Yield after which row, by its place, heights have one more digit, and after which the rows end."""
    at = 0
    while at < len(row_heights):
        yield (at := bisect_left(row_heights, 10 * (lowest_with_as_many_digits(row_heights[at]) or 1), at))
