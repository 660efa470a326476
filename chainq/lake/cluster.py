"""Workers on a Dask cluster: each partition is one task of dask.distributed. The only module that loads it.

A task takes and returns plain values, so workers need only chainq and the profile, and store nothing. If a worker dies,
others take its tasks; a task that runs twice writes the same file twice. Refusals (HTTP 429) reach the coordinator as
dask events, and it makes the other tasks pause.
"""

from contextlib import ExitStack
from time import monotonic
from typing import Any
from uuid import uuid4

import msgspec

from chainq.errors import OutputError, UnreachableError, needed
from chainq.fetching.reading import Note
from chainq.lake.plan import Task
from chainq.lake.worker import Done, Event, Hold, Job, Worker
from chainq.lake.workers import Listener, Relay
from chainq.process import Closing
from chainq.process.worker import portable
from chainq.transport.base import Report

RETRIES = 2  # of a task whose worker died, by dask
_underway: dict[tuple[str, str], Worker] = {}
"""What this process of the cluster is writing, by the topic of the export and the id of the task."""


class DaskCrew(Closing):
    """The cluster of `scheduler`, or one of this machine with `workers` if that is None.

    It writes as many partitions at a time as it has threads at the start, each with that share of the rate: a cluster
    that grows meanwhile does not call the service faster. Raises UsageError without dask.distributed;
    UnreachableError if there is no scheduler.
    """

    def __init__(self, scheduler: str | None, workers: int, job: Job, tasks: int, listener: Listener) -> None:
        with needed("the engine dask needs dask.distributed", "dask"):
            import distributed

            dask: Any = distributed  # it is only partly typed
        self._relay, self._stack = Relay(listener), ExitStack()
        self._topic = f"chainq-{uuid4().hex}"  # of dask's events of this export
        at: Any = scheduler
        if scheduler is None:  # processes, because Python code handles the rows
            options = {"dashboard_address": "127.0.0.1:0", "silence_logs": "ERROR"}
            at = dask.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options)
            self._stack.enter_context(at)
        try:
            self._client: Any = self._stack.enter_context(dask.Client(at))  # waits as dask is configured
        except (OSError, ValueError) as error:
            raise UnreachableError(f"no dask scheduler at {scheduler}: {error}") from None
        self._client.subscribe_topic(self._topic, self._hear)
        self.size = min(max(1, sum(self._client.nthreads().values())), tasks)
        self._job = job.shared(self.size)

    def close(self) -> None:
        """Leave the cluster; end it if it is of this machine."""
        self._stack.close()

    def write(self, task: Task) -> Done:
        """Write a partition in a task of the cluster."""
        name = f"{task.spec.command}-{task.spec.start}"
        values = self._topic, self._job, task
        future = self._client.submit(_write, *values, key=f"{name}-{uuid4().hex}", retries=RETRIES, pure=False)
        try:
            worker, notes, outcome = future.result()
        except Exception as error:  # dask's own, such as the death of several workers
            raise OutputError(f"{name}: {' '.join(str(error).split())}", "see the logs of the scheduler") from None
        for note in notes:
            self._relay.heard(worker, note, monotonic())
        if isinstance(outcome, Exception):
            raise outcome
        done: Done = outcome
        return done

    async def _hear(self, event: tuple[float, bytes]) -> None:
        """Pass on that the service refused a task's call, and make the other tasks pause if that is new."""
        refused, report = msgspec.json.decode(event[1], type=tuple[str, Report])
        if hold := self._relay.heard(refused, report, monotonic()):
            await self._client.run(_hold_back, self._topic, refused, hold, on_error="ignore")


def _write(topic: str, job: Job, task: Task) -> tuple[str, list[Note], Done | Exception]:
    """Write one partition; dask runs this on a worker. Return its address, what it said, and the partition or error."""
    from distributed import get_worker

    here, key = get_worker(), (topic, uuid4().hex)
    notes: list[Note] = []

    def say(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event)
        elif isinstance(event, Report) and event.rate_limited:
            here.log_event(topic, msgspec.json.encode((key[1], event)))  # dask takes bytes

    try:
        with Worker(job, say) as worker:
            _underway[key] = worker
            return str(here.address), notes, worker.write(task)
    except Exception as error:
        return str(here.address), notes, portable(error)
    finally:
        _underway.pop(key, None)


def _hold_back(topic: str, refused: str, hold: Hold) -> None:
    """Make all tasks of an export in this process but one pause a method; dask runs this on each worker."""
    for (of, task), worker in list(_underway.items()):
        if of == topic and task != refused:
            worker.hold_back(hold)
