"""Adjoining chunks: what one response showed beyond its chunk, the next must hold too."""

import re

import pytest
from msgspec import Raw

from chainq.heights.range import HeightRange
from chainq.planning.neighbours import Neighbours
from chainq.planning.steps import ChunkResult, Page, Proof, ProofKind

PROOF = Proof(ProofKind.OVERLAP)


def page(rows: str) -> Page:
    """A row for each digit, whose height it is; a quote after it makes another row of that height."""
    texts = re.findall("[0-9]'?", rows)
    return Page([Raw(text.encode()) for text in texts], [int(text.rstrip("'")) for text in texts])


def result(start: int, end: int, rows: str, beyond: str = "") -> ChunkResult:
    """The result of a chunk."""
    shown = page(rows)
    return ChunkResult(
        HeightRange(start, end),
        shown.rows,
        shown.heights,
        PROOF,
        page(beyond) if beyond else None,
    )


@pytest.mark.parametrize(
    ("beyond", "above", "wrong"),
    [
        ("56", "5678", None),
        ("56", "56'78", 6),  # another row at the last height that was shown
        ("56", "566'78", None),  # of which the response may have lacked some
        ("56", "678", 5),  # it leaves out `start`
        ("56", "55'678", 5),
        ("57", "5678", 6),
        ("7", "5678", 5),
    ],
)
@pytest.mark.parametrize("given", [False, True])
def test_the_next_chunk_must_hold_what_was_shown(beyond: str, above: str, wrong: int | None, *, given: bool) -> None:
    """Also when the chunk below was given already."""
    neighbours = Neighbours()
    below = result(0, 5, "1234", beyond)
    assert neighbours.contradiction(below, 2) is None
    if given:
        neighbours.given(below, reverse=False)
    assert neighbours.contradiction(result(5, 9, above), 2) == wrong


def test_in_reverse_the_chunk_above_comes_first() -> None:
    """Its first rows are kept for the one below."""
    neighbours = Neighbours()
    above = result(5, 9, "678")
    assert neighbours.contradiction(above, 2) is None
    neighbours.given(above, reverse=True)
    assert neighbours.contradiction(result(0, 5, "1234", "56"), 2) == 5


def test_rows_without_heights_are_on_one_side_only() -> None:
    """Of a server that includes `end`, the last row of a chunk is the first of the next one."""
    neighbours = Neighbours()
    rows = [Raw(b"a"), Raw(b"b"), Raw(b"c")]
    assert neighbours.contradiction(ChunkResult(HeightRange(0, 5), rows[:2], [], PROOF), 0) is None
    assert neighbours.contradiction(ChunkResult(HeightRange(5, 9), rows[1:], [], PROOF), 0) == 5
