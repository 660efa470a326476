"""Up to which height a batch settles rows, by itself."""

from collections import Counter

import pytest
from msgspec import UNSET, Raw, UnsetType

from chainq.catalog.methods import BY_COMMAND
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade, Proof
from chainq.query import Batch
from chainq.resume.history import digests
from chainq.resume.settling import late_heights, new_positions, shown_to
from chainq.tuning import TAIL

RECORDS, BLOCKS = BY_COMMAND["records"], BY_COMMAND["blocks"]
HEIGHTS = HeightRange(5000, 5100)


def batch(*heights: int, above: bool = False) -> Batch:
    """A batch with a row at each of the heights; `above`: the server showed a row above the batch as well."""
    rows = [Raw(b'{"height":%d}' % height) for height in heights]
    return Batch(rows, HEIGHTS, Proof(Grade.ORDER if above else Grade.BELIEF))


@pytest.mark.parametrize(
    ("found", "end"),
    [(batch(5001, 5040), 5041), (batch(5099), 5100), (batch(), None), (batch(above=True), 5100)],
    ids=["rows", "last height", "no rows", "row above"],
)
def test_an_indexer_has_written_what_is_below_a_row(found: Batch, end: int | None) -> None:
    """The last row tells, or one above the batch; without a row the service may not have written anything of it."""
    assert shown_to(RECORDS, found) == end


def test_blocks_and_rows_without_a_height() -> None:
    """No block can come in between, for there is one for each height; a row without a readable height does not tell."""
    assert shown_to(BLOCKS, batch(5040)) == 5100
    assert shown_to(RECORDS, Batch([Raw(b'{"height":"x"}')], HEIGHTS, None)) is None


@pytest.mark.parametrize(
    ("found", "deep", "positions"),
    [
        (batch(5040), 5100, {5041: UNSET, 5100: []}),
        (batch(5099), 5100, {5100: UNSET}),
        (batch(), 5100, {5100: []}),
        (batch(), 5040 + TAIL, {5040: UNSET, 5100: []}),
        (batch(), 5100 + TAIL, {5100: UNSET}),
        (batch(5060), 5040 + TAIL, {5061: UNSET, 5100: []}),
    ],
    ids=["up to its last row", "all", "nothing", "all but the tail", "far below the tip", "a row in the tail"],
)
def test_positions_of_a_batch(found: Batch, deep: int, positions: dict[int, list[str] | UnsetType]) -> None:
    """A batch is settled up to its last row; heights above it, at most TAIL below the end, are looked at again."""
    assert new_positions(RECORDS, found, HEIGHTS, deep) == positions


def test_rows_near_the_tip_are_kept_as_digests() -> None:
    """Nothing near the tip is settled: the digests of its rows are recorded. Blocks have hashes instead."""
    near = new_positions(RECORDS, batch(5001, 5040), HEIGHTS, None)
    assert [(end, len(rows or ())) for end, rows in near.items()] == [(5100, 2)]
    assert new_positions(BLOCKS, batch(5099), HEIGHTS, 5100) == {5100: UNSET}


@pytest.mark.parametrize(
    ("late", "words"),
    [
        ((5040,), "height 5040"),
        ((5040, 5040), "height 5040"),
        ((5010, 5011, 5040, 5012), "heights 5010-5012, 5040"),
        (range(5000, 5040, 2), "heights 5000, 5002, 5004, 5006, 5008, 5010, 5012, 5014, …"),
    ],
    ids=["one", "two rows", "a stretch and one", "many"],
)
def test_heights_of_late_rows(late: tuple[int, ...], words: str) -> None:
    """Only those where rows were late are named, whatever was looked at."""
    rows = [Raw(b'{"height":%d,"id":%d}' % (height, height in late)) for height in (5001, *late, 5099)]
    came = Counter(digests(rows[1:-1]))
    assert late_heights(RECORDS, [Batch(rows[:2], HEIGHTS), Batch(rows[2:], HEIGHTS)], came) == words


def test_heights_of_late_rows_without_a_height() -> None:
    """Those of the batch that they came in, of which each may be meant."""
    batches = [Batch([Raw(b'{"a":1}')], HeightRange(5, 9)), Batch([Raw(b'{"a":2}')], HeightRange(9, 12))]
    assert late_heights(BY_COMMAND["ownership"], batches, Counter(digests(batches[1].rows))) == "heights 9-11"
