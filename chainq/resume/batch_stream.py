"""The batches of a range, read up to one height and then the next. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.heights.range import HeightRange
from chainq.query import Batch
from chainq.rows.fields import Picker, integer_of


class BatchStream:
    """Batches in order of height. A batch can be split only if its rows have a height."""

    def __init__(self, method: Method, batches: Iterable[Batch]) -> None:
        self._method, self._batches = method, iter(batches)

    def up_to(self, height: int) -> Iterator[Batch]:
        """Yield the next batches below a height; a batch that reaches beyond it is split there."""
        for batch in self._batches:
            heights = batch.heights or HeightRange(0, 0)
            if heights.start >= height:
                self.put_back([batch])
                return
            if heights.end > height:
                batch, rest = _cut(self._method, batch, heights, height)
                self.put_back([rest])
            yield batch
            if heights.end >= height:
                return

    def put_back(self, batches: Iterable[Batch]) -> None:
        """Put batches back, to be yielded before the next ones."""
        self._batches = chain(batches, self._batches)


def _cut(method: Method, batch: Batch, heights: HeightRange, at: int) -> tuple[Batch, Batch]:
    """Return the rows of a batch below a height, and the others."""
    pick = Picker([method.height or ""])

    def height_of(row: Raw) -> int:
        height = integer_of(pick(row)[0])
        return heights.start if height is None else height

    place = bisect_left(batch.rows, at, key=height_of)
    low, high = batch.rows[:place], batch.rows[place:]
    scanned = (None, None) if batch.scanned is None else (len(low), len(high))  # at least so many
    return (
        batch._replace(rows=low, heights=HeightRange(heights.start, at), scanned=scanned[0], confirmed=False),
        batch._replace(rows=high, heights=HeightRange(at, heights.end), scanned=scanned[1]),
    )
