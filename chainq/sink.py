"""Where bytes go: standard output, a device or FIFO straight, or a file that appears whole or not at all."""

import fcntl
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Self

from chainq.errors import BusyError, IncompleteError, NotFoundError, OutputError
from chainq.safe import printable
from chainq.signals import PipeClosed, moved


class Sink:
    """Takes bytes. As a context it ends the output: whole where the block ended well, else as if it had never begun.

    A closed pipe raises PipeClosed; any other failure OutputError, with the number of bytes that came through.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self.written = 0  # bytes
        self._kept: tuple[int, int] | None = None  # where in the file, and in what was written, the last `keep` was

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # What was asked for by name and does not exist is told at the end: what does exist stands whole.
        told_late = kind is not None and issubclass(kind, NotFoundError) and self.written > 0
        self.finish() if kind is None or told_late else self.abandon()

    def write(self, data: bytes) -> None:
        """Take all of `data`."""
        view = memoryview(data)
        while view:
            try:
                count = os.write(self._descriptor, view)
            except BlockingIOError:  # whoever shares the pipe made it non-blocking
                select([], [self._descriptor], [])
                continue
            except BrokenPipeError:
                raise PipeClosed from None
            except OSError as error:
                raise self._failure(error) from None
            self.written += count
            moved()
            view = view[count:]

    def finish(self) -> None:
        """Make what was written last."""

    def keep(self) -> None:
        """What is written so far shall stay, whatever becomes of the rest: it ends with a whole row."""
        place = self._place()
        self._kept = None if place is None else (place, self.written)

    def abandon(self) -> None:
        """Undo what can be undone: a regular file is cut back to the last `keep`, if nobody else wrote into it."""
        place = self._place()
        if self._kept is None or place is None or place - self._kept[0] != self.written - self._kept[1]:
            return
        with suppress(OSError):
            if place > self._kept[0] and place == os.fstat(self._descriptor).st_size:
                os.ftruncate(self._descriptor, self._kept[0])
                os.lseek(self._descriptor, self._kept[0], os.SEEK_SET)

    def _place(self) -> int | None:
        """The offset in a regular file; None in all else."""
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                return os.lseek(self._descriptor, 0, os.SEEK_CUR)
        return None

    def _failure(self, error: OSError) -> OutputError:
        return OutputError(f"{self._name}: {error.strerror} (after {self.written} bytes)")


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


class AppendSink(Sink):
    """A file that grows by what is written, for runs that go on where the last one ended.

    `vouched`: its length in bytes as a checkpoint has it; what lies beyond is cut off. None: whatever is there stays.
    Raises OutputError where it cannot be written, or ends inside a line that would swallow the first row; BusyError
    where another run appends to it, IncompleteError where it is shorter than `vouched`.
    """

    def __init__(self, path: Path, vouched: int | None) -> None:
        name = printable(str(path))
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise OutputError(f"{name} cannot be written: {error.strerror}", "nothing was asked for yet") from None
        super().__init__(descriptor, name)
        self._path = path
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise BusyError(f"another run appends to {name}") from None
        except OSError:  # some network file systems have no locks; the checkpoint's own still stands
            pass
        self.length = os.fstat(descriptor).st_size
        if vouched is not None and self.length < vouched:
            os.close(descriptor)
            raise IncompleteError(
                f"{name} holds {self.length} bytes, but the checkpoint vouches for {vouched}",
                "restore the file, give another -o, or delete the checkpoint and the file to start over",
            )
        if vouched is not None:
            self.cut(vouched)
        elif self.length and os.pread(descriptor, 1, self.length - 1) != b"\n":
            os.close(descriptor)
            raise OutputError(
                f"{name} ends inside a line, as a run that was killed leaves it",
                "complete or delete its last line, or give another -o",
            )

    def write(self, data: bytes) -> None:
        """Take all of `data`."""
        super().write(data)
        self.length += len(data)

    def sync(self) -> None:
        """Have everything written so far on the disk. Raises OutputError where the file was moved or replaced."""
        try:
            os.fsync(self._descriptor)
            if not os.path.samestat(self._path.stat(), os.fstat(self._descriptor)):
                raise OSError(0, "was replaced by another file while it was written")
        except OSError as error:
            raise self._failure(error) from None

    def cut(self, length: int) -> None:
        """Leave only the first `length` bytes."""
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


def _mode(target: Path) -> int:
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def open_sink(path: Path | None) -> Sink:
    """The sink for `-o PATH`, or standard output for None. Raises OutputError where it cannot be opened, BusyError."""
    if path is None:
        # Not whether descriptor 1 is open: where it was closed, the next file that is opened gets its number.
        if sys.stdout is None:
            raise OutputError("standard output is closed", "nothing was asked for yet")
        sys.stdout.flush()
        return Sink(1, "standard output")
    try:
        straight = path.exists() and not (path.is_file() or path.is_dir())
        descriptor = os.open(path, os.O_WRONLY) if straight else -1
    except OSError as error:
        raise OutputError(f"{printable(str(path))} cannot be opened: {error.strerror}") from None
    return Sink(descriptor, printable(str(path))) if straight else FileSink(path)
