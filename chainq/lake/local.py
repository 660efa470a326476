"""The `local` engine: worker processes on this machine, each writing one partition after another.

A worker that dies is replaced, and the next worker gets its partition. Partitions are independent, so the assignment to
workers does not affect any file.
"""

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

from chainq.errors import OutputError
from chainq.lake.engine import Listener, Run
from chainq.lake.job import Advance, Done, Job, Task
from chainq.lake.names import PartitionSpec
from chainq.lake.partition import LESS_MEMORY, Worker
from chainq.lake.writer import load
from chainq.process.pool import Process, WorkerDiedError, Workers
from chainq.process.threads import Pool
from chainq.process.worker import Say
from chainq.transport.base import Report

DEATHS = 3  # of workers that had the same partition


class LocalEngine:
    """Runs tasks in `workers` processes. `listener` receives their messages, `advanced` the progress of each partition;
    both may be called from any thread."""

    def __init__(self, workers: int, listener: Listener, advanced: Callable[[Advance], None]) -> None:
        self._wanted, self._listener, self._advanced = workers, listener, advanced

    def check(self) -> None:
        """Do nothing: workers are processes of this machine."""

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Done]:
        """Yield partitions as they are written, in any order. After a failure, start no more tasks, wait for the tasks
        in progress, and raise the first failure."""
        run, deaths = Run(tasks, self._listener), Counter[PartitionSpec]()
        count = idle = min(self._wanted, len(tasks))
        workers = Workers(partial(_worker, job.shared(count)), lambda *heard: self._hear(run, workers, *heard))
        with workers, closing(Pool[Task](count)) as pool:
            while True:
                while idle and (task := run.next()):
                    pool.submit(task, partial(workers.call, Worker.write, task))
                    idle -= 1
                if idle == count:
                    break
                task, outcome = pool.wait()
                idle += 1
                if isinstance(outcome, WorkerDiedError):
                    deaths[task.spec] += 1
                    outcome = self._death(task.spec, outcome, deaths[task.spec])
                    run.again(run.holding(task))  # another worker has no holds yet
                yield from run.ended(outcome)
        if run.failure is not None:
            raise run.failure

    def _hear(self, run: Run, workers: Workers[Worker], process: Process, event: "_Note | Report | Advance") -> None:
        """Handle a worker's message, in the thread that waits for it."""
        if isinstance(event, Report):
            if hold := run.call(event):
                workers.tell_others(process, Worker.hold_back, hold)
        elif isinstance(event, Advance):
            self._advanced(event)
        elif event.warning:
            run.warn(event.text)
        else:
            self._listener.trace(f"worker {process.number}: {event.text}")

    def _death(self, spec: PartitionSpec, death: WorkerDiedError, deaths: int) -> OutputError | None:
        """Warn that a worker died; return an error if DEATHS workers had the same partition."""
        code = death.code
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        self._listener.warn(f"worker {death.number} {how} at {spec}")
        if deaths < DEATHS:
            return None
        return OutputError(f"{spec}: its worker {how}, {DEATHS} times", "if memory ran out, " + LESS_MEMORY)


class _Note(NamedTuple):
    """A message of a worker: a warning, or a step of the run."""

    text: str
    warning: bool


def _worker(job: Job, say: Say) -> Worker:
    """Return the `Worker` of a worker process.

    pyarrow is loaded during the first requests, which takes as long as they do. Only these processes do so: they end
    with os._exit, because the interpreter's shutdown may fail while a thread is loading a module.
    """
    threading.Thread(target=load, daemon=True).start()
    return Worker(job, lambda text: say(_Note(text, True)), lambda text: say(_Note(text, False)), say, say)
