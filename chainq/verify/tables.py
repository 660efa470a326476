"""Checks the rows of one command as a sequence of Arrow tables: column by column, never row by row.

A table has some or all columns of its command, by dotted path. For each row, only the block height or eight bytes of
its identity are kept, so memory does not depend on row size. Only this module, `checksums` and `across` load numpy and
pyarrow.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import Raw
from pyarrow import compute

from chainq.catalog.methods import Method, height_of
from chainq.heights.range import HeightRange
from chainq.rows.fields import array_of, integer_of, object_of
from chainq.rows.full_block import IDENTITY
from chainq.text.sanitize import excerpt
from chainq.verify.checksums import wrong_checksums
from chainq.verify.compare import check_numbers, fallen
from chainq.verify.findings import Contradiction, Located, label

Found = Iterator[Located]
Read = Callable[[Sequence[str]], Iterable[Any]]
"""Returns the tables again, with some of their columns."""
IDS = frozenset(
    ("block_hash", "previous_hash", "previous_state_root", "transition_id", "transaction_id", "record_ciphertext")
)
"""Columns that hold bech32 IDs, by the last part of their path."""
WITHIN = "transactions"
"""The column of full blocks whose values contain bech32 IDs, as structs or as JSON."""
_INNER = {"at1": "transaction_id", "au1": "transition_id", "record1": "record_ciphertext"}  # names by their start
_START = f"(?:{'|'.join(_INNER)})"
_MEMBERS = ("id", "value")  # that hold such texts; the name of a program or function may look like one
_IN_JSON = re.compile(rf'"(?:{"|".join(_MEMBERS)})"\s*:\s*"({_START}[^"]*)"')
_TAIL = 16  # bytes of a text that go into its digest: in an ID, the checksum over all of it and what is before
_ODD = [np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)]
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


class Rising(NamedTuple):
    """What never falls from block to block, at a height: a time or a round."""

    height: int
    value: int


def checked_columns(method: Method, names: Iterable[str]) -> list[str]:
    """Return the columns that `TableCheck` checks."""
    wanted = {height_of(method), *(IDENTITY.get(method.command) or method.identity), *_rising(method).values()}
    wanted |= {WITHIN} if method.linked else set()
    return [name for name in names if name in wanted or name.rpartition(".")[2] in IDS]


class TableCheck:
    """A check of the tables of one command, in order, that yields what is wrong with their rows.

    `names`: their columns. `heights`: the heights of the rows; None if unknown (blocks then use their own lowest and
    highest). `texts`: whether the file has a column of the texts of programs, which is read for suspects only.
    """

    def __init__(
        self, method: Method, names: Iterable[str], heights: HeightRange | None = None, *, texts: bool = False
    ) -> None:
        self._method, self._due = method, heights
        present = set(names)
        self._height = height if (height := height_of(method)) in present else None
        identity = IDENTITY.get(method.command) or method.identity
        self._identity = list(identity) if present.issuperset(identity) else []
        self._text = [method.text] if texts else []
        self.identified = bool(self._identity) or method.linked  # duplicate rows are found
        self._linked = method.linked and present.issuperset({"block_hash", "previous_hash"})
        self._rising = {check: path for check, path in _rising(method).items() if path in present}
        self._ids = [name for name in present if name.rpartition(".")[2] in IDS]
        self._last: dict[str, Any] = {}  # of the row before, by column
        self._wrong: set[str] = set()  # texts that were yielded
        self._mixed: set[int] = set()  # heights of two blocks that were yielded
        self._blocks = [np.empty(0, dtype=np.int64)]
        self._digests = [np.empty(0, dtype=np.uint64)]
        self._fall: tuple[int, int] | None = None  # the heights of the first two rows out of order
        self._falls = 0  # rows with a lower height than the row before
        self.rising: dict[str, list[Rising]] = {}
        self._edges: tuple[int, int] | None = None  # the lowest and the highest height so far
        self.rows = 0

    @property
    def heights(self) -> HeightRange:
        """The expected heights, or if unknown, the lowest to the highest so far."""
        return self.edges if self._due is None else self._due

    @property
    def edges(self) -> HeightRange:
        """The lowest to the highest height so far; an empty range if there is none."""
        return HeightRange(self._edges[0], self._edges[1] + 1) if self._edges else HeightRange(0, 0)

    def take(self, table: Any) -> Found:
        """Yield what is wrong with the rows of the next table, alone and after the previous rows."""
        if not table.num_rows:
            return
        self.rows += table.num_rows
        at = None
        if self._height is not None:
            at = integers(table[self._height], -1)
            yield from self._of_heights(at)
            if self._linked:
                yield from self._links(table, at)
            elif not self._method.linked and "block_hash" in self._ids:
                yield from self._one_block(table, at)
            for check, path in self._rising.items():
                yield from self._forward(check, path, table, at)
        if self._identity:
            known = _valid(table, self._identity)
            self._digests.append(_digests(known, self._identity))
            if lacking := table.num_rows - known.num_rows:
                yield None, Contradiction("invalid", " and ".join(self._identity), f"{lacking} rows without them")
        for name in self._ids:
            yield from self._checksums(table, name, at)
        if self._method.linked and WITHIN in table.column_names:
            yield from self._within(table[WITHIN], at)

    def finish(self, read: Read) -> Found:
        """Yield findings about all rows together: their order, missing blocks and duplicate rows."""
        if self._fall is not None:
            before, height = self._fall
            more = f", the first of {self._falls:,} such rows" if self._falls > 1 else ""
            yield height, Contradiction("order", f"height {before} or more", f"height {height}{more}")
        if self._method.linked and self._height is not None:
            yield from self._every_block()
        yield from self._twice(read)

    def _of_heights(self, at: Any) -> Found:
        """Yield rows without a height, or outside the expected heights; record those out of order."""
        if invalid := int((at < 0).sum()):
            yield None, Contradiction("invalid", "a height", f"{invalid} rows without a valid height")
            at = at[at >= 0]
        if not len(at):
            return
        low, high = self._edges or (int(at[0]), int(at[0]))
        self._edges = min(low, int(at.min())), max(high, int(at.max()))
        if self._due is not None:
            for height in map(int, at[(at < self._due.start) | (at >= self._due.end)]):
                yield height, Contradiction("misplaced", f"{self._due}", f"height {height}")
        after = self._after("height", at)
        falls = np.flatnonzero(np.diff(after) < 0)
        if len(falls) and self._fall is None:
            self._fall = tuple(after[falls[0] :][:2].tolist())
        self._falls += len(falls)
        if self._method.linked:
            self._blocks.append(at)

    def _links(self, table: Any, at: Any) -> Found:
        """Yield blocks that do not name the hash of the block before them."""
        own, previous = (compute.fill_null(_texts(table[name]), "") for name in ("block_hash", "previous_hash"))
        heights, before = self._after("linked", at), self._after("block_hash", own.to_numpy(zero_copy_only=False))
        found = previous.to_numpy(zero_copy_only=False)[len(own) + 1 - len(before) :]
        for row in np.flatnonzero((np.diff(heights) == 1) & (before[:-1] != found)):
            due = f"previous_hash={before[row]}"
            yield int(heights[row + 1]), Contradiction("link", due, f"previous_hash={found[row]}")

    def _one_block(self, table: Any, at: Any) -> Found:
        """Yield heights whose rows name two blocks, once each."""
        own = compute.fill_null(_texts(table["block_hash"]), "").to_numpy(zero_copy_only=False)
        named = (own != "") & (at >= 0)
        if not named.any():
            return
        heights, hashes = self._after("height of block_hash", at[named]), self._after("block_hash", own[named])
        for row in np.flatnonzero((np.diff(heights) == 0) & (hashes[:-1] != hashes[1:])):
            height = int(heights[row])
            if height not in self._mixed:
                self._mixed.add(height)
                due = f"block_hash={hashes[row]}, as in the row before"
                yield height, Contradiction("altered", due, f"block_hash={hashes[row + 1]}")

    def _forward(self, check: str, path: str, table: Any, at: Any) -> Found:
        """Yield blocks with an earlier time or a lower round than the last block that has one.

        A block below that one is out of order, which `finish` reports.
        """
        there = compute.is_valid(table[path]).combine_chunks().to_numpy(zero_copy_only=False)
        if not there.any():
            return
        own = integers(table[path], 0)[there]
        first, last = (Rising(int(at[there][row]), int(own[row])) for row in (0, -1))
        self.rising[check] = [self.rising.get(check, [first])[0], last]
        values = self._after(path, own)
        heights = self._after(f"height of {path}", at[there])
        for row in np.flatnonzero((np.diff(values) < 0) & (np.diff(heights) >= 0)):
            yield int(heights[row + 1]), fallen(check, *values[row : row + 2])

    def _after(self, name: str, values: Any) -> Any:
        """Return values preceded by the last value of the previous table."""
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

    def _within(self, column: Any, at: Any | None) -> Found:
        """Yield what is wrong with the transactions of blocks: their numbers, and checksums of texts, once each."""
        if at is not None:
            yield from _numbers(column, at)
        rows = {text: row for text, row in _inner_ids(column.combine_chunks()) if text not in self._wrong}
        for start, name in _INNER.items():
            texts = pa.array([text for text in rows if text.startswith(start)], pa.string())
            for text, fault in wrong_checksums(texts):
                self._wrong.add(text)
                height = None if at is None else int(at[rows[text]])
                yield height, Contradiction("checksum", None, f"{name}={text}: {fault}")

    def _every_block(self) -> Found:
        """Yield heights that do not have exactly one block; none without a block if a filter may have left it out."""
        due, at = self.heights, np.concatenate(self._blocks)
        heights, counts = np.unique(at[(at >= due.start) & (at < due.end)], return_counts=True)
        for height, count in zip(heights[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True):
            yield height, Contradiction("doubled", f"block {height} once", f"{count} times")
        edges = np.concatenate([[due.start - 1], heights, [due.end]])
        for place in np.flatnonzero(np.diff(edges) > 1):
            gap = HeightRange(int(edges[place]) + 1, int(edges[place + 1]))
            blocks = f"block {gap.start}" if len(gap) == 1 else f"blocks of {gap}"
            yield gap.start, Contradiction("missing", blocks, None, len(gap))

    def _twice(self, read: Read) -> Found:
        """Yield duplicate rows. Different rows may have equal digests, so these rows are read again."""
        digests = np.sort(np.concatenate(self._digests))
        suspects = np.unique(digests[1:][digests[1:] == digests[:-1]])
        if not len(suspects):
            return
        found: dict[tuple[str, ...], list[int]] = {}
        for part in read([*self._identity, *self._text, *([self._height] if self._height else [])]):
            table = _valid(part, self._identity)
            alike = table.filter(np.isin(_digests(table, self._identity), suspects))
            at = integers(alike[self._height], -1).tolist() if self._height else [-1] * alike.num_rows
            for row, height in zip(alike.select([*self._identity, *self._text]).to_pylist(), at, strict=True):
                found.setdefault(tuple(map(str, row.values())), []).append(height)
        for key, at in found.items():
            if len(at) > 1:
                once = f"{label(self._method.command, key[: len(self._identity)])} once"
                yield at[0] if at[0] >= 0 else None, Contradiction("doubled", once, f"{len(at)} times")


def _rising(method: Method) -> dict[str, str]:
    """Return, by check, the paths of values that never fall from block to block; they are beside the height."""
    outer = (method.height or "").rpartition("height")[0]
    return {"time": f"{outer}timestamp", "round": f"{outer}round"} if method.linked else {}


def _inner_ids(column: Any) -> Iterator[tuple[str, int]]:
    """Yield the bech32 texts in an array of transactions, with the number of their row."""
    if pa.types.is_string(column.type):
        for row, sent in enumerate(column.to_pylist()):
            yield from ((text, row) for text in _IN_JSON.findall(sent or ""))
        return
    for leaves, rows in _members(column, np.arange(len(column)), ""):
        chosen = compute.fill_null(compute.match_substring_regex(leaves, f"^{_START}"), fill_value=False)
        yield from zip(
            leaves.filter(chosen).to_pylist(), rows[chosen.to_numpy(zero_copy_only=False)].tolist(), strict=True
        )


def _members(array: Any, rows: Any, name: str) -> Iterator[tuple[Any, Any]]:
    """Yield the texts in a nested array that may be bech32, with the row of each. `rows`: of the values of `array`."""
    if pa.types.is_list(array.type):
        parents = compute.list_parent_indices(array).to_numpy(zero_copy_only=False)
        yield from _members(compute.list_flatten(array), rows[parents], name)
    elif pa.types.is_struct(array.type):
        for field, inner in zip(array.type, array.flatten(), strict=True):
            yield from _members(inner, rows, field.name)
    elif name in _MEMBERS and pa.types.is_string(array.type):
        yield array, rows


def _numbers(transactions: Any, at: Any) -> Found:
    """Yield blocks whose transactions, as structs or as JSON, are not numbered from 0."""
    kind = transactions.type
    if pa.types.is_string(kind):
        for height, sent in zip(at.tolist(), transactions.to_pylist(), strict=True):
            try:
                rows = array_of(Raw((sent or "").encode()))
            except ValueError:
                yield height, Contradiction("invalid", f"{WITHIN} as JSON", excerpt(sent, 60))
                continue
            yield from (
                (height, one) for one in check_numbers([integer_of(object_of(row).get("index")) for row in rows])
            )
        return
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return
    if kind.value_type.get_field_index("index") >= 0:
        counts = compute.fill_null(compute.list_value_length(transactions), 0).to_numpy()
        flat = pa.chunked_array(compute.struct_field(compute.list_flatten(transactions), "index"))
        yield from misnumbered(np.repeat(at, counts), integers(flat, -1))


def misnumbered(heights: Any, indexes: Any) -> Found:
    """Yield heights whose transactions are not numbered from 0. Takes the height and the index of each, -1 for none."""
    order = np.lexsort((indexes, heights))
    heights, indexes = heights[order], indexes[order]
    starts = np.flatnonzero(np.diff(heights, prepend=-2))
    counts = np.diff(np.append(starts, len(heights)))
    due = np.arange(len(heights)) - np.repeat(starts, counts)
    for height in np.unique(heights[indexes != due]).tolist():
        numbers = indexes[heights == height].tolist()
        yield from ((height, one) for one in check_numbers([None if number < 0 else number for number in numbers]))


def integers(column: Any, null: int) -> Any:
    """Return a column of whole numbers, as numbers or texts, or times (in seconds) as a numpy array; else `null`."""
    try:
        values = column.cast(pa.int64())
    except pa.ArrowInvalid:
        numbers = [integer_of(text and text.encode()) for text in column.to_pylist()]
        fit = [number if number is not None and abs(number) < 1 << 63 else None for number in numbers]
        values = pa.chunked_array([pa.array(fit, pa.int64())])
    if pa.types.is_timestamp(column.type):
        values = compute.divide(values, _UNITS[column.type.unit])
    filled = compute.fill_null(values, null)
    return filled.combine_chunks().to_numpy(zero_copy_only=False)


def is_reversed(column: Any) -> bool:
    """Return whether a column of heights falls from the first row to the last."""
    heights = integers(column.drop_null(), -1)
    return len(heights) > 1 and bool(heights[0] > heights[-1] and (np.diff(heights) <= 0).all())


def _texts(column: Any) -> Any:
    """Return a column as one Arrow array of strings."""
    return column.cast(pa.string()).combine_chunks()


def _valid(table: Any, names: Sequence[str]) -> Any:
    """Return the rows that have all of these values: two rows without a value are not equal."""
    for name in names:
        if table[name].null_count:
            table = table.filter(compute.is_valid(table[name]))
    return table


def _digests(table: Any, names: Sequence[str]) -> Any:
    """Return a number per row from the last bytes of its texts: equal for equal values, rarely for different ones."""
    total = np.zeros(table.num_rows, dtype=np.uint64)
    for name in names:
        filled = compute.fill_null(_texts(table[name]), "").cast(pa.binary())
        padded = compute.binary_join_element_wise(b"\0" * _TAIL, filled, b"")
        tails = compute.binary_slice(padded, -_TAIL).cast(pa.binary(_TAIL))
        halves = np.frombuffer(tails.buffers()[1] or b"", dtype=np.uint64, count=2 * len(tails)).reshape(-1, 2)
        total = total * _ODD[2] + halves[:, 0] * _ODD[0] + halves[:, 1] * _ODD[1]
    return total
