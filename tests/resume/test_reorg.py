"""Whether a block is still the one recorded."""

import pytest

from chainq.errors import IncompleteError
from chainq.resume.checkpoint import Mark
from chainq.resume.reorg import check_block


def test_check_block() -> None:
    """Only another hash, or none, where one was recorded, is a changed chain; the block is named."""
    check_block(Mark(8, "ab1x"), "ab1x")
    check_block(Mark(8), None)
    check_block(Mark(8), "ab1x")
    for found, word in (("ab1y", "ab1y"), (None, "missing"), ("", "missing")):
        with pytest.raises(IncompleteError, match=f"block 7 was ab1x and is {word}"):
            check_block(Mark(8, "ab1x"), found)
