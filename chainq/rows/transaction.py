"""Reads what a transaction or a source text names: programs, functions, calls."""

import re

import msgspec
from msgspec import Raw

from chainq.rows.block import Transition, read_transaction
from chainq.rows.fields import object_of, text_of, value_at

CREDITS = "credits.aleo"  # the program whose amounts are microcredits
_NAME = 100  # characters; a name that the chain accepts has 31 at most, with .aleo
NAMES_PROGRAM = rf"(?m)^program ([^;\s]{{1,{_NAME}}});"
"""The line of a source text that names its program."""
_PROGRAM = re.compile(NAMES_PROGRAM)
Call = Transition


def program_of(source: str) -> str:
    """Return the name of the program of a source text, in which imports may come first; empty if it names none."""
    found = _PROGRAM.search(source)
    return found[1] if found else ""


def program_id(value: Raw | None) -> Raw | None:
    """Return the ID of the program whose source text is sent; a text that names none, on some servers the ID."""
    name = program_of(text_of(value))
    return Raw(msgspec.json.encode(name)) if name else value


def fee_of(fee: Raw | None) -> Call | None:
    """Return the call that pays a fee, None for no fee."""
    transition = object_of(value_at(fee, "transition"))
    return Transition("", transition, fee=True) if transition else None


def calls_of(row: Raw) -> list[Call]:
    """Return the calls of a full transaction: of its execution, of what was rejected, and last that of the fee.

    The last one of an execution is the call that was signed; those before are the calls that it made.
    """
    found = read_transaction(row)
    return sorted([*found.transitions, *found.intended], key=lambda call: call.fee)


def times_called(row: bytes, program: str, function: str) -> int:
    """Return how often a full transaction calls a function; 0 if it was rejected, because its calls are elsewhere."""
    return sum((one.program, one.function) == (program, function) for one in read_transaction(row).transitions)


def deployed_by(row: Raw) -> str:
    """Return the name of the program that a full transaction deploys, or would have deployed; empty for none."""
    places = ("transaction.deployment", "rejected", "rejected.deployment")
    names = (program_of(text_of(value_at(row, f"{place}.program"))) for place in places)
    return next(filter(None, names), "")
