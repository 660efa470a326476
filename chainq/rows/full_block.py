"""Reads the rows that other methods have for a height from its full block.

A full block contains transactions, these contain transitions, and these contain inputs and outputs. Each output of one
of the types RECORDS, of an execution or of a fee, is one row of `records` and one of `ownership`. The intended effects
of a rejected transaction are in its outer part, under `rejected`, and did not happen (docs/protocol.md, "Results").

`read_full_block` reads which rows are due, `read_block` also reads their known fields.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.rows.fields import array_of, integer_of, object_of, text_of
from chainq.text.sanitize import printable

Texts = dict[str, str | None]
"""Fields as text: a number and a string of its digits are the same; None for null and for no such field."""
Key = tuple[str, ...]
"""The identity of a row inside a command."""

RECORDS = frozenset(("record", "record_with_dynamic_id"))
"""The types of outputs that have a ciphertext, and of inputs that have a tag (docs/protocol.md, "Values")."""
_DOUBTFUL = frozenset(("external_record", "external_record_with_dynamic_id", "record_dynamic"))  # of inputs
UNLISTED = ("of fees", "without inputs", "with external or dynamic records")
"""Kinds of transitions that servers are known to leave out of their list (docs/protocol.md, "Results")."""

IDENTITY: Mapping[str, Key] = {
    "transactions": ("transaction_id",),
    **{command: BY_COMMAND[command].identity for command in ("records", "ownership", "transitions")},
}
"""The fields that identify a row of each command that a full block explains."""


class FullBlock(NamedTuple):
    """Which rows a full block has. `height`: None if none is valid, or it has no list of transactions. `outputs`: of
    its records, by transition ID and index of the output as text. `listed`: transitions without a record as
    input, by ID, with their kinds (`kinds_of`): services do not list all of them.
    """

    height: int | None
    hash: str
    outputs: list[tuple[str, ...]]
    listed: dict[Key, Key]


def read_full_block(row: Raw) -> FullBlock:
    """Return the rows due according to a full block; malformed parts add none."""
    block = object_of(row)
    metadata = object_of(object_of(block.get("header")).get("metadata"))
    whole = bytes(block.get("transactions", b""))[:1] == b"["
    block_hash = printable(text_of(block.get("block_hash")))  # as the hashes of blocks are kept
    found = FullBlock(integer_of(metadata.get("height")) if whole else None, block_hash, [], {})
    for confirmed in array_of(block.get("transactions")):
        for _, members, fee in transitions_of(object_of(confirmed)):
            name = text_of(members.get("id"))
            found.outputs.extend((name, str(index)) for index, _ in records_of(members))
            inputs = input_types(members)
            if RECORDS.isdisjoint(inputs):
                found.listed[name,] = kinds_of(text_of(members.get("program")), inputs, fee=fee)
    return found


def looked_up(row: Raw) -> list[Raw]:
    """Return the transactions of a full block in the form of lookups: with the time of the block."""
    block = object_of(row)
    metadata = object_of(object_of(block.get("header")).get("metadata"))
    time = b',"finalizedAt":' + msgspec.json.encode(text_of(metadata.get("timestamp"))) + b"}"
    return [Raw(bytes(one)[:-1] + time) for one in array_of(block.get("transactions"))]


class Transition(NamedTuple):
    """A transition that happened: the ID of its transaction, its own members, and whether it pays the fee."""

    transaction: str
    members: dict[str, Raw]
    fee: bool


def transitions_of(confirmed: Mapping[str, Raw]) -> Iterator[Transition]:
    """Yield the transitions of a member of a full block's `transactions` that happened."""
    inner = object_of(confirmed.get("transaction"))
    name = text_of(inner.get("id"))
    for transition in array_of(object_of(inner.get("execution")).get("transitions")):
        yield Transition(name, object_of(transition), fee=False)
    fee = object_of(inner.get("fee")).get("transition")
    if fee is not None:
        yield Transition(name, object_of(fee), fee=True)


def records_of(transition: Mapping[str, Raw]) -> Iterator[tuple[int, dict[str, Raw]]]:
    """Yield the outputs of a transition that are records, with their indexes."""
    for index, output in enumerate(array_of(transition.get("outputs"))):
        members = object_of(output)
        if text_of(members.get("type")) in RECORDS:
            yield index, members


def input_types(transition: Mapping[str, Raw]) -> list[str]:
    """Return the types of a transition's inputs, in their order."""
    return [text_of(object_of(given).get("type")) for given in array_of(transition.get("inputs"))]


def kinds_of(program: str, inputs: Collection[str], *, fee: bool) -> tuple[str, ...]:
    """Return the kinds of a transition with such types of inputs, of which a server may list none: the last one is its
    program, which may be missing from the server's table; the others are UNLISTED."""
    may_lack = (fee, not inputs, not _DOUBTFUL.isdisjoint(inputs))
    return (*(kind for kind, has in zip(UNLISTED, may_lack, strict=True) if has), f"of {program}")


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
        _read_transaction(facts, object_of(confirmed))
    return facts


def _read_transaction(facts: BlockFacts, outer: dict[str, Raw]) -> None:
    inner = object_of(outer.get("transaction"))
    transaction_id = text(inner.get("id")) or ""
    facts.indexes.append(integer_of(outer.get("index")))
    facts.ids.append(("transaction_id", transaction_id))
    status = text(outer.get("status"))
    facts.due["transactions"][transaction_id,] = {
        "type": _types(text(outer.get("type")), text(inner.get("type")) if status == "rejected" else None),
        "index": text(outer.get("index")),
        "status": status,
    }
    for _, members, fee in transitions_of(outer):
        _read_transition(facts, transaction_id, members, fee=fee)


def _types(outer: str | None, inner: str | None) -> str | None:
    """Return the types that a list may give a transaction: if it was rejected, that of its fee as well."""
    return " or ".join(dict.fromkeys(kind.lower() for kind in (outer, inner) if kind)) or None


def _read_transition(facts: BlockFacts, transaction_id: str, transition: dict[str, Raw], *, fee: bool) -> None:
    transition_id = text(transition.get("id")) or ""
    facts.ids.append(("transition_id", transition_id))
    common: Texts = {
        "transaction_id": transaction_id,
        "function_name": text(transition.get("function")),
        "height": str(facts.height),
        "timestamp": facts.summary.get("timestamp"),
    }
    program = text(transition.get("program"))
    for index, members in records_of(transition):
        key = (transition_id, str(index))
        record = {**common, "program_id": program, "block_hash": facts.summary.get("block_hash")}
        if value := text(members.get("value")):
            record["record_ciphertext"] = value
            facts.ids.append(("record_ciphertext", value))
        facts.due["records"][key] = record
        facts.due["ownership"][key] = {}
    inputs = set(input_types(transition))
    if not RECORDS & inputs:
        listed = {**common, "tpk": text(transition.get("tpk")), "tcm": text(transition.get("tcm")), "program": program}
        if _DOUBTFUL & inputs:
            facts.optional[transition_id,] = listed
        else:
            facts.due["transitions"][transition_id,] = listed
            facts.kinds[transition_id,] = kinds_of(program or "", inputs, fee=fee)


def text(value: Raw | None) -> str | None:
    """Return a value as text, None for null and for no value: a number and a string of its digits are the same."""
    return None if value is None or bytes(value) == b"null" else text_of(value)


def texts(row: Raw) -> Texts:
    """Return the fields of a row as text."""
    return {name: text(value) for name, value in object_of(row).items()}
