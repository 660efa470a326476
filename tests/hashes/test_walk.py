"""Blocks up to an anchor: what breaks the chain is named."""

import pytest
from chainq.hashes.chain import Anchor, Walk


@pytest.mark.parametrize(
    ("heights", "why"),
    [
        ([5, 6, 7, 8], None),
        ([5, 6, 6, 7, 8], "block 7 does not follow block 6"),
        ([5, 7, 6, 8], "block 6 does not follow block 5"),
        ([6, 5, 7, 8], "block 7 does not follow block 6"),
        ([5, 7, 8], "block 6 does not follow block 5"),
    ],
)
def test_the_first_break_below_the_anchor_is_named(heights: list[int], why: str | None) -> None:
    """Also by a block that comes twice, or too late."""
    walk, found = Walk(Anchor(8, "ab8")), None
    for height in heights:
        found = walk.take(height, f"ab{height}", f"ab{height - 1}", proved=True)
    assert found == why
    assert walk.anchored == (why is None)
