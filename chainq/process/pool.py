"""Worker processes: threads of this process call functions in them, and get the results unchanged.

Each process first makes its own object (connections, or keys), which every function gets. With `Ordered` results are
in the order of the calls, with `threads.Pool` in the order of completion.

Processes are started by `subprocess`. `multiprocessing` would fork a process with threads, or load the caller's main
module again; and a pool of `concurrent.futures` is broken once one of its workers dies.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from itertools import count
from typing import Any, BinaryIO, Generic, TypeVar, cast

from chainq.errors import IncompleteError
from chainq.process import Closing, worker
from chainq.process.threads import in_order
from chainq.process.worker import Say

S = TypeVar("S")
A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")

_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
"""Unless set otherwise. So memory that was freed is used again, whichever thread freed it: 222 MB and not 289 in an
export, measured."""
_CLOSED = (OSError, ValueError)
"""The errors of a pipe that is closed at either end."""


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


class WorkerDiedError(IncompleteError):
    """A worker process ended before it replied. `number`: its number. `code`: negative for a signal, as in
    `subprocess`."""

    def __init__(self, number: int, code: int) -> None:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        super().__init__(f"a worker process {how}", "run again; -w 1 uses none")
        self.number, self.code = number, code


class Process:
    """One worker process. `number`: counted from 1."""

    def __init__(self, number: int, setup: bytes) -> None:
        # It finds what this process finds, and nothing in the current folder (-P). The message of a crash may hold what
        # it was about, perhaps a key, so stderr goes nowhere.
        path = os.pathsep.join(filter(None, sys.path))
        self.number = number
        self._popen = subprocess.Popen(  # noqa: S603  # this interpreter, and a module of this package
            [sys.executable, "-P", "-m", worker.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**_ENVIRONMENT, **os.environ, "PYTHONPATH": path},
            process_group=0,  # Ctrl-C is for the process that the user started, which then ends this one
        )
        self._input, self._output = cast("BinaryIO", self._popen.stdin), cast("BinaryIO", self._popen.stdout)
        self._sending = threading.Lock()
        self.send(setup)

    def send(self, message: bytes) -> None:
        """Send a message. A closed pipe is not an error here, because `receive` then fails."""
        with self._sending, suppress(*_CLOSED):
            self._input.write(message)
            self._input.flush()

    def receive(self) -> tuple[str, Any]:
        """Return the next message: its kind and its value. Raises WorkerDiedError."""
        try:
            return cast("tuple[str, Any]", pickle.load(self._output))  # noqa: S301
        except EOFError:  # it has ended, or is about to
            pass
        except (*_CLOSED, pickle.UnpicklingError):  # a message that was broken off, or is none
            self._popen.kill()
        raise WorkerDiedError(self.number, self._popen.wait())

    def close(self) -> None:
        """End the process at once; its unfinished work is not needed."""
        self._popen.kill()
        self._popen.wait()
        for stream in (self._input, self._output):
            with suppress(*_CLOSED):
                stream.close()


class Workers(Closing, Generic[S]):
    """Worker processes, as many as there are calls at a time. A context manager, which ends them all.

    `make` gives each process what it works with, of type S; it is sent by a pipe, so it may hold secrets. It is given a
    function that takes events, each of which is passed to `hear` with the process, in the thread whose call is under
    way. All that is sent must be picklable.
    """

    def __init__(
        self,
        make: Callable[[Say], S],
        hear: Callable[[Process, Any], None] = lambda _process, _event: None,
    ) -> None:
        self._setup, self._hear, self._lock = pickle.dumps(make), hear, threading.Lock()
        self._all: list[Process] = []
        self._idle: list[Process] = []
        self._closed = False

    def close(self) -> None:
        """End the processes at once. Calls in progress raise WorkerDiedError; no new ones are accepted."""
        with self._lock:  # so none is being started
            self._closed, self._setup = True, b""
        for process in self._all:
            process.close()

    def call(self, function: Callable[[S, A], R], argument: A) -> R:
        """Return the result of a function for an argument, run in one of the processes. Thread-safe.

        Raises what it raised, or what was raised when the process was set up; WorkerDiedError if the process died. A
        process that failed is ended, and the next call gets another.
        """
        message = pickle.dumps((True, function, argument))
        with self._lock:
            process = self._idle.pop() if self._idle else self._start()
        try:
            process.send(message)
            kind, value = process.receive()
            while kind == "event":
                self._hear(process, value)
                kind, value = process.receive()
            if kind == "error":
                raise value
        except BaseException:
            process.close()
            raise
        self._idle.append(process)
        return cast("R", value)

    def tell_others(self, process: Process, function: Callable[[S, A], object], argument: A) -> None:
        """Call a function in all processes but one, at once and concurrently with their work; drop its result."""
        message = pickle.dumps((False, function, argument))
        for other in list(self._all):
            if other is not process:
                other.send(message)

    def _start(self) -> Process:
        if self._closed:
            raise RuntimeError("the worker processes have been ended")
        self._all.append(Process(len(self._all) + 1, self._setup))
        return self._all[-1]


class Ordered(Closing, Generic[S, A, R]):
    """Calls of one function in up to `size` worker processes, with results in the order of the calls. A context
    manager, which ends the processes.

    The first `own` calls, or all for a size of 1, are made in this process: a short run ends before a worker has
    started. `make` makes what the function works with in each process. `ahead`: calls in progress or queued per worker.
    """

    def __init__(self, make: Callable[[], S], function: Callable[[S, A], R], size: int, own: int, ahead: int) -> None:
        self._make, self._function, self._size, self._ahead = make, function, size, ahead
        self._own, self._sent = own, count(1)
        self._workers: Workers[S] = Workers(partial(_made, make))

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    def results(self, calls: Iterable[tuple[T, A]]) -> Iterator[tuple[T, R]]:
        """Yield the result for each argument, after what came with it. Raises what a call raises, in its turn."""
        return in_order(self._size, (partial(self._call, *call) for call in calls), self._ahead * self._size)

    def _call(self, token: T, argument: A) -> tuple[T, R]:
        here = self._size == 1 or next(self._sent) <= self._own
        return token, self._function(self._here, argument) if here else self._workers.call(self._function, argument)

    @cached_property
    def _here(self) -> S:
        return self._make()


def _made(make: Callable[[], S], _say: Say) -> S:
    return make()
