"""Reads the parts of a transaction: the programs and functions that it names, its calls, its fee.

Everything is as the server sent it, so it is sanitized when it is shown. Older blocks and other servers send null or
other shapes: parts with another shape are skipped without an error.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Raw

from chainq.rows.fields import array_of, object_of, text_of
from chainq.rows.full_block import transitions_of

CREDITS = "credits.aleo"  # the program whose amounts are microcredits
_NAME = 100  # characters; a name that the chain accepts has 31 at most, with .aleo
NAMES_PROGRAM = rf"(?m)^program ([^;\s]{{1,{_NAME}}});"
"""The line of a source text that names its program."""
_PROGRAM = re.compile(NAMES_PROGRAM)
_AMOUNT = re.compile(r"([0-9]{1,20})u64")


class Call(NamedTuple):
    """A transition: what it calls, its ID, the public amounts among its inputs, and whether it pays the fee."""

    program: str
    function: str
    id: str
    amounts: tuple[int, ...]
    fee: bool = False


def program_of(source: str) -> str:
    """Return the name of the program of a source text, in which imports may come first; empty if it names none."""
    found = _PROGRAM.search(source)
    return found[1] if found else ""


def program_id(value: Raw | None) -> Raw | None:
    """Return the ID of the program whose source text is sent; a text that names none, on some servers the ID."""
    name = program_of(text_of(value))
    return _raw(name) if name else value


def amounts_of(transition: Raw | None) -> tuple[int, ...]:
    """Return the public inputs of a transition that are amounts (`1000u64`)."""
    values = (text_of(object_of(given).get("value")) for given in array_of(object_of(transition).get("inputs")))
    return tuple(int(found[1]) for value in values if (found := _AMOUNT.fullmatch(value)))


def fee_of(fee: Raw | None) -> Call | None:
    """Return the call that pays a fee: its amounts are the base fee, and the priority fee if any. None for no fee."""
    transition = object_of(fee).get("transition")
    return _call(transition, fee=True) if transition and object_of(transition) else None


def calls_of(row: Raw) -> list[Call]:
    """Return the calls of a full transaction: of its execution, of what was rejected, and last that of the fee.

    The last one of an execution is the call that was signed; those before are the calls that it made.
    """
    outer = object_of(row)
    inner = object_of(outer.get("transaction"))
    calls = [_call(transition) for part in (inner, outer) for transition in _transitions(part)]
    fee = fee_of(inner.get("fee"))
    return [*calls, fee] if fee else calls


def times_called(row: bytes, program: str, function: str) -> int:
    """Return how often a full transaction calls a function; 0 if it was rejected, because its calls are elsewhere."""
    called = (one.members for one in transitions_of(object_of(row)))
    return sum((text_of(one.get("program")), text_of(one.get("function"))) == (program, function) for one in called)


def deployed_by(row: Raw) -> str:
    """Return the name of the program that a full transaction deploys, or would have deployed; empty for none."""
    outer = object_of(row)
    for part in (object_of(outer.get("transaction")), outer):
        rejected = object_of(part.get("rejected"))
        for members in (object_of(part.get("deployment")), rejected, object_of(rejected.get("deployment"))):
            if name := program_of(text_of(members.get("program"))):
                return name
    return ""


def _transitions(part: Mapping[str, Raw]) -> Iterator[Raw]:
    """Yield the transitions in the two shapes that servers send, `rejected` and inside it `execution`."""
    for name in ("execution", "rejected"):
        members = object_of(part.get(name))
        yield from array_of(members.get("transitions"))
        yield from array_of(object_of(members.get("execution")).get("transitions"))


def _call(transition: Raw, *, fee: bool = False) -> Call:
    members = object_of(transition)
    program, function, transition_id = (text_of(members.get(name)) for name in ("program", "function", "id"))
    return Call(program, function, transition_id, amounts_of(transition), fee)


def _raw(text: str) -> Raw:
    return Raw(json.dumps(text).encode())  # msgspec refuses lone surrogates
