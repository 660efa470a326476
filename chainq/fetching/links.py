"""Checks that each block names the hash of the block before it, and with `--hashes` that it makes its own."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.errors import IncompleteError, WrongHashError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import NO_VERIFY, Grade
from chainq.query import Batch, Query
from chainq.rows.fields import Picker, integer_of, struct_of, text_of
from chainq.text.sanitize import excerpt

TIERS = {"blocks": "summary", "full-blocks": "full"}
"""The source of a recomputed block hash, by command: the summary alone, or the contents of the block as well."""


class Links:
    """Checks that each block in order names the hash of the previous block, also across chunk edges."""

    def __init__(self, method: Method, reverse: bool = False) -> None:
        self._name = method.name
        self._reverse = reverse
        names = ("block_hash", "previous_hash")
        self._decode = msgspec.json.Decoder(struct_of(dict.fromkeys(names, str))).decode
        self._take, self._pick = attrgetter(*names), Picker(names)
        self._last: tuple[int, tuple[str, ...]] | None = None  # height, and block_hash with previous_hash

    def check(self, rows: Sequence[Raw], heights: Sequence[int]) -> None:
        """Raise IncompleteError at the first block that is not linked to the previous block."""
        try:
            hashes: list[tuple[str, ...]] = list(map(self._take, map(self._decode, rows)))
        except msgspec.DecodeError:  # one is missing, or not a string
            hashes = [tuple(map(text_of, self._pick(row))) for row in rows]
        if self._last is not None:
            hashes, heights = [self._last[1], *hashes], [self._last[0], *heights]
        own, previous = zip(*hashes, strict=True) if hashes else ((), ())
        named, there = (previous[:-1], own[1:]) if self._reverse else (previous[1:], own[:-1])
        if named != there or "" in there:
            at = next(i for i in range(len(there)) if not there[i] or named[i] != there[i])
            low, high = sorted(heights[at : at + 2])
            raise IncompleteError(
                f"{self._name}: block {high} names {excerpt(named[at], 80) or 'nothing'} as its previous block,"
                f" but block {low} is {excerpt(there[at], 80) or 'without a hash'}",
                "the chain is broken there, or changed while it was read; " + NO_VERIFY,
            )
        if hashes:
            self._last = heights[-1], hashes[-1]


def hashed(
    batches: Iterator[Batch], query: Query, unhashed: Counter[str], trace: Callable[[str], None]
) -> Iterator[Batch]:
    """Yield batches whose blocks make their own hashes, in `query.hash_workers` processes, as far as the limit goes.

    `unhashed`: counts what could not be checked. Raises WrongHashError after the rows before the first wrong one,
    IncompleteError for a block that is not linked to its neighbor, UsageError without aleo-sdk.
    """
    from chainq.hashes.processes import BlockChecks

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
                    wrong = checked.wrong[0]
                    expected, found = (excerpt(text or "nothing") for text in (wrong.expected, wrong.found))
                    raise WrongHashError(
                        f"{query.method.name}: block {heights[at]} contradicts its own hashes ({wrong.check}): "
                        f"expected {expected}, found {found}",
                        "the server altered the block or made it up; compare with another server",
                    )
                proved = proved and checked.proved
            if links is not None:
                links.check(rows, heights)
            left = None if left is None else left - len(rows)
            if proved and batch.proof is not None:
                batch = batch._replace(proof=batch.proof._replace(grade=Grade.HASH))
                trace(f"{query.method.name} {batch.heights}: {len(rows)} rows, proof: {batch.proof}")
            yield batch
