"""How long chunks are, by what earlier responses held."""

from chainq.catalog.methods import BY_COMMAND
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Chunker

ROWS = 10_000


def chunker(*seen: tuple[int, int]) -> Chunker:
    """One that has seen responses of so many heights and rows, ten bytes each."""
    made, start = Chunker(BY_COMMAND["records"], ROWS), 0
    for heights, rows in seen:
        made.learn(HeightRange(start, start + heights), rows, 10 * rows, complete=True)
        start += heights
    return made


def test_the_density_is_the_median_by_heights() -> None:
    """One dense height, or one sparse stretch, does not change it."""
    assert chunker((10, 10), (500, 2500), (1, 25_000)).rows_per_height == 5
    assert chunker().rows_per_height == 0
