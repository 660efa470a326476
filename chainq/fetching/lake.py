"""Rows that a data set proves: the ranges of one (`--url DEST`), and those in front of a service (`--lake`).

Partitions are proved, so nothing is requested or proved again. With `--lake`, only the rest is requested. The rows of
one run must be of one chain. Hashes link partitions to each other, but not to responses. So once a run requests
anything, it also requests the hash of the last block of each stretch that it reads, and compares it. A run that reads
only files requests nothing.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from threading import Lock

from msgspec import Raw

from chainq.catalog.methods import Role
from chainq.errors import IncompleteError
from chainq.fetching.calls import Calls
from chainq.heights.bounds import HIGHEST
from chainq.heights.range import HeightRange
from chainq.lake.data_set import Entry, digest, gaps
from chainq.lake.reader import Reader, address_transactions
from chainq.options import ServiceOptions
from chainq.planning.exchange import Grade
from chainq.query import Batch, Query
from chainq.text.sanitize import excerpt


class Lake:
    """The data set of a run. Threads may share it. Raises UsageError if there is none.

    `hash_of`: requests the hash of a block, None if the service does not have it. With `strict`, rows that rest on
    belief are requested.
    """

    def __init__(self, destination: str, hash_of: Callable[[int], str | None], options: ServiceOptions) -> None:
        self.reader = Reader(destination, memory=options.max_memory)
        self._hash_of, self._strict = cache(hash_of), options.strict
        self.reader.tip = HIGHEST  # the service decides where the chain ends
        self._lock = Lock()  # of what follows
        self._asked = False  # the run requests something
        self._taken: set[Entry] = set()  # the last partitions of stretches that were read and not compared yet

    def ask(self) -> None:
        """Record that the run requests something. Raises IncompleteError if the rows read are of another chain."""
        with self._lock:
            self._asked = True
            self._check()

    def block(self, height: int) -> list[Raw] | None:
        """Return the summary of a block, None if it must be requested. Raises IncompleteError as `ask` does."""
        heights = HeightRange(height, height + 1)
        entries = self.reader.proved("blocks", heights, strict=self._strict)
        if not entries:
            self.ask()
            return None
        self._take(entries[0])
        return list(self.reader.rows("blocks", heights))

    def parts(self, query: Query, heights: HeightRange) -> Iterator[tuple[HeightRange, bool]]:
        """Yield the parts of a range, in the order of the query, and whether each is read here or requested.

        Raises IncompleteError before a part of another chain.
        """
        parts = self._parts(query, heights)
        if any(last is None for _, last in parts):
            self.ask()
        for part, last in parts:
            if last is not None:
                self._take(last)
            yield part, last is not None

    def missing(self, query: Query, heights: HeightRange) -> list[HeightRange]:
        """Return the heights whose rows are requested, as ranges in the order of the query."""
        return [part for part, last in self._parts(query, heights) if last is None]

    def _parts(self, query: Query, heights: HeightRange) -> list[tuple[HeightRange, Entry | None]]:
        """Return the parts of a range, in the order of the query; each with the last of the partitions that hold it,
        None if it is not stored."""
        command = "blocks" if query.method.command == "block" else query.method.command
        entries = self.reader.proved(command, heights, strict=self._strict)
        missing = gaps([entry.spec for entry in entries], heights)
        ends = [entry.spec.end for entry in entries]
        return [
            (part, None if part in missing else entries[bisect_left(ends, part.end)])
            for part in heights.split([edge for gap in missing for edge in gap.edges], reverse=query.reverse)
        ]

    def _take(self, entry: Entry) -> None:
        """Record that rows of a partition, and of the partitions linked to it, are read."""
        with self._lock:
            self._taken.add(entry)
            self._check()

    def _check(self) -> None:
        """Raise IncompleteError if the run requests rows, and the last block of a partition is not the service's."""
        while self._asked and self._taken:
            entry = self._taken.pop()
            height = entry.spec.end - 1
            found = self._hash_of(height)
            if digest(found or "") != entry.last:
                stored = excerpt(self.reader.receipt(entry).last_hash, 80)
                raise IncompleteError(
                    f"{self.reader.label} is not of the service's chain: its block {height} is {stored}, the service"
                    f" has {excerpt(found or 'no such block', 80)}",
                    f"if there was a reorg, chainq export {entry.spec.command} replaces what is not on the chain",
                )


def fetch_stored(
    calls: Calls, reader: Reader, believed: Callable[[HeightRange], None], query: Query, heights: HeightRange
) -> Iterator[Batch]:
    """Yield every row of a height range, exactly once, in batches that end with the last row of a height.

    `believed` is called with the heights of a batch that rests on belief; with `strict` it raises an error. Raises
    IncompleteError before the first row if the data set lacks heights.
    """
    method, address = query.method, query.arguments.get(Role.ADDRESS)
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
