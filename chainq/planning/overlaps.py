"""Divides responses whose rows carry no height, where the next chunk begins (docs/completeness.md, "What is proved").

A chunk is requested a few heights beyond its end, where the next chunk begins. Both responses come in height order and
begin with the lowest rows that are due. So if the first ends with rows that the second has as well, it holds every row
below them. The rows before these are those of the chunk, if the second response has every row of the heights that both
were requested for. It has, if its chunk is complete, or if it shows rows of the chunk after it in turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Raw


@dataclass(slots=True)
class Shown:
    """What the first response to a chunk shows.

    `rows`: all of them, None until it is there. `before`: those before the rows of the next chunk, None where that is
    not known.
    """

    rows: list[Raw] | None = None
    before: list[Raw] | None = None
    _following: list[Raw] | None = None

    def compare(self, following: list[Raw] | None) -> None:
        """Take in the rows of the next chunk; nothing is compared twice."""
        if following is not self._following and self.rows is not None:
            self._following = following
            self.before = None if following is None else rows_before(self.rows, following)

    @property
    def apart(self) -> bool:
        """Return whether the response to the next chunk is there, and this one does not end with rows of it."""
        return self._following is not None and self.before is None


def rows_before(rows: Sequence[Raw], following: Sequence[Raw]) -> list[Raw] | None:
    """Return the rows of a response that come before those of the next chunk's response.

    None where it does not end with some of them, holds no others, or holds others between them.
    """
    theirs = set(map(bytes, following))
    end = len(rows)
    while end and bytes(rows[end - 1]) in theirs:
        end -= 1
    before = list(rows[:end])
    if not before or end == len(rows) or not theirs.isdisjoint(map(bytes, before)):
        return None
    return before
