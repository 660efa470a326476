"""The rules: what is wrong in the rows of a table by itself, and compared with the rows that are due. Column by column.

Only rows that differ become Python objects. Rejected: DuckDB, whose joins are not faster than looking up the keys of
one table in those of the other (`index_in`), and which would be one more package to install; and Python over sorted
rows, which takes eight times as long for an export that has no fault.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog import bech32
from chainq.catalog.methods import BY_COMMAND, Schema, height_of
from chainq.catalog.nested import OTHER
from chainq.catalog.tables import SOURCE, TABLES
from chainq.formats.arrow_rows import EXTRA
from chainq.heights.range import HeightRange
from chainq.rows.block import IDENTITY
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt
from chainq.verify.findings import Finding, Window, label

IDS = frozenset(
    ("block_hash", "previous_hash", "previous_state_root", "transition_id", "transaction_id", "record_ciphertext")
)
"""Columns that hold bech32 IDs, by the last part of their path."""
OWN = ("id", "block_id")
"""Columns that hold row ids, which are each database's own."""
_BLOCK = ("height", "block_hash", "previous_hash", "timestamp", "round")
"""The columns of blocks that are compared with the block before."""
_DUE_IDS = {"calls": "transition_id", "listed": "transaction_id", "records": "record_ciphertext"}
"""The columns of full blocks whose checksums are checked, by the rows due that contain them."""
_SHOWN, _FIELDS = 500, 50  # characters of a value, and fields of a row
_PROGRAM = re.compile(r"^program ([^;\s]+);", re.MULTILINE)
_TERMS = np.array(bech32.TERMS, dtype=np.uint32)
_VALUES = np.full(256, 255, dtype=np.uint8)
_VALUES[list(bech32.ALPHABET.encode())] = np.arange(32, dtype=np.uint8)
_AT_ONCE = 8192  # texts per computation: as many as fit into the processor cache
_PREFIX = re.compile(r"[a-z]+1")


def method_of(command: str, *, derived: bool = False) -> Schema:
    """Return the columns and the identity of the rows of a command, or of a table that full blocks contain."""
    return TABLES[command] if derived or command not in BY_COMMAND else BY_COMMAND[command]


def identity(command: str) -> tuple[str, ...]:
    """Return the columns that identify a row."""
    method = method_of(command)
    return IDENTITY.get(command) or method.identity or (method.height or "",)


def keys(table: Any, names: Collection[str]) -> Any:
    """Return the identity of each row as a text."""
    texts = (compute.fill_null(table[name].combine_chunks().cast(pa.string()), "") for name in names)
    return compute.binary_join_element_wise(*texts, ":")


def heights_of(command: str, table: Any) -> Any:
    """Return the height of each row as a numpy array, -1 for none."""
    names = [name for name in (height_of(method_of(command)), "height") if name in table.column_names]
    if not names:
        return np.full(table.num_rows, -1)
    return compute.fill_null(table[names[0]], -1).to_numpy()


def among(column: Any, others: Any) -> Any:
    """Return whether each value of a column is among those of another one."""
    return compute.is_in(column, value_set=others.combine_chunks())


def at_heights(command: str, table: Any, heights: Iterable[int]) -> Any:
    """Return the rows of some heights, and those without a height."""
    return table.filter(pa.array(np.isin(heights_of(command, table), [-1, *heights])))


def program_ids(column: Any) -> Any:
    """Return the IDs of programs by their sources; any other text is the ID itself."""
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    named = [found[1] if (found := _PROGRAM.search(text)) else text or None for text in texts]
    return pa.array(named, pa.string()).take(encoded.indices)


def _rows(mask: Any) -> list[int]:
    """Return the numbers of the rows for which a mask is true."""
    found: list[int] = np.flatnonzero(compute.fill_null(mask, False).to_numpy(zero_copy_only=False)).tolist()
    return found


def _located(height: Any) -> int | None:
    return None if height < 0 else int(height)


class Seen(NamedTuple):
    """What is known of earlier windows. `last`: the last block, by command. `told`: IDs with a wrong checksum."""

    last: dict[str, Any]
    told: set[str]


