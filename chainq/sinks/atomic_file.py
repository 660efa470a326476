"""A file that appears complete or not at all."""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

from chainq.errors import BusyError, OutputError
from chainq.sinks.base import DescriptorSink
from chainq.text.sanitize import printable


class AtomicFileSink(DescriptorSink):
    """A file that appears complete or not at all: written under a temporary name in the same folder, then renamed.

    Raises OutputError where it cannot be written; BusyError, at the start and at the end, where another run is
    appending to the file of that name.
    """

    def __init__(self, path: Path) -> None:
        import tempfile

        # A symbolic link is followed: the file it points to is replaced, not the link.
        self._target = Path(os.path.realpath(path))
        name = printable(str(path))
        try:
            if self._target.is_dir():
                raise IsADirectoryError(0, "is a directory")
            if self._target.exists() and not os.access(self._target, os.W_OK):
                raise PermissionError(0, "permission denied")
            _check_lock(self._target, name)
            descriptor, temporary = tempfile.mkstemp(prefix=f".{self._target.name}.", dir=self._target.parent)
        except OSError as error:
            raise OutputError(f"cannot write {name}: {error.strerror}", "no request was sent yet") from None
        self._temporary: Path | None = Path(temporary)
        super().__init__(descriptor, name)

    def finish(self) -> None:
        """Rename the file to its name, with the mode of the file it replaces, or the default mode.

        Raises OutputError, BusyError.
        """
        try:
            os.fchmod(self._descriptor, _mode(self._target))
            os.fsync(self._descriptor)
            if self._temporary is not None:
                _check_lock(self._target, self._name)
                self._temporary.replace(self._target)
                self._temporary = None
        except OSError as error:
            raise self._failure(error) from None
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Remove the temporary file and leave the old one unchanged."""
        with suppress(OSError):
            os.close(self._descriptor)
        self._descriptor = -1
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None


def _check_lock(target: Path, name: str) -> None:
    """Raise BusyError where another run is appending to the file: replacing it would lose the rows still to come."""
    with suppress(FileNotFoundError, PermissionError), target.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another run is appending to {name}") from None
        except OSError:  # a file system without locks
            return


def _mode(target: Path) -> int:
    """Return the mode of the file that is replaced; for a new one what the umask allows."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
