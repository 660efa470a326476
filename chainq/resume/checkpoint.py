"""The checkpoint: a small JSON file that records the position of the output, and its lock against concurrent runs.

The order of writing makes `kill -9` harmless: rows, `fsync` of the output, then the new checkpoint into a temporary
file, `fsync`, rename. So a checkpoint never records more than is on the disk, and what the output holds beyond the
recorded length is removed by the next run.
"""

import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from chainq.errors import BusyError, OutputError, UsageError
from chainq.process import Closing
from chainq.sinks.base import unopened
from chainq.sinks.disk import is_locked, locks, sync_folder
from chainq.text.sanitize import abridged, excerpt, printable

VERSION = 4  # of the file's fields


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position that the output has reached.

    `next`: the first height that is not written yet. `hash`: the hash of the block before it, empty if unknown.
    `length`: bytes of the output file up to there, 0 for standard output. `rows`: how many it has up to there.
    """

    next: int
    hash: str = ""
    length: int = 0
    rows: int = 0


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the last runs ended; times in seconds since 1970, 0 for never.

    `success`: when a round went well last, with news or not; `tip`, `tip_time`: the height of the tip that it saw, -1
    for a chain without blocks, and the time of that block, None if it has no readable one. `failure`, `error`: when
    and why a run or a round failed last; `lasting`: the last one failed for good (`errors.is_lasting`).
    """

    success: float = 0
    tip: int = -1
    tip_time: int | None = None
    failure: float = 0
    error: str = ""
    lasting: bool = False


class Content(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of the file.

    `chainq`: VERSION. `query`: what identifies the query. `positions`: the last one is how far the output has come.
    `output`: the path of the output file, empty for standard output. `believed`: heights, from and below, whose rows
    rest on belief (docs/completeness.md, "Belief"). `state`: how the last runs ended.
    """

    chainq: int
    query: dict[str, Any]
    positions: list[Position]
    output: str = ""
    believed: list[tuple[int, int]] = []
    state: State = State()


class Recorded(Content, forbid_unknown_fields=False):
    """The fields that all checkpoints have; one of `balance` has more."""


class _Version(msgspec.Struct):
    chainq: int


class Checkpoint(Closing):
    """One checkpoint file, locked while it is open. A context manager. Without a path, the same in memory alone.

    `content`: what it records, of the type FIELDS; `save` writes what a run has changed there. `query`: what identifies
    the query (command, dialect, URL, columns, format, ...), as JSON values without secrets. Raises BusyError if another
    run uses it, UsageError if the file is unreadable, truncated, or of another query.
    """

    FIELDS: type[Content] = Content

    def __init__(self, path: Path | None, query: Mapping[str, Any]) -> None:
        self.path, self._lock = path, -1
        self.content = self.FIELDS(VERSION, dict(query), [])
        if path is None:
            return
        self.path = Path(os.path.realpath(path))  # one lock per file, whichever link leads to it
        self._name = printable(abridged(str(path), 200))
        self._lock = locked(self.path, self._name)
        try:
            text = content_of(self.path, self._name)
            if text is not None:
                check_query(self._name, _decoded(text, self._name, Recorded).query, self.content.query)
                self.content = _decoded(text, self._name, self.FIELDS)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the lock. The lock file stays: without it two runs could lock two files of the same name."""
        if self._lock >= 0:
            os.close(self._lock)

    def succeeded(self, tip: int, tip_time: int | None) -> None:
        """Note that a round succeeded, and the tip that it saw; the next save records it."""
        state = self.content.state
        self.content.state = replace(state, success=time.time(), tip=tip, tip_time=tip_time, lasting=False)

    def failed(self, message: str, *, lasting: bool = False) -> None:
        """Record why a run or a round failed, and whether for good (`errors.is_lasting`). Raises OutputError."""
        state = self.content.state
        self.content.state = replace(state, failure=time.time(), error=excerpt(message, 400), lasting=lasting)
        self.save()

    def save(self) -> None:
        """Record the content durably, once it has a position. Raises OutputError."""
        # The file has the same name for all runs, since the lock keeps them apart: what a killed one leaves is
        # replaced. It is made anew and never followed, because others may write to the folder.
        if self.path is None or not self.content.positions:
            return
        temporary = self.path.with_name(f".{self.path.name}.new")
        try:
            temporary.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(self.content), indent=1) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise OutputError(f"cannot write checkpoint {self._name}: {error.strerror}") from None
        # Not an error any more: the new checkpoint is in effect, and to raise would remove rows that it records. If a
        # folder cannot be synced, a power failure may bring the old checkpoint back, which records less.
        sync_folder(self.path.parent)


def _decoded(text: bytes, name: str, fields: type[Content]) -> Content:
    """Return the fields of a checkpoint. `name`: of the checkpoint, for messages. Raises UsageError."""
    over = "delete it and its output file to start over from --start"
    try:
        version = msgspec.json.decode(text, type=_Version).chainq
        if version != VERSION:
            raise UsageError(f"checkpoint {name} has version {version}, this chainq reads version {VERSION}", over)
        content = msgspec.json.decode(text, type=fields)
        heights = [position.next for position in content.positions]
        ranges = all(0 <= start < end for start, end in content.believed)
        lengths = all(position.length >= 0 for position in content.positions)
        if not (heights and heights == sorted(set(heights)) and heights[0] >= 0 and ranges and lengths):
            raise msgspec.ValidationError("its positions do not ascend from 0")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        damage = f"checkpoint {name} is damaged: {excerpt(str(error), 80)}"
        raise UsageError(damage, "restore it, or " + over) from None
    return content


def recorded(path: Path) -> Content:
    """Return the fields of the checkpoint at `path`, without locking it. Raises UsageError if it cannot be read."""
    name = printable(str(path))
    text = content_of(path, name)
    if text is None:
        raise UsageError(f"there is no checkpoint {name}")
    return _decoded(text, name, Recorded)


def check_query(name: str, then: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Raise UsageError for a checkpoint of another query; the message names the command if that differs, and the URL
    only if nothing else does. `owner` is a hash of addresses."""
    for key in sorted(then.keys() | now.keys(), key=lambda key: (key != "command", key == "url", key)):
        if then.get(key) == now.get(key):
            continue
        before, wanted = ("none" if query.get(key) is None else excerpt(repr(query[key]), 60) for query in (then, now))
        made, use = f"with other arguments ({key}: {before} then, {wanted} now)", "the arguments of its first run, or "
        if key == "command":
            made, use = f"by chainq {excerpt(str(then.get(key)), 60)}, not by chainq {now[key]}", ""
        elif key == "url":
            use = "the first URL, or "
        elif key == "owner" and then.get(key) and now.get(key):
            made, use = "with another view key", "the keys of its first run, or "
        raise UsageError(f"checkpoint {name} was made {made}", f"use {use}another checkpoint")


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