def alone(command: str, window: Window, seen: Seen) -> Iterator[Finding]:
    """Yield what is wrong in a table by itself: all rules but those that compare it with rows that are due."""
    table, due = window.tables[command], window.due if "listed" in window.due else None
    yield from doubled(command, table)
    if command == SOURCE.command or due is None:  # others are compared with their full blocks
        yield from checksums(command, table, seen.told)
    if command == SOURCE.command and due is not None:
        for name, column in _DUE_IDS.items():
            yield from checksums(command, due[name].select(["height", column]), seen.told)
        yield from numbered(command, due["listed"])
    elif command == "transactions" and due is None and {"height", "index"} <= {*table.column_names}:
        yield from numbered(command, table.filter(compute.is_valid(table["height"])))
    if method_of(command).single:
        yield from absent(command, table, window.heights)
        yield from links(command, window.due["blocks"] if command == SOURCE.command else table, seen.last)


def links(command: str, blocks: Any, last: dict[str, Any]) -> Iterator[Finding]:
    """Yield blocks that do not name the hash of the block before, or are older, or have a lower round.

    `last`: the block before them, if one is known, and then the last of these.
    """
    if not {"block_hash", "previous_hash"} <= {*blocks.column_names}:
        return
    blocks = blocks.select([name for name in _BLOCK if name in blocks.column_names]).sort_by("height")
    rows = pa.concat_tables([last[command], blocks]) if command in last else blocks
    last[command] = rows.slice(max(rows.num_rows - 1, 0))
    before, after = rows.slice(0, max(rows.num_rows - 1, 0)), rows.slice(1)
    at = heights_of("blocks", after)
    next_to = compute.equal(compute.subtract(after["height"], before["height"]), 1)
    hashes = (compute.fill_null(one, "") for one in (before["block_hash"], after["previous_hash"]))
    for row in _rows(compute.and_(next_to, compute.not_equal(*hashes))):
        due, found = shown(before["block_hash"][row].as_py()), shown(after["previous_hash"][row].as_py())
        yield Finding(int(at[row]), command, "link", f"previous_hash={due}", f"previous_hash={found}")
    for check, name in (("time", "timestamp"), ("round", "round")):
        for row in _rows(compute.less(after[name], before[name])) if name in rows.column_names else ():
            due, found = (f"{name}={shown(table[name][row].as_py())}" for table in (before, after))
            yield Finding(int(at[row]), command, check, f"{due} or more", found)


def absent(command: str, table: Any, heights: HeightRange) -> Iterator[Finding]:
    """Yield the heights without a block."""
    there = np.unique(heights_of(command, table))
    edges = np.concatenate(
        [[heights.start - 1], there[(there >= heights.start) & (there < heights.end)], [heights.end]]
    )
    for place in np.flatnonzero(np.diff(edges) > 1):
        gap = HeightRange(int(edges[place]) + 1, int(edges[place + 1]))
        if len(gap) == 1:
            yield Finding(gap.start, command, "missing", label(command, str(gap.start)), None)
        else:
            yield Finding(gap.start, command, "missing", f"blocks of {gap}", None, end=gap.end)


def doubled(command: str, table: Any) -> Iterator[Finding]:
    """Yield rows that are there more than once; a program that was deployed twice has several texts."""
    names = identity(command)
    if not {*names} <= {*table.column_names}:
        return
    known = table.filter(reduce(compute.and_, (compute.is_valid(table[name]) for name in names)))
    if lacking := table.num_rows - known.num_rows:  # two of them are not equal
        yield Finding(None, command, "invalid", " and ".join(names), f"{counted(lacking, 'row')} without them")
    text = method_of(command).text
    every = keys(known, (*names, text) if text in known.column_names else names)
    often = compute.value_counts(every)
    for one in often.filter(compute.greater(compute.struct_field(often, "counts"), 1)).to_pylist():
        row = compute.index(every, one["values"]).as_py()
        due = f"{label(command, keys(known.slice(row, 1), names)[0].as_py())} once"
        yield Finding(_located(heights_of(command, known)[row]), command, "doubled", due, f"{one['counts']} times")


