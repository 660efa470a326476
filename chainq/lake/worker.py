"""A worker of an export: it fetches and proves one partition after another, and writes the file of each table.

A partition of a read is the unit of work. Writing it depends only on plain, picklable values and gives the same rows
each time, so it may be repeated anywhere. A file appears whole, under a name that no other file has, so that a kill at
any moment is harmless.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import NamedTuple

from msgspec import Raw

from chainq._version import __version__
from chainq.catalog.methods import BY_COMMAND, Method
from chainq.catalog.tables import TABLES
from chainq.config.server import completed
from chainq.config.values import LEAST_MEMORY
from chainq.errors import BehindError, IncompleteError, OutputError, Shortfall
from chainq.fetching.blocks import Tip, hash_text
from chainq.fetching.links import TIERS
from chainq.fetching.reading import Note
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.lake.files import PartitionFile, Receipt
from chainq.lake.names import Entry, PartitionSpec, digest
from chainq.lake.plan import Task, read_method
from chainq.lake.store import open_store
from chainq.planning.exchange import Grade, Known
from chainq.process import Closing
from chainq.query import Query
from chainq.rows.fields import Picker
from chainq.rows.tables import table_rows
from chainq.transport.base import Report, ServiceOptions

ATTEMPTS = 3  # if a reorg happens between the first and the last request
LESS_MEMORY = "lower -w or -j, or export with a smaller --partition"


class Job(NamedTuple):
    """One export, the same for all its partitions. `tip`: the coordinator's. `destination`: means the same in every
    process. `hashes`: whether block hashes are recomputed.

    `service`: the coordinator's, without the headers of its profile. Each worker reads these itself, so that
    no secret is sent. Rate, concurrency and memory are totals for all workers until the job is `shared`."""

    service: ServiceOptions
    tip: Tip
    destination: str
    hashes: bool = False

    def shared(self, workers: int) -> "Job":
        """Return one worker's job: its share of the concurrent requests, the rate and the memory."""
        service = self.service
        share = service._replace(
            rate=None if service.rate is None else service.rate / workers,
            concurrency=-(-service.concurrency // workers),
            max_memory=max(LEAST_MEMORY, service.max_memory // workers),
        )
        return self._replace(service=share)


class Done(NamedTuple):
    """A written partition of a read, and its files. `known`: what it learned; `believed`: the unproved heights;
    `unhashed`: what `hashes` could not check, counted."""

    spec: PartitionSpec
    files: tuple[Entry, ...]
    calls: int
    known: Known
    believed: tuple[HeightRange, ...]
    unhashed: Mapping[str, int]

    @property
    def rows(self) -> int:
        """Return how many rows its files have."""
        return sum(entry.rows for entry in self.files)

    @property
    def size(self) -> int:
        """Return how many bytes its files have."""
        return sum(entry.size for entry in self.files)


class Advance(NamedTuple):
    """A worker's progress in a partition: how many heights and rows are written."""

    spec: PartitionSpec
    heights: int = 0
    rows: int = 0


Hold = tuple[str, float]
"""A method that the service refused (HTTP 429) to another worker, and for how many seconds its calls pause."""
Event = Note | Advance | Report
"""What a worker tells meanwhile; a report is of one attempt of a request."""


class Worker(Closing):
    """Writes partitions of one export in sequence, over the same connections. A context manager. Raises UsageError."""

    def __init__(self, job: Job, say: Callable[[Event], None] = lambda _: None) -> None:
        self._job, self._say, self._calls = job, say, 0
        self._store = open_store(job.destination)
        self._service = Service(
            completed(job.service), report=self._count, warn=self._warn, trace=lambda text: say(Note(text, False))
        )
        self._service.blocks.known = job.tip

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def hold_back(self, hold: Hold) -> None:
        """Pause calls of a method; callable from any thread."""
        self._service.connection.limiter.hold_back(*hold)

    def write(self, task: Task, attempts: int = ATTEMPTS) -> Done:
        """Fetch, prove and write one partition. Raises ChainqError, and then keeps the previous files."""
        try:
            return self._write(task)
        except MemoryError:
            raise OutputError("out of memory", LESS_MEMORY) from None
        except _ReorgError:
            if attempts == 1:
                raise
        except BehindError as error:
            if attempts == 1 or error.height <= task.spec.start:
                raise
            task = task._replace(spec=task.spec._replace(end=error.height))  # the next run writes what is missing now
            self._warn(Shortfall(f"{error.message}: this run ends before that height"))
        return self.write(task, attempts - 1)

    def _write(self, task: Task) -> Done:
        (spec, tables, _), service, calls, tip = task, self._service, self._calls, self._job.tip.height
        method = read_method(spec.command)
        hashed = self._job.hashes and method.command in TIERS
        service.believed.clear()
        service.unhashed.clear()
        service.learned[method.name] = task.known
        self._say(Note(str(spec), False))
        self._say(Advance(spec))
        with ExitStack() as stack:
            uploads = {table: stack.enter_context(self._store.upload()) for table in tables}
            files = {table: PartitionFile(TABLES[table], one.write, self._warn) for table, one in uploads.items()}
            (first, last, previous), proofs = self._fetch(task, method, files, int(hashed))
            entries = []
            for table, file in files.items():
                entry = Entry(spec._replace(command=table), tip, file.rows, digest(previous), digest(last))
                receipt = Receipt(
                    name=entry.name,
                    first_hash=first,
                    last_hash=last,
                    previous_hash=previous,
                    sha256=file.sha256.hexdigest(),
                    proof=dict(proofs),
                    calls=self._calls - calls,
                    dialect=service.dialect.name,
                    version=__version__,
                    source="" if method.command == table else method.command,
                    hashes=TIERS[method.command] if hashed else "",
                    unhashed=dict(service.unhashed),
                )
                file.finish(receipt)
                entries.append(entry._replace(size=uploads[table].publish(entry.name)))
        believed, known = tuple(service.believed.get(method.name, ())), service.learned[method.name]
        return Done(spec, tuple(entries), self._calls - calls, known, believed, dict(service.unhashed))

    def _fetch(
        self, task: Task, method: Method, files: Mapping[str, PartitionFile], hash_workers: int
    ) -> tuple[tuple[str, str, str], Counter[Grade]]:
        """Write all rows to their tables; return the hashes of the first and the last block and of the block before,
        and how often rows were proved in which way."""
        spec, proofs = task.spec, Counter[Grade]()
        read, ends = 0, list[Raw]()
        query = Query(method, bounds=Bounds(start=spec.start, end=spec.end), hash_workers=hash_workers)
        batches = self._service.fetch_range(query, spec.heights)
        before = None if method.linked else self._service.blocks.block_hash(spec.end - 1)
        for batch in batches:
            if batch.proof is not None:
                proofs[batch.proof.grade] += 1
            if batch.rows:
                ends = [ends[0] if ends else batch.rows[0].copy(), batch.rows[-1].copy()]
            read += len(batch.rows)
            parts = [table_rows(row) for row in batch.rows] if {*files} - {method.command} else []
            for table, file in files.items():
                file.write(batch.rows if table == method.command else [row for part in parts for row in part[table]])
            if batch.heights is not None:
                self._say(Advance(spec, batch.heights.end - spec.start, sum(file.rows for file in files.values())))
            del batch, parts  # their rows keep their whole response in memory, and the next wait may be long
        if method.linked and read != len(spec.heights):
            raise IncompleteError(f"{spec}: the chain ends before", "run the command again")
        if not method.linked:
            wanted = dict.fromkeys([spec.start, spec.end - 1])
            ends = [row for some in self._service.fetch_lookups(BY_COMMAND["block"], wanted) for row in some.rows]
        hashes = _hashes(ends[0], ends[-1])  # of other rows as the service returns them now
        if not method.linked and hashes[1] != (before or ""):
            what = f"{spec}: block {spec.end - 1} was replaced while rows were fetched"
            raise _ReorgError(what, "run the command again")
        return hashes, proofs

    def _warn(self, text: str) -> None:
        self._say(Note(text))

    def _count(self, report: Report) -> None:
        self._calls += 1
        self._say(report)


def _hashes(first: Raw, last: Raw) -> tuple[str, str, str]:
    """Return the hashes of the first and the last block, and of the block before the first."""
    pick = Picker(["block_hash", "previous_hash"])
    own, previous = map(hash_text, pick(first))
    return own, hash_text(pick(last)[0]), previous


class _ReorgError(IncompleteError):
    """The last block of a partition was replaced while its rows were fetched."""
