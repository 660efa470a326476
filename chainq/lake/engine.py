"""The interface of an engine, which runs workers that write partitions, and the state that all engines share."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import msgspec

from chainq.lake.holds import Holds
from chainq.lake.job import Done, Hold, Job, Task
from chainq.transport.base import Report

if TYPE_CHECKING:
    from chainq.planning.exchange import Known


class Listener(Protocol):
    """Receives the messages of workers."""

    def warn(self, text: str) -> None:
        """Pass on a line for the user."""

    def trace(self, text: str) -> None:
        """Pass on a step of the run, for `--verbose`."""

    def call(self, report: Report) -> None:
        """Pass on an attempt of a request."""


class Engine(Protocol):
    """Runs workers that write partitions. There are only `local` and `dask`; both pass plain values to each worker."""

    def check(self) -> None:
        """Raise UnreachableError if workers cannot be reached; called before anything is written."""

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Done]:
        """Yield partitions as they are written. Raises the first failure once no partition is in progress."""


class Run:
    """The tasks of one run: the waiting tasks, the values that they pass to each other, and the first failure.

    `warn` and `call` are for any thread.
    """

    def __init__(self, tasks: Sequence[Task], listener: Listener) -> None:
        self._waiting, self._listener = deque(tasks), listener
        self._known: dict[str, Known] = {}  # by command, of the last partition
        self._lock = Lock()  # of the two below
        self._warned: set[str] = set()
        self._holds = Holds()
        self.failure: BaseException | None = None

    def next(self) -> Task | None:
        """Return the next task with what is known about its command; None if there is none or after a failure."""
        return self._waiting.popleft().knowing(self._known) if self._waiting and self.failure is None else None

    def again(self, task: Task) -> None:
        """Put a task back to the front."""
        self._waiting.appendleft(task)

    def holding(self, task: Task) -> Task:
        """Return the task with the holds that apply to a worker that starts now."""
        with self._lock:
            return msgspec.structs.replace(task, holds=self._holds.current(time.monotonic()))

    def ended(self, outcome: object) -> Iterator[Done]:
        """Record how a task ended: yield its partition, or keep the first failure."""
        if isinstance(outcome, Done):
            self._known[outcome.spec.command] = outcome.known
            yield outcome
        elif isinstance(outcome, BaseException):
            self.failure = self.failure or outcome

    def warn(self, text: str) -> None:
        """Pass a warning on once, although every worker sends it."""
        with self._lock:
            new = text not in self._warned
            self._warned.add(text)
        if new:
            self._listener.warn(text)

    def call(self, report: Report) -> Hold | None:
        """Pass a report on; return the hold for all workers but its own, if it is new."""
        self._listener.call(report)
        with self._lock:
            return self._holds.heard(report, time.monotonic())
