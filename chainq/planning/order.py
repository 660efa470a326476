"""Rule 1 of the kernel: the heights for which page 0 of a range is complete, proved by the order of its rows."""

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
    """The known order of rows. `linked`: each height has exactly one row, so their order does not matter.

    `usable`: no response whose order matters was out of order, except for heights sorted as text. `seen`: rows of
    several heights were in order; a response with rows of only one height may be the first page of a newest-first list.
    `numeric`: rows in order show that heights are not sorted as text ("10" before "9").
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
        """Return the heights for which page 0, in order, holds all rows: the heights below its last row.

        While heights may be sorted as text, the last row with each number of digits proves the lower heights with as
        many digits, because they precede it in both orders.
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
        """Record the heights of rows in order."""
        self.seen |= len(row_heights) > 1 and row_heights[0] < row_heights[-1]
        self.note_digits(row_heights)

    def note_digits(self, row_heights: Sequence[int]) -> None:
        """Record known heights of rows in order: 9 before 10 shows that they are sorted as numbers."""
        if not self.numeric and row_heights and len(str(row_heights[0])) < len(str(row_heights[-1])):
            edges = [row_heights[at - 1 : at + 1] for at in _by_digits(row_heights) if at < len(row_heights)]
            self.numeric = any(str(before) > str(after) for before, after in edges)

    def broken(self, *, as_text: bool) -> bool:
        """Record that rows were out of order; return whether proofs that used the order are now invalid."""
        if self.linked:
            return False
        before, self.numeric = self.numeric, False
        self.usable &= as_text
        return before or not as_text


def _by_digits(row_heights: Sequence[int]) -> Iterator[int]:
    """Yield the index of each row after which heights have one more digit, and of the last row."""
    at = 0
    while at < len(row_heights):
        yield (at := bisect_left(row_heights, 10 * (lowest_with_as_many_digits(row_heights[at]) or 1), at))
