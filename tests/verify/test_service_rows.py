"""The rows of a service as verify reads them: in few calls, also after a fault."""

from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.verify.service_rows import CommandRows, Part


@pytest.mark.parametrize("faults", [1, 2, 3, 8])
def test_a_fault_that_does_not_come_back_is_searched_for_where_it_came(faults: int) -> None:
    """What follows is read in one run again; every height comes once."""
    left, asked = faults, []

    class Rows(CommandRows):
        def _proved(self, heights: HeightRange) -> Iterator[Part]:
            nonlocal left
            asked.append(heights)
            if left and heights.start <= 1_000 < heights.end:
                left -= 1
                raise IncompleteError("a row is missing")
            yield Part(heights, [])

        def single(self, height: int, doubt: str = "") -> Part:
            return Part(HeightRange(height, height + 1), [], doubt)

    parts = list(Rows(Mock(), "records").parts(HeightRange(0, 100_000)))
    assert [height for part in parts for height in range(part.heights.start, part.heights.end)] == list(range(100_000))
    assert len(asked) <= 2 * faults + 1
