"""Checks the rows of one command as Arrow tables, one after the other: column by column, never row by row.

A table has the columns of its command, or some of them, by their dotted paths. What is kept of a row is the height of a
block, or eight bytes of what identifies it, so that memory does not depend on how large rows are. numpy and pyarrow are
loaded by this module, `checksums` and `across` only.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog.methods import Method
from chainq.heights.range import HeightRange
from chainq.verify.blocks import IDENTITY
from chainq.verify.checksums import wrong_checksums
from chainq.verify.compare import Contradiction
from chainq.verify.findings import label

Found = Iterator[tuple[int | None, Contradiction]]
"""Heights, None where they are not known, and what is wrong there."""
Read = Callable[[Sequence[str]], Iterable[Any]]
"""Returns the tables once more, with some of their columns."""
IDS = frozenset(
    ("block_hash", "previous_hash", "previous_state_root", "transition_id", "transaction_id", "record_ciphertext")
)
"""Columns that hold bech32 IDs, by the last part of their path."""
_LEAST = -(1 << 62)
_TAIL = 16  # bytes of a text that go into its digest: in an ID, the checksum over all of it and what is before
_ODD = [np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)]


def checked_columns(method: Method, names: Iterable[str]) -> list[str]:
    """Return those of the columns that `TableCheck` looks at."""
    wanted = {method.height, *IDENTITY.get(method.command, ())}
    wanted |= {_beside(method, name) for name in ("timestamp", "round")} if method.linked else set()
    return [name for name in names if name in wanted or name.rpartition(".")[2] in IDS]


class TableCheck:
    """Takes the tables of one command in their order, and yields what is wrong with their rows.

    `names`: their columns. `heights`: those that the rows must be of; None where that is not known, and for blocks
    their own lowest and highest ones then.
    """

    def __init__(self, method: Method, names: Iterable[str], heights: HeightRange | None = None) -> None:
        self._method, self._due = method, heights
        present = set(names)
        self._height = method.height if method.height in present else None
        identity = IDENTITY.get(method.command, ())
        self._identity = list(identity) if present.issuperset(identity) else []
        self._linked = method.linked and present.issuperset({"block_hash", "previous_hash"})
        rising = {"time": "timestamp", "round": "round"} if method.linked else {}
        self._rising = {check: _beside(method, name) for check, name in rising.items()}
        self._rising = {check: path for check, path in self._rising.items() if path in present}
        self._ids = [name for name in present if name.rpartition(".")[2] in IDS]
        self._last: dict[str, Any] = {}  # of the row before, by column
        self._wrong: set[str] = set()  # texts that were yielded
        self._blocks: list[Any] = []
        self._digests: list[Any] = []
        self.rows = 0
        self.lowest: int | None = None
        self.highest: int | None = None

    @property
    def heights(self) -> HeightRange:
        """The heights that the rows are of: those that are due, else from the lowest to the highest so far."""
        if self._due is not None:
            return self._due
        return HeightRange(0, 0) if self.lowest is None or self.highest is None else _through(self.lowest, self.highest)

    def take(self, table: Any) -> Found:
        """Yield what is wrong with the rows of the next table, by themselves and after those before."""
        if not table.num_rows:
            return
        self.rows += table.num_rows
        at = None
        if self._height is not None:
            at = _integers(table[self._height], -1)
            yield from self._of_heights(at)
        if self._linked and at is not None:
            yield from self._links(table, at)
        for check, path in self._rising.items():
            if at is not None:
                yield from self._forward(check, path, table, at)
        if self._identity:
            self._digests.append(_digests(table, self._identity))
        for name in self._ids:
            yield from self._checksums(table, name, at)

    def finish(self, read: Read) -> Found:
        """Yield what only all rows together show: blocks that are missing, and rows that come twice."""
        if self._method.linked and self._height is not None:
            yield from self._every_block()
        yield from self._twice(read)

    def _of_heights(self, at: Any) -> Found:
        """Yield rows without a height, of other heights than are due, and out of order."""
        if invalid := int((at < 0).sum()):
            yield None, Contradiction("invalid", "a height", f"{invalid} rows without a valid height")
            at = at[at >= 0]
        if not len(at):
            return
        low, high = int(at.min()), int(at.max())
        self.lowest = low if self.lowest is None else min(low, self.lowest)
        self.highest = high if self.highest is None else max(high, self.highest)
        if self._due is not None:
            for row in np.flatnonzero((at < self._due.start) | (at >= self._due.end)):
                yield int(at[row]), Contradiction("misplaced", f"{self._due}", f"height {at[row]}")
        after = self._after("height", at)
        for row in np.flatnonzero(np.diff(after) < 0):
            yield (
                int(after[row + 1]),
                Contradiction("order", f"height {after[row]} or more", f"height {after[row + 1]}"),
            )
        if self._method.linked:
            self._blocks.append(at)

    def _links(self, table: Any, at: Any) -> Found:
        """Yield blocks that do not name the hash of the block before them."""
        own, previous = (compute.fill_null(_texts(table[name]), "") for name in ("block_hash", "previous_hash"))
        before = pa.concat_arrays([pa.array([self._last.get("block_hash", "")], pa.string()), own[:-1]])
        self._last["block_hash"] = own[-1].as_py()
        heights = np.concatenate([[self._last.get("linked", _LEAST)], at])
        self._last["linked"] = at[-1]
        other = compute.not_equal(before, previous).to_numpy(zero_copy_only=False)
        for row in map(int, np.flatnonzero(other & (np.diff(heights) == 1))):
            yield (
                int(at[row]),
                Contradiction("link", f"previous_hash={before[row]}", f"previous_hash={previous[row]}"),
            )

    def _forward(self, check: str, path: str, table: Any, at: Any) -> Found:
        """Yield blocks with an earlier time, or a lower round, than the block before them that has one."""
        there = compute.is_valid(table[path]).combine_chunks().to_numpy(zero_copy_only=False)
        if not there.any():
            return
        values = self._after(path, _integers(table[path], 0)[there])
        heights = self._after(f"height of {path}", at[there])
        name = path.rpartition(".")[2]
        for row in np.flatnonzero(np.diff(values) < 0):
            expected, found = f"{name}={values[row]} or more", f"{name}={values[row + 1]}"
            yield int(heights[row + 1]), Contradiction(check, expected, found)

    def _after(self, name: str, values: Any) -> Any:
        """Return values after the last one of the table before."""
        last = self._last.get(name)
        self._last[name] = values[-1]
        return values if last is None else np.concatenate([[last], values])

    def _checksums(self, table: Any, name: str, at: Any | None) -> Found:
        """Yield bech32 texts with a wrong checksum, once each."""
        column = _texts(table[name])
        for text, fault in wrong_checksums(compute.drop_null(compute.unique(column))):
            if text not in self._wrong:
                self._wrong.add(text)
                height = None if at is None else int(at[compute.index(column, text).as_py()])
                yield height, Contradiction("checksum", None, f"{name}={text}: {fault}")

    def _every_block(self) -> Found:
        """Yield heights of which there is no block, or more than one."""
        due = self.heights
        at = np.sort(np.concatenate(self._blocks)) if self._blocks else np.empty(0, dtype=np.int64)
        heights, counts = np.unique(at[(at >= due.start) & (at < due.end)], return_counts=True)
        for place in np.flatnonzero(counts > 1):
            yield (
                int(heights[place]),
                Contradiction("doubled", f"block {heights[place]} once", f"{counts[place]} times"),
            )
        edges = np.concatenate([[due.start - 1], heights, [due.end]])
        for place in np.flatnonzero(np.diff(edges) > 1):
            gap = HeightRange(int(edges[place]) + 1, int(edges[place + 1]))
            blocks = f"block {gap.start}" if len(gap) == 1 else f"blocks of {gap}"
            yield gap.start, Contradiction("missing", blocks, None)

    def _twice(self, read: Read) -> Found:
        """Yield rows that come more than once. Equal digests may be of different rows, so these are read again."""
        digests = np.sort(np.concatenate(self._digests)) if self._digests else np.empty(0, dtype=np.uint64)
        suspects = np.unique(digests[1:][digests[1:] == digests[:-1]])
        if not len(suspects):
            return
        found: dict[tuple[str, ...], list[int]] = {}
        for table in read([*self._identity, *([self._height] if self._height else [])]):
            alike = np.flatnonzero(np.isin(_digests(table, self._identity), suspects))
            for row in map(int, alike):
                key = tuple(str(table[name][row].as_py()) for name in self._identity)
                height = int(_integers(table[self._height][row : row + 1], -1)[0]) if self._height else -1
                found.setdefault(key, []).append(height)
        for key, at in found.items():
            if len(at) > 1:
                named = f"{label(self._method.command, key)} once"
                yield at[0] if at[0] >= 0 else None, Contradiction("doubled", named, f"{len(at)} times")


def _through(lowest: int, highest: int) -> HeightRange:
    return HeightRange(lowest, highest + 1)


def _beside(method: Method, name: str) -> str:
    """Return the path of a field that lies beside the height of a block."""
    outer = (method.height or "").rpartition(".")[0]
    return f"{outer}.{name}" if outer else name


def _texts(column: Any) -> Any:
    """Return a column as one Arrow array of strings."""
    return column.cast(pa.string()).combine_chunks()


def _integers(column: Any, null: int) -> Any:
    """Return a column of whole numbers or times, these in seconds, as a numpy array."""
    values = column.cast(pa.int64())
    if pa.types.is_timestamp(column.type):
        values = compute.divide(values, {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[column.type.unit])
    filled = compute.fill_null(values, null)
    array = filled.combine_chunks() if isinstance(filled, pa.ChunkedArray) else filled
    return array.to_numpy(zero_copy_only=False)


def _digests(table: Any, names: Sequence[str]) -> Any:
    """Return a number for each row: the same for rows with the same values, rarely for others."""
    total = np.zeros(table.num_rows, dtype=np.uint64)
    for name in names:
        column = table[name]
        number = pa.types.is_integer(column.type)
        total = total * _ODD[2] + (_integers(column, -1).astype(np.uint64) if number else _tails(_texts(column)))
    return total


def _tails(texts: Any) -> Any:
    """Return a number for each text, by its last bytes."""
    filled = compute.fill_null(texts, "")
    offsets, data = filled.buffers()[1:3]
    ends = np.frombuffer(offsets, dtype=np.int32)[filled.offset : filled.offset + len(filled) + 1].astype(np.int64)
    if data is None or ends[0] == ends[-1]:
        return np.zeros(len(filled), dtype=np.uint64)
    places = ends[1:, None] + np.arange(-_TAIL, 0)
    inside = places >= ends[:-1, None]
    tails = np.where(inside, np.frombuffer(data, dtype=np.uint8)[np.maximum(places, 0)], np.uint8(0))
    halves = np.ascontiguousarray(tails).view(np.uint64)
    return halves[:, 0] * _ODD[0] + halves[:, 1] * _ODD[1]
