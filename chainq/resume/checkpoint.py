"""Where the last run ended: a small JSON file that moves forward chunk by chunk, and the lock that keeps runs apart.

The order of writing is what makes `kill -9` harmless: rows, then `fsync` of the output, then the checkpoint beside its
place, `fsync`, and a rename. So the checkpoint never vouches for more than is on the disk, and what lies in the output
beyond its word is cut off by the next run.
"""

import fcntl
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from chainq.errors import BusyError, OutputError, UsageError
from chainq.text.sanitize import excerpt, printable

VERSION = 1
MARKS = 32  # kept for --rewind: the first, and the last ones


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in the chain that the output has come to.

    `next`: the first height that is still to come. `hash`: the block hash of the height before it, empty before the
    first block. `length`: bytes of the output file up to there, 0 for standard output.
    """

    next: int
    hash: str = ""
    length: int = 0


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    chainq: int
    asked: dict[str, Any]
    marks: list[Mark]
    output: str = ""


class Checkpoint:
    """One checkpoint file, locked while it is open; a context.

    `asked` is what identifies the question (command, dialect, URL, columns, format, …), as plain JSON values and
    without secrets. Raises BusyError where another run holds it, UsageError where the file is unreadable, cut short,
    or of another question.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any]) -> None:
        self._path = Path(os.path.realpath(path))  # one lock for a file, by whatever link it is reached
        self._name = printable(str(path))
        self._asked = dict(asked)
        self._lock = self._locked()
        try:
            self.marks, self.output = self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the lock back. The lock file stays: removing it would let two runs hold two files of one name."""
        os.close(self._lock)

    @property
    def last(self) -> Mark | None:
        """Where the last run ended; None for a first run."""
        return self.marks[-1] if self.marks else None

    def save(self, mark: Mark, output: str = "") -> None:
        """Record, durably, that the output holds everything below `mark.next`. Raises OutputError.

        Marks of another output are dropped: their lengths mean nothing there.
        """
        kept = [known for known in self.marks if known.next < mark.next] if output == self.output else []
        if len(kept) > MARKS:
            kept = [kept[0], *kept[1 - MARKS :]]
        self.marks, self.output = [*kept, mark], output
        self._write()

    def rewind(self, blocks: int, *, recorded: bool = True) -> None:
        """Go back by at least so many blocks, to the nearest mark; the first mark is the farthest.

        Recorded at once, so that it vouches for less before the output is cut.
        """
        if self.last is not None:
            aim = self.last.next - blocks
            kept = [mark for mark in self.marks if mark.next <= aim]
            self.marks = kept or self.marks[:1]
            if recorded:
                self._write()

    def _locked(self) -> int:
        if not self._path.name or (self._path.exists() and not self._path.is_file()):
            raise UsageError(f"the checkpoint {self._name} is no file")
        path = self._path.with_name(self._path.name + ".lock")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise OutputError(f"{printable(str(path))} cannot be opened: {error.strerror}") from None
        try:
            # The kernel drops the lock with the process, however it ends: there are no stale ones.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise BusyError(f"another run holds the checkpoint {self._name}") from None
        except OSError as error:
            os.close(descriptor)
            raise OutputError(f"{printable(str(path))} cannot be locked: {error.strerror}") from None
        return descriptor

    def _read(self) -> tuple[list[Mark], str]:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return [], ""
        except OSError as error:
            raise UsageError(f"the checkpoint {self._name} cannot be read: {error.strerror}") from None
        remedy = "restore it, or delete it to start over from --start"
        try:
            content = msgspec.json.decode(text, type=_Content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"the checkpoint {self._name} is broken: {excerpt(str(error), 80)}", remedy) from None
        heights = [mark.next for mark in content.marks]
        sane = heights and heights == sorted(set(heights)) and heights[0] >= 0
        if content.chainq != VERSION or not sane or min(mark.length for mark in content.marks) < 0:
            raise UsageError(f"the checkpoint {self._name} is none of this version of chainq", remedy)
        for key in self._asked.keys() | content.asked.keys():
            now, then = self._asked.get(key), content.asked.get(key)
            if now != then:
                raise UsageError(
                    f"the checkpoint {self._name} belongs to another question: its {key} is"
                    f" {excerpt(repr(then), 60)}, and this one's {excerpt(repr(now), 60)}",
                    "ask as its first run did, or use another checkpoint",
                )
        return content.marks, content.output

    def _write(self) -> None:
        content = _Content(VERSION, self._asked, self.marks, self.output)
        # One name for all runs, since the lock keeps them apart: what a killed one leaves is taken over.
        beside = self._path.with_name(f".{self._path.name}.new")
        try:
            with beside.open("wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            raise OutputError(f"the checkpoint {self._name} cannot be written: {error.strerror}") from None
        # No failure, for the checkpoint has its new place: to raise would have the output cut behind its word. Where a
        # folder cannot be synced, a power cut may bring the old one back, which vouches for less.
        with suppress(OSError):
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
