"""A file that rows are appended to, by runs that resume after the last one."""

import fcntl
import glob
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from chainq.errors import BusyError, IncompleteError, OutputError
from chainq.sinks.base import Sink, unopened
from chainq.text.sanitize import printable

# At the end of a file, by which it is known again. Rejected: a hash of the whole file, which each run would have to
# read from its beginning; `chainq verify FILE` notices edits further up.
END_BYTES = 4096
_OWNER = "user.chainq.checkpoint"  # extended attribute (xattr(7)); macOS and some file systems have none
_FLAGS = os.O_APPEND | os.O_CLOEXEC
_LATER = "use another -o FILE for later rows only"
_CHANGED = f"restore the file, {_LATER}, or delete the checkpoint and the file to start over"


class FileChangedError(IncompleteError):
    """Another program changed the file during a run; `AppendFileSink.reopen` tells whether it was rotated."""


class Recorded(NamedTuple):
    """What is recorded of a file: its length in bytes, the `end_hash` at that length (empty if unknown), whether a run
    may have written more, and by whom, as error messages say it."""

    length: int
    end_hash: str = ""
    writing: bool = False
    by: str = "the checkpoint"


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
        super().__init__(-1, printable(str(path)))
        self._path = path
        before = _rotated(path, recorded) if recorded is not None else None
        if before is not None and recorded is not None and recorded.writing:
            os.truncate(before, recorded.length)
        self._open(recorded, moved=before is not None)

    def _open(self, recorded: Recorded | None, *, moved: bool) -> None:
        """Open, lock and check the file at the path; `moved`: the recorded rows are in another file."""
        if moved:
            recorded = None
        # A recorded file that is gone stays gone.
        create = 0 if recorded is not None and recorded.length else os.O_CREAT
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | create | _FLAGS, 0o666)
        except OSError as error:
            if recorded is not None and recorded.length and isinstance(error, FileNotFoundError):
                gone = f"{recorded.by} recorded {recorded.length} bytes of {self._name}, and the file is gone"
                raise IncompleteError(gone, _CHANGED) from None
            raise unopened(f"cannot write {self._name}", self._path, error) from None
        self.moved = moved
        try:
            self._prepare(recorded)
        except BaseException:
            self._close()  # so that nothing later changes a file of somebody else
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
                "complete or delete its last line, or use another -o FILE",
            )

    def _check(self, recorded: Recorded) -> None:
        """Raise IncompleteError if the file is not as recorded, except for data that a killed run may have left."""
        length, name, by = recorded.length, self._name, recorded.by
        if self.length < length:
            raise IncompleteError(f"{by} recorded {length} bytes, {name} has {self.length}", _CHANGED)
        if recorded.end_hash not in ("", self.end_hash(length)):
            raise IncompleteError(f"{name} was changed since {by} recorded it", _CHANGED)
        if not recorded.writing and self._holds_line(length):  # half a line is no row
            raise IncompleteError(
                f"{by} recorded {length} bytes, {name} has {self.length}, and no run was killed",
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
    def intact(self) -> bool:
        """Return whether the file at the path is the one that was opened, and as long as this run left it."""
        with suppress(OSError):
            now = os.fstat(self._descriptor)
            return now.st_size == self.length and os.path.samestat(self._path.stat(), now)
        return False

    def reopen(self, recorded: Recorded) -> str:
        """Continue in the file that has the name now, as a new run would; `moved` says whether that is another one.

        `recorded`: what this run recorded last; if it wrote more, that is removed from a file that was moved away.
        Returns the path of that file if its name does not show that it was rotated, else "". Raises as opening does.
        """
        before: Path | int | None = _rotated(self._path, recorded)
        other = ""
        with self._told():
            if before is None and self._renamed(recorded):
                before, other = self._descriptor, self._path_now()
            if before is not None and recorded.writing:
                os.truncate(before, recorded.length)
            self._close()
        self._open(recorded._replace(writing=False), moved=before is not None)
        return other

    def _renamed(self, recorded: Recorded) -> bool:
        """Return whether the open file has another name now, and no other file with rows has the path."""
        now = os.fstat(self._descriptor)
        try:
            there = self._path.stat()
        except FileNotFoundError:
            there = None
        free = there is None or not (there.st_size or os.path.samestat(there, now))
        return free and now.st_nlink > 0 and now.st_size >= recorded.length > 0

    def _path_now(self) -> str:
        """Return the path of the open file."""
        try:
            return printable(str(Path(f"/proc/self/fd/{self._descriptor}").readlink()))
        except OSError:  # not on Linux
            return "the renamed file"

    @property
    def owner(self) -> str:
        """The path of the checkpoint that a run noted on the file; empty for none, or if that cannot be noted."""
        return owner_of(self._descriptor)

    @owner.setter
    def owner(self, checkpoint: str) -> None:
        with suppress(OSError, AttributeError):
            os.setxattr(self._descriptor, _OWNER, os.fsencode(checkpoint))

    def write(self, data: bytes, /) -> None:
        """Append all of `data`. Raises OutputError, and FileChangedError if the file is not as this run left it."""
        with self._told():
            if os.fstat(self._descriptor).st_size != self.length:
                raise self._changed()
        super().write(data)
        self.length += len(data)

    def sync(self) -> None:
        """Make what is written so far survive a power failure.

        Raises OutputError, also if the file was deleted or replaced: the rows would be in no file. One that has
        another name now keeps them. Raises FileChangedError if it is too short.
        """
        with self._told():
            now = os.fstat(self._descriptor)
            os.fsync(self._descriptor)
            if not now.st_nlink:
                raise OSError(0, "the file was deleted or replaced during the run")
            if now.st_size < self.length:
                raise self._changed()

    def _changed(self) -> FileChangedError:
        return FileChangedError(f"another program changed {self._name} during the run", "run the command again")

    def truncate(self, length: int) -> None:
        """Leave only the first `length` bytes. Raises OutputError, and FileChangedError if the file is too short."""
        with self._told():
            if os.fstat(self._descriptor).st_size < length:
                raise self._changed()
            os.ftruncate(self._descriptor, length)
        self.length = length

    def finish(self) -> None:
        """Close the file."""
        self._close()

    def abandon(self) -> None:
        """Close the file as it is."""
        with suppress(OSError):
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


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
