"""Reorgs: when a block is no longer the one that was recorded."""

import pytest

from chainq.resume.checkpoint import Position
from chainq.resume.rounds import difference


def test_a_block_with_the_recorded_hash_is_no_reorg() -> None:
    """The same hash passes, and so does any block where no hash was recorded."""
    for position, found in ((Position(8, "ab1x"), "ab1x"), (Position(8), ""), (Position(8), "ab1x")):
        assert difference(position, found) == ""


@pytest.mark.parametrize(("found", "words"), [("ab1y", "is ab1y"), ("", "has no hash now")])
def test_a_reorg_names_block_and_hashes(found: str, words: str) -> None:
    """Another hash or none is a reorg, of a block that was recorded."""
    position = Position(8, "ab1x")
    assert difference(position, found) == f"reorg: block 7 {words}, and was ab1x"
