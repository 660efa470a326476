"""Recomputes the hashes of blocks as they arrive: the `--hashes` option of `blocks` and `full-blocks` ranges."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Raw

from chainq.errors import WrongHashError
from chainq.fetching.links import Links
from chainq.hashes.check import Wrong
from chainq.hashes.processes import BlockChecks
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade
from chainq.query import Batch, Query
from chainq.rows.fields import Picker, integer_of
from chainq.text.sanitize import excerpt

TIERS = {"blocks": "summary", "full-blocks": "full"}
"""The source of a recomputed block hash, by command: the summary alone, or the contents of the block as well."""


def hashed(
    batches: Iterator[Batch], query: Query, unhashed: Counter[str], trace: Callable[[str], None]
) -> Iterator[Batch]:
    """Yield batches whose blocks make their own hashes, in `query.hash_workers` processes, as far as the limit goes.

    `unhashed`: counts what could not be checked. Raises WrongHashError after the rows before the first wrong one,
    IncompleteError for a block that is not linked to its neighbor, UsageError without aleo-sdk.
    """
    links = Links(query.method, query.reverse) if query.verify else None
    full, left = TIERS[query.method.command] == "full", query.limit
    with BlockChecks(query.hash_workers) as checks:
        for batch in batches:
            rows, proved = batch.rows if left is None else batch.rows[:left], True
            for at, checked in enumerate(checks.check(list(map(bytes, rows)), full=full)):
                unhashed.update(checked.skipped)
                if checked.wrong:
                    _check_links(links, rows[:at], query)
                    yield from _before(batch, at, query)
                    raise _error(batch, at, query, checked.wrong[0])
                proved = proved and checked.proved
            _check_links(links, rows, query)
            left = None if left is None else left - len(rows)
            if proved and batch.proof is not None:
                batch = batch._replace(proof=batch.proof._replace(grade=Grade.HASH))
                trace(f"{query.method.name} {batch.heights}: {len(rows)} rows, proof: {batch.proof}")
            yield batch


def _check_links(links: Links | None, rows: Sequence[Raw], query: Query) -> None:
    """Raise IncompleteError if a block is not linked to its neighbor."""
    if links is not None:
        links.check(rows, _heights(rows, query))


def _before(batch: Batch, at: int, query: Query) -> Iterator[Batch]:
    """Yield the rows of a batch before one, if there are any."""
    (height,) = _heights(batch.rows[at : at + 1], query)
    if at and batch.heights is not None and height in range(*batch.heights.edges):
        start, end = batch.heights.edges
        heights = HeightRange(height + 1, end) if query.reverse else HeightRange(start, height)
        yield batch._replace(rows=batch.rows[:at], heights=heights)


def _heights(rows: Sequence[Raw], query: Query) -> list[int]:
    """Return the heights of blocks, -1 for one that has none to be read."""
    pick = Picker([query.method.height or ""])
    heights = (integer_of(pick(row)[0]) for row in rows)
    return [-1 if height is None else height for height in heights]


def _error(batch: Batch, at: int, query: Query, wrong: Wrong) -> WrongHashError:
    expected, found = (excerpt(text or "nothing") for text in (wrong.expected, wrong.found))
    (height,) = _heights(batch.rows[at : at + 1], query)
    return WrongHashError(
        f"{query.method.name}: block {height} contradicts its own hashes ({wrong.check}): "
        f"expected {expected}, found {found}",
        "the server altered the block or made it up; compare with another server",
    )
