"""Reorgs: when a block is no longer the one that was recorded."""

import pytest

from chainq.errors import IncompleteError
from chainq.resume.history import Position
from chainq.resume.reorg import REWIND, WRITTEN, check_block


def test_a_block_with_the_recorded_hash_is_no_reorg() -> None:
    """The same hash passes, and so does any block where no hash was recorded."""
    check_block(Position(8, "ab1x"), "ab1x", REWIND)
    check_block(Position(8), "", REWIND)
    check_block(Position(8), "ab1x", REWIND)


@pytest.mark.parametrize(("found", "words"), [("ab1y", "is ab1y"), ("", "has no hash now")])
def test_a_reorg_names_block_and_hashes(found: str, words: str) -> None:
    """Another hash or none is a reorg; only where a checkpoint recorded it can --rewind help."""
    with pytest.raises(IncompleteError, match=f"reorg: block 7 {words}, the checkpoint recorded ab1x; --rewind"):
        check_block(Position(8, "ab1x"), found, REWIND)
    with pytest.raises(IncompleteError, match=f"reorg: block 7 {words}, this run has seen ab1x; rows"):
        check_block(Position(8, "ab1x"), found, WRITTEN, recorded=False)
