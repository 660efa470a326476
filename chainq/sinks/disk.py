"""Helpers for file writers: remove temporary files of killed runs, and make renames durable."""

import fcntl
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def remove_unlocked(paths: Iterable[Path]) -> None:
    """Remove the files that no process has locked: their writers were killed. Other files stay, without an error."""
    for path in paths:
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)  # over NFS, a lock needs a writer
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(descriptor)


def locks(descriptor: int, *, shared: bool = False) -> bool:
    """Take a kernel lock until the file is closed; return False if another process has it.

    Raises OSError, as on a file system without locks.
    """
    for wait in (0.05, 0.0):  # another process may have it for a moment, in `is_locked`
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(wait)
        else:
            return True
    return False


def is_locked(path: Path) -> bool:
    """Return whether a process has the kernel lock of a file, which is taken for a moment if not."""
    with suppress(OSError):  # the file is missing, or its file system has no locks
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)  # over NFS, a lock needs a writer
        try:
            return not locks(descriptor, shared=True)
        finally:
            os.close(descriptor)
    return False


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, if its file system can sync folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
