"""The engine `local`: worker processes on this machine, each with one partition at a time.

A worker that dies is replaced, and its partition is given to the next one. Nothing else is decided here: partitions are
independent, and which worker has which makes no difference to any file.
"""

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from queue import Empty
from typing import NamedTuple

from chainq.errors import OutputError
from chainq.heights.grid import PartitionSpec
from chainq.lake.engine import Listener, Run
from chainq.lake.job import Advance, Done, Job, Task
from chainq.lake.partition import LESS_MEMORY, Worker
from chainq.lake.table import load
from chainq.process.pool import Process, WorkerDiedError, Workers
from chainq.process.threads import Later, Pool
from chainq.process.worker import Say
from chainq.transport.base import Report

DEATHS = 3  # of workers that had the same partition
HEARTBEAT = 2.0  # seconds between two checks of the lock


class LocalEngine:
    """Runs tasks in `workers` processes. `listener` hears what they say, `advanced` how far each has come, by its
    number; from any thread."""

    def __init__(self, workers: int, listener: Listener, advanced: Callable[[int, Advance], None]) -> None:
        self._wanted, self._listener, self._advanced = workers, listener, advanced

    def run(self, job: Job, tasks: Sequence[Task], check: Callable[[], None]) -> Iterator[Done]:
        """Yield partitions as they are written, in any order. `check` is called now and then, and may raise.

        After a failure no further task is begun; those under way are waited for. Then the first failure is raised.
        """
        run, deaths = Run(tasks, self._listener), Counter[PartitionSpec]()
        count = idle = min(self._wanted, len(tasks))
        workers = Workers(partial(_worker, job.shared(count)), lambda *heard: self._hear(run, workers, *heard))
        with workers, closing(Pool[Task](count)) as pool:
            while True:
                check()
                while idle and (task := run.next()):
                    pool.submit(task, partial(workers.call, Worker.write, task))
                    idle -= 1
                if idle == count:
                    break
                try:
                    task, outcome = pool.wait(HEARTBEAT)
                except Empty:
                    continue
                idle += 1
                if isinstance(outcome, WorkerDiedError):
                    deaths[task.spec] += 1
                    outcome = self._death(task.spec, outcome, deaths[task.spec])
                    run.again(run.holding(task))  # another worker knows no holds
                yield from run.ended(outcome)
        if run.failure is not None:
            raise run.failure

    def _hear(self, run: Run, workers: Workers[Worker], process: Process, event: "_Note | Report | Advance") -> None:
        """Take in what a worker says, in the thread that waits for it."""
        if isinstance(event, Report):
            if hold := run.call(event):
                workers.tell_others(process, Worker.hold_back, hold)
        elif isinstance(event, Advance):
            self._advanced(process.number, event)
        elif event.warning:
            run.warn(event.text)
        else:
            self._listener.trace(f"worker {process.number}: {event.text}")

    def _death(self, spec: PartitionSpec, death: WorkerDiedError, deaths: int) -> OutputError | None:
        """Say that a worker has died; return an error if so many had the same partition."""
        code = death.code
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        self._listener.warn(f"worker {death.number} {how} at {spec}")
        if deaths < DEATHS:
            return None
        return OutputError(f"{spec}: its worker {how}, {DEATHS} times", "if memory ran out, " + LESS_MEMORY)


class _Note(NamedTuple):
    """What a worker says: a warning, or a step of the run."""

    text: str
    warning: bool


def _worker(job: Job, say: Say) -> Worker:
    """Return what a worker process writes partitions with.

    pyarrow is loaded beside the first requests, which takes as long as they do. Only in these processes: they end by
    os._exit, as the interpreter's own shutdown may not bear a thread that is loading a module.
    """
    Later(load)
    return Worker(job, lambda text: say(_Note(text, True)), lambda text: say(_Note(text, False)), say, say)
