"""A file that rows are appended to."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from chainq.errors import BusyError, IncompleteError, OutputError
from chainq.sinks.base import Sink
from chainq.text.sanitize import printable


class AppendSink(Sink):
    """A file that grows by what is written, for runs that go on where the last one ended.

    `vouched`: its length in bytes as a checkpoint has it; what lies beyond is cut off. None: whatever is there stays.
    Raises OutputError where it cannot be written, or ends inside a line that would swallow the first row; BusyError
    where another run appends to it, IncompleteError where it is shorter than `vouched`.
    """

    def __init__(self, path: Path, vouched: int | None) -> None:
        name = printable(str(path))
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise OutputError(f"{name} cannot be written: {error.strerror}", "nothing was asked for yet") from None
        super().__init__(descriptor, name)
        self._path = path
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise BusyError(f"another run appends to {name}") from None
        except OSError:  # some network file systems have no locks; the checkpoint's own still stands
            pass
        self.length = os.fstat(descriptor).st_size
        if vouched is not None and self.length < vouched:
            os.close(descriptor)
            raise IncompleteError(
                f"{name} holds {self.length} bytes, but the checkpoint vouches for {vouched}",
                "restore the file, give another -o, or delete the checkpoint and the file to start over",
            )
        if vouched is not None:
            self.cut(vouched)
        elif self.length and os.pread(descriptor, 1, self.length - 1) != b"\n":
            os.close(descriptor)
            raise OutputError(
                f"{name} ends inside a line, as a run that was killed leaves it",
                "complete or delete its last line, or give another -o",
            )

    def write(self, data: bytes) -> None:
        """Take all of `data`."""
        super().write(data)
        self.length += len(data)

    def sync(self) -> None:
        """Have everything written so far on the disk. Raises OutputError where the file was moved or replaced."""
        try:
            os.fsync(self._descriptor)
            if not os.path.samestat(self._path.stat(), os.fstat(self._descriptor)):
                raise OSError(0, "was replaced by another file while it was written")
        except OSError as error:
            raise self._failure(error) from None

    def cut(self, length: int) -> None:
        """Leave only the first `length` bytes."""
        try:
            os.ftruncate(self._descriptor, length)
        except OSError as error:
            raise self._failure(error) from None
        self.length = length

    def finish(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def abandon(self) -> None:
        """Close the file as it is."""
        with suppress(OSError):
            os.close(self._descriptor)
