"""Checks the rows of one partition as Arrow tables: column by column, never row by row.

Each function yields a height and what is wrong there. A table has the columns of its command by their dotted paths
(`chainq.formats.arrow_rows`). numpy and pyarrow are loaded here only.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog import bech32
from chainq.catalog.methods import BY_COMMAND, Method
from chainq.heights.range import HeightRange
from chainq.verify.blocks import IDENTITY
from chainq.verify.compare import Contradiction
from chainq.verify.findings import label

Found = Iterator[tuple[int, Contradiction]]
IDS = frozenset(
    ("block_hash", "previous_hash", "previous_state_root", "transition_id", "transaction_id", "record_ciphertext")
)
"""Columns that hold bech32 IDs, by the last part of their path."""
_TERMS = np.array(bech32.TERMS, dtype=np.uint32)
_SHIFTED = _TERMS[:, None] ^ np.zeros(32, dtype=np.uint32)  # after the first five bits, before the next five
_PAIRS = (
    ((_SHIFTED & np.uint32(0x1FFFFFF)) << np.uint32(5))
    ^ _TERMS[(_SHIFTED >> np.uint32(25)) ^ np.arange(32, dtype=np.uint32)]
).ravel()
_VALUES = np.full(256, 255, dtype=np.uint8)
_VALUES[list(bech32.ALPHABET.encode())] = np.arange(32, dtype=np.uint8)
_BLOCK = 8192  # texts whose checksums are computed at a time: as many as stay in the cache of a processor
_PREFIX = re.compile(r"[a-z]+1")


def check_table(table: Any, method: Method, heights: HeightRange) -> Found:
    """Yield what is wrong with the rows of one command in a partition of these heights."""
    at = _heights(table, method)
    if at is not None:
        for row in np.flatnonzero((at < heights.start) | (at >= heights.end)):
            yield int(at[row]), Contradiction("misplaced", f"{heights}", f"height {at[row]}")
        for row in np.flatnonzero(np.diff(at) < 0):
            yield int(at[row + 1]), Contradiction("order", f"height {at[row]} or more", f"height {at[row + 1]}")
    if method.linked and at is not None:
        yield from _blocks(table, method, at, heights)
    yield from _twice(table, method, at, heights)
    for name in table.column_names:
        if name.rpartition(".")[2] in IDS:
            yield from _checksums(table, name, at, heights)


def _heights(table: Any, method: Method) -> Any | None:
    """Return the heights of rows, None where they carry none; a row without a valid one has -1."""
    if method.height is None:
        return None
    return compute.fill_null(table[method.height], -1).combine_chunks().to_numpy(zero_copy_only=False)


def _blocks(table: Any, method: Method, at: Any, heights: HeightRange) -> Found:
    """Yield missing and doubled heights, broken links, and times and rounds that go back."""
    counts = np.bincount(at[(at >= heights.start) & (at < heights.end)] - heights.start, minlength=len(heights))
    for place in np.flatnonzero(counts != 1):
        height = int(heights.start + place)
        what = f"block {height}"
        if counts[place]:
            yield height, Contradiction("doubled", f"{what} once", f"{counts[place]} times")
        else:
            yield height, Contradiction("missing", what, None)
    if len(at) < 2:
        return
    own, previous = table["block_hash"].combine_chunks(), table["previous_hash"].combine_chunks()
    same = compute.fill_null(compute.equal(own[:-1], previous[1:]), False).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(~same & (np.diff(at) == 1)):
        due, found = own[int(row)].as_py(), previous[int(row) + 1].as_py()
        yield int(at[row + 1]), Contradiction("link", f"previous_hash={due}", f"previous_hash={found}")
    metadata = (method.height or "").rpartition(".")[0]
    for check, name in (("time", "timestamp"), ("round", "round")):
        path = f"{metadata}.{name}" if metadata else name
        values = compute.drop_null(table[path]).cast(pa.int64()).combine_chunks().to_numpy(zero_copy_only=False)
        if len(values) == len(at):
            for row in np.flatnonzero(np.diff(values) < 0):
                yield (
                    int(at[row + 1]),
                    Contradiction(check, f"{name}={values[row]} or more", f"{name}={values[row + 1]}"),
                )


def _twice(table: Any, method: Method, at: Any | None, heights: HeightRange) -> Found:
    """Yield identities that come more than once."""
    names = list(IDENTITY.get(method.command, ()))
    if not names or not table.num_rows:
        return
    keyed = pa.table([table[name] for name in names], names=names)
    counted = keyed.append_column("at", _numbers(np.arange(table.num_rows)))
    grouped = counted.group_by(names).aggregate([("at", "count"), ("at", "min")])
    for row in grouped.filter(compute.greater(grouped["at_count"], 1)).to_pylist():
        height = heights.start if at is None else int(at[row["at_min"]])
        key = tuple(str(row[name]) for name in names)
        yield height, Contradiction("doubled", f"{label(method.command, key)} once", f"{row['at_count']} times")


def _checksums(table: Any, name: str, at: Any | None, heights: HeightRange) -> Found:
    """Yield bech32 texts with a wrong checksum, once each."""
    column = table[name].combine_chunks()
    distinct = compute.drop_null(compute.unique(column))
    for text in (distinct[int(place)].as_py() for place in _suspects(distinct)):
        if _PREFIX.match(text) and (fault := bech32.fault(text)):
            row = compute.index(column, text).as_py()
            height = heights.start if at is None else int(at[row])
            yield height, Contradiction("checksum", None, f"{name}={text}: {fault}")


def _suspects(texts: Any) -> Any:
    """Return the places of texts whose checksum is wrong, or that have another prefix or length than most."""
    if not len(texts):
        return np.empty(0, dtype=np.int64)
    prefix = _PREFIX.match(texts[0].as_py() or "")
    lengths = compute.binary_length(texts).to_numpy(zero_copy_only=False)
    alike = lengths == lengths[0]
    if prefix is None:
        return np.arange(len(texts))
    alike &= compute.starts_with(texts, prefix[0]).to_numpy(zero_copy_only=False)
    places = np.flatnonzero(alike)
    chosen = texts if alike.all() else texts.take(_numbers(places))
    offsets, data = chosen.buffers()[1:3]
    begin = int(np.frombuffer(offsets, dtype=np.int32)[chosen.offset])
    width = int(lengths[0])
    symbols = np.frombuffer(data, dtype=np.uint8, count=len(places) * width, offset=begin).reshape(len(places), width)
    head = bech32.polymod(bech32.expand(prefix[0][:-1]))
    rest = symbols[:, len(prefix[0]) :]
    wrong = [_residues(_VALUES[rest[at : at + _BLOCK]], head) for at in range(0, len(rest), _BLOCK)]
    return np.concatenate([np.flatnonzero(~alike), places[np.concatenate(wrong)]])


def _numbers(values: Any) -> Any:
    """Return whole numbers of numpy as an Arrow array; `pyarrow.array` would load pandas for that."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _residues(values: Any, head: int) -> Any:
    """Return which rows of 5-bit values end in no valid checksum, after that of the prefix (BIP 173, BIP 350).

    Two values at a time, with a table of what ten bits that leave the checksum put back into it.
    """
    columns = np.ascontiguousarray(values.T)
    checksum = np.full(len(values), head, dtype=np.uint32)
    at = len(columns) % 2
    if at:
        checksum = ((checksum & np.uint32(0x1FFFFFF)) << np.uint32(5)) ^ columns[0] ^ _TERMS[checksum >> np.uint32(25)]
    for first, second in zip(columns[at::2], columns[at + 1 :: 2], strict=True):
        pair = first.astype(np.uint32) << np.uint32(5) ^ second
        checksum = ((checksum & np.uint32(0xFFFFF)) << np.uint32(10)) ^ pair ^ _PAIRS[checksum >> np.uint32(20)]
    strange = columns.max(axis=0, initial=0) > 31
    return strange | ((checksum != bech32.BECH32) & (checksum != bech32.BECH32M))


