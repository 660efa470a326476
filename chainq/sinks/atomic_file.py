"""A file that appears complete or not at all."""

import glob
import os
import stat
from contextlib import suppress
from pathlib import Path

from chainq.errors import BusyError
from chainq.sinks.base import Sink, unopened
from chainq.sinks.disk import is_locked, locks, remove_unlocked, sync_folder
from chainq.text.sanitize import printable

_RANDOM, _SUFFIX = "?" * 8, ".chainq"  # how the names of temporary files end, by tempfile.mkstemp


class AtomicFileSink(Sink):
    """A file that appears complete or not at all: written under a temporary name in the same folder, then renamed.

    The temporary file is locked. Unlocked temporary files of the same file were left by killed runs and are removed.
    Raises OutputError if it cannot be written; BusyError, at the start and at the end, if another run is appending to
    the file of that name.
    """

    def __init__(self, path: Path) -> None:
        # A symbolic link is followed: the file it points to is replaced, not the link.
        self._target = Path(os.path.realpath(path))
        name = printable(str(path))
        try:
            if self._target.is_dir():
                raise IsADirectoryError(0, "is a directory")
            if self._target.exists() and not os.access(self._target, os.W_OK):
                raise PermissionError(0, "permission denied")
            if _is_mount_point(self._target):
                raise OSError(0, "a file that is mounted by itself cannot be replaced; mount its folder, or use > FILE")
            _check_lock(self._target, name)
            remove_unlocked(self._target.parent.glob(f".{glob.escape(self._target.name)}.{_RANDOM}{_SUFFIX}"))
            descriptor, self._temporary = _locked_temporary(self._target)
        except OSError as error:
            raise unopened(f"cannot write {name}", path, error) from None
        super().__init__(descriptor, name)

    def finish(self) -> None:
        """Rename the file to its name, with the mode of the file it replaces, or the default mode.

        Raises OutputError, BusyError.
        """
        try:
            with self._told():
                os.fchmod(self._descriptor, _mode(self._target))
                os.fsync(self._descriptor)
                _check_lock(self._target, self._name)
                self._temporary.replace(self._target)
                sync_folder(self._target.parent)  # so that the name survives a power failure as the bytes do
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Remove the temporary file, unless it was renamed, and leave the old one unchanged."""
        with suppress(OSError):
            os.close(self._descriptor)
        self._descriptor = -1
        self._temporary.unlink(missing_ok=True)


def _locked_temporary(target: Path) -> tuple[int, Path]:
    """Return a new file beside another one, open and locked. Raises OSError."""
    import tempfile

    while True:
        descriptor, path = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_SUFFIX, dir=target.parent)
        try:
            ours = locks(descriptor) and os.fstat(descriptor).st_nlink > 0
        except OSError:  # a file system without locks
            ours = True
        if ours:
            return descriptor, Path(path)
        os.close(descriptor)  # another run took it for one of a run that was killed


def _is_mount_point(target: Path) -> bool:
    """Return whether a file is a mount point, as in a container (proc_pid_mountinfo(5))."""
    with suppress(OSError, IndexError):
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
        return any(os.fsencode(target) == line.split()[4].replace(rb"\040", b" ") for line in mounts)
    return False


def _check_lock(target: Path, name: str) -> None:
    """Raise BusyError if another run is appending to the file: replacing it would lose the rows still to come."""
    if is_locked(target):
        raise BusyError(f"another run is appending to {name}")


def _mode(target: Path) -> int:
    """Return the mode of the file that is replaced; for a new file, the mode that the umask allows."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
