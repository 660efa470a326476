"""The program within this process: a run with arguments, environment, folder and streams of its own.

What a run finds in its process is lent to it and taken back: the variables, the working folder, descriptors 0 to 2 and
Python's streams over them. So there is one run at a time, in the main thread. What only a process of its own has is
left out: signals, which `cli.main.main` installs, a time to end (`--deadline`), a terminal to type on.
"""

import os
import pty
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from fcntl import ioctl
from pathlib import Path
from struct import pack
from tempfile import TemporaryFile
from termios import TIOCSWINSZ
from types import FrameType, SimpleNamespace
from typing import Any, BinaryIO, NoReturn
from unittest.mock import patch

import pytest

from chainq.cli import main
from chainq.process import pool, worker
from chainq.text import sanitize

LONGEST = 300  # seconds that any run of the program may take before it counts as hanging, on a machine with other work
_MODES = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def run(
    arguments: Sequence[str],
    env: Mapping[str, str],
    folder: Path,
    stdin: bytes | None = None,
    columns: int | None = None,
) -> tuple[int, bytes, bytes]:
    """Run the program to its end: its exit code, or the negative number of a signal, and what it wrote to both streams.

    `stdin` None is one that is at its end. With `columns`, stdout is a terminal of that width. A run that takes longer
    than LONGEST fails the test, which names the command.
    """
    with (
        TemporaryFile() as source,
        closing(_Caught(columns)) as out,
        closing(_Caught(None)) as err,
        _lent(env, folder, (source.fileno(), out.descriptor, err.descriptor)),
        _limited(arguments),
        _workers_inside(),
        patch.object(sanitize, "_sent", set()),  # the secrets of a run are no other run's
    ):
        source.write(stdin or b"")
        source.seek(0)
        code = _guarded(list(arguments))
    return code, out.data, err.data


def _guarded(arguments: list[str]) -> int:
    try:
        code = main.run(arguments)
    except Exception:  # a bug that CHAINQ_DEBUG shows; `python` ends so, too
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


@contextmanager
def _lent(env: Mapping[str, str], folder: Path, streams: Sequence[int]) -> Iterator[None]:
    """Lend environment, folder, descriptors and Python's streams to a run."""
    variables, before, python = dict(os.environ), Path.cwd(), [getattr(sys, name) for name, _ in _MODES]
    kept = [os.dup(number) for number in range(3)]
    mask = os.umask(0o022)
    os.umask(mask)
    try:
        for stream in python[1:]:
            stream.flush()
        os.environ.clear()
        os.environ.update(env)
        os.chdir(folder)
        for number, (name, mode) in enumerate(_MODES):
            os.dup2(streams[number], number)
            errors = "backslashreplace" if number == 2 else "strict" if number else "surrogateescape"
            opened = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
            setattr(sys, name, opened)
        yield
    finally:
        for number, (name, _) in enumerate(_MODES):
            os.dup2(kept[number], number)
            os.close(kept[number])
            setattr(sys, name, python[number])
        os.chdir(before)
        os.umask(mask)
        os.environ.clear()
        os.environ.update(variables)


@contextmanager
def _limited(arguments: Sequence[str]) -> Iterator[None]:
    """Fail in a run that takes longer than LONGEST."""

    def overdue(_number: int, _frame: FrameType | None) -> NoReturn:
        pytest.fail(
            f"after {LONGEST} s this had not ended: chainq {' '.join(arguments)}"
        )  # no Exception: none catches it

    before = signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Worker:
    """A worker of a run as a thread of this process: what `chainq.process.pool` uses of Popen. It cannot be killed: to
    end it is to wait for what it does."""

    def __init__(self, line: Sequence[str], **_: object) -> None:
        self.args, self.returncode = line, 1
        source, self.stdin = _connected()
        self.stdout, target = _connected()
        self._thread = threading.Thread(target=self._work, args=(source, target), daemon=True)
        self._thread.start()

    @staticmethod
    def _work(source: BinaryIO, target: BinaryIO) -> None:
        with source, suppress(BrokenPipeError):
            with target, suppress(EOFError):
                worker.serve(source, target, lambda _: None)
            source.read()  # to its end, which is for the thread that reads it, too

    def kill(self) -> None:
        """End the worker once it has done what it does."""
        self.returncode = -signal.SIGKILL
        with suppress(OSError, ValueError):
            self.stdin.close()

    def wait(self) -> int:
        """Wait for the end of the worker."""
        self._thread.join(LONGEST)
        assert not self._thread.is_alive(), "a worker does not end"
        return self.returncode


def _workers_inside() -> Any:
    """Have the workers of this process be threads of it."""
    return patch.object(
        pool, "subprocess", SimpleNamespace(Popen=Worker, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
    )


def _connected() -> tuple[BinaryIO, BinaryIO]:
    """Both ends of a pipe: the one that is read, and the one that is written."""
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


class _Caught:
    """A pipe, or a terminal, that is read while a run writes to it."""

    def __init__(self, columns: int | None) -> None:
        self._reading, self.descriptor = os.pipe() if columns is None else pty.openpty()
        if columns is not None:
            ioctl(self.descriptor, TIOCSWINSZ, pack("HHHH", 40, columns, 0, 0))
        self.data = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        parts: list[bytes] = []
        with suppress(OSError):  # how Linux says that a terminal is closed
            while part := os.read(self._reading, 1 << 16):
                parts.append(part)
        self.data = b"".join(parts)

    def close(self) -> None:
        os.close(self.descriptor)
        self._thread.join(10)
        assert not self._thread.is_alive(), "something still holds a stream of a run that has ended"
        os.close(self._reading)
