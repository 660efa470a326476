"""The checkpoint: a small JSON file that records how far the output has come, and the lock that keeps runs apart.

The order of writing makes `kill -9` harmless: rows, `fsync` of the output, then the new checkpoint into a temporary
file, `fsync`, rename. So a checkpoint never records more than is on the disk, and what the output holds beyond the
recorded length is removed by the next run.
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

VERSION = 2  # of the file's fields; 1 was written by chainq 0.1
POSITIONS = 32  # kept for --rewind: the first one and the latest


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far the output has come.

    `next`: the first height that is not written yet. `hash`: the hash of the block before it, empty where it is not
    known. `length`: bytes of the output file up to there, 0 for standard output.
    """

    next: int
    hash: str = ""
    length: int = 0


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    chainq: int
    query: dict[str, Any]
    positions: list[Position]
    output: str = ""


class _Version(msgspec.Struct):
    chainq: int


class Checkpoint:
    """One checkpoint file, locked while it is open. A context manager.

    `query`: what identifies the query (command, dialect, URL, columns, format, ...), as JSON values without secrets.
    Raises BusyError where another run uses it, UsageError where the file is unreadable, truncated, or of another query.
    """

    def __init__(self, path: Path, query: Mapping[str, Any]) -> None:
        self._path = Path(os.path.realpath(path))  # one lock per file, whichever link leads to it
        self._name = printable(str(path))
        self._query = dict(query)
        self._lock = self._locked()
        try:
            self.positions, self.output = self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock. The lock file stays: without it two runs could lock two files of the same name."""
        os.close(self._lock)

    @property
    def last(self) -> Position | None:
        """Return the position that the last run reached; None for a first run."""
        return self.positions[-1] if self.positions else None

    def save(self, position: Position, output: str = "") -> None:
        """Record durably that `output` (the path of the file) holds everything below `position`. Raises OutputError.

        Positions in another output are dropped, since their lengths do not apply to this one.
        """
        kept = [known for known in self.positions if known.next < position.next] if output == self.output else []
        if len(kept) > POSITIONS:
            kept = [kept[0], *kept[1 - POSITIONS :]]
        self.positions, self.output = [*kept, position], output
        self._write()

    def rewind(self, blocks: int, *, save: bool = True) -> None:
        """Go back at least `blocks` blocks, to the nearest position that is recorded, at most to the first one.

        Saved at once unless `save` is False: the checkpoint must claim less before the output is truncated.
        """
        if self.last is not None:
            target = self.last.next - blocks
            kept = [position for position in self.positions if position.next <= target]
            self.positions = kept or self.positions[:1]
            if save:
                self._write()

    def _locked(self) -> int:
        if not self._path.name or (self._path.exists() and not self._path.is_file()):
            raise UsageError(f"checkpoint {self._name} is not a regular file")
        path = self._path.with_name(self._path.name + ".lock")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise OutputError(f"cannot open {printable(str(path))}: {error.strerror}") from None
        try:
            # The kernel releases the lock with the process, however it ends: there are no stale locks.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise BusyError(f"another run is using checkpoint {self._name}") from None
        except OSError as error:
            os.close(descriptor)
            raise OutputError(f"cannot lock {printable(str(path))}: {error.strerror}") from None
        return descriptor

    def _read(self) -> tuple[list[Position], str]:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return [], ""
        except OSError as error:
            raise UsageError(f"cannot read checkpoint {self._name}: {error.strerror}") from None
        remedy = "restore it, or delete it to start over from --start"
        try:
            version = msgspec.json.decode(text, type=_Version).chainq
            if version != VERSION:
                raise UsageError(
                    f"checkpoint {self._name} has version {version}, this chainq reads version {VERSION}", remedy
                )
            content = msgspec.json.decode(text, type=_Content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"checkpoint {self._name} is damaged: {excerpt(str(error), 80)}", remedy) from None
        heights = [position.next for position in content.positions]
        ascending = heights and heights == sorted(set(heights)) and heights[0] >= 0
        if not ascending or min(position.length for position in content.positions) < 0:
            raise UsageError(f"checkpoint {self._name} is damaged: its positions do not ascend from 0", remedy)
        for key in sorted(self._query.keys() | content.query.keys()):
            now, then = self._query.get(key), content.query.get(key)
            if now != then:
                raise UsageError(
                    f"checkpoint {self._name} was made with other arguments"
                    f" ({key}: {excerpt(repr(then), 60)} then, {excerpt(repr(now), 60)} now)",
                    "use the arguments of its first run, or another checkpoint",
                )
        return content.positions, content.output

    def _write(self) -> None:
        content = _Content(VERSION, self._query, self.positions, self.output)
        # The same name for all runs, since the lock keeps them apart: what a killed one leaves is overwritten.
        temporary = self._path.with_name(f".{self._path.name}.new")
        try:
            with temporary.open("wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise OutputError(f"cannot write checkpoint {self._name}: {error.strerror}") from None
        # Not an error any more: the new checkpoint is in effect, and to raise would remove rows that it records. Where
        # a folder cannot be synced, a power failure may bring the old checkpoint back, which records less.
        with suppress(OSError):
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