def check_across(tables: Mapping[str, Any], heights: HeightRange) -> Iterator[tuple[str, int, Contradiction]]:
    """Yield rows of one command that contradict those of another, in partitions of the same heights.

    `tables` by command. Yields the command, a height, and what is wrong.
    """
    blocks = next((name for name in ("blocks", "full-blocks") if name in tables), None)
    for command in ("records", "transitions"):
        if command in tables and blocks is not None:
            for found in _of_blocks(command, tables[command], tables[blocks], BY_COMMAND[blocks]):
                yield command, *found
    if "records" in tables and "ownership" in tables:
        for found in _same_records(tables["records"], tables["ownership"], heights):
            yield "ownership", *found
    if "records" in tables and "transitions" in tables:
        for found in _same_transitions(tables["records"], tables["transitions"]):
            yield "records", *found


def _of_blocks(command: str, rows: Any, blocks: Any, method: Method) -> Found:
    """Yield rows whose block hash or time is not that of the block of their height."""
    at = compute.fill_null(rows["height"], -1).combine_chunks()
    place = compute.index_in(at, value_set=blocks[method.height].combine_chunks())
    metadata = (method.height or "").rpartition(".")[0]
    for name in ("block_hash", "timestamp"):
        if name not in rows.column_names:
            continue
        path = name if name == "block_hash" or not metadata else f"{metadata}.{name}"
        due = blocks[path].combine_chunks().take(place)
        found = rows[name].combine_chunks()
        same = compute.fill_null(compute.equal(due, found), False)
        wrong = np.flatnonzero(~compute.or_(same, compute.is_null(place)).to_numpy(zero_copy_only=False))
        for row in map(int, wrong):
            key = tuple(str(rows[part][row].as_py()) for part in IDENTITY[command])
            expected = f"{label(command, key)}: {name}={_shown(due[row])}"
            yield at[row].as_py(), Contradiction("altered", expected, f"{name}={_shown(found[row])}")


