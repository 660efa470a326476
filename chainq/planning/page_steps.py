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
    """Rows of whole blocks in the order of the output, and what their completeness rests on."""

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
    sent = [_pick_time(row)[0] for row in rows]
    times = [text_of(time) if (number := integer_of(time)) is None else number for time in sent]
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


def blocks_of(times: Sequence[Time]) -> list[slice]:
    """Return which rows of a page belong to each block. A row without a time may belong to any."""
    pairs = enumerate(pairwise(times), 1)
    edges = [place for place, (one, other) in pairs if one != other and "" not in (one, other)]
    return [slice(*edge) for edge in pairwise([0, *edges, len(times)])] if times else []
