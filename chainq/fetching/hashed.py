"""Recomputes the hashes of blocks as they arrive: the `--hashes` option of `blocks` and `full-blocks` ranges."""

from collections import Counter
from collections.abc import Callable, Iterator

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
    pick = Picker([query.method.height or ""])
    with BlockChecks(query.hash_workers) as checks:
        for batch in batches:
            rows, proved = batch.rows if left is None else batch.rows[:left], True
            heights = [-1 if (at := integer_of(pick(row)[0])) is None else at for row in rows]
            for at, checked in enumerate(checks.check(list(map(bytes, rows)), full=full)):
                unhashed.update(checked.skipped)
                if checked.wrong:
                    if links is not None:
                        links.check(rows[:at], heights[:at])
                    if at and batch.heights is not None and heights[at] in range(*batch.heights.edges):
                        start, end = batch.heights.edges
                        before = HeightRange(heights[at] + 1, end) if query.reverse else HeightRange(start, heights[at])
                        yield batch._replace(rows=rows[:at], heights=before)
                    raise _error(query, heights[at], checked.wrong[0])
                proved = proved and checked.proved
            if links is not None:
                links.check(rows, heights)
            left = None if left is None else left - len(rows)
            if proved and batch.proof is not None:
                batch = batch._replace(proof=batch.proof._replace(grade=Grade.HASH))
                trace(f"{query.method.name} {batch.heights}: {len(rows)} rows, proof: {batch.proof}")
            yield batch


def _error(query: Query, height: int, wrong: Wrong) -> WrongHashError:
    expected, found = (excerpt(text or "nothing") for text in (wrong.expected, wrong.found))
    return WrongHashError(
        f"{query.method.name}: block {height} contradicts its own hashes ({wrong.check}): "
        f"expected {expected}, found {found}",
        "the server altered the block or made it up; compare with another server",
    )
