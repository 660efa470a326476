"""Blocks: every height up to the tip comes exactly once."""

from collections.abc import Sequence
from random import Random
from typing import Any, cast

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade, RowsRequest, TipRequest
from chainq.planning.kernel import Proved
from chainq.planning.range_plan import RangePlan
from chainq.planning.run import Request
from chainq.query import Query
from harness.models.attempts import Turns

HEIGHTS = HeightRange(0, 4)


def prove(
    responses: Sequence[list[int]], tip: int, *, verify: bool = True, known: bool = True
) -> tuple[list[Proved], list[str]]:
    """Blocks 0 to 3, and what is noted, from responses with blocks of these heights; -1 is one that is not valid."""
    left = list(responses)

    def send(request: Request) -> Any:
        if isinstance(request, TipRequest):
            return tip
        assert isinstance(request, RowsRequest)
        height = '"height":%d,' if -1 not in (shown := left.pop(0)) else '"height":"x%d",'
        row = '{%s"block_hash":"b%d","previous_hash":"b%d"}'
        return [Raw((row % (height % at, at, at - 1)).encode()) for at in shown]

    query = Query(BY_COMMAND["blocks"], verify=verify)
    turns = cast("Any", Turns(Random(0)))  # noqa: S311  # one at a time
    plan = RangePlan(query, HEIGHTS, send, turns, tip=tip if known else None)
    results = [result for result, _ in plan.results()]
    assert not left
    return results, plan.run.notes


def given(found: tuple[list[Proved], list[str]]) -> list[int]:
    """The heights of the blocks."""
    return [height for result in found[0] for height in result.row_heights]


def test_a_block_that_comes_twice_is_an_error() -> None:
    """Without verification it is passed on, and noted."""
    with pytest.raises(IncompleteError, match="twice in one response"):
        prove([[0, 1, 1, 3]], 9)
    found = prove([[0, 1, 1, 3]] * 2, 9, verify=False)
    assert given(found) == [0, 1, 1, 3]
    assert found[1] == ["heights 0-3: twice in one response: height 1; missing height 2, though the tip is 9"]


def test_a_block_below_the_tip_may_come_with_the_second_response() -> None:
    """The tip came after the first response."""
    assert given(prove([[0, 1, 2], [3]], 3)) == [0, 1, 2, 3]
    with pytest.raises(IncompleteError, match="missing height 3, though the tip is 9"):
        prove([[0, 1, 2], [], []], 9)


def test_missing_blocks_are_noted_without_verification() -> None:
    """And rest on belief."""
    results, notes = prove([[0, 2, 3]] * 2, 9, verify=False)
    assert given((results, notes)) == [0, 2, 3]
    assert results[-1].grade is Grade.BELIEF
    assert notes == ["heights 0-3: missing height 1, though the tip is 9"]


def test_blocks_end_at_the_tip() -> None:
    """No more heights are given as complete than there are blocks, whether the tip was known before or not."""
    for known in (True, False):
        results, _ = prove([[0, 1], *[[]] * (not known)], 1, known=known)
        assert results[-1].heights.end == 2


def test_blocks_without_heights_prove_nothing() -> None:
    """Not even those that nobody requires, above the tip."""
    with pytest.raises(IncompleteError, match="no valid height"):
        prove([[-1], [-1]], 5)
