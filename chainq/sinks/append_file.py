"""A file that rows are appended to, by runs that resume where the last one ended."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from chainq.errors import BusyError, IncompleteError, OutputError
from chainq.sinks.base import DescriptorSink
from chainq.text.sanitize import printable


class AppendFileSink(DescriptorSink):
    """A file that grows with each run, locked while it is open. What is written stays, also after a failure.

    `recorded`: the length in bytes that a checkpoint recorded; what lies beyond is removed. None: no checkpoint knows
    the file, so everything in it stays.
    Raises OutputError where it cannot be written or ends in the middle of a line, which the first row would join;
    BusyError where another run is appending to it; IncompleteError where it is shorter than `recorded`.
    """

    appends = True

    def __init__(self, path: Path, recorded: int | None) -> None:
        name = printable(str(path))
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise OutputError(f"cannot write {name}: {error.strerror}", "no request was sent yet") from None
        super().__init__(descriptor, name)
        self._path = path
        try:
            self._prepare(recorded)
        except BaseException:
            os.close(descriptor)
            raise

    def _prepare(self, recorded: int | None) -> None:
        """Lock the file and bring it to the recorded length."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another run is appending to {self._name}") from None
        except OSError:  # some network file systems have no locks; the checkpoint is locked as well
            pass
        self.length = os.fstat(self._descriptor).st_size
        if recorded is None:
            if self.length and os.pread(self._descriptor, 1, self.length - 1) != b"\n":
                raise OutputError(
                    f"{self._name} ends in the middle of a line, probably written by a run that was killed",
                    "complete or delete its last line, or use another -o FILE",
                )
        elif self.length < recorded:
            raise IncompleteError(
                f"the checkpoint recorded {recorded} bytes, {self._name} holds {self.length}",
                "restore the file, use another -o FILE, or delete the checkpoint and the file to start over",
            )
        else:
            self.truncate(recorded)

    def write(self, data: bytes, /) -> None:
        """Append all of `data`. Raises OutputError."""
        super().write(data)
        self.length += len(data)

    def sync(self) -> None:
        """Make what is written so far survive a power failure.

        Raises OutputError, also where the file was moved or replaced: the rows would not be in the file of that name.
        """
        try:
            os.fsync(self._descriptor)
            if not os.path.samestat(self._path.stat(), os.fstat(self._descriptor)):
                raise OSError(0, "the file was replaced by another one during the run")
        except OSError as error:
            raise self._failure(error) from None

    def truncate(self, length: int) -> None:
        """Leave only the first `length` bytes. Raises OutputError."""
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
