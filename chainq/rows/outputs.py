"""Reads the record outputs of a confirmed transaction, and the tags of its record inputs.

For a rejected transaction these are only from its fee (`full_block.transitions_of`). Values are text as the server sent
it: nothing here needs aleo-sdk.
"""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Raw

from chainq.rows.fields import array_of, integer_of, object_of, seconds_of, text_of
from chainq.rows.full_block import Transition, records_of, transitions_of


class RecordOutput(NamedTuple):
    """One output that is a record, and where it is.

    `id`: its commitment. `place`: its index among all outputs of its transition. `sender_ciphertext`: empty if it
    has none.
    """

    transaction: str
    transition: str
    place: int
    program: str
    id: str
    ciphertext: str
    sender_ciphertext: str


def record_outputs(confirmed: Raw) -> Iterator[RecordOutput]:
    """Yield the outputs of a confirmed transaction that are records; skip malformed parts."""
    for transition in transitions_of(object_of(confirmed)):
        yield from _outputs_of(transition)


def _outputs_of(transition: Transition) -> Iterator[RecordOutput]:
    members = transition.members
    for index, output in records_of(members):
        yield RecordOutput(
            transition.transaction,
            text_of(members.get("id")),
            index,
            text_of(members.get("program")),
            *(text_of(output.get(name)) for name in ("id", "value", "sender_ciphertext")),
        )


class BlockRecords(NamedTuple):
    """The records data of a full block. `height`: None if it has no valid one. `time`: likewise, in seconds since 1970.

    `spent`: the tag and the transaction of each record input, whatever program it is of.
    """

    height: int | None
    hash: str
    previous: str
    time: int | None
    outputs: list[RecordOutput]
    spent: list[tuple[str, str]]


def read_block_records(block: Raw) -> BlockRecords:
    """Return the records data of a full block, without malformed parts."""
    members = object_of(block)
    metadata = object_of(object_of(members.get("header")).get("metadata"))
    found = BlockRecords(
        integer_of(metadata.get("height")),
        text_of(members.get("block_hash")),
        text_of(members.get("previous_hash")),
        seconds_of(metadata.get("timestamp")),
        [],
        [],
    )
    for confirmed in array_of(members.get("transactions")):
        for transition in transitions_of(object_of(confirmed)):
            found.outputs.extend(_outputs_of(transition))
            for given in array_of(transition.members.get("inputs")):
                if tag := text_of(object_of(given).get("tag")):
                    found.spent.append((tag.removesuffix("field"), transition.transaction))
    return found
