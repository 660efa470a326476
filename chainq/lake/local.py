"""The engine `local`: worker processes on this machine, each with one partition at a time (`worker`).

A worker that dies is replaced, and its partition is given to the next one. Nothing else is decided here: partitions are
independent, and which worker has which makes no difference to any file.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from chainq.errors import OutputError
from chainq.lake.engine import Listener
from chainq.lake.holds import Holds
from chainq.lake.job import Done, Job, Task
from chainq.lake.processes import Process, Processes
from chainq.lake.worker import Event, unpacked

if TYPE_CHECKING:
    from chainq.lake.grid import PartitionSpec
    from chainq.planning.steps import Known

DEATHS = 3  # of workers that had the same partition
HEARTBEAT = 2.0  # seconds between two checks of the lock


class LocalEngine:
    """Runs tasks in `workers` processes. `listener` hears what they say."""

    def __init__(self, workers: int, listener: Listener) -> None:
        self._wanted, self._listener = workers, listener

    def run(self, job: Job, tasks: Sequence[Task], check: Callable[[], None]) -> Iterator[Done]:
        """Yield partitions as they are written, in any order. `check` is called now and then, and may raise.

        After a failure no further task is begun; those under way are waited for. Then the first failure is raised.
        """
        count = min(self._wanted, len(tasks))
        with Processes(msgspec.json.encode(job.shared(count)) + b"\n") as processes:
            for _ in range(count):
                processes.start()
            run = _Run(tasks, processes, self._listener)
            while True:
                check()
                run.give()
                if not processes.busy():
                    break
                for process in processes.readable(HEARTBEAT):
                    yield from run.hear(process)
        if run.failure is not None:
            raise run.failure


class _Run:
    """The tasks of one run: those that wait, those that were lost with their workers, and the first failure."""

    def __init__(self, tasks: Sequence[Task], processes: Processes, listener: Listener) -> None:
        self._waiting, self._processes, self._listener = deque(tasks), processes, listener
        self._deaths: Counter[PartitionSpec] = Counter()
        self._known: dict[str, Known] = {}  # by command, of the last partition
        self._warned: set[str] = set()
        self._holds = Holds()
        self._decode = msgspec.json.Decoder(Event).decode
        self.failure: Exception | None = None

    def give(self) -> None:
        """Give each idle worker a task, unless something failed."""
        for process in self._processes.idle():
            if self._waiting and self.failure is None:
                task = self._waiting.popleft().knowing(self._known)
                self._listener.trace(f"worker {process.number}: {task.spec}")
                process.give(task)

    def hear(self, process: Process) -> Iterator[Done]:
        """Take in what a worker has said, or that it has ended."""
        lines = process.read()
        if lines is None:
            self._bury(process)
            return
        for event in map(self._decode, lines):
            if event.done is not None:
                process.task = None
                self._known[event.done.spec.command] = event.done.known
                yield event.done
            elif event.error is not None:
                process.task = None
                self.failure = self.failure or unpacked(event.error)
            elif event.report is not None:
                self._listener.call(event.report)
                if hold := self._holds.heard(event.report, time.monotonic()):
                    for other in self._processes.others(process):
                        other.tell(hold)
            elif event.kind == "trace":
                self._listener.trace(f"worker {process.number}: {event.text}")
            elif event.text not in self._warned:  # every worker says it
                self._warned.add(event.text)
                self._listener.warn(event.text)

    def _bury(self, process: Process) -> None:
        """Put the task of a worker that has ended back into the line, and start another worker."""
        task, how = process.task, self._processes.end(process)
        if task is None:  # it had nothing to do, or its failure is known
            return
        self._listener.warn(f"worker {process.number} {how} at {task.spec}")
        self._deaths[task.spec] += 1
        if self._deaths[task.spec] == DEATHS:
            self.failure = self.failure or OutputError(
                f"{task.spec}: its worker {how}, {DEATHS} times",
                "if memory ran out, lower -w or -j, or export with a smaller --partition",
            )
        self._waiting.appendleft(task)
        if self.failure is None:
            another = self._processes.start()
            for hold in self._holds.current(time.monotonic()):
                another.tell(hold)
