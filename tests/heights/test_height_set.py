"""Sets of heights."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from chainq.heights.range import MOST, HeightRange, HeightSet

RANGES = st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda at: HeightRange(at[0], sum(at)))


@given(st.lists(st.tuples(st.booleans(), RANGES), max_size=30))
def test_it_is_a_set(steps: list[tuple[bool, HeightRange]]) -> None:
    """Whatever is added and cut off; its ranges are in order, and never touch."""
    heights, plain = HeightSet(), set[int]()
    for add, part in steps:
        if add:
            heights.add(part)
            plain |= {*range(*part.edges)}
        else:
            heights.cut(part.end)
            plain = {height for height in plain if height < part.end}
    assert {height for part in heights for height in range(*part.edges)} == plain
    ranges = [*heights]
    assert all(one.end < other.start for one, other in pairwise(ranges))
    assert all(len(part) for part in ranges)


def test_too_many_ranges_become_fewer() -> None:
    """The two that lie nearest become one, so that no height is lost."""
    heights = HeightSet(HeightRange(10 * at, 10 * at + 1) for at in range(MOST))
    heights.add(HeightRange(8, 9))
    assert len(heights) == MOST
    assert [*heights][:2] == [HeightRange(0, 1), HeightRange(8, 11)]


def test_in_words() -> None:
    """The first few ranges."""
    assert str(HeightSet()) == ""
    assert str(HeightSet([HeightRange(3, 4), HeightRange(7, 9)])) == "height 3, heights 7-8"
    assert str(HeightSet(HeightRange(2 * at, 2 * at + 1) for at in range(7))).endswith("height 8 and 2 more")
    assert str(HeightSet(HeightRange(2 * at, 2 * at + 1) for at in range(6))).endswith("height 8 and 1 more")
