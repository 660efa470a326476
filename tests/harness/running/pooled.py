"""What the worker processes of the tests of `process.pool` do. Apart from the tests, so that it is loaded at once."""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from chainq.errors import ServiceError, UsageError


class Bench:
    """What each process works with."""

    def __init__(self, secret: str, say: Callable[[object], None]) -> None:
        self.secret, self.say, self.told = secret, say, threading.Event()

    def process(self, _: object) -> int:
        """The id of the process."""
        return os.getpid()

    def count(self, number: int) -> int:
        """Say each number up to one, print what nobody wants to read, and return it."""
        for one in range(number):
            self.say(one)
        sys.stdout.write("noise")
        sys.stdout.flush()
        return number

    def length(self, data: bytes) -> int:
        """How many bytes came."""
        return len(data)

    def fail(self, error: Exception) -> None:
        """Raise an error."""
        raise error

    def fail_privately(self, text: str) -> None:
        """Raise an error of a class that no other process has."""

        class _OtherError(Exception):
            pass

        raise _OtherError(text)

    def give_a_lambda(self, _: object) -> object:
        """Return what cannot be pickled."""
        return lambda: None

    def die(self, number: int) -> None:
        """End by a signal, or by exit code 3 for 0."""
        if not number:
            os._exit(3)
        os.kill(os.getpid(), number)

    def wait(self, path: str) -> None:
        """Leave the process id in a file, and wait for ever."""
        file = Path(path)
        file.with_suffix(".new").write_text(str(os.getpid()))
        file.with_suffix(".new").rename(file)
        signal.pause()

    def wait_to_be_told(self, _: object) -> bool:
        """Wait until `tell` is called beside it."""
        self.say("waiting")
        return self.told.wait(30)

    def tell(self, _: object) -> None:
        """End the wait."""
        self.told.set()


def make(secret: str, say: Callable[[object], None]) -> Bench:
    """Return what a process works with."""
    return Bench(secret, say)


def refuse(_: Callable[[object], None]) -> Bench:
    """Fail to make it."""
    raise UsageError("no such thing", "install it")


def leave(_: Callable[[object], None]) -> Bench:
    """End the process before it works."""
    os._exit(4)


ERRORS = [
    UsageError("a", "b"),
    ServiceError("a", "b", code="-32000"),
    KeyError("x"),
    MemoryError(),
    OSError(28, "No space left on device"),
    pickle.PicklingError("p"),
]
