"""A small file that only one run may use at a time: its lock, and its replacement."""

import os
import re
from contextlib import suppress
from pathlib import Path

from chainq.errors import BusyError, OutputError, UsageError
from chainq.sinks.base import unopened
from chainq.sinks.disk import is_locked, locks, sync_folder
from chainq.text.sanitize import abridged, printable


def content_of(path: Path, name: str) -> bytes | None:
    """Return the content of a checkpoint, None if there is none. `name`: for messages. Raises UsageError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read checkpoint {name}: {error.strerror}") from None


def is_checkpoint(path: Path) -> bool:
    """Return whether a file is meant as a checkpoint, damaged or not. Raises OSError."""
    with path.open("rb") as file:  # a power failure may leave zeros
        return re.match(rb'\s*\{?\s*("chainq"|$)|\0', file.read(40)) is not None


def locked(path: Path, name: str) -> int:
    """Return the descriptor of the lock file of a checkpoint; closing it releases the lock.

    `name`: of the checkpoint, for messages. Raises BusyError, UsageError, OutputError. The lock file stays: without it
    two runs could lock two files of the same name.
    """
    lock = _lock_of(path)
    try:
        if not path.name or (path.exists() and not path.is_file()):
            raise UsageError(f"checkpoint {name} is not a regular file")
        if os.access(path, os.R_OK) and not is_checkpoint(path):
            raise UsageError(f"{name} is not a checkpoint")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        opened = printable(abridged(str(lock), 200)) if path.parent.is_dir() else f"checkpoint {name}"
        raise unopened(f"cannot open {opened}", path, error) from None
    try:
        # The kernel releases the lock with the process, however it ends: there are no stale locks.
        if locks(descriptor):
            return descriptor
    except OSError as error:
        os.close(descriptor)
        raise OutputError(f"cannot lock {printable(str(lock))}: {error.strerror}") from None
    os.close(descriptor)
    raise BusyError(f"another run is using checkpoint {name}")


def in_use(path: Path) -> bool:
    """Return whether a run is using a checkpoint now."""
    real = Path(os.path.realpath(path))
    return bool(real.name) and is_locked(_lock_of(real))


def _lock_of(path: Path) -> Path:
    """Return the lock file of a checkpoint; a path without a name as it is, because it cannot be a file."""
    return path.with_name(path.name + ".lock") if path.name else path


def replace_file(path: Path, content: bytes, name: str, mode: int = 0o666) -> None:
    """Replace a checkpoint durably with a file of that mode (less the umask). Raises OutputError."""
    # The same name for all runs, since the lock keeps them apart: what a killed one leaves is replaced. It is
    # made anew and never followed, because others may write to the folder.
    temporary = path.with_name(f".{path.name}.new")
    try:
        temporary.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise OutputError(f"cannot write checkpoint {name}: {error.strerror}") from None
    # Not an error any more: the new checkpoint is in effect, and to raise would remove rows that it records. Where
    # a folder cannot be synced, a power failure may bring the old checkpoint back, which records less.
    sync_folder(path.parent)
