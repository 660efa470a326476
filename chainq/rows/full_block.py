"""Reads of a full block which rows other methods have for its height.

A full block holds its transactions, these their transitions, and these their outputs. Each output of type `record`, of
an execution or of a fee, is a row of `records` and one of `ownership`. What a rejected transaction wanted to do is in
its outer part, under `rejected`, and did not happen (docs/protocol.md, "Results").
"""

from typing import NamedTuple

from msgspec import Raw

from chainq.rows.fields import array_of, integer_of, object_of, text_of


class FullBlock(NamedTuple):
    """What a full block says. `height`: None where it has none that is valid, or no list of transactions. `outputs`: of
    its records, by transition ID and index of the output as text. `listed`: transitions without an input of type
    `record`, by ID; services list fewer: none of a fee, none without inputs, none of a program that they do not know.
    """

    height: int | None
    hash: str
    outputs: list[tuple[str, ...]]
    listed: list[tuple[str, ...]]


def read_full_block(row: Raw) -> FullBlock:
    """Return what a full block says; of what has another shape than it should, nothing."""
    block = object_of(row)
    metadata = object_of(object_of(block.get("header")).get("metadata"))
    whole = bytes(block.get("transactions", b""))[:1] == b"["
    found = FullBlock(integer_of(metadata.get("height")) if whole else None, text_of(block.get("block_hash")), [], [])
    for confirmed in array_of(block.get("transactions")):
        inner = object_of(object_of(confirmed).get("transaction"))
        fee = object_of(inner.get("fee")).get("transition")
        for transition in (*array_of(object_of(inner.get("execution")).get("transitions")), *([fee] if fee else [])):
            _read(found, transition)
    return found


def _read(found: FullBlock, transition: Raw) -> None:
    members = object_of(transition)
    name = text_of(members.get("id"))
    for index, output in enumerate(array_of(members.get("outputs"))):
        if text_of(object_of(output).get("type")) == "record":
            found.outputs.append((name, str(index)))
    inputs = [text_of(object_of(given).get("type")) for given in array_of(members.get("inputs"))]
    if "record" not in inputs:
        found.listed.append((name,))
