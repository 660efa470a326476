"""The commands that a screen of `chainq show` ends with: each can be typed as it stands, its IDs are whole."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from chainq.catalog.kinds import TextKind, kind_of
from chainq.rows.fields import array_of, object_of
from chainq.show.parts import (
    AddressParts,
    BlockParts,
    Parts,
    ProgramParts,
    RecordParts,
    TransactionParts,
    TransitionParts,
    wider,
)
from chainq.show.summary import Made, Transaction, calls_by_function, functions_in, made_by, transaction_of

MOST = 3  # objects of one kind


class Held(NamedTuple):
    """What there is to read: the lowest height, and whether records can be listed. An export may lack some."""

    first: int
    records: bool


def next_commands(parts: Parts, held: Held) -> list[str]:
    """Return the commands, without the options that lead to the service."""
    unread = ("records",) * (not held.records) + ("program-transactions",) * (held.first > 0)  # needs all heights
    found = dict.fromkeys(_commands(parts, held))
    return [f"chainq {command}" for command in found if command.partition(" ")[0] not in unread]


def title(commands: list[str]) -> str:
    """Return the line above them. It names what one is for that does not say so itself.

    Rejected: a comment after the command, which zsh passes to it.
    """
    return "next: the first command finds its block" if commands[0].startswith("chainq blocks --since ") else "next"


def _commands(parts: Parts, held: Held) -> Iterable[str]:
    if isinstance(parts, BlockParts):
        return _of_block(parts, held)
    if isinstance(parts, TransactionParts):
        return _of_transaction(parts)
    if isinstance(parts, AddressParts):
        more = f"address-transactions {parts.address} --reverse --limit 100"
        return [*_shows(map(transaction_of, parts.transactions)), more]
    if isinstance(parts, ProgramParts):
        return _of_program(parts, held)
    if isinstance(parts, TransitionParts | RecordParts):
        return _of_row(made_by(parts))
    more = f"program-transactions {parts.program} {parts.function} --newest --limit 100"
    return [*_shows(map(transaction_of, parts.transactions)), more, f"show {parts.program}"]


def _of_block(parts: BlockParts, held: Held) -> Iterator[str]:
    yield from _shows(transaction_of(row) for row in array_of(object_of(parts.block).get("transactions")))
    if parts.height > held.first:
        yield f"show {parts.height - 1}"
    yield f"records {parts.height}"
    yield f"full-blocks {parts.height} --json"


def _of_transaction(parts: TransactionParts) -> Iterator[str]:
    found = transaction_of(parts.transaction)
    if parts.height is not None:
        yield f"show {parts.height}"
    elif found.time is not None and 0 < found.time < 1e11:  # no method says in which block it is, but its time does
        times = [datetime.fromtimestamp(found.time + more, UTC).isoformat()[:19] + "Z" for more in (0, 1)]
        yield f"blocks --since {times[0]} --until {times[1]}"
    for call in found.calls[:MOST]:
        if kind_of(call.name) is TextKind.FUNCTION:
            yield f"show {call.name}"
    yield f"transaction {parts.transaction_id} --json"


def _of_program(parts: ProgramParts, held: Held) -> Iterator[str]:
    seen = calls_by_function([*parts.records, *parts.transitions], functions_in(parts.transitions))
    for function in seen[:MOST]:
        name = f"{parts.program}/{function.name}"
        if kind_of(name) is TextKind.FUNCTION:
            yield f"show {name}"
    if seen and kind_of(seen[0].transaction) is TextKind.TRANSACTION:
        yield f"show {seen[0].transaction}"
    if last := wider(parts.heights, held.first):
        yield f"show {parts.program} --last {last}"


def _of_row(made: Made) -> Iterator[str]:
    if kind_of(made.transaction) is TextKind.TRANSACTION:
        yield f"show {made.transaction}"
    if made.height is not None:
        yield f"show {made.height}"
        yield f"records {made.height}"
    if kind_of(made.call) is TextKind.FUNCTION:
        yield f"show {made.call}"


def _shows(found: Iterable[Transaction]) -> list[str]:
    """Return the commands that show the first transactions, those that were rejected before others.

    What is not an ID is left out: nobody is to paste into a shell what a server made up.
    """
    ordered = sorted(found, key=lambda one: one.status.lower() != "rejected")
    return [f"show {one.id}" for one in ordered if kind_of(one.id) is TextKind.TRANSACTION][:MOST]
