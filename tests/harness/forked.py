"""Runs forked from a process that has loaded chainq (nursery.py), at a tenth of the cost of a new interpreter."""

import atexit
import contextlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

BEGINNING = "TEST_BEGINNING"
"""The variable of the environment that names a file `sitecustomize.py`, with whose code a run begins."""


class Nursery:
    """Forks runs. Its process is started with the first one, and ends with the process of the tests."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = threading.Lock()
        atexit.register(self._close)

    def fork(self, line: Sequence[str], environment: Mapping[str, str], folder: Path, fds: list[int]) -> socket.socket:
        """Start a run with this stdin, stdout and stderr; the socket tells its process id, and how it ended."""
        request = json.dumps({"line": list(line), "environment": dict(environment), "folder": str(folder)})
        ours, told = socket.socketpair()
        with told:
            socket.send_fds(self.control, [request.encode()], [*fds, told.fileno()])
        return ours

    @property
    def control(self) -> socket.socket:
        """Where runs are requested."""
        with self._lock:
            self._control = self._control or self._open()
            return self._control

    def adopt(self, control: socket.socket) -> None:
        """Fork from the nursery at the other end of a socket; for processes that it has forked."""
        self._control = control

    def _open(self) -> socket.socket:
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", Path(__file__).with_name("nursery.py"), str(theirs.fileno())],
                env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        return ours

    def _close(self) -> None:
        if self._control and self._process:
            self._control.close()
            self._process.wait()


NURSERY = Nursery()


class Forked(subprocess.Popen[bytes]):
    """A run out of the nursery, with those parts of Popen that the tests use; it is no child of this process."""

    _child_created = False  # so that Popen, when it is collected, waits for nothing

    def __init__(
        self,
        line: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        stdin: int | IO[bytes],
        stdout: int | IO[bytes],
        stderr: int = subprocess.PIPE,
    ) -> None:
        self.args = line
        self.returncode: int | Any = None
        with contextlib.ExitStack() as theirs:
            self.stdin, reading = _stream(stdin, theirs, write=True)
            self.stdout, writing = _stream(stdout, theirs)
            self.stderr, complaining = _stream(stderr, theirs)
            self._told = NURSERY.fork(line, environment, folder, [reading, writing, complaining])
        self._heard, self._hearing = b"", threading.Lock()
        self._hear(1, None)
        self.pid = int(self._heard.split()[0])

    def _hear(self, lines: int, timeout: float | None) -> bool:
        with self._hearing:
            while self._heard.count(b"\n") < lines:
                if not select.select([self._told], [], [], timeout)[0]:
                    return False
                said = self._told.recv(100)
                assert said, "the nursery is gone"
                self._heard += said
        return True

    def poll(self) -> int | None:
        """How the run ended, or None."""
        if self.returncode is None and self._hear(2, 0):
            self.returncode = int(self._heard.split()[1])
            self._told.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the run."""
        if self.returncode is None and not self._hear(2, timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return int(self.poll() or 0)

    def send_signal(self, sig: int) -> None:
        """Send a signal to a run that has not ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        """Ask the run to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the run."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:  # noqa: A002
        """Write all of the input, read both streams to their ends, and wait for the end of the run, or kill it."""
        came: dict[str, bytes] = {"stdout": b"", "stderr": b""}

        def read(name: str, stream: IO[bytes]) -> None:
            came[name] = stream.read()
            stream.close()

        def write(stream: IO[bytes]) -> None:
            rest = memoryview(input or b"")
            with contextlib.suppress(BrokenPipeError):
                while rest:
                    rest = rest[stream.write(rest) :]
            stream.close()

        jobs = [threading.Thread(target=write, args=(self.stdin,))] if self.stdin and not self.stdin.closed else []
        for name, stream in (("stdout", self.stdout), ("stderr", self.stderr)):
            if stream and not stream.closed:
                jobs.append(threading.Thread(target=read, args=(name, stream)))
        for job in jobs:
            job.start()
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            for job in jobs:
                job.join()
        return came["stdout"], came["stderr"]


def _stream(wanted: int | IO[bytes], theirs: contextlib.ExitStack, *, write: bool = False) -> tuple[Any, int]:
    """Our end of a stream, where it has one, and the descriptor for the run, which `theirs` closes."""
    if not isinstance(wanted, int):
        return None, wanted.fileno()
    if wanted >= 0:
        return None, wanted
    if wanted == subprocess.DEVNULL:
        null = os.open(os.devnull, os.O_RDWR)
        theirs.callback(os.close, null)
        return None, null
    reading, writing = os.pipe()
    ours, given = (writing, reading) if write else (reading, writing)
    theirs.callback(os.close, given)
    return io.FileIO(ours, "wb" if write else "rb"), given
