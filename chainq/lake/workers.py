"""Runs the tasks of an export, in processes of this machine or as tasks of dask.distributed on a cluster.

Partitions are independent, so the assignment to workers does not affect any file. A worker that dies is replaced, and
another one gets its partition.

The service counts calls per client address, whichever process makes them. When it refuses a method to one worker (HTTP
429), the others pause that method for slightly longer than the refused worker waits. Its next call then shows whether
to keep waiting, so the other workers need not probe the limit themselves.

A task of dask takes and returns plain values, so workers need only chainq and the profile, and store nothing. If a
worker dies, others take its tasks; a task that runs twice writes the same file twice. Each waits for the service alone.

Rejected: refusals as dask events, by which tasks of a cluster held each other back, too. It took as much code as the
rest of the engine, and `--rate` keeps a cluster below a limit that is known.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from chainq.errors import OutputError, UnreachableError, needed
from chainq.fetching.reading import Note
from chainq.lake.plan import Task
from chainq.lake.worker import LESS_MEMORY, Advance, Done, Event, Hold, Job, Worker
from chainq.process import Closing
from chainq.process.pool import Process, WorkerDiedError, Workers
from chainq.process.threads import in_order
from chainq.process.worker import portable
from chainq.transport.base import Report

if TYPE_CHECKING:
    from chainq.lake.export import ExportPlan
    from chainq.planning.exchange import Known

RETRIES = 2  # of a task whose worker died, by dask
DEATHS = 3  # of workers that had the same partition
LONGER = 1.0  # seconds: longer than most calls take


class Listener:
    """Receives the progress of an export, and what workers say; from any thread. This class shows nothing."""

    def begin(self, plan: "ExportPlan") -> None:
        """Show what is to be done."""

    def hear(self, worker: object, event: Event) -> None:
        """Show what a worker tells: a warning once, although every worker sends it."""

    def wrote(self, done: Done) -> None:
        """Show that a partition is written."""


def write_all(crew: "Crew", tasks: Sequence[Task]) -> Iterator[Done]:
    """Yield partitions as they are written, in the order of the tasks. After a failure, which it raises, no more are
    begun."""
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

    def __init__(self, most: int, job: Job, tasks: int, listener: Listener) -> None:
        self.size, self._listener, self._holds = max(1, min(most, tasks)), listener, Holds()
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
                self._listener.hear(0, Note(f"{how} at {task.spec}"))
        raise OutputError(f"{task.spec}: {how}, {DEATHS} times", f"if memory ran out, {LESS_MEMORY}")

    def _hear(self, process: Process, event: Event) -> None:
        self._listener.hear(process.number, event)
        if hold := self._holds.of(event, monotonic()):
            self._workers.tell_others(process, Worker.hold_back, hold)


class DaskCrew(Closing):
    """The cluster of `scheduler`, or one of this machine with `workers` if that is None.

    It writes as many partitions at a time as it has threads at the start, each with that share of the rate: a cluster
    that grows meanwhile does not call the service faster. Raises UsageError without dask.distributed;
    UnreachableError if there is no scheduler.
    """

    def __init__(self, scheduler: str | None, workers: int, job: Job, tasks: int, listener: Listener) -> None:
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
        self._job, self._listener = job.shared(self.size), listener

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
            self._listener.hear(worker, note)
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
