"""Ranges of a data set. Its partitions are proved, so nothing is requested or proved again."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from chainq.catalog.methods import Role
from chainq.errors import IncompleteError
from chainq.fetching.calls import Calls
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade
from chainq.query import Batch, Query

if TYPE_CHECKING:
    from chainq.lake.reader import Reader


def fetch_stored(
    calls: Calls,
    reader: "Reader",
    believed: Callable[[HeightRange], None],
    query: Query,
    heights: HeightRange,
) -> Iterator[Batch]:
    """Yield every row of a height range, exactly once, in batches that end with the last row of a height.

    `believed` is called with the heights of a batch that rests on belief; with `strict` it raises an error. Raises
    IncompleteError before the first row if the data set lacks heights.
    """
    from chainq.lake.reader import address_transactions

    method, address = query.method, query.arguments.get(Role.ADDRESS)
    reader.check("inputs" if address else method.command, heights)
    if address:
        batches = address_transactions(reader, str(address), heights, reverse=query.reverse)
    else:
        batches = reader.batches(method.command, heights, reverse=query.reverse)
    for batch in batches:
        rows = f"{method.name} {batch.heights}: {len(batch.rows)} rows"
        calls.trace(f"{rows}, proof: {batch.proof}, from {reader.label}")
        if batch.proof is not None and batch.proof.grade is Grade.BELIEF and batch.heights is not None:
            if calls.options.strict:
                raise IncompleteError(
                    f"{method.name} {batch.heights}: nothing proves that these are all rows",
                    "export them again with --strict, or verify them with a witness",
                )
            believed(batch.heights)
        yield batch
