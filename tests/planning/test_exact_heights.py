"""Blocks: every height up to the tip comes exactly once."""

from collections.abc import Sequence

import pytest
from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exact_heights import prove_blocks
from chainq.planning.server import ServerFacts
from chainq.planning.steps import ChunkResult, ChunkSpec, Page

CHUNK = ChunkSpec(HeightRange(0, 4), 0, 4, 4)


def prove(responses: Sequence[list[int]], facts: ServerFacts, *, verify: bool = True) -> ChunkResult:
    """Prove heights 0 to 3 from responses with blocks of these heights; a height of -1 is one that is not valid."""
    steps = prove_blocks(CHUNK, facts, verify=verify)
    steps.send(None)
    for heights in responses:
        page = Page([Raw(b"{}")] * len(heights), [] if -1 in heights else heights)
        try:
            steps.send(page)
        except StopIteration as stop:
            assert isinstance(stop.value, ChunkResult)
            return stop.value
    raise AssertionError("the proof wants more responses")


def test_a_block_that_comes_twice_is_an_error() -> None:
    """Without verification it is passed on, and noted."""
    with pytest.raises(IncompleteError, match="twice in one response: height 1"):
        prove([[0, 1, 1, 2, 3]], ServerFacts(tip=9))
    facts = ServerFacts(tip=9)
    assert prove([[0, 1, 1, 2, 3]], facts, verify=False).row_heights == [0, 1, 1, 2, 3]
    assert facts.notes == ["heights 0-3: twice in one response: height 1"]


def test_a_block_below_the_tip_may_come_with_the_second_response() -> None:
    """The tip came after the first response."""
    assert prove([[0, 1, 2], [0, 1, 2, 3]], ServerFacts(tip=3)).row_heights == [0, 1, 2, 3]
    with pytest.raises(IncompleteError, match="missing height 3, though the tip is 9"):
        prove([[0, 1, 2], [0, 1, 2]], ServerFacts(tip=9))


def test_a_chunk_ends_at_the_tip() -> None:
    """No more heights are given as complete than there are blocks."""
    assert prove([[0, 1]], ServerFacts(tip=1)).heights == HeightRange(0, 2)


def test_blocks_without_heights_prove_nothing() -> None:
    """Not even those that nobody requires, above the tip."""
    with pytest.raises(IncompleteError, match="no valid height"):
        prove([[-1]], ServerFacts(tip=-1))
