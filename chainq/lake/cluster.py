"""The engine `dask`: each partition is one task on a dask.distributed cluster. The only module that loads dask.

A task is plain values (`Job`, `Task`) and gives plain values, so workers need chainq and the profile, and nothing is
kept on them. A worker that dies loses its tasks to others; a task that was done twice wrote the same file twice.

Refusals (HTTP 429) of one task come to the coordinator as events of dask, and it tells the other tasks (`holds`).
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from chainq.errors import OutputError, UnreachableError, UsageError
from chainq.lake.engine import Listener
from chainq.lake.holds import Holds
from chainq.lake.job import Done, Hold, Job, Task
from chainq.lake.partition import Worker
from chainq.lake.worker import packed, unpacked
from chainq.transport.base import Report

if TYPE_CHECKING:
    from chainq.planning.steps import Known

RETRIES = 2  # of a task whose worker died, by dask


class DaskEngine:
    """Runs tasks on the cluster of `scheduler`, or on a cluster of this machine with `workers` where that is None.

    Raises UsageError without dask.distributed; UnreachableError where there is no scheduler.
    """

    def __init__(self, scheduler: str | None, workers: int, listener: Listener) -> None:
        try:
            import distributed
        except ImportError:
            raise UsageError("the engine dask needs dask.distributed", "pip install 'chainq[dask]'") from None
        self._distributed: Any = distributed  # which types only some of itself
        self._scheduler, self._workers, self._listener = scheduler, workers, listener
        self._warned: set[str] = set()
        self._holds = Holds()
        self._known: dict[str, Known] = {}  # by command, of the last partition
        self._topic = f"chainq-{uuid4().hex}"  # of dask's events of this export

    def run(self, job: Job, tasks: Sequence[Task], check: Callable[[], None]) -> Iterator[Done]:
        """Yield partitions as they are written. After a failure none is begun, and the first failure is raised.

        As many tasks are under way as the cluster has threads now, each with that share of the rate: a cluster that
        grows meanwhile does not call the service faster.
        """
        waiting = deque(tasks)
        failure: Exception | None = None
        with ExitStack() as stack:
            client = stack.enter_context(self._connected(stack))
            client.subscribe_topic(self._topic, partial(self._hear, client))
            slots = max(1, sum(client.nthreads().values()))
            shared = msgspec.json.encode(job.shared(min(slots, len(tasks))))
            underway = self._distributed.as_completed()
            for _ in range(min(slots, len(tasks))):
                underway.add(self._submitted(client, shared, waiting.popleft()))
            for future in underway:
                check()
                found = self._outcome(future)
                if isinstance(found, Exception):
                    failure = failure or found
                else:
                    self._known[found.spec.command] = found.known
                    yield found
                if waiting and failure is None:
                    underway.add(self._submitted(client, shared, waiting.popleft()))
        if failure is not None:
            raise failure

    def _submitted(self, client: Any, job: bytes, task: Task) -> Any:
        """Have a task run, and return its future."""
        holds = msgspec.json.encode(self._holds.current(time.monotonic()))
        key = f"{task.spec.command}-{task.spec.start}-{uuid4().hex}"
        encoded = msgspec.json.encode(task.knowing(self._known))
        return client.submit(write_partition, self._topic, job, encoded, holds, key=key, retries=RETRIES, pure=False)

    async def _hear(self, client: Any, event: tuple[float, bytes]) -> None:
        """Take in that the service refused a call of a task, and tell the others where that is news."""
        refusal = msgspec.json.decode(event[1], type=Refusal)
        self._listener.call(refusal.report)
        if hold := self._holds.heard(refusal.report, time.monotonic()):
            await client.run(hold_back, self._topic, refusal.task, msgspec.json.encode(hold), on_error="ignore")

    def _outcome(self, future: Any) -> Done | Exception:
        """Return what a task did, or its failure, and say what it has to say."""
        try:
            found = msgspec.json.decode(future.result(), type=Outcome)
        except Exception as error:  # dask's own, such as the death of several workers
            return OutputError(f"{future.key}: {' '.join(str(error).split())}", "see the logs of the scheduler")
        for text in found.warnings:
            if text not in self._warned:  # every worker says it
                self._warned.add(text)
                self._listener.warn(text)
        if found.done is None:
            return unpacked(found.error or ("", "a task gave nothing back", ""))
        self._listener.trace(f"worker {found.worker}: {found.done.spec}")
        return found.done

    def _connected(self, stack: ExitStack) -> Any:
        if self._scheduler is None:
            cluster = stack.enter_context(
                self._distributed.LocalCluster(  # processes, because rows are Python's work
                    n_workers=self._workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                    silence_logs="ERROR",
                )
            )
            return self._distributed.Client(cluster)
        try:
            return self._distributed.Client(self._scheduler)  # waits as dask is configured
        except (OSError, ValueError) as error:
            raise UnreachableError(f"no dask scheduler at {self._scheduler}: {error}") from None


class Outcome(msgspec.Struct):
    """What a task gives back: the partition or its error, its warnings, and the address of its worker."""

    worker: str
    warnings: list[str]
    done: Done | None = None
    error: tuple[str, str, str] | None = None


class Refusal(msgspec.Struct):
    """An event: the service refused a call (HTTP 429) of a task, which has an id for that."""

    task: str
    report: Report


_underway: dict[tuple[str, str], Worker] = {}
"""What this process of the cluster is writing, by the topic of the export and the id of the task."""


def write_partition(topic: str, job: bytes, task: bytes, holds: bytes) -> bytes:
    """Write one partition; what dask runs on a worker. Values in and out are JSON."""
    from distributed import get_worker

    warnings: list[str] = []
    id_, dask_worker = uuid4().hex, get_worker()

    def report(one: Report) -> None:
        if one.rate_limited:
            dask_worker.log_event(topic, msgspec.json.encode(Refusal(id_, one)))

    try:
        with Worker(msgspec.json.decode(job, type=Job), warnings.append, report=report) as worker:
            _underway[topic, id_] = worker
            for hold in msgspec.json.decode(holds, type=list[Hold]):
                worker.hold_back(hold)
            done = worker.write(msgspec.json.decode(task, type=Task))
    except Exception as error:
        return msgspec.json.encode(Outcome(str(dask_worker.address), warnings, error=packed(error)))
    finally:
        _underway.pop((topic, id_), None)
    return msgspec.json.encode(Outcome(str(dask_worker.address), warnings, done))


def hold_back(topic: str, refused: str, hold: bytes) -> None:
    """Have all tasks of an export in this process but one hold back a method; what dask runs on each worker."""
    for (of, id_), worker in list(_underway.items()):
        if of == topic and id_ != refused:
            worker.hold_back(msgspec.json.decode(hold, type=Hold))
