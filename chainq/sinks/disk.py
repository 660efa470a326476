"""Helpers for file writers: remove temporary files of killed runs, and make renames durable."""

import fcntl
import os
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


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, if its file system can sync folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
