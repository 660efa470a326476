"""The worker processes of the engine `local`: started, spoken to over pipes, and never left behind."""

import os
import selectors
import signal
import subprocess
import sys
from contextlib import suppress

import msgspec

from chainq.lake.job import Hold, Task

MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
"""So that memory that was freed is used again, whichever thread freed it: 222 MB and not 289, measured."""


class Process:
    """A worker process; `task` is what it has, None for an idle one."""

    def __init__(self, number: int, hello: bytes) -> None:
        self.number = number
        self.task: Task | None = None
        self._rest = b""
        debug = bool(os.environ.get("CHAINQ_DEBUG"))
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "chainq.lake.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if debug else subprocess.DEVNULL,
            bufsize=0,
            env={**MEMORY, **os.environ},
        )
        self._write(hello)

    def give(self, task: Task) -> None:
        """Have it write a partition."""
        self.task = task
        self._write(msgspec.json.encode(task) + b"\n")

    def tell(self, hold: Hold) -> None:
        """Have it hold back a method."""
        self._write(msgspec.json.encode(hold) + b"\n")

    def _write(self, line: bytes) -> None:
        """Write a line; a worker that is gone is noticed when it is read."""
        if self.popen.stdin is not None:
            with suppress(BrokenPipeError):
                self.popen.stdin.write(line)

    def read(self) -> list[bytes] | None:
        """Return the complete lines that have come; None once there will be no more."""
        data = os.read(self.popen.stdout.fileno(), 1 << 20) if self.popen.stdout is not None else b""
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


class Processes:
    """All workers. A context manager: it leaves none behind."""

    def __init__(self, hello: bytes) -> None:
        self._hello = hello
        self._selector = selectors.DefaultSelector()
        self._all: list[Process] = []
        self._started = 0

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        for process in list(self._all):
            process.popen.kill()
            self.end(process)
        self._selector.close()

    def start(self) -> Process:
        """Start one more, and return it."""
        self._started += 1
        process = Process(self._started, self._hello)
        self._all.append(process)
        self._selector.register(process.popen.stdout, selectors.EVENT_READ, process)  # type: ignore[arg-type]
        return process

    def end(self, process: Process) -> str:
        """Take leave of one that has ended, or was killed; return how, in words."""
        self._all.remove(process)
        if process.popen.stdout is not None:
            self._selector.unregister(process.popen.stdout)
            process.popen.stdout.close()
        if process.popen.stdin is not None:
            process.popen.stdin.close()
        code = process.popen.wait()
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def idle(self) -> list[Process]:
        """Return those without a task."""
        return [process for process in self._all if process.task is None]

    def others(self, process: Process) -> list[Process]:
        """Return all but one."""
        return [one for one in self._all if one is not process]

    def busy(self) -> bool:
        """Return whether any has a task."""
        return any(process.task is not None for process in self._all)

    def readable(self, seconds: float) -> list[Process]:
        """Return those that have said something, or have ended; none after so many seconds."""
        return [key.data for key, _ in self._selector.select(seconds)]
