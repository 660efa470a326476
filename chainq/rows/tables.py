"""Reads the table rows that a full block contains (`catalog/tables.py`, docs/tables.md).

Rows are JSON objects whose values are the bytes that the service sent; positions, and the type and number of a literal,
are added, and the type of a transaction is written as in lists (`Execute`). A member that a table has no column for
stays in the row, except for the parts that have tables of their own, and those that full blocks alone hold: proofs,
deployments, and what a rejected transaction wanted.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from chainq.rows.block import RECORDS, Transaction, Transition, read_transaction
from chainq.rows.fields import array_of, object_of, text_of

Rows = dict[str, list[Raw]]
_LITERAL = re.compile(r"(-?[0-9]+)([ui](?:8|16|32|64|128)|field|group|scalar)|(aleo1)[a-z0-9]{58}|(true|false)")
"""A literal with its type, as programs print it (snarkVM, console/program, `Literal`)."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,37})")  # what decimal128(38, 0) holds
_ELSEWHERE = ("transaction", "finalize", "rejected")  # members of a transaction that are not in its row


def table_rows(block: Raw) -> Rows:
    """Return the rows of each table that a full block fills, in the order of the block.

    Malformed parts have no rows.
    """
    members = object_of(block)
    header = object_of(members.get("header"))
    metadata = object_of(header.pop("metadata", None))
    height = metadata.get("height", Raw(b"null"))
    hashes: dict[str, Raw] = {name: members[name] for name in ("block_hash", "previous_hash") if name in members}
    rows: Rows = {name: [] for name in ("transactions", "calls", "inputs", "outputs", "finalize", "ratifications")}
    rows["blocks"] = [_row({**metadata, **hashes, **header})]
    for index, ratification in enumerate(array_of(members.get("ratifications"))):
        rows["ratifications"].append(_row({**object_of(ratification), "height": height, "index": index}))
    for confirmed in array_of(members.get("transactions")):
        _read_transaction(rows, {"height": height}, read_transaction(confirmed))
    return rows


def _read_transaction(rows: Rows, place: Mapping[str, Raw], transaction: Transaction) -> None:
    """Add the rows of a transaction. `place`: the columns that all rows of its block have."""
    outer, inner = transaction.outer, transaction.inner
    own: dict[str, Any] = {name: value for name, value in outer.items() if name not in _ELSEWHERE}
    if kind := text_of(outer.get("type")):
        own["type"] = kind.capitalize()
    place = {**place, "transaction_id": inner.get("id", Raw(b"null"))}
    rows["transactions"].append(_row({**own, **place}))
    # Beside the transaction in responses, in it by one description (docs/protocol.md, "Values").
    entries = array_of(outer.get("finalize")) or array_of(inner.get("finalize"))
    for position, entry in enumerate(entries):
        rows["finalize"].append(_row({**object_of(entry), **place, "position": position}))
    names = (("index", "transaction_index"), ("status", "status"))
    common = {name: outer[sent] for sent, name in names if sent in outer}
    for index, transition in enumerate(transaction.transitions):
        call = {**common, "index": index, "kind": "fee" if transition.fee else "execution"}
        _read_transition(rows, place, transition, call)


def _read_transition(rows: Rows, place: Mapping[str, Raw], transition: Transition, call: Mapping[str, Any]) -> None:
    """Add the rows of a transition. `call`: the columns of its own that it does not name itself."""
    members = transition.members
    names = (("id", "transition_id"), ("program", "program"), ("function", "function"))
    place = {**place, **{name: members[sent] for sent, name in names if sent in members}}
    records = sum(kind in RECORDS for kind in transition.input_types)
    rest = {name: value for name, value in members.items() if name not in ("id", "inputs", "outputs", "proof")}
    rows["calls"].append(_row({**rest, **place, **call, "record_inputs": records}))
    for table in ("inputs", "outputs"):
        for index, value in enumerate(array_of(members.get(table))):
            fields = object_of(value)
            rows[table].append(_row({**fields, **dict(_typed(fields.get("value"))), **place, "index": index}))


def _typed(value: Raw | None) -> Iterator[tuple[str, str]]:
    """Yield the columns that a literal adds: its type, and its number if a column holds that; none for other values."""
    sent = b"" if value is None else bytes(value)
    found = _LITERAL.fullmatch(text_of(sent)) if sent[:1] == b'"' else None
    if found is None:
        return
    number, kind, address, _ = found.groups()
    yield "value_type", kind or ("address" if address else "boolean")
    if number is not None and _NUMBER.fullmatch(number):
        yield "value_number", number


def _row(fields: Mapping[str, Any]) -> Raw:
    return Raw(msgspec.json.encode(fields))
