"""Reads what transactions and source texts name: programs, functions, calls, and the time of their block."""

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec
from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.rows.block import Transition, read_transaction
from chainq.rows.fields import Picker, integer_of, text_of, value_at

CREDITS = "credits.aleo"  # the program whose amounts are microcredits
_NAME = 100  # characters; a name that the chain accepts has 31 at most, with .aleo
NAMES_PROGRAM = rf"(?m)^program ([^;\s]{{1,{_NAME}}});"
"""The line of a source text that names its program."""
_PROGRAM = re.compile(NAMES_PROGRAM)
Time = int | None
"""When a row was finalized, in seconds since 1970; None for a row without that time."""
_pick_time = Picker(["finalizedAt"])


def program_of(source: str) -> str:
    """Return the name of the program of a source text, in which imports may come first; empty if it names none."""
    found = _PROGRAM.search(source)
    return found[1] if found else ""


def program_id(value: Raw | None) -> Raw | None:
    """Return the ID of the program whose source text is sent; a text that names none, on some servers the ID."""
    name = program_of(text_of(value))
    return Raw(msgspec.json.encode(name)) if name else value


def calls_of(row: Raw) -> list[Transition]:
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


def times_of(rows: Sequence[Raw]) -> list[Time]:
    """Return when the rows of a page were finalized. Raises IncompleteError if they are not in that order."""
    times = [integer_of(_pick_time(row)[0]) for row in rows]
    if not in_order(times):
        raise IncompleteError(
            "a page is not in order: `finalizedAt` falls", "without that order no response can be proved complete"
        )
    return times


def in_order(times: Sequence[Time]) -> bool:
    """Return whether no row was finalized before a row that precedes it. Rows without a time are skipped."""
    known = [time for time in times if time is not None]
    return known == sorted(known)


def blocks_of(times: Sequence[Time]) -> list[slice]:
    """Return which rows of a page belong to each block. A row without a time may belong to any."""
    pairs = enumerate(pairwise(times), 1)
    edges = [place for place, (one, other) in pairs if one != other and None not in (one, other)]
    return [slice(*edge) for edge in pairwise([0, *edges, len(times)])] if times else []
