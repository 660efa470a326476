"""Writes the partitions of an export, by workers in processes of this machine or on a dask.distributed cluster.

A partition of a read is the unit of work. Writing it depends only on plain, picklable values and gives the same rows
each time, so any worker may write it, and another one may write it again. A file appears whole, under a name that no
other file has, so that a kill at any moment is harmless.

The service counts calls per client address, whichever process makes them. When it refuses a method to one worker (HTTP
429), the others pause that method for slightly longer than the refused worker waits. Its next call then shows whether
to keep waiting, so the other workers need not probe the limit themselves.

A task of dask takes and returns plain values, so workers need only chainq and the profile, and store nothing. If a
worker dies, others take its tasks. Each waits for the service alone.

Rejected: refusals as dask events, by which tasks of a cluster held each other back, too. It took as much code as the
rest of the engine, and `--rate` keeps a cluster below a limit that is known.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, cast

from msgspec import Raw

from chainq._version import __version__
from chainq.catalog.methods import BY_COMMAND, Method
from chainq.catalog.tables import TABLES
from chainq.config.server import completed
from chainq.config.values import LEAST_MEMORY
from chainq.errors import BehindError, IncompleteError, OutputError, Shortfall, UnreachableError, needed
from chainq.fetching.blocks import Tip, hash_text
from chainq.fetching.links import TIERS
from chainq.fetching.reading import Note
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.lake.data_set import Entry, PartitionSpec, digest
from chainq.lake.files import PartitionFile, Receipt
from chainq.lake.plan import Task, read_method
from chainq.lake.store import open_store
from chainq.options import ServiceOptions
from chainq.planning.exchange import Grade, Known
from chainq.process import Closing
from chainq.process.pool import Process, WorkerDiedError, Workers
from chainq.process.threads import in_order
from chainq.process.worker import portable
from chainq.query import Query
from chainq.rows.fields import Picker
from chainq.rows.tables import table_rows
from chainq.transport.base import Report

LESS_MEMORY = "lower -w or -j, or export with a smaller --partition"
RETRIES = 2  # of a task whose worker died, by dask
DEATHS = 3  # of workers that had the same partition
LONGER = 1.0  # seconds: longer than most calls take


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
Hear = Callable[[object, Event], None]
"""Is called with a worker and what it tells, from any thread."""


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

    def write(self, task: Task) -> Done:
        """Fetch, prove and write one partition, up to the height of which the service lacks rows: the next run writes
        the rest. Raises ChainqError, and then keeps the previous files."""
        try:
            return self._write(task)
        except MemoryError:
            raise OutputError("out of memory", LESS_MEMORY) from None
        except BehindError as error:
            if not task.spec.start < error.height < task.spec.end:
                raise
            end, why = error.height, error.message
        self._warn(Shortfall(f"{why}: this run ends before that height"))
        return self.write(task._replace(spec=task.spec._replace(end=end)))

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
        if method.single and read != len(spec.heights):
            raise IncompleteError(f"{spec}: the chain ends before", "run the command again")
        if not method.linked:
            wanted = dict.fromkeys([spec.start, spec.end - 1])
            ends = [row for some in self._service.fetch_lookups(BY_COMMAND["block"], wanted) for row in some.rows]
        pick = Picker(["block_hash", "previous_hash"])  # of other rows as the service returns them now
        (first, previous), last = map(hash_text, pick(ends[0])), hash_text(pick(ends[-1])[0])
        if not method.linked and last != (before or ""):
            what = f"{spec}: block {spec.end - 1} was replaced while rows were fetched"
            raise IncompleteError(what, "run the command again")
        return (first, last, previous), proofs

    def _warn(self, text: str) -> None:
        self._say(Note(text))

    def _count(self, report: Report) -> None:
        self._calls += 1
        self._say(report)


def write_all(crew: "Crew", tasks: Sequence[Task], written: list[Entry]) -> Iterator[Done]:
    """Yield partitions as they are written, in the order of the tasks. After a failure, which it raises, no more are
    begun; the files of all that are written are in `written` then."""
    known: dict[str, Known] = {}  # by command, of the last partition
    failures: list[Exception] = []

    def write(task: Task) -> Done:
        if failures:
            raise failures[0]
        try:
            done = crew.write(task._replace(known=known.get(task.spec.command, task.known)))
        except Exception as failure:
            failures.append(failure)
            raise
        known[done.spec.command] = done.known
        written.extend(done.files)
        return done

    return in_order(crew.size, (partial(write, task) for task in tasks), len(tasks) + 1)


class Holds:
    """Finds which refusals of the service make other workers pause. For any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[str, float] = {}  # by method, until when

    def of(self, event: Event, now: float) -> Hold | None:
        """Return the hold for all other workers that an event leads to, if it is new. `now`: by any steady clock."""
        if not isinstance(event, Report) or not event.rate_limited or event.wait is None:
            return None
        with self._lock:
            if now < self._held.get(event.method, 0.0):  # it was in progress, or its worker has the hold
                return None
            self._held[event.method] = now + event.wait
        return event.method, event.wait + LONGER


