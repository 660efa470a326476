"""The rows that are due according to full blocks, column by column.

A full block contains transactions, these contain transitions, and these contain inputs and outputs. Each output of one
of the types RECORDS is a row of `records` and of `ownership`; each transition without an input of these types is a row
of `transitions`, although servers leave some kinds out (`check.py`). What a rejected transaction wanted is in its
outer part, under `rejected`, and did not happen (docs/protocol.md, "Results").
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from chainq.catalog.methods import BY_COMMAND
from chainq.rows.block import DOUBTFUL, RECORDS

BESIDE = "beside"
"""A column of ownership rows that are due by records, which may be incomplete themselves."""
_SUMMARY = [column.path for column in BY_COMMAND["blocks"].columns if column.path != "id"]
_CALLS = (("transition_id", "id"), ("program", "program"), ("function", "function"), ("tpk", "tpk"), ("tcm", "tcm"))


def explain(full: pa.Table) -> dict[str, pa.Table]:
    """Return the rows due, by command or table, with the columns that full blocks explain.

    `listed` are all transactions, as `transactions` unless the caller takes some of these only. The rows of
    `transitions` also have: `fee`, whether it pays one; `empty`, whether it has no input; `optional`, whether it may be
    listed or not. Blocks whose transactions have another form have none.
    """
    blocks = summaries(full)
    if not {"height", "timestamp", "block_hash"} <= {*blocks.column_names} or "transactions" not in full.column_names:
        return {"blocks": blocks}
    at, confirmed = _flat(full["transactions"].combine_chunks())
    place = blocks.select(["height", "timestamp", "block_hash"]).take(at)
    inner = compute.struct_field(confirmed, "transaction")
    place = place.append_column("transaction_id", compute.struct_field(inner, "id"))
    kinds = [(*some, _records(some[2]), _listed(*some[:2])) for some in _transitions(inner, place)]
    names = ("calls", "inputs", "outputs", "records", "transitions")
    due = {name: pa.concat_tables(parts) for name, *parts in zip(names, *kinds, strict=True)}
    listed = _transactions(confirmed, inner, place)
    return {
        "blocks": blocks,
        "listed": listed,
        "transactions": listed,
        "ownership": due["records"].select(["height", "transition_id", "output_index"]),
        **due,
    }


def beside(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return what tables say of each other without full blocks: ownership rows are due by records, and their blocks
    name the hash and the time of records and transitions."""
    due = {}
    columns = ["height", *BY_COMMAND["records"].identity]
    if "records" in tables and {*columns} <= {*tables["records"].column_names}:  # of a file these may be damaged
        due["ownership"] = tables["records"].select(columns)
        due["ownership"] = due["ownership"].append_column(BESIDE, pa.nulls(tables["records"].num_rows))
    for command in {"records", "transitions"} & tables.keys() if "blocks" in tables else ():
        place = compute.index_in(tables[command]["height"], value_set=tables["blocks"]["height"].combine_chunks())
        due[command] = tables[command].select(["height", *BY_COMMAND[command].identity])
        for name in {"block_hash", "timestamp"} & {*tables[command].column_names}:
            due[command] = due[command].append_column(name, tables["blocks"][name].take(place))
    return due


def summaries(full: pa.Table) -> pa.Table:
    """Return the fields of full blocks that summaries have, by their names there."""
    columns = {path.rpartition(".")[2]: full[path] for path in full.column_names if not path.startswith("authority")}
    return pa.table({name: columns[name] for name in _SUMMARY if name in columns}).combine_chunks()


def _flat(lists: Any) -> tuple[Any, Any]:
    """Return the elements of lists, after the number of the list of each."""
    return compute.list_parent_indices(lists), compute.list_flatten(lists)


def _transactions(confirmed: Any, inner: Any, place: pa.Table) -> pa.Table:
    """Return the transactions. `type`: of a rejected one also that of its fee, which lists may give it."""
    status, own, other = (
        compute.struct_field(array, name)
        for array, name in ((confirmed, "status"), (confirmed, "type"), (inner, "type"))
    )
    both = compute.binary_join_element_wise(own, other, " or ")
    either = compute.and_(compute.equal(status, "rejected"), compute.not_equal(own, other))
    return (
        place.select(["height", "transaction_id"])
        .append_column("index", compute.struct_field(confirmed, "index"))
        .append_column("status", status)
        .append_column("type", compute.utf8_capitalize(compute.if_else(compute.fill_null(either, False), both, own)))
    )


def _transitions(inner: Any, place: pa.Table) -> Iterator[tuple[pa.Table, pa.Table, pa.Table]]:
    """Yield the transitions of executions, then those of fees, each with their inputs and outputs."""
    for kind, member in (("execution", "transitions"), ("fee", "transition")):
        found = compute.struct_field(inner, [kind, member])
        if kind == "fee":
            there = compute.is_valid(found)  # a transaction may have no fee
            at, found = np.flatnonzero(there), found.filter(there)
        else:
            at, found = _flat(found)
        calls = place.take(at)
        for name, part in _CALLS:
            calls = calls.append_column(name, compute.struct_field(found, part))
        calls = calls.append_column("kind", pa.array([kind] * len(found), pa.string()))
        yield calls, _values(calls, found, "inputs"), _values(calls, found, "outputs")


def _values(calls: pa.Table, found: Any, name: str) -> pa.Table:
    """Return the inputs or outputs of transitions. `call`: the number of the transition."""
    at, values = _flat(compute.struct_field(found, name))
    parents = at.to_numpy(zero_copy_only=False)
    rows = calls.take(at).append_column("call", at)
    rows = rows.append_column(
        "index", pa.array(np.arange(len(parents)) - np.searchsorted(parents, parents), pa.int64())
    )
    for member in ("type", "id", "value"):
        rows = rows.append_column(member, compute.struct_field(values, member))
    return rows


def _of_types(values: pa.Table, types: Any) -> Any:
    return compute.is_in(values["type"], value_set=pa.array(sorted(types)))


def _records(outputs: pa.Table) -> pa.Table:
    """Return the outputs that are records, in columns of `records`."""
    names = {
        **{name: name for name in ("height", "timestamp", "block_hash", "transaction_id", "transition_id")},
        "output_index": "index",
        "program_id": "program",
        "function_name": "function",
        "record_ciphertext": "value",
    }
    records = outputs.filter(_of_types(outputs, RECORDS))
    return records.select([*names.values()]).rename_columns([*names])


def _listed(calls: pa.Table, inputs: pa.Table) -> pa.Table:
    """Return the transitions without an input that is a record, in columns of `transitions`."""

    def having(values: pa.Table) -> Any:
        """Whether each transition has such inputs."""
        return np.bincount(values["call"].to_numpy(), minlength=calls.num_rows) > 0

    names = {
        **{name: name for name in ("height", "timestamp", "transaction_id", "transition_id", "program", "tpk", "tcm")},
        "function_name": "function",
    }
    listed = calls.select([*names.values()]).rename_columns([*names])
    listed = listed.append_column("fee", compute.equal(calls["kind"], "fee"))
    listed = listed.append_column("empty", pa.array(~having(inputs)))
    listed = listed.append_column("optional", pa.array(having(inputs.filter(_of_types(inputs, DOUBTFUL)))))
    return listed.filter(pa.array(~having(inputs.filter(_of_types(inputs, RECORDS)))))
