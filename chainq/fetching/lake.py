"""`--lake`: reads rows that a data set proves from there, and requests only the rest from the service.

The rows of one run must be of one chain. Hashes link partitions to each other, but not to responses. So once a run
requests anything, it also requests the hash of the last block of each stretch that it reads, and compares it. A run
that reads only files requests nothing.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import NamedTuple

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.fetching.calls import Asked
from chainq.heights.bounds import HIGHEST
from chainq.heights.range import HeightRange
from chainq.lake.data_set import gaps
from chainq.lake.names import Entry, digest
from chainq.lake.reader import Reader
from chainq.query import Batch, Query
from chainq.text.sanitize import excerpt
from chainq.transport.base import ServiceOptions


class _Part(NamedTuple):
    """Heights that are read together. `last`: the last of the partitions that hold them, None if not stored."""

    heights: HeightRange
    last: Entry | None


class Lake:
    """The data set of a run. Threads may share it. Raises UsageError if there is none.

    `hash_of`: requests the hash of a block, None if the service does not have it. With `strict`, rows that rest on
    belief are requested.
    """

    def __init__(self, destination: str, hash_of: Callable[[int], str | None], options: ServiceOptions) -> None:
        self.reader = Reader(destination, memory=options.max_memory)
        self._hash_of, self._strict = hash_of, options.strict
        self.reader.tip = HIGHEST  # the service decides where the chain ends
        self._lock = Lock()  # of what follows
        self._asked = False  # the run requests something
        self._pending: dict[str, Entry] = {}  # read while nothing was requested, by name
        self._checked: set[str] = set()

    def has_block(self, height: int) -> bool:
        """Return whether the data set shows that a block of this height exists."""
        return self.reader.has_block(height)

    def ask(self) -> None:
        """Record that the run requests something. Raises IncompleteError if the rows read are of another chain."""
        with self._lock:
            self._asked = True
            while self._pending:
                self._check(self._pending.popitem()[1])

    def block(self, height: int) -> list[Raw] | None:
        """Return the summary of a block, None if it must be requested. Raises IncompleteError as `ask` does."""
        heights = HeightRange(height, height + 1)
        entries = self.reader.proved("blocks", heights, strict=self._strict)
        if not entries:
            self.ask()
            return None
        self._take(entries[0])
        return list(self.reader.rows("blocks", heights))

    def fetch_range(
        self,
        query: Query,
        heights: HeightRange,
        asked: Asked,
        read: Callable[[Query, HeightRange], Iterator[Batch]],
        ask: Callable[[Query, HeightRange, Asked], Iterator[Batch]],
    ) -> Iterator[Batch]:
        """Yield every row of a height range, exactly once, in height order.

        `read` yields the rows of a stored part, and `ask` requests the rows of any other. Raises IncompleteError before
        rows of another chain.
        """
        parts, left = self._parts(query, heights), query.limit
        if any(part.last is None for part in parts):
            self.ask()
        for part in parts:
            if left is not None and left <= 0:
                return
            one = query._replace(limit=left)
            if part.last is not None:
                self._take(part.last)
            for batch in ask(one, part.heights, asked) if part.last is None else read(one, part.heights):
                left = None if left is None else left - len(batch.rows)
                yield batch

    def missing(self, query: Query, heights: HeightRange) -> list[HeightRange]:
        """Return the heights whose rows are requested, as ranges in the order of the query."""
        return [part.heights for part in self._parts(query, heights) if part.last is None]

    def _parts(self, query: Query, heights: HeightRange) -> list[_Part]:
        """Return the parts of a range, in the order of the query."""
        command = "blocks" if query.method.command == "block" else query.method.command
        entries = self.reader.proved(command, heights, strict=self._strict)
        missing = gaps([entry.spec for entry in entries], heights)
        places = heights.split([edge for gap in missing for edge in gap.edges], reverse=query.reverse)
        at = partial(bisect_left, entries, key=lambda entry: entry.spec.start)
        return [_Part(part, entries[at(part.end) - 1] if entries and part not in missing else None) for part in places]

    def _take(self, entry: Entry) -> None:
        """Record that rows of a partition, and of the partitions linked to it, are read."""
        with self._lock:
            if self._asked:
                self._check(entry)
            else:
                self._pending[entry.name] = entry

    def _check(self, entry: Entry) -> None:
        """Raise IncompleteError if the last block of a partition is not the service's."""
        if entry.name in self._checked:
            return
        height = entry.spec.end - 1
        found = self._hash_of(height)
        if digest(found or "") != entry.last:
            stored = excerpt(self.reader.receipt(entry).last_hash, 80)
            raise IncompleteError(
                f"{self.reader.label} is not of the service's chain: its block {height} is {stored}, the service has"
                f" {excerpt(found or 'no such block', 80)}",
                f"if there was a reorg, chainq export {entry.spec.command} replaces what is not on the chain",
            )
        self._checked.add(entry.name)