def _same_records(records: Any, ownership: Any, heights: HeightRange) -> Found:
    """Yield records without an ownership row, and ownership rows without a record."""
    names = list(IDENTITY["records"])
    both = {"records": records, "ownership": ownership}
    for there, here in (("records", "ownership"), ("ownership", "records")):
        left = pa.table([both[there][name] for name in names], names=names)
        if there == "records":
            left = left.append_column("height", records["height"])
        right = pa.table([both[here][name] for name in names], names=names)
        for row in left.join(right, keys=names, join_type="left anti").to_pylist():
            key = tuple(str(row[name]) for name in names)
            if there == "records":
                yield row["height"], Contradiction("missing", label("ownership", key), None)
            else:
                yield heights.start, Contradiction("unexpected", None, label("ownership", key))


def _same_transitions(records: Any, transitions: Any) -> Found:
    """Yield transitions that records name with another height or transaction."""
    names = ["transition_id", "transaction_id", "height"]
    left = pa.table([records[name] for name in names], names=names).group_by(names).aggregate([])
    right = pa.table([transitions[name] for name in names], names=["transition_id", "due_id", "due_height"])
    joined = left.join(right, keys="transition_id", join_type="inner")
    same = compute.and_(
        compute.equal(joined["transaction_id"], joined["due_id"]), compute.equal(joined["height"], joined["due_height"])
    )
    for row in joined.filter(compute.invert(compute.fill_null(same, False))).to_pylist():
        expected = f"transition {row['transition_id']}: {row['due_id']} at height {row['due_height']}"
        yield row["height"], Contradiction("altered", expected, f"{row['transaction_id']} at height {row['height']}")


def _shown(value: Any) -> str:
    found = value.cast(pa.string()) if pa.types.is_string(value.type) else value
    text = found.as_py()
    return "null" if text is None else str(text)
