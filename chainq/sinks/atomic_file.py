"""A file that appears whole or not at all."""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

from chainq.errors import BusyError, OutputError
from chainq.sinks.base import Sink
from chainq.text.sanitize import printable


class FileSink(Sink):
    """A file that appears whole or not at all: written beside its place, renamed into it at the end.

    Raises OutputError where it cannot be written; BusyError, at the start and at the end, where a run appends to it.
    """

    def __init__(self, path: Path) -> None:
        import tempfile

        # A link is followed: what it points to is replaced, not the link.
        self._target = Path(os.path.realpath(path))
        name = printable(str(path))
        try:
            if self._target.is_dir():
                raise IsADirectoryError(0, "is a directory")
            if self._target.exists() and not os.access(self._target, os.W_OK):
                raise PermissionError(0, "permission denied")
            _refuse_busy(self._target, name)
            descriptor, beside = tempfile.mkstemp(prefix=f".{self._target.name}.", dir=self._target.parent)
        except OSError as error:
            raise OutputError(f"{name} cannot be written: {error.strerror}", "nothing was asked for yet") from None
        self._beside: Path | None = Path(beside)
        super().__init__(descriptor, name)

    def finish(self) -> None:
        """Rename the file into its place, with the mode of the one before it, or the usual one."""
        try:
            os.fchmod(self._descriptor, _mode(self._target))
            os.fsync(self._descriptor)
            if self._beside is not None:
                _refuse_busy(self._target, self._name)
                self._beside.replace(self._target)
                self._beside = None
        except OSError as error:
            raise self._failure(error) from None
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Leave the old file as it was, and nothing beside it."""
        with suppress(OSError):
            os.close(self._descriptor)
        if self._beside is not None:
            self._beside.unlink(missing_ok=True)
            self._beside = None


def _refuse_busy(target: Path, name: str) -> None:
    """Raise BusyError where a run appends to the file: to replace it would lose what that run goes on to write."""
    with suppress(FileNotFoundError, PermissionError), target.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another run appends to {name}") from None
        except OSError:  # no locks there
            return


def _mode(target: Path) -> int:
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
