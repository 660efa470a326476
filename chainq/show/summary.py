"""Reads what rows mean for a screen: transactions with what they call, and the calls of a program by function.

Plain values of sanitized text. Fields that a row lacks, or that have another shape, are left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Raw

from chainq.formats.cells import fee_of
from chainq.rows.fields import Picker, array_of, integer_of, object_of, text_of
from chainq.text.sanitize import printable


class Call(NamedTuple):
    """A transition: `credits.aleo/join`, the number of records that it made, and whether it pays the fee."""

    name: str
    records: int = 0
    fee: bool = False


class Transaction(NamedTuple):
    """A transaction: its `position` in the block, `time` in seconds since 1970 (None where it is not sent), its fee.

    `calls` of a rejected transaction are what it wanted to do. `deploys`: the program that it deploys.
    """

    id: str
    type: str
    status: str
    position: str
    time: int | None
    fee: str
    calls: tuple[Call, ...]
    deploys: str


class FunctionCalls(NamedTuple):
    """What was seen of a function: how many transitions, and the newest one (None for no transition)."""

    name: str
    calls: int
    height: int | None = None
    time: int | None = None
    transaction: str = ""


def transaction_of(row: Raw, records: Mapping[str, int] | None = None) -> Transaction:
    """Return what a full transaction says. `records`: the number of records by transition ID."""
    outer = object_of(row)
    inner = object_of(outer.get("transaction"))
    fee, amount = object_of(inner.get("fee")), fee_of(inner.get("fee"))
    transitions = [
        (transition, False) for part in (inner, outer) for transition in _transitions(part, ("execution", "rejected"))
    ]
    if "transition" in fee:
        transitions.append((fee["transition"], True))
    return Transaction(
        _text(inner.get("id")),
        _text(outer.get("type")) or _text(inner.get("type")),
        _text(outer.get("status")),
        _text(outer.get("index")),
        integer_of(outer.get("finalizedAt")),
        "" if amount is None else amount.short.rpartition("  ")[2],  # the last unit: credits, where it has one
        tuple(_call(transition, records or {}, paid) for transition, paid in transitions),
        _deployed(inner, outer),
    )


def _transitions(outer: Mapping[str, Raw], names: Sequence[str]) -> Iterator[Raw]:
    for name in names:
        members = object_of(outer.get(name))
        yield from array_of(members.get("transitions"))
        yield from array_of(object_of(members.get("execution")).get("transitions"))


def _call(transition: Raw, records: Mapping[str, int], fee: bool) -> Call:
    program, function, transition_id = map(_text, Picker(["program", "function", "id"])(transition))
    return Call(f"{program or '?'}/{function or '?'}", records.get(transition_id, 0), fee)


def _deployed(*parts: Mapping[str, Raw]) -> str:
    paths = ("deployment.program", "rejected.program", "rejected.deployment.program")
    for part in parts:
        for path in paths:
            first, *others = path.split(".")
            value = part.get(first)
            for name in others:
                value = object_of(value).get(name)
            if found := re.search(r"^program ([^;\s]+);", text_of(value), re.MULTILINE):
                return printable(found[1])
    return ""


def records_by_transition(records: Iterable[Raw]) -> Counter[str]:
    """Return the number of records by transition ID."""
    pick = Picker(["transition_id"])
    return Counter(_text(pick(row)[0]) for row in records)


def records_by_function(records: Iterable[Raw]) -> Counter[str]:
    """Return the number of records by PROGRAM/FUNCTION, the most first."""
    pick = Picker(["program_id", "function_name"])
    counts = Counter("/".join(_text(value) or "?" for value in pick(row)) for row in records)
    return Counter(dict(counts.most_common()))


def functions_of(transitions: Iterable[Raw]) -> list[str]:
    """Return the names of the functions of a program, by the source text in its transitions; none where there is no."""
    pick = Picker(["program"])
    source = next((text for row in transitions if "\n" in (text := text_of(pick(row)[0]))), "")
    return [printable(name) for name in re.findall(r"^function ([^:\s]+):", source, re.MULTILINE)]


def calls_by_function(rows: Iterable[Raw], names: Iterable[str]) -> list[FunctionCalls]:
    """Return what rows of records and transitions show of each function, the one called last first.

    `names` of which there is no row come last.
    """
    pick = Picker(["function_name", "transition_id", "height", "timestamp", "transaction_id"])
    seen: dict[str, dict[str, tuple[int, int, str]]] = {name: {} for name in names}
    for row in rows:
        name, transition, height, time, transaction = pick(row)
        newest = (integer_of(height) or 0, integer_of(time) or 0, _text(transaction))
        seen.setdefault(_text(name) or "?", {})[_text(transition)] = newest
    found = [
        FunctionCalls(name, len(calls), *max(calls.values())) if calls else FunctionCalls(name, 0)
        for name, calls in seen.items()
    ]
    return sorted(found, key=lambda one: (-1 if one.height is None else one.height, one.calls), reverse=True)


def _text(value: Raw | None) -> str:
    return printable(text_of(value))
