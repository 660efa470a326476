"""One partition of a read, the unit of an export: its rows fetched and proved, and the file of each table.

It depends only on its arguments and writes the same rows each time, so an engine may repeat it anywhere. A file appears
whole, under a name that no other file has, so that a kill at any moment is harmless.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Raw, structs

from chainq._version import __version__
from chainq.catalog.methods import BY_COMMAND, Method
from chainq.errors import BehindError, ChainqError, IncompleteError, OutputError, Shortfall
from chainq.fetching.blocks import hash_text
from chainq.fetching.calls import Asked
from chainq.fetching.links import TIERS
from chainq.heights.bounds import Bounds
from chainq.lake import files as partition_files
from chainq.lake.files import Receipt
from chainq.lake.job import Advance, Done, Hold, Job, Task
from chainq.lake.names import Entry, PartitionSpec, digest
from chainq.lake.reads import Files, read_method
from chainq.planning.exchange import Known
from chainq.process import Closing
from chainq.query import Query
from chainq.rows.fields import Picker
from chainq.transport.base import Report

if TYPE_CHECKING:
    from chainq.fetching.service import Service
    from chainq.lake.store import Store, Upload

ATTEMPTS = 3  # if a reorg happens between the first and the last request
LESS_MEMORY = "lower -w or -j, or export with a smaller --partition"

Say = Callable[[str], None]


class Hashes(NamedTuple):
    """The hashes of a partition's first and last block, and of the block before."""

    first: str
    last: str
    previous: str


class Worker(Closing):
    """Writes partitions of one export in sequence, over the same connections. A context manager.

    `warn` and `trace` take a line for the user, `report` every attempt of a request, `advance` the progress so far.
    Raises UsageError.
    """

    def __init__(
        self,
        job: Job,
        warn: Say = lambda _: None,
        trace: Say = lambda _: None,
        report: Callable[[Report], None] = lambda _: None,
        advance: Callable[[Advance], None] = lambda _: None,
    ) -> None:
        self._job, self._warn, self._trace, self._advance = job, warn, trace, advance
        self._calls = 0
        self._report = report
        self._store: Store = job.open_store()
        self._service: Service = job.open_service(self._count, warn, trace)

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def write(self, task: Task) -> Done:
        """Fetch, prove and write one partition. Raises ChainqError, and then keeps the previous files."""
        for hold in task.holds:
            self.hold_back(hold)
        self._trace(str(task.spec))
        try:
            return self._write(task)
        except MemoryError:
            raise OutputError("out of memory", LESS_MEMORY) from None

    def _write(self, task: Task) -> Done:
        spec, read, calls = task.spec, read_method(task.spec.command), self._calls
        with ExitStack() as stack:
            tables = task.tables or (spec.command,)
            uploads = {table: stack.enter_context(self._store.upload()) for table in tables}
            for left in reversed(range(ATTEMPTS)):
                self._service.believed.clear()
                self._service.unhashed.clear()
                files = Files(spec.command, uploads, self._warn)
                try:
                    hashes, known = self._fetch(task, files)
                    break
                except ChainqError as error:
                    if isinstance(error, BehindError) and spec.start < error.height and left:
                        spec = spec._replace(end=error.height)  # the next run writes what is missing now
                        task = structs.replace(task, spec=spec)
                        self._warn(Shortfall(f"{error.message}: this run ends before that height"))
                    elif not isinstance(error, _ReorgError) or not left:
                        raise
            entries = tuple(
                self._published(uploads[table], files, spec._replace(command=table), read, hashes, calls)
                for table in files.tables
            )
        believed = tuple(self._service.believed.get(read.name, ()))
        return Done(spec, entries, self._calls - calls, known, believed, dict(self._service.unhashed))

    def _hashed(self, read: Method) -> bool:
        """Return whether the hashes of blocks are recomputed."""
        return self._job.hashes and read.command in TIERS

    def _published(
        self, upload: "Upload", files: Files, spec: PartitionSpec, read: Method, hashes: Hashes, calls: int
    ) -> Entry:
        """End the file of a table, and publish it. `calls`: how many there were before it."""
        file, tip = files.tables[spec.command], self._job.tip.height
        receipt = Receipt(
            receipt=partition_files.VERSION,
            command=spec.command,
            start=spec.start,
            end=spec.end,
            rows=file.rows,
            first_hash=hashes.first,
            last_hash=hashes.last,
            previous_hash=hashes.previous,
            sha256=file.sha256,
            proof=dict(files.proofs),
            calls=self._calls - calls,
            tip=tip,
            dialect=self._service.dialect.name,
            version=__version__,
            source="" if read.command == spec.command else read.command,
            hashes=TIERS[read.command] if self._hashed(read) else "",
            unhashed=dict(self._service.unhashed),
        )
        file.finish(receipt)
        entry = Entry(spec, tip, file.rows, digest(hashes.previous), digest(hashes.last))
        return entry._replace(size=upload.publish(entry.name))

    def hold_back(self, hold: Hold) -> None:
        """Pause calls of a method; callable from any thread."""
        self._service.connection.hold_back(hold.method, hold.seconds)

    def _fetch(self, task: Task, files: Files) -> tuple[Hashes, Known]:
        """Write all rows to the files; return the hashes, and what is known."""
        spec, learned, method = task.spec, [task.known], read_method(task.spec.command)
        self._advance(Advance(spec))
        workers = int(self._hashed(method))  # no more: each partition already has a process
        query = Query(method, bounds=Bounds(start=spec.start, end=spec.end), hash_workers=workers)
        batches = self._service.fetch_range(query, spec.heights, Asked(known=task.known, learned=learned.append))
        before = None if method.linked else self._service.blocks.block_hash(spec.end - 1)
        for batch in batches:
            files.write(batch)
            if batch.heights is not None:
                self._advance(Advance(spec, batch.heights.end - spec.start, files.rows))
            del batch  # its rows keep their whole response in memory, and the next wait may be long
        if method.linked:
            if files.first is None or files.last is None or files.read != len(spec.heights):
                raise IncompleteError(f"{spec}: the chain ends before", "run the command again")
            return _hashes_in(files.first, files.last), learned[-1]
        wanted = dict.fromkeys([spec.start, spec.end - 1])
        looked_up = self._service.fetch_lookups(BY_COMMAND["block"], wanted)
        found = [row for batch in looked_up for row in batch.rows]
        hashes = _hashes_in(found[0], found[-1])  # as the service returns them now
        if hashes.last != (before or ""):
            raise _ReorgError(
                f"{spec}: block {spec.end - 1} was replaced while rows were fetched", "run the command again"
            )
        return hashes, learned[-1]

    def _count(self, report: Report) -> None:
        self._calls += 1
        self._report(report)


def _hashes_in(first: Raw, last: Raw) -> Hashes:
    """Return the hashes in the first and the last block."""
    pick = Picker(["block_hash", "previous_hash"])
    own, previous = map(hash_text, pick(first))
    return Hashes(own, hash_text(pick(last)[0]), previous)


class _ReorgError(IncompleteError):
    """The last block of a partition was replaced while its rows were fetched."""
