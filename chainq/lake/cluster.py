"""The `dask` engine: each partition is one task on a dask.distributed cluster. The only module that loads dask.

A task takes and returns plain values (`Job`, `Task`), so workers need only chainq and the profile, and store nothing.
If a worker dies, others take its tasks; a task that runs twice writes the same file twice.

Refusals (HTTP 429) of one task reach the coordinator as dask events, and it makes the other tasks pause (`holds`).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec

from chainq.errors import OutputError, UnreachableError, needed
from chainq.lake.engine import Listener, Run
from chainq.lake.job import Done, Hold, Job, Task
from chainq.lake.partition import Worker
from chainq.process.worker import portable
from chainq.transport.base import Report

RETRIES = 2  # of a task whose worker died, by dask


class DaskEngine:
    """Runs tasks on the cluster of `scheduler`, or on a cluster of this machine with `workers` if that is None.

    Raises UsageError without dask.distributed; UnreachableError if there is no scheduler.
    """

    def __init__(self, scheduler: str | None, workers: int, listener: Listener) -> None:
        with needed("the engine dask needs dask.distributed", "dask"):
            import distributed
        self._distributed: Any = distributed  # it is only partly typed
        self._scheduler, self._workers, self._listener = scheduler, workers, listener
        self._topic = f"chainq-{uuid4().hex}"  # of dask's events of this export

    def check(self) -> None:
        """Raise UnreachableError if there is no scheduler."""
        if self._scheduler is not None:
            with ExitStack() as stack:
                stack.enter_context(self._connected(stack))

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Done]:
        """Yield partitions as they are written. After a failure, start no more and raise the first failure.

        As many tasks run as the cluster has threads at the start, each with that share of the rate: a cluster that
        grows meanwhile does not call the service faster.
        """
        run = Run(tasks, self._listener)
        with ExitStack() as stack:
            client = stack.enter_context(self._connected(stack))
            client.subscribe_topic(self._topic, partial(self._hear, client, run))
            slots = min(max(1, sum(client.nthreads().values())), len(tasks))
            shared = job.shared(slots)
            underway = self._distributed.as_completed()

            def submit() -> None:
                if (task := run.next()) is not None:
                    key = f"{task.spec.command}-{task.spec.start}-{uuid4().hex}"
                    values = self._topic, shared, run.holding(task)
                    underway.add(client.submit(write_partition, *values, key=key, retries=RETRIES, pure=False))

            for _ in range(slots):
                submit()
            for future in underway:
                yield from run.ended(self._outcome(future, run))
                submit()
        if run.failure is not None:
            raise run.failure

    async def _hear(self, client: Any, run: Run, event: tuple[float, bytes]) -> None:
        """Record that the service refused a task's call, and make the other tasks pause if that is new."""
        refusal = msgspec.json.decode(event[1], type=Refusal)
        if hold := run.call(refusal.report):
            await client.run(hold_back, self._topic, refusal.task, hold, on_error="ignore")

    def _outcome(self, future: Any, run: Run) -> Done | Exception:
        """Return the result of a task, or its failure, and pass on its warnings."""
        try:
            found: Outcome = future.result()
        except Exception as error:  # dask's own, such as the death of several workers
            return OutputError(f"{future.key}: {' '.join(str(error).split())}", "see the logs of the scheduler")
        for text in found.warnings:
            run.warn(text)
        if isinstance(found.result, Done):
            self._listener.trace(f"worker {found.worker}: {found.result.spec}")
        return found.result

    def _connected(self, stack: ExitStack) -> Any:
        if self._scheduler is None:
            cluster = stack.enter_context(
                self._distributed.LocalCluster(  # processes, because Python code handles the rows
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


class Outcome(NamedTuple):
    """The result of a task: the address of its worker, its warnings, and the partition or its error."""

    worker: str
    warnings: list[str]
    result: Done | Exception


class Refusal(msgspec.Struct):
    """An event: the service refused a call (HTTP 429) of a task, which has an id for that. Dask takes it as JSON."""

    task: str
    report: Report


_underway: dict[tuple[str, str], Worker] = {}
"""What this process of the cluster is writing, by the topic of the export and the id of the task."""


def write_partition(topic: str, job: Job, task: Task) -> Outcome:
    """Write one partition; what dask runs on a worker."""
    from distributed import get_worker

    warnings: list[str] = []
    id_, dask_worker = uuid4().hex, get_worker()

    def report(one: Report) -> None:
        if one.rate_limited:
            dask_worker.log_event(topic, msgspec.json.encode(Refusal(id_, one)))

    result: Done | Exception
    try:
        with Worker(job, warnings.append, report=report) as worker:
            _underway[topic, id_] = worker
            result = worker.write(task)
    except Exception as error:
        result = portable(error)
    finally:
        _underway.pop((topic, id_), None)
    return Outcome(str(dask_worker.address), warnings, result)


def hold_back(topic: str, refused: str, hold: Hold) -> None:
    """Make all tasks of an export in this process but one pause a method; dask runs this on each worker."""
    for (of, id_), worker in list(_underway.items()):
        if of == topic and id_ != refused:
            worker.hold_back(hold)
