"""The checkpoint: a small JSON file that records the position of the output, and its lock against concurrent runs.

The order of writing makes `kill -9` harmless: rows, `fsync` of the output, then the new checkpoint into a temporary
file, `fsync`, rename. So a checkpoint never records more than is on the disk, and what the output holds beyond the
recorded length is removed by the next run.
"""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from chainq.errors import UsageError
from chainq.heights.range import HeightRange
from chainq.process import Closing
from chainq.resume.history import History, Position
from chainq.resume.kept_file import content_of, locked, replace_file
from chainq.text.sanitize import abridged, excerpt, printable, recordable

VERSION = 2  # of the file's fields; 1 was written by chainq 0.1


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

    def succeeded(self, tip: int, tip_time: int | None) -> "State":
        """Return the state after a success now, which saw a tip and its time."""
        return replace(self, success=time.time(), tip=tip, tip_time=tip_time, lasting=False)

    def failed(self, message: str, *, lasting: bool) -> "State":
        """Return the state after a failure now."""
        return replace(self, failure=time.time(), error=recordable(message), lasting=lasting)


class Content(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of the file.

    `chainq`: VERSION. `query`: what identifies the query. `positions`: the last one is how far the output has come.
    `output`: the path of the output file, empty for standard output; `output_end`: a hash of its end at that length;
    `writing`: whether a run is writing to it, or was killed when it did. `lag`: blocks below the tip that runs learned
    to leave out. `believed`: heights, from and below, whose rows rest on belief (docs/completeness.md, "Belief").
    `state`: how the last runs ended.
    """

    chainq: int
    query: dict[str, Any]
    positions: list[Position]
    output: str = ""
    output_end: str = ""
    writing: bool = True
    lag: int = 0
    believed: list[tuple[int, int]] = []
    state: State = State()


class _Version(msgspec.Struct):
    chainq: int


class Checkpoint(Closing):
    """One checkpoint file, locked while it is open. A context manager.

    `content`: what it records. `query`: what identifies the query (command, dialect, URL, columns, format, ...), as
    JSON values without secrets. Raises BusyError if another run uses it, UsageError if the file is unreadable,
    truncated, or of another query.
    """

    def __init__(self, path: Path, query: Mapping[str, Any]) -> None:
        self.path = Path(os.path.realpath(path))  # one lock per file, whichever link leads to it
        self._name = printable(abridged(str(path), 200))
        self.content = Content(VERSION, dict(query), [])
        self._noted = True  # what `content.state` says
        self._lock = locked(self.path, self._name)
        try:
            self._read()
        except BaseException:
            self.close()
            raise
        self.history = History(self.content.positions)

    def close(self) -> None:
        """Release the lock. The lock file stays: without it two runs could lock two files of the same name."""
        os.close(self._lock)

    def save(
        self,
        *,
        output: str,
        output_end: str = "",
        writing: bool = True,
        lag: int = 0,
        believed: Iterable[HeightRange] = (),
    ) -> None:
        """Record durably that `output` holds everything below the last position of the history. Raises OutputError."""
        self.content = replace(
            self.content,
            positions=[*self.history.positions],
            output=output,
            output_end=output_end,
            writing=writing,
            lag=lag,
            believed=[heights.edges for heights in believed],
        )
        self._write()

    def succeeded(self, tip: int, tip_time: int | None) -> None:
        """Note that a round succeeded; the next save, or `note`, records it."""
        self.content.state = self.content.state.succeeded(tip, tip_time)
        self._noted = False

    def failed(self, message: str, *, lasting: bool = False) -> None:
        """Note why a run or a round failed, and whether for good; recorded as in `succeeded`."""
        self.content.state = self.content.state.failed(message, lasting=lasting)
        self._noted = False

    def note(self) -> None:
        """Record how runs ended, if not recorded yet, and leave the rest unchanged. Raises OutputError."""
        if not self._noted and self.content.positions:
            self._write()

    def _read(self) -> None:
        text = content_of(self.path, self._name, str(self.content.query.get("command", "")))
        if text is None:
            return
        try:
            version = msgspec.json.decode(text, type=_Version).chainq
            if version != VERSION:
                raise UsageError(f"checkpoint {self._name} has version {version}, this chainq reads version {VERSION}")
            content = msgspec.json.decode(text, type=Content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"checkpoint {self._name} is damaged: {excerpt(str(error), 80)}") from None
        heights = [position.next for position in content.positions]
        ascending = heights and heights == sorted(set(heights)) and heights[0] >= 0
        ranges = all(0 <= start < end for start, end in content.believed)
        lengths = all(position.length >= 0 for position in content.positions)
        if not (ascending and ranges and lengths) or content.lag < 0:
            raise UsageError(f"checkpoint {self._name} is damaged: its positions do not ascend from 0")
        pairs = {
            key: (content.query.get(key), self.content.query.get(key))
            for key in sorted(self.content.query.keys() | content.query.keys())
        }
        others = [(key, then, now) for key, (then, now) in pairs.items() if then != now]
        if others:
            raise other_query(self._name, *others[0])
        self.content = content

    def _write(self) -> None:
        replace_file(self.path, msgspec.json.format(msgspec.json.encode(self.content), indent=1) + b"\n", self._name)
        self._noted = True


_DEFAULTS = {"start": "0 or none", "columns": "all"}


def other_query(name: str, key: str, then: object, now: object) -> UsageError:
    """Return the error for a checkpoint of another query, which differs in `key`; `owner` is a hash of addresses."""
    if key == "owner" and then and now:
        return UsageError(f"checkpoint {name} was made with another view key")
    return UsageError(
        f"checkpoint {name} was made with other arguments ({key}: {_shown(key, then)} then, {_shown(key, now)} now)"
    )


def _shown(key: str, value: object) -> str:
    """Return a value as text; one that is also the default is not to look as if the user had typed it."""
    if not value and key in _DEFAULTS:
        return _DEFAULTS[key]
    return "none" if value is None else excerpt(repr(value), 60)


class Recorded(msgspec.Struct):
    """The fields of a checkpoint for readers without its lock, as in `Content`."""

    chainq: int
    query: dict[str, Any]
    positions: list[Position]
    output: str = ""
    writing: bool = False
    lag: int = 0
    state: State = State()


def recorded(path: Path) -> Recorded:
    """Return the fields of the checkpoint at `path`, without locking it. Raises UsageError if it cannot be read."""
    name = printable(str(path))
    try:
        return msgspec.json.decode(path.read_bytes(), type=Recorded)
    except OSError as error:
        raise UsageError(f"cannot read checkpoint {name}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"checkpoint {name} is damaged: {excerpt(str(error), 80)}") from None
