"""Blocks whose hashes are recomputed as they come: what `--hashes` adds to a range of `blocks` or `full-blocks`."""

from collections import Counter
from collections.abc import Callable, Iterator

from chainq.hashes.check import Wrong
from chainq.hashes.processes import BlockChecks
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade
from chainq.planning.facts import WrongHashError
from chainq.query import Batch, Query
from chainq.rows.fields import Picker, integer_of
from chainq.text.sanitize import excerpt

TIERS = {"blocks": "summary", "full-blocks": "full"}
"""What a block hash is recomputed from, by command: the summary alone, or the contents of the block as well."""


def hashed(
    batches: Iterator[Batch], query: Query, unhashed: Counter[str], trace: Callable[[str], None]
) -> Iterator[Batch]:
    """Yield batches whose blocks make their own hashes, in `query.hash_workers` processes, as far as the limit goes.

    `unhashed`: counts what could not be checked. Raises WrongHashError after the rows before the first wrong one,
    UsageError without aleo-sdk.
    """
    full, left = TIERS[query.method.command] == "full", query.limit
    with BlockChecks(query.hash_workers) as checks:
        for batch in batches:
            rows, proved = batch.rows if left is None else batch.rows[:left], True
            for at, checked in enumerate(checks.check(list(map(bytes, rows)), full=full)):
                unhashed.update(checked.skipped)
                if checked.wrong:
                    yield from _before(batch, at, query)
                    raise _error(batch, at, query, checked.wrong[0])
                proved = proved and checked.proved
            left = None if left is None else left - len(rows)
            if proved and batch.proof is not None:
                batch = batch._replace(proof=batch.proof._replace(grade=Grade.HASH))
                trace(f"{query.method.name} {batch.heights}: {len(rows)} rows, proof: {batch.proof}")
            yield batch


def _before(batch: Batch, at: int, query: Query) -> Iterator[Batch]:
    """Yield the rows of a batch before one, if there are any."""
    height = _height(batch, at, query)
    if at and batch.heights is not None and height in range(*batch.heights.edges):
        start, end = batch.heights.edges
        heights = HeightRange(height + 1, end) if query.reverse else HeightRange(start, height)
        yield batch._replace(rows=batch.rows[:at], heights=heights)


def _height(batch: Batch, at: int, query: Query) -> int:
    height = integer_of(Picker([query.method.height or ""])(batch.rows[at])[0])
    return -1 if height is None else height


def _error(batch: Batch, at: int, query: Query, wrong: Wrong) -> WrongHashError:
    expected, found = (excerpt(text or "nothing") for text in (wrong.expected, wrong.found))
    return WrongHashError(
        f"{query.method.name}: block {_height(batch, at, query)} contradicts its own hashes ({wrong.check}): "
        f"expected {expected}, found {found}",
        "the server altered the block or made it up; compare with another server",
    )
