"""Compares the rows of one command with those of another, of the same heights, as Arrow tables."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.heights.range import HeightRange
from chainq.verify.blocks import IDENTITY
from chainq.verify.compare import Contradiction
from chainq.verify.findings import label

Found = Iterator[tuple[int, Contradiction]]
COMPARED = frozenset(("height", "block_hash", "timestamp", "transition_id", "transaction_id", "output_index"))
"""The columns that are compared, by the last part of their path."""


def check_across(
    tables: Mapping[str, Any], heights: Mapping[str, HeightRange]
) -> Iterator[tuple[str, int, Contradiction]]:
    """Yield rows of one command that contradict those of another.

    `tables` by command, all rows of `heights`, which may end at different ones. Yields the command, a height, and what
    is wrong.
    """
    blocks = next((name for name in ("full-blocks", "blocks") if name in tables), None)
    for command in ("blocks", "records", "transitions"):
        if command in tables and blocks is not None and command != blocks:
            for found in _of_blocks(command, tables[command], tables[blocks], BY_COMMAND[blocks]):
                yield command, *found
    if "records" in tables and "ownership" in tables:
        yield from _same_records(tables["records"], tables["ownership"], heights["records"], heights["ownership"])
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
            key = tuple(str(rows[part][row].as_py()) for part in IDENTITY.get(command, ("height",)))
            expected = f"{label(command, key)}: {name}={_shown(due[row])}"
            yield at[row].as_py(), Contradiction("altered", expected, f"{name}={_shown(found[row])}")


def _same_records(
    records: Any, ownership: Any, listed: HeightRange, owned: HeightRange
) -> Iterator[tuple[str, int, Contradiction]]:
    """Yield records without an ownership row, and ownership rows without a record.

    `listed`, `owned`: the heights of both. Ownership rows have none: where they go further, theirs are not known.
    """
    names = list(IDENTITY["records"])
    inside = compute.less(records["height"], owned.end)
    for row in _without(records.filter(inside).select([*names, "height"]), ownership.select(names), names):
        yield "ownership", row["height"], Contradiction("missing", label("ownership", _key(row, names)), None)
    if owned.end <= listed.end:
        for row in _without(ownership.select(names), records.select(names), names):
            yield "records", listed.start, Contradiction("missing", label("records", _key(row, names)), None)


def _without(left: Any, right: Any, names: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = left.join(right, keys=names, join_type="left anti", use_threads=False).to_pylist()
    return rows


def _key(row: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in names)


def _same_transitions(records: Any, transitions: Any) -> Found:
    """Yield transitions that records name with another height or transaction."""
    names = ["transition_id", "transaction_id", "height"]
    left = pa.table([records[name] for name in names], names=names).group_by(names, use_threads=False).aggregate([])
    right = pa.table([transitions[name] for name in names], names=["transition_id", "due_id", "due_height"])
    joined = left.join(right, keys="transition_id", join_type="inner", use_threads=False)
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