def checksums(command: str, table: Any, told: set[str]) -> Iterator[Finding]:
    """Yield bech32 texts with a wrong checksum; `told` remembers which, so that each is yielded once."""
    for name in table.column_names:
        if name.rpartition(".")[2] in IDS:
            column = table[name].combine_chunks()
            texts = compute.drop_null(compute.unique(column))
            for text in (texts[int(place)].as_py() for place in _suspects(texts)):
                fault = bech32.fault(text) if _PREFIX.match(text) else ""  # other texts have no checksum
                if fault and text not in told:
                    told.add(text)
                    height = _located(heights_of(command, table)[compute.index(column, text).as_py()])
                    yield Finding(height, command, "checksum", None, f"{name}={text}: {fault}")


def _suspects(texts: Any) -> Any:
    """Return the positions of texts with a wrong checksum, or with another prefix or length than the first text."""
    prefix = _PREFIX.match(texts[0].as_py()) if len(texts) else None
    if prefix is None:
        return np.arange(len(texts))
    width = len(texts[0].as_buffer())
    alike = compute.and_(compute.equal(compute.binary_length(texts), width), compute.starts_with(texts, prefix[0]))
    chosen = texts.filter(alike).cast(pa.binary()).cast(pa.binary(width))
    symbols = np.frombuffer(chosen.buffers()[1], dtype=np.uint8).reshape(-1, width)[chosen.offset :][: len(chosen)]
    head, rest = bech32.polymod(bech32.expand(prefix[0][:-1])), symbols[:, len(prefix[0]) :]
    wrong = [_residues(_VALUES[rest[at : at + _AT_ONCE]], head) for at in range(0, len(rest), _AT_ONCE)]
    same = alike.to_numpy(zero_copy_only=False)
    return np.concatenate([np.flatnonzero(~same), np.flatnonzero(same)[np.concatenate(wrong)]])


def _residues(values: Any, head: int) -> Any:
    """Return which rows of 5-bit values do not end in a valid checksum, given the prefix (BIP 173, BIP 350)."""
    checksum = np.full(len(values), head, dtype=np.uint32)
    for column in np.ascontiguousarray(values.T):
        checksum = ((checksum & np.uint32(0x1FFFFFF)) << np.uint32(5)) ^ column ^ _TERMS[checksum >> np.uint32(25)]
    strange = values.max(axis=1, initial=0) > 31
    return strange | ((checksum != bech32.BECH32) & (checksum != bech32.BECH32M))


def numbered(command: str, transactions: Any) -> Iterator[Finding]:
    """Yield blocks whose transactions are not numbered from 0."""
    order = transactions.select(["height", "index"]).sort_by([("height", "ascending"), ("index", "ascending")])
    heights, indexes = (compute.fill_null(order[name], -1).to_numpy() for name in ("height", "index"))
    starts = np.flatnonzero(np.diff(heights, prepend=-2))
    due = np.arange(len(heights)) - np.repeat(starts, np.diff(np.append(starts, len(heights))))
    for height in np.unique(heights[indexes != due]).tolist():
        there = ["null" if one < 0 else str(one) for one in indexes[heights == height].tolist()]
        said = f"{len(there)} transactions, numbered from 0"
        yield Finding(height, command, "count", said, f"numbered {', '.join(there)}")


def order(command: str, table: Any) -> Iterator[Finding]:
    """Yield the first row whose height is lower than that of the row before."""
    heights = heights_of(command, table)
    falls = np.flatnonzero(np.diff(heights) < 0)
    if len(falls):
        more = f", the first of {len(falls):,} such rows" if len(falls) > 1 else ""
        at = int(heights[falls[0] + 1])
        yield Finding(at, command, "order", f"height {heights[falls[0]]} or more", f"height {at}{more}")


