"""The values that a page plan exchanges with whoever sends its requests, and the times that order the rows of pages."""

from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.planning.steps import Proof
from chainq.rows.fields import Picker, integer_of, text_of

Time = int | str
"""When a row was finalized; text that is not a number is kept as text, and is empty for a row without a time."""


class PageRequest(NamedTuple):
    """One call: page `number` of `size` rows. `ahead`: how many pages after it are wanted next, as far as is known."""

    number: int
    size: int
    ahead: int = 0


class PageResult(NamedTuple):
    """Rows of whole blocks in the order of the output, and how they were proved."""

    rows: list[Raw]
    proof: Proof


T = TypeVar("T")
PageAsking = Generator[PageRequest, Any, T]
"""Yields requests, is sent their rows or has their failures thrown in, and returns a T."""
PageSteps = Generator[PageRequest | PageResult, Any, None]
"""The same for a whole run, with results in between."""

_pick_time = Picker(["finalizedAt"])


def times_of(rows: Sequence[Raw]) -> list[Time]:
    """Return when the rows of a page were finalized. Raises IncompleteError where they are not in that order."""
    times: list[Time] = []
    for row in rows:
        sent = _pick_time(row)[0]
        number = integer_of(sent)
        times.append(text_of(sent) if number is None else number)
    for one, other in pairwise(times):
        if earlier(other, one):
            raise IncompleteError(
                f"a page is not in order: a row finalized at {other} follows one finalized at {one}",
                "without that order no response can be proved complete",
            )
    return times


def earlier(one: Time, other: Time) -> bool:
    """Return whether the first of two rows was finalized before the second, as far as both tell."""
    return isinstance(one, int) and isinstance(other, int) and one < other


def together(one: Time, other: Time) -> bool:
    """Return whether neighbours may be rows of one block. A row without a time may belong to any."""
    return one == other or "" in (one, other)


def blocks_of(times: Sequence[Time]) -> list[slice]:
    """Return which rows of a page belong to each block."""
    edges = [place for place in range(1, len(times)) if not together(times[place - 1], times[place])]
    return [slice(start, end) for start, end in pairwise([0, *edges, len(times)])] if times else []
