"""What a full block says of the rows that other methods have for its height, as text."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.rows.block import (
    DOUBTFUL,
    Transaction,
    Transition,
    read_transaction,
)
from chainq.rows.block import (
    RECORDS as RECORDS,
)
from chainq.rows.block import (
    UNLISTED as UNLISTED,
)
from chainq.rows.fields import array_of, integer_of, object_of, text_of

Texts = dict[str, str | None]
"""Fields as text: a number and a string of its digits are the same; None for null and for no such field."""
Key = tuple[str, ...]
"""The identity of a row inside a command."""

IDENTITY: Mapping[str, Key] = {
    "transactions": ("transaction_id",),
    **{command: BY_COMMAND[command].identity for command in ("records", "ownership", "transitions")},
}
"""The fields that identify a row of each command that a full block explains."""


class BlockFacts(NamedTuple):
    """What a full block says. `summary`: the fields of its own, its header and metadata. `due`: for each command the
    rows of this block by their identity, with the fields that are known of them. `optional`: transitions that may be
    listed or not: they take an external or a dynamic record, and the interface does not say whether that is a record
    input. `kinds`: of the other transitions, by which a server may not list them at all (`verify/unlisted.py`). `ids`:
    names and values of its bech32 IDs. `indexes`: of its transactions, in the order of the block."""

    height: int
    summary: Texts
    due: dict[str, dict[Key, Texts]]
    optional: dict[Key, Texts]
    kinds: dict[Key, tuple[str, ...]]
    ids: list[tuple[str, str]]
    indexes: list[int | None]


def read_block(row: Raw, height: int) -> BlockFacts:
    """Return the facts of a full block; malformed parts add nothing."""
    block = object_of(row)
    header = object_of(block.get("header"))
    metadata = object_of(header.get("metadata"))
    summary = {
        name: text(value)
        for part in (block, header, metadata)
        for name, value in part.items()
        if bytes(value)[:1] not in (b"{", b"[")
    }
    facts = BlockFacts(height, summary, {command: {} for command in IDENTITY}, {}, {}, [], [])
    for name in ("block_hash", "previous_hash", "previous_state_root"):
        facts.ids.append((name, summary.get(name) or ""))
    for confirmed in array_of(block.get("transactions")):
        _read_transaction(facts, read_transaction(confirmed))
    return facts


def _read_transaction(facts: BlockFacts, transaction: Transaction) -> None:
    outer, inner = transaction.outer, transaction.inner
    facts.indexes.append(integer_of(outer.get("index")))
    facts.ids.append(("transaction_id", transaction.id))
    status = text(outer.get("status"))
    facts.due["transactions"][transaction.id,] = {
        "type": _types(text(outer.get("type")), text(inner.get("type")) if status == "rejected" else None),
        "index": text(outer.get("index")),
        "status": status,
    }
    for transition in transaction.transitions:
        _read_transition(facts, transition)


def _types(outer: str | None, inner: str | None) -> str | None:
    """Return the types that a list may give a transaction: if it was rejected, that of its fee as well."""
    return " or ".join(dict.fromkeys(kind.lower() for kind in (outer, inner) if kind)) or None


def _read_transition(facts: BlockFacts, transition: Transition) -> None:
    facts.ids.append(("transition_id", transition.id))
    common: Texts = {
        "transaction_id": transition.transaction,
        "function_name": text(transition.members.get("function")),
        "height": str(facts.height),
        "timestamp": facts.summary.get("timestamp"),
    }
    program = text(transition.members.get("program"))
    for output in transition.records:
        key = (transition.id, str(output.place))
        record = {**common, "program_id": program, "block_hash": facts.summary.get("block_hash")}
        if output.ciphertext:
            record["record_ciphertext"] = output.ciphertext
            facts.ids.append(("record_ciphertext", output.ciphertext))
        facts.due["records"][key] = record
        facts.due["ownership"][key] = {}
    if (kinds := transition.kinds) is not None:
        own = {name: text(transition.members.get(name)) for name in ("tpk", "tcm")}
        listed = {**common, **own, "program": program}
        if not DOUBTFUL.isdisjoint(transition.input_types):
            facts.optional[transition.id,] = listed
        else:
            facts.due["transitions"][transition.id,] = listed
            facts.kinds[transition.id,] = kinds


def text(value: Raw | None) -> str | None:
    """Return a value as text, None for null and for no value: a number and a string of its digits are the same."""
    return None if value is None or bytes(value) == b"null" else text_of(value)


def texts(row: Raw) -> Texts:
    """Return the fields of a row as text."""
    return {name: text(value) for name, value in object_of(row).items()}