def compare(command: str, found: Any, due: Any, *, explained: bool) -> Iterator[Finding]:
    """Yield rows that are missing, unexpected, misplaced or altered. Rows of both sides are the same if their
    identities are. `explained`: the due rows are those that full blocks explain, not those of another source."""
    names, text = identity(command), method_of(command).text
    mine, theirs = keys(found, names), keys(due, names)
    several = text in due.column_names and text in found.column_names and len(theirs.unique()) < len(theirs)
    here, there = (keys(side, (*names, text)) for side in (found, due)) if several else (mine, theirs)
    at, due_at = heights_of(command, found), heights_of(command, due)
    for row in _rows(compute.invert(compute.is_in(there, value_set=here))):
        yield Finding(_located(due_at[row]), command, "missing", label(command, theirs[row].as_py()), None)
    place = compute.index_in(here, value_set=there)
    for row in _rows(compute.is_null(place)):
        yield Finding(_located(at[row]), command, "unexpected", None, label(command, mine[row].as_py()))
    rows = np.flatnonzero(compute.is_valid(place).to_numpy(zero_copy_only=False))
    places = place.drop_null().to_numpy()
    one, other = found.take(rows), due.take(places)
    for row in np.flatnonzero(unlike(one, other)).tolist():
        name, (height, place) = label(command, mine[int(rows[row])].as_py()), (at[rows[row]], due_at[places[row]])
        if height >= 0 and place >= 0 and height != place and not method_of(command).single:
            yield Finding(int(place), command, "missing", name, f"at height {height}")
            yield Finding(int(height), command, "misplaced", f"{name} at height {place}", "at this height")
        elif wrong := _altered(one.slice(row, 1), other.slice(row, 1), explained=explained):
            known = _located(place if height < 0 else height)
            yield Finding(known, command, "altered", f"{name}: {wrong[0]}" if name else wrong[0], wrong[1])


def unlike(found: Any, due: Any) -> Any:
    """Return which rows differ in a column that both tables have, as a numpy array."""
    differ = np.zeros(found.num_rows, dtype=bool)
    for name in found.column_names:
        if name in OWN or name not in due.column_names:
            continue
        mine, other = found[name].combine_chunks(), due[name].combine_chunks()
        if mine.equals(other):
            continue
        if pa.types.is_nested(mine.type):
            differ |= [one != two for one, two in zip(mine.to_pylist(), other.to_pylist(), strict=True)]
            continue
        same = compute.fill_null(
            compute.equal(mine, other), compute.and_(compute.is_null(mine), compute.is_null(other))
        )
        differ |= ~same.to_numpy(zero_copy_only=False)
    return differ


def _altered(found: pa.Table, due: pa.Table, *, explained: bool) -> tuple[str, str] | None:
    """Return the values that a row should have and those that it has, in words; None if only their form differs: a
    number and its digits are the same, and null equals a missing field. What full blocks do not say is not compared."""
    names = [name for name in found.column_names if name in due.column_names and name not in OWN]
    if explained:
        names = [name for name in names if due[name][0].is_valid]
    first, second = (
        dict(leaf for name in names for leaf in _leaves(side[name][0].as_py(), name)) for side in (due, found)
    )
    wrong = [part for part in sorted(first.keys() | second.keys()) if first.get(part) != second.get(part)]
    if first.get("type") and second.get("type", "").lower() in first["type"].lower().split(" or "):
        # of two sources one may write `Execute`; a rejected transaction may have the type of its fee
        wrong = [part for part in wrong if part != "type"]
    if not explained and "block_hash" in wrong and "previous_hash" in names:
        wrong = ["block_hash"]  # another block: all of it differs
    if not wrong:
        return None
    sides = (
        ", ".join(f"{part}={excerpt(side[part], _SHOWN) if part in side else 'null'}" for part in wrong[:_FIELDS])
        for side in (first, second)
    )
    return next(sides), next(sides)


def shown(value: Any) -> str:
    """Return a value of a table as a service sends it: times in seconds."""
    return str(int(value.timestamp())) if hasattr(value, "timestamp") else "null" if value is None else str(value)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the leaves of a value by path; equivalent values, such as a number and its digits, have the same leaves."""
    if isinstance(value, str) and value[:1] in ("{", "["):  # of fields that have no columns, or members without names
        with suppress(ValueError):
            value = json.loads(value, parse_float=str)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, name if path == EXTRA else path if name == OTHER else f"{path}.{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{number}]")
    elif value not in (None, ""):  # a cell of csv without text may be either
        yield path, shown(value)
