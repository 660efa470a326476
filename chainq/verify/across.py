"""Compares the rows of two commands at the same heights, as Arrow tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog.methods import BY_COMMAND
from chainq.heights.range import HeightRange
from chainq.rows.full_block import IDENTITY, RECORDS
from chainq.verify.findings import Contradiction, label
from chainq.verify.inside_blocks import InsideBlocks

COMPARED = frozenset(
    ("height", "block_hash", "timestamp", "transition_id", "transaction_id", "output_index", "index", "type")
)
"""The columns that are compared, by the last part of their path."""
Found = Iterator[tuple[str, int | None, Contradiction]]


def check_across(
    tables: Mapping[str, Any], heights: Mapping[str, HeightRange], inside: InsideBlocks | None = None
) -> Found:
    """Yield the command, the height (None if unknown) and the contradiction of each row that contradicts a row of
    another command.

    `tables`: by command, all rows of `heights`; the tables may end at different heights. `inside`: what the full blocks
    contain, for tables that are not there.
    """
    explains = inside is not None and not {"outputs", "calls"} & tables.keys()
    if inside is not None and explains:
        tables = {**tables, "outputs": inside.outputs, "calls": inside.calls}
        heights = {**heights, "outputs": heights["full-blocks"]}
    blocks = next((name for name in ("full-blocks", "blocks") if name in tables), None)
    for command in ("blocks", "records", "transitions"):
        if command in tables and blocks is not None and command != blocks:
            yield from _of_blocks(command, tables[command], tables[blocks], BY_COMMAND[blocks].height or "")
    listed = {"records", "ownership"} & tables.keys()
    explained = "outputs" in tables and all(heights[command].end <= heights["outputs"].end for command in listed)
    if len(listed) == 2 and not explained:  # else each is compared with the outputs
        yield from _same_records(tables, heights, "records", "ownership")
    if "records" in tables and "transitions" in tables:
        yield from _same_transitions("records", tables["records"], tables["transitions"])
    if "outputs" in tables:
        created = {**tables, "outputs": _records_of(tables["outputs"])}
        for command in listed:
            yield from _same_records(created, heights, "outputs", command, explains=explains)
    if "calls" in tables:
        yield from _of_calls(tables, explains=explains)


def _of_calls(tables: Mapping[str, Any], *, explains: bool) -> Found:
    """Yield rows that contradict the calls; `explains`: the calls cannot lack one."""
    calls = tables["calls"]
    for command in {"records", "transitions"} & tables.keys():
        yield from _same_transitions(command, tables[command], calls)
    if "transitions" in tables:
        at_fault = "transitions" if explains else ""
        yield from _lacking("calls", tables["transitions"], calls, ["transition_id"], unexpected=at_fault)


def _differences(
    rows: Any, name: str, key: str, others: Any, other: str, other_key: str
) -> Iterator[tuple[int, str, str]]:
    """Yield the row number, the other table's value and the row's own value if column `name` differs from column
    `other` of the row with the same key in another table."""
    place = compute.index_in(rows[key].combine_chunks(), value_set=others[other_key].combine_chunks())
    due, found = others[other].combine_chunks().take(place), rows[name].combine_chunks()
    same = compute.fill_null(compute.equal(due, found), False)
    for row in np.flatnonzero(~compute.or_(same, compute.is_null(place)).to_numpy(zero_copy_only=False)).tolist():
        yield row, _shown(due[row]), _shown(found[row])


def _of_blocks(command: str, rows: Any, blocks: Any, height: str) -> Found:
    """Yield rows whose block hash or time differs from the block at their height."""
    names = IDENTITY.get(command, ("height",))
    for name in {"block_hash", "timestamp"} & {*rows.column_names}:
        path = name if name == "block_hash" else height.removesuffix("height") + name
        for row, due, found in _differences(rows, name, "height", blocks, path, height):
            key = tuple(str(rows[part][row].as_py()) for part in names)
            wrong = Contradiction("altered", f"{label(command, key)}: {name}={due}", f"{name}={found}")
            yield command, rows["height"][row].as_py(), wrong


def _records_of(outputs: Any) -> Any:
    """Return the outputs that are records, in the columns of records."""
    created = outputs.filter(compute.is_in(outputs["type"], value_set=pa.array(sorted(RECORDS))))
    return created.set_column(created.schema.get_field_index("index"), "output_index", created["index"])


def _same_transitions(command: str, rows: Any, transitions: Any) -> Found:
    """Yield transitions that rows name with another height or transaction."""
    wrong: dict[int, dict[str, str]] = {}
    for name in ("transaction_id", "height"):
        for row, due, _ in _differences(rows, name, "transition_id", transitions, name, "transition_id"):
            wrong.setdefault(row, {})[name] = due
    found: dict[Contradiction, int] = {}
    for row, others in wrong.items():
        own = {name: rows[name][row].as_py() for name in ("transition_id", "transaction_id", "height")}
        due, there = ("{transaction_id} at height {height}".format_map(side) for side in ({**own, **others}, own))
        found.setdefault(Contradiction("altered", f"transition {own['transition_id']}: {due}", there), own["height"])
    yield from ((command, height, one) for one, height in found.items())


def _same_records(
    tables: Mapping[str, Any],
    heights: Mapping[str, HeightRange],
    listing: str,
    command: str,
    *,
    explains: bool = False,
) -> Found:
    """Yield records that are in only one of two tables.

    Only `listing` needs heights: if ownership rows extend further, their heights are unknown. If it `explains` the
    other, it cannot lack a row.
    """
    listed, owned = heights[listing], heights[command]
    names = list(IDENTITY["records"])
    inside = tables[listing].filter(compute.less(tables[listing]["height"], owned.end))
    yield from _lacking(command, inside, tables[command], names)
    if owned.end <= listed.end:
        at_fault = command if explains else ""
        yield from _lacking(listing, tables[command], tables[listing], names, unexpected=at_fault)


def _lacking(command: str, rows: Any, others: Any, names: list[str], *, unexpected: str = "") -> Found:
    """Yield rows whose key is missing from the table of `command`.

    `unexpected`: the command of the rows, if they are wrong and not the table.
    """
    wanted = rows.select([*names, *({"height"} & {*rows.column_names})])
    lacking = wanted.join(others.select(names), keys=names, join_type="left anti", use_threads=False)
    for row in lacking.to_pylist():
        key = label(unexpected or command, tuple(str(row[name]) for name in names))
        wrong = Contradiction("unexpected", None, key) if unexpected else Contradiction("missing", key, None)
        yield unexpected or command, row.get("height"), wrong


def _shown(value: Any) -> str:
    text = (value.cast(pa.string()) if pa.types.is_string(value.type) else value).as_py()
    return "null" if text is None else str(text)
