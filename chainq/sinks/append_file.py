"""A file that rows are appended to, by runs that resume after the last one."""

import os
from contextlib import suppress
from pathlib import Path

from chainq.errors import BusyError, IncompleteError
from chainq.sinks.base import Sink, unopened
from chainq.sinks.disk import locks, sync_folder
from chainq.text.sanitize import printable

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class AppendFileSink(Sink):
    """A file that grows with each run, locked while it is open. What is written stays, also after a failure.

    Raises OutputError if it cannot be opened, BusyError if another run is appending to it.
    """

    appends = True

    def __init__(self, path: Path) -> None:
        super().__init__(-1, printable(str(path)))
        self._path = path
        self._open()

    def _open(self) -> None:
        try:
            self._descriptor = os.open(self._path, _FLAGS, 0o666)
        except OSError as error:
            raise unopened(f"cannot write {self._name}", self._path, error) from None
        with suppress(OSError):  # some network file systems have no locks; the checkpoint is locked as well
            if not locks(self._descriptor):
                self.finish()  # so that nothing later changes a file of somebody else
                raise BusyError(f"another run is appending to {self._name}")
        self.length = os.fstat(self._descriptor).st_size
        if not self.length:  # a checkpoint is to record no file whose name a power failure takes away
            sync_folder(self._path.parent)

    def reopen(self) -> None:
        """Continue in the new file that has the name now, made if there is none. Raises as opening does, and
        IncompleteError if it has rows."""
        with self._told():
            self.finish()
        self._open()
        if self.length:
            raise self._changed()

    def has_line_end(self, length: int) -> bool:
        """Return whether a line ends after so many bytes. Raises OutputError."""
        with self._told():
            return not length or os.pread(self._descriptor, 1, length - 1) == b"\n"

    @property
    def intact(self) -> bool:
        """Return whether the file at the path is the one that was opened, and as long as this run left it."""
        with suppress(OSError):
            now = os.fstat(self._descriptor)
            return now.st_size == self.length and os.path.samestat(self._path.stat(), now)
        return False

    def write(self, data: bytes, /) -> None:
        """Append all of `data`. Raises OutputError, and IncompleteError if the file is not as this run left it."""
        with self._told():
            if os.fstat(self._descriptor).st_size != self.length:
                raise self._changed()
        super().write(data)
        self.length += len(data)

    def sync(self) -> None:
        """Make what is written so far survive a power failure.

        Raises OutputError, also if the file was deleted or replaced: the rows would be in no file. One that has
        another name now keeps them. Raises IncompleteError if it is too short.
        """
        with self._told():
            now = os.fstat(self._descriptor)
            os.fsync(self._descriptor)
            if not now.st_nlink:
                raise OSError(0, "the file was deleted or replaced during the run")
            if now.st_size < self.length:
                raise self._changed()

    def _changed(self) -> IncompleteError:
        """Return the error of a file that another program changed during a run; `copytruncate` empties it."""
        return IncompleteError(f"another program changed {self._name} during the run", "run the command again")

    def truncate(self, length: int) -> None:
        """Leave only the first `length` bytes. Raises OutputError, and IncompleteError if the file is too short."""
        with self._told():
            if os.fstat(self._descriptor).st_size < length:
                raise self._changed()
            os.ftruncate(self._descriptor, length)
        self.length = length

    def finish(self) -> None:
        """Close the file."""
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)

    def abandon(self) -> None:
        """Close the file as it is."""
        with suppress(OSError):
            self.finish()
