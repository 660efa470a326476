"""Reads what rows mean for a screen: transactions with what they call, and the calls of a program by function.

Plain values of sanitized text. Fields that a row lacks, or that have another shape, are left out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Raw

from chainq.rows import transaction
from chainq.rows.fields import Picker, integer_of, object_of, text_of
from chainq.rows.transaction import calls_of, deployed_by, fee_of, functions_of
from chainq.show.parts import RecordParts, TransitionParts
from chainq.text.sanitize import printable


def shown(value: Raw | None) -> str:
    """Return a value as sanitized text, empty for none."""
    return printable(text_of(value))


class Call(NamedTuple):
    """A transition: `credits.aleo/join`, the number of records that it made, and whether it pays the fee."""

    name: str
    records: int = 0
    fee: bool = False


class Transaction(NamedTuple):
    """A transaction: its `position` in the block, `time` in seconds since 1970 (None if it is not sent), its fee.

    None for none. `calls` of a rejected transaction are what it wanted to do. `deploys`: the program that it deploys.
    """

    id: str
    type: str
    status: str
    position: str
    time: int | None
    fee: transaction.Call | None
    calls: tuple[Call, ...]
    deploys: str


class FunctionCalls(NamedTuple):
    """What was seen of a function: how many transitions, and the newest one (None for no transition)."""

    name: str
    calls: int
    height: int | None = None
    time: int | None = None
    transaction: str = ""


class Made(NamedTuple):
    """A transition by the rows of lists: its call (`credits.aleo/join`), its ID, and where it is; empty if not sent."""

    call: str
    transition: str
    transaction: str
    height: int | None
    time: str


def made_by(parts: TransitionParts | RecordParts) -> Made:
    """Return the transition that a record is of, or that rows of lists are of."""
    row = parts.record if isinstance(parts, RecordParts) else [*parts.records, *parts.transitions][0]
    paths = ("program_id", "program", "function_name", "transition_id", "transaction_id", "height", "timestamp")
    named, source, function, transition, transaction_id, height, time = Picker(paths)(row)
    program = shown(named) or printable(transaction.program_of(text_of(source)) or text_of(source)[:100])
    call = f"{program}/{shown(function)}"
    return Made(call, shown(transition), shown(transaction_id), integer_of(height), shown(time))


def transaction_of(row: Raw, records: Mapping[str, int] | None = None) -> Transaction:
    """Return what a full transaction says. `records`: the number of records by transition ID."""
    outer = object_of(row)
    inner = object_of(outer.get("transaction"))
    return Transaction(
        shown(inner.get("id")),
        shown(outer.get("type")) or shown(inner.get("type")),
        shown(outer.get("status")),
        shown(outer.get("index")),
        integer_of(outer.get("finalizedAt")),
        fee_of(inner.get("fee")),
        tuple(_call(call, records or {}) for call in calls_of(row)),
        printable(deployed_by(row)),
    )


def _call(call: transaction.Call, records: Mapping[str, int]) -> Call:
    name = f"{printable(call.program) or '?'}/{printable(call.function) or '?'}"
    return Call(name, records.get(printable(call.id), 0), call.fee)


def records_by_transition(records: Iterable[Raw]) -> Counter[str]:
    """Return the number of records by transition ID."""
    pick = Picker(["transition_id"])
    return Counter(shown(pick(row)[0]) for row in records)


def records_by_function(records: Iterable[Raw]) -> Counter[str]:
    """Return the number of records by PROGRAM/FUNCTION, the most first."""
    pick = Picker(["program_id", "function_name"])
    counts = Counter("/".join(shown(value) or "?" for value in pick(row)) for row in records)
    return Counter(dict(counts.most_common()))


def functions_in(transitions: Iterable[Raw]) -> list[str]:
    """Return the names of the functions of a program, by the source text in its transitions; none if there is no."""
    pick = Picker(["program"])
    source = next((text for row in transitions if "\n" in (text := text_of(pick(row)[0]))), "")
    return [printable(name) for name in functions_of(source)]


def calls_by_function(rows: Iterable[Raw], names: Iterable[str]) -> list[FunctionCalls]:
    """Return what rows of records and transitions show of each function, the one called last first.

    `names` of which there is no row come last.
    """
    pick = Picker(["function_name", "transition_id", "height", "timestamp", "transaction_id"])
    seen: dict[str, dict[str, tuple[int, int, str]]] = {name: {} for name in names}
    for row in rows:
        name, transition, height, time, transaction = pick(row)
        newest = (integer_of(height) or 0, integer_of(time) or 0, shown(transaction))
        seen.setdefault(shown(name) or "?", {})[shown(transition)] = newest
    found = [
        FunctionCalls(name, len(calls), *max(calls.values())) if calls else FunctionCalls(name, 0)
        for name, calls in seen.items()
    ]
    return sorted(found, key=lambda one: (-1 if one.height is None else one.height, one.calls), reverse=True)
