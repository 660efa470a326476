"""A file that rows are appended to, by runs that resume after the last one."""

import fcntl
import glob
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from chainq.errors import BusyError, IncompleteError, OutputError, Phrase
from chainq.sinks.base import Sink
from chainq.text.sanitize import printable

END_BYTES = 4096  # at the end of a file, by which it is known again
_OWNER = "user.chainq.checkpoint"  # extended attribute (xattr(7)); macOS and some file systems have none
_FLAGS = os.O_APPEND | os.O_CLOEXEC
_LATER = Phrase("use another {output} for later rows only", output="FILE")
_CHANGED = Phrase("restore the file, {}, or delete the checkpoint and the file to start over", _LATER)


class Recorded(NamedTuple):
    """What a checkpoint recorded of a file: its length in bytes, the `end_hash` at that length (empty if unknown),
    and whether a run that was killed may have written more."""

    length: int
    end_hash: str = ""
    writing: bool = False


class AppendFileSink(Sink):
    """A file that grows with each run, locked while it is open. What is written stays, also after a failure.

    `recorded`: what lies beyond it is removed, as the rest of a run that was killed; from the file of another name
    if the file was rotated, as logrotate(8) does by `create` or `copytruncate`. None: no checkpoint knows the file,
    so everything in it stays.
    Raises OutputError if it cannot be written or ends in the middle of a line, which the first row would join;
    BusyError if another run is appending to it; IncompleteError if it is not as `recorded`.
    """

    appends = True

    def __init__(self, path: Path, recorded: Recorded | None) -> None:
        name = printable(str(path))
        before = _rotated(path, recorded) if recorded is not None else None
        if before is not None and recorded is not None:
            if recorded.writing:
                os.truncate(before, recorded.length)
            recorded = None
        # A recorded file that is gone stays gone.
        create = 0 if recorded is not None and recorded.length else os.O_CREAT
        try:
            descriptor = os.open(path, os.O_RDWR | create | _FLAGS, 0o666)
        except OSError as error:
            if recorded is not None and recorded.length and isinstance(error, FileNotFoundError):
                gone = f"the checkpoint recorded {recorded.length} bytes of {name}, and the file is gone"
                raise IncompleteError(gone, _CHANGED) from None
            raise OutputError(f"cannot write {name}: {error.strerror}") from None
        super().__init__(descriptor, name)
        self._path, self._moved = path, before is not None
        try:
            self._prepare(recorded)
        except BaseException:
            os.close(descriptor)
            raise

    def _prepare(self, recorded: Recorded | None) -> None:
        """Lock the file and bring it to the recorded length."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"another run is appending to {self._name}") from None
        except OSError:  # some network file systems have no locks; the checkpoint is locked as well
            pass
        self.length = os.fstat(self._descriptor).st_size
        if recorded is not None:
            self._check(recorded)
            self.truncate(recorded.length)
        elif self.length and os.pread(self._descriptor, 1, self.length - 1) != b"\n":
            raise OutputError(
                f"{self._name} ends in the middle of a line, probably written by a run that was killed",
                Phrase("complete or delete its last line, or use another {output}", output="FILE"),
            )

    def _check(self, recorded: Recorded) -> None:
        """Raise IncompleteError if the file is not as recorded, except for data that a killed run may have left."""
        length, name = recorded.length, self._name
        if self.length < length:
            raise IncompleteError(f"the checkpoint recorded {length} bytes, {name} has {self.length}", _CHANGED)
        if recorded.end_hash not in ("", self.end_hash(length)):
            raise IncompleteError(f"{name} was changed since the checkpoint recorded it", _CHANGED)
        if not recorded.writing and self._holds_line(length):  # half a line is no row
            raise IncompleteError(
                f"the checkpoint recorded {length} bytes, {name} has {self.length}, and no run was killed",
                "another program or another checkpoint appends to it; " + _LATER + ", or remove what was appended",
            )

    def _holds_line(self, start: int) -> bool:
        """Return whether a line ends in the file at `start` or later."""
        return any(b"\n" in os.pread(self._descriptor, 65536, at) for at in range(start, self.length, 65536))

    def end_hash(self, length: int) -> str:
        """Return a hash of the last of the first `length` bytes, to recognize the file.

        Raises OutputError.
        """
        with self._told():
            return _end_hash(self._descriptor, length)

    @property
    def rotated(self) -> bool:
        """Return whether the file was renamed or truncated since it was opened or last reopened."""
        with suppress(OSError):
            now = os.fstat(self._descriptor)
            if now.st_size < self.length or not self._path.exists():
                return True
            return self._moved or not os.path.samestat(self._path.stat(), now)
        return self._moved

    def reopen(self) -> None:
        """Continue in the file that has the name now. Raises OutputError, and BusyError if another run has it."""
        with self._told():
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666)
        os.close(self._descriptor)
        self._descriptor, self._moved = descriptor, False
        self._prepare(None)

    @property
    def owner(self) -> str:
        """The path of the checkpoint that a run noted on the file; empty for none, or if that cannot be noted."""
        return owner_of(self._descriptor)

    @owner.setter
    def owner(self, checkpoint: str) -> None:
        with suppress(OSError, AttributeError):
            os.setxattr(self._descriptor, _OWNER, os.fsencode(checkpoint))

    def write(self, data: bytes, /) -> None:
        """Append all of `data`. Raises OutputError."""
        super().write(data)
        self.length += len(data)

    def sync(self) -> None:
        """Make what is written so far survive a power failure.

        Raises OutputError, also if the file was deleted or replaced: the rows would be in no file. One that has
        another name now keeps them (`rotated`).
        """
        with self._told():
            os.fsync(self._descriptor)
            if not os.fstat(self._descriptor).st_nlink:
                raise OSError(0, "the file was deleted or replaced during the run")

    def truncate(self, length: int) -> None:
        """Leave only the first `length` bytes. Raises OutputError."""
        with self._told():
            os.ftruncate(self._descriptor, length)
        self.length = length

    def finish(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
        self._descriptor = -1

    def abandon(self) -> None:
        """Close the file as it is."""
        with suppress(OSError):
            os.close(self._descriptor)


def owner_of(file: int | str) -> str:
    """Return the path of the checkpoint that a run noted on a file; empty for none, or if that cannot be noted."""
    with suppress(OSError, AttributeError):
        return os.fsdecode(os.getxattr(file, _OWNER))
    return ""


def _rotated(path: Path, recorded: Recorded) -> Path | None:
    """Return the file that has the recorded rows if the file at `path` is gone or empty, or None.

    Its name begins alike, as in `rows.jsonl.1` or `rows.jsonl-20260101`, and its first bytes end as they were recorded.
    """
    with suppress(OSError):
        if not recorded.length or not recorded.end_hash or (path.exists() and path.stat().st_size):
            return None
        for other in path.parent.glob(f"{glob.escape(path.name)}[.-]*"):
            with suppress(OSError), other.open("rb") as file:
                found = _end_hash(file.fileno(), recorded.length)
                if other.stat().st_size >= recorded.length and found == recorded.end_hash:
                    return other
    return None


def _end_hash(descriptor: int, length: int) -> str:
    from hashlib import blake2b

    start = max(0, length - END_BYTES)
    return blake2b(os.pread(descriptor, length - start, start), digest_size=16).hexdigest()
