"""Runs the tasks of an export: processes of this machine, and what they share with workers of a Dask cluster.

Partitions are independent, so the assignment to workers does not affect any file. A worker that dies is replaced, and
another one gets its partition.

The service counts calls per client address, whichever process makes them. When it refuses a method to one worker (HTTP
429), the others pause that method for slightly longer than the refused worker waits. Its next call then shows whether
to keep waiting, so the other workers need not probe the limit themselves.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from chainq.errors import OutputError
from chainq.lake.plan import Task
from chainq.lake.worker import LESS_MEMORY, Advance, Done, Event, Hold, Job, Worker
from chainq.process import Closing
from chainq.process.pool import Process, WorkerDiedError, Workers
from chainq.process.threads import Pool
from chainq.transport.base import Report

if TYPE_CHECKING:
    from chainq.lake.cluster import DaskCrew
    from chainq.lake.export import ExportPlan
    from chainq.planning.exchange import Known

DEATHS = 3  # of workers that had the same partition
LONGER = 1.0  # seconds: longer than most calls take


class Listener:
    """Receives the progress of an export, and what workers say; from any thread. This class shows nothing."""

    def warn(self, text: str) -> None:
        """Show a line for the user."""

    def trace(self, text: str) -> None:
        """Show a step of the run, for `--verbose`."""

    def call(self, report: Report) -> None:
        """Show an attempt of a request."""

    def begin(self, plan: "ExportPlan") -> None:
        """Show what is to be done."""

    def advanced(self, advance: Advance) -> None:
        """Show the progress of a partition."""

    def wrote(self, done: Done) -> None:
        """Show that a partition is written."""


def write_all(crew: "LocalCrew | DaskCrew", tasks: Sequence[Task]) -> Iterator[Done]:
    """Yield partitions as they are written, in any order. After a failure, start no more tasks, wait for the tasks in
    progress, and raise the first failure."""
    known: dict[str, Known] = {}  # by command, of the last partition
    failures: list[Exception] = []

    def write(task: Task) -> Done | None:
        if failures:
            return None
        try:
            done = crew.write(task._replace(known=known.get(task.spec.command, task.known)))
        except Exception as error:
            failures.append(error)
            return None
        known[done.spec.command] = done.known
        return done

    with closing(Pool[Task](crew.size)) as pool:
        for task in tasks:
            pool.submit(task, partial(write, task))
        for _ in tasks:
            if isinstance(done := pool.wait()[1], Done):
                yield done
    if failures:
        raise failures[0]


class Relay:
    """Passes on what workers say, and finds which refusals make the others pause. For any thread."""

    def __init__(self, listener: Listener) -> None:
        self._listener, self._lock = listener, Lock()
        self._warned: set[str] = set()
        self._held: dict[str, float] = {}  # by method, until when

    def heard(self, worker: object, event: Event, now: float) -> Hold | None:
        """Pass an event on, a warning once, although every worker sends it; return the hold for all workers but this
        one, if it is new. `now`: by any steady clock."""
        if isinstance(event, Report):
            self._listener.call(event)
            with self._lock:
                return self._hold(event, now)
        if isinstance(event, Advance):
            self._listener.advanced(event)
        elif not event.warning:
            self._listener.trace(f"worker {worker}: {event.text}")
        else:
            with self._lock:
                new = event.text not in self._warned
                self._warned.add(event.text)
            if new:
                self._listener.warn(event.text)
        return None

    def _hold(self, report: Report, now: float) -> Hold | None:
        if not report.rate_limited or report.wait is None:
            return None
        if now < self._held.get(report.method, 0.0):  # it was in progress, or its worker already has the hold
            return None
        self._held[report.method] = now + report.wait
        return Hold(report.method, report.wait + LONGER)


class LocalCrew(Closing):
    """At most so many processes of this machine, one for each of `tasks` at most."""

    def __init__(self, most: int, job: Job, tasks: int, listener: Listener) -> None:
        self.size, self._listener, self._relay = max(1, min(most, tasks)), listener, Relay(listener)
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
                code = death.code
                how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
                self._listener.warn(f"worker {death.number} {how} at {task.spec}")
        raise OutputError(f"{task.spec}: its worker {how}, {DEATHS} times", f"if memory ran out, {LESS_MEMORY}")

    def _hear(self, process: Process, event: Event) -> None:
        if hold := self._relay.heard(process.number, event, monotonic()):
            self._workers.tell_others(process, Worker.hold_back, hold)
