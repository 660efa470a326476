"""The walk of a full block: its transactions, their transitions, and of these the inputs, outputs and records.

Each output of one of the types RECORDS, of an execution or of a fee, is one row of `records` and one of `ownership`.
The intended effects of a rejected transaction are in its outer part, under `rejected`, and did not happen
(docs/protocol.md, "Results"). Values are as the server sent them, so they are sanitized when they are shown. Older
blocks and other servers send null or other shapes: parts with another shape are skipped without an error.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.rows.fields import array_of, integer_of, object_of, seconds_of, text_of
from chainq.text.sanitize import printable

RECORDS = frozenset(("record", "record_with_dynamic_id"))
"""The types of outputs that have a ciphertext, and of inputs that have a tag (docs/protocol.md, "Values")."""
DOUBTFUL = frozenset(("external_record", "external_record_with_dynamic_id", "record_dynamic"))
"""Inputs of transitions that may be listed or not: whether they are records, the interface does not say."""
UNLISTED = ("of fees", "without inputs", "with external or dynamic records")
"""Kinds of transitions that servers are known to leave out of their list (docs/protocol.md, "Results")."""
IDENTITY: Mapping[str, tuple[str, ...]] = {
    "transactions": ("transaction_id",),
    **{command: BY_COMMAND[command].identity for command in ("records", "ownership", "transitions")},
}
"""The fields that identify a row of each command that a full block explains."""
_AMOUNT = re.compile(r"([0-9]{1,20})u64")


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


class Transition(NamedTuple):
    """A transition: the ID of its transaction, its own members, and whether it pays the fee; of its members its ID, and
    the program and the function that it calls, empty if it has none."""

    transaction: str
    members: dict[str, Raw]
    fee: bool = False
    id: str = ""
    program: str = ""
    function: str = ""

    @property
    def input_types(self) -> list[str]:
        """The types of its inputs, in their order."""
        return [text_of(object_of(one).get("type")) for one in array_of(self.members.get("inputs"))]

    @property
    def amounts(self) -> tuple[int, ...]:
        """Its public inputs that are amounts (`1000u64`); of a fee the base fee, and the priority fee if any."""
        texts = (text_of(object_of(one).get("value")) for one in array_of(self.members.get("inputs")))
        return tuple(int(found[1]) for text in texts if (found := _AMOUNT.fullmatch(text)))

    @property
    def records(self) -> list[RecordOutput]:
        """Its outputs that are records."""
        outputs = enumerate(map(object_of, array_of(self.members.get("outputs"))))
        return [
            RecordOutput(
                *(self.transaction, self.id, index, self.program),
                *(text_of(output.get(name)) for name in ("id", "value", "sender_ciphertext")),
            )
            for index, output in outputs
            if text_of(output.get("type")) in RECORDS
        ]

    @property
    def spent(self) -> list[str]:
        """The tags of its inputs, whatever program they are of."""
        tags = (text_of(object_of(one).get("tag")) for one in array_of(self.members.get("inputs")))
        return [tag.removesuffix("field") for tag in tags if tag]

    @property
    def kinds(self) -> tuple[str, ...] | None:
        """The kinds of which a server may list no transition, None for one with a record as input, which no list has.
        The last one is its program, which may be missing from the server's table; the others are UNLISTED."""
        types = self.input_types
        if not RECORDS.isdisjoint(types):
            return None
        may_lack = (self.fee, not types, not DOUBTFUL.isdisjoint(types))
        return (*(kind for kind, has in zip(UNLISTED, may_lack, strict=True) if has), f"of {self.program}")


class Transaction(NamedTuple):
    """A member of a full block's `transactions`, or a looked-up transaction: its ID, its members, and those of the
    transaction in it; the transitions that happened, that of the fee last; and those that did not, because it was
    rejected."""

    id: str
    outer: dict[str, Raw]
    inner: dict[str, Raw]
    transitions: list[Transition]
    intended: list[Transition]


class Block(NamedTuple):
    """A full block. `height`: None if none is valid, or it has no list of transactions. `time`: None if it has no valid
    one, in seconds since 1970."""

    height: int | None
    hash: str
    previous: str
    time: int | None
    transactions: list[Transaction]

    @property
    def transitions(self) -> list[Transition]:
        """The transitions that happened."""
        return [transition for transaction in self.transactions for transition in transaction.transitions]

    @property
    def outputs(self) -> list[RecordOutput]:
        """The outputs that are records."""
        return [output for transition in self.transitions for output in transition.records]


def read_block(row: Raw) -> Block:
    """Return a full block."""
    members, metadata = object_of(row), metadata_of(row)
    whole = bytes(members.get("transactions", b""))[:1] == b"["
    return Block(
        integer_of(metadata.get("height")) if whole else None,
        printable(text_of(members.get("block_hash"))),
        printable(text_of(members.get("previous_hash"))),
        seconds_of(metadata.get("timestamp")),
        [read_transaction(one) for one in array_of(members.get("transactions"))],
    )


def metadata_of(row: Raw) -> dict[str, Raw]:
    """Return the metadata in the header of a full block."""
    return object_of(object_of(object_of(row).get("header")).get("metadata"))


def read_transaction(confirmed: bytes | Raw) -> Transaction:
    """Return a transaction of a full block, or one that was looked up."""
    outer = object_of(confirmed)
    inner, rejected = object_of(outer.get("transaction")), object_of(outer.get("rejected"))
    name = text_of(inner.get("id"))
    intended = _executed(name, rejected) + _executed(name, object_of(rejected.get("execution")))
    fee = object_of(object_of(inner.get("fee")).get("transition"))
    happened = _executed(name, object_of(inner.get("execution")))
    return Transaction(name, outer, inner, happened + [_transition(name, fee, fee=True)] * bool(fee), intended)


def _executed(transaction: str, execution: Mapping[str, Raw]) -> list[Transition]:
    return [_transition(transaction, object_of(one)) for one in array_of(execution.get("transitions"))]


def _transition(transaction: str, members: dict[str, Raw], *, fee: bool = False) -> Transition:
    own = (text_of(members.get(name)) for name in ("id", "program", "function"))
    return Transition(transaction, members, fee, *own)


def looked_up(row: Raw) -> list[Raw]:
    """Return the transactions of a full block in the form of lookups: with the time of the block."""
    time = b',"finalizedAt":' + msgspec.json.encode(text_of(metadata_of(row).get("timestamp"))) + b"}"
    return [Raw(bytes(one)[:-1] + time) for one in array_of(object_of(row).get("transactions"))]
