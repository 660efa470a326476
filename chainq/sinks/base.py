"""Where bytes go: standard output, a device or FIFO straight, or a file that appears whole or not at all."""

import os
import stat
from contextlib import suppress
from select import select
from typing import Self

from chainq.errors import NotFoundError, OutputError
from chainq.process.signals import PipeClosed, moved


class Sink:
    """Takes bytes. As a context it ends the output: whole where the block ended well, else as if it had never begun.

    A closed pipe raises PipeClosed; any other failure OutputError, with the number of bytes that came through.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self.written = 0  # bytes
        self._kept: tuple[int, int] | None = None  # where in the file, and in what was written, the last `keep` was

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # What was asked for by name and does not exist is told at the end: what does exist stands whole.
        told_late = kind is not None and issubclass(kind, NotFoundError) and self.written > 0
        self.finish() if kind is None or told_late else self.abandon()

    def write(self, data: bytes) -> None:
        """Take all of `data`."""
        view = memoryview(data)
        while view:
            try:
                count = os.write(self._descriptor, view)
            except BlockingIOError:  # whoever shares the pipe made it non-blocking
                select([], [self._descriptor], [])
                continue
            except BrokenPipeError:
                raise PipeClosed from None
            except OSError as error:
                raise self._failure(error) from None
            self.written += count
            moved()
            view = view[count:]

    def finish(self) -> None:
        """Make what was written last."""

    def keep(self) -> None:
        """What is written so far shall stay, whatever becomes of the rest: it ends with a whole row."""
        place = self._place()
        self._kept = None if place is None else (place, self.written)

    def abandon(self) -> None:
        """Undo what can be undone: a regular file is cut back to the last `keep`, if nobody else wrote into it."""
        place = self._place()
        if self._kept is None or place is None or place - self._kept[0] != self.written - self._kept[1]:
            return
        with suppress(OSError):
            if place > self._kept[0] and place == os.fstat(self._descriptor).st_size:
                os.ftruncate(self._descriptor, self._kept[0])
                os.lseek(self._descriptor, self._kept[0], os.SEEK_SET)

    def _place(self) -> int | None:
        """The offset in a regular file; None in all else."""
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                return os.lseek(self._descriptor, 0, os.SEEK_CUR)
        return None

    def _failure(self, error: OSError) -> OutputError:
        return OutputError(f"{self._name}: {error.strerror} (after {self.written} bytes)")