class LocalCrew(Closing):
    """At most so many processes of this machine, one for each of `tasks` at most."""

    def __init__(self, most: int, job: Job, tasks: int, hear: Hear) -> None:
        self.size, self._told, self._holds = max(1, min(most, tasks)), hear, Holds()
        self._closed = False
        self._workers = Workers(partial(Worker, job.shared(self.size)), self._hear)

    def close(self) -> None:
        """End the processes at once."""
        self._closed = True
        self._workers.close()

    def write(self, task: Task) -> Done:
        """Write a partition in one of the processes, in another one if that dies."""
        how = ""
        for _ in range(DEATHS):
            try:
                return self._workers.call(Worker.write, task)
            except WorkerDiedError as death:
                if self._closed:
                    raise
                how = death.message
                self._told(0, Note(f"{how} at {task.spec}"))
        raise OutputError(f"{task.spec}: {how}, {DEATHS} times", f"if memory ran out, {LESS_MEMORY}")

    def _hear(self, process: Process, event: Event) -> None:
        self._told(process.number, event)
        if hold := self._holds.of(event, monotonic()):
            self._workers.tell_others(process, Worker.hold_back, hold)


class DaskCrew(Closing):
    """The cluster of `scheduler`, or one of this machine with `workers` if that is None.

    It writes as many partitions at a time as it has threads at the start, each with that share of the rate: a cluster
    that grows meanwhile does not call the service faster. Raises UsageError without dask.distributed;
    UnreachableError if there is no scheduler.
    """

    def __init__(self, scheduler: str | None, workers: int, job: Job, tasks: int, hear: Hear) -> None:
        with needed("the engine dask needs dask.distributed", "dask"):
            import distributed
        # Processes, because Python code handles the rows.
        local: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "processes": True}
        quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": "ERROR"}
        client: Any = distributed.Client  # it is only partly typed
        try:
            self._client = client(scheduler, **({} if scheduler else local | quiet))  # waits as dask is configured
        except (OSError, ValueError) as error:
            raise UnreachableError(f"no dask scheduler at {scheduler}: {error}") from None
        self.size = min(max(1, sum(self._client.nthreads().values())), tasks)
        self._job, self._told = job.shared(self.size), hear

    def close(self) -> None:
        """Leave the cluster; end it if it is of this machine."""
        self._client.close()

    def write(self, task: Task) -> Done:
        """Write a partition in a task of the cluster."""
        future = self._client.submit(_write, self._job, task, retries=RETRIES, pure=False)
        try:
            worker, notes, outcome = future.result()
        except Exception as error:  # dask's own, such as the death of several workers
            what = f"{task.spec}: {' '.join(str(error).split())}"
            raise OutputError(what, "see the logs of the scheduler") from None
        for note in notes:
            self._told(worker, note)
        if isinstance(outcome, Exception):
            raise outcome
        return cast("Done", outcome)


def _write(job: Job, task: Task) -> tuple[str, list[Event], Done | Exception]:
    """Write one partition; dask runs this on a worker. Return its address, what it said, and the partition or error."""
    from distributed import get_worker

    events: list[Event] = []
    outcome: Done | Exception
    try:
        with Worker(job, events.append) as worker:
            outcome = worker.write(task)
    except Exception as error:
        outcome = portable(error)
    return str(get_worker().address), [one for one in events if not isinstance(one, Advance)], outcome


Crew = LocalCrew | DaskCrew
