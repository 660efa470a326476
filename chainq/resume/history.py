"""The positions of an output, and the rows of its newest heights, which are requested again. Pure.

A service may return a block before its records, or respond from a lagging replica. So rows near the tip are
**settled** only when a second read, SETTLE blocks later, showed the same rows. Until then their digests are kept.
Heights above the last row, at most tuning.TAIL, are not settled either, because the indexer may not have written them
yet (docs/completeness.md, "Following the tip").
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from chainq.heights.range import HeightRange

POSITIONS = 32  # kept for --rewind: the first one and the latest


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position that the output has reached.

    `next`: the first height that is not written yet. `hash`: the hash of the block before it, empty if unknown.
    `length`: bytes of the output file up to there, 0 for standard output. `rows`: digests of the rows since the
    previous position, until these are settled. `total`: the number of rows in this output up to there, if known.
    """

    next: int
    hash: str = ""
    length: int = 0
    rows: list[str] | UnsetType = UNSET
    total: int | UnsetType = UNSET


def digests(rows: Iterable[Raw]) -> list[str]:
    """Return 64 bits of a hash of each row, enough to distinguish the rows of a few heights."""
    from hashlib import blake2b

    return [blake2b(row, digest_size=8).hexdigest() for row in rows]


class History:
    """The positions of one output in order of height: settled ones, then those whose rows are not settled."""

    def __init__(self, positions: Sequence[Position] = ()) -> None:
        self.positions = list(positions)

    @property
    def last(self) -> Position | None:
        """Return the position that the output has reached; None before the first one."""
        return self.positions[-1] if self.positions else None

    @property
    def settled(self) -> Position:
        """Return the last position whose rows are settled. Needs a position."""
        return next((position for position in reversed(self.positions) if position.rows is UNSET), self.positions[0])

    @property
    def unsettled(self) -> HeightRange:
        """Return the heights whose rows are not settled. Needs a position."""
        return HeightRange(self.settled.next, self.positions[-1].next)

    @property
    def rows(self) -> Counter[str]:
        """Return the digests of the rows that are not settled, each with its count."""
        return Counter(digest for position in self.positions for digest in position.rows or ())

    @property
    def removable(self) -> bool:
        """Return whether the unsettled rows are at the end of the output file, so truncating it removes them."""
        pairs = pairwise(self.positions)
        return all(after.length > before.length for before, after in pairs if after.rows)

    def add(self, position: Position) -> None:
        """Record the position that the output has reached; positions at its height and above are dropped.

        Positions before a settled one are settled as well.
        If there are too many, settled ones are dropped, oldest first, then adjacent unsettled ones are merged. The
        first position and the last settled one stay.
        """
        self.positions = [known for known in self.positions if known.next < position.next] + [position]
        if position.rows is UNSET:
            self.settle(position.next)
        while len(self.positions) > POSITIONS + 1:
            settled = self.positions.index(self.settled)
            if settled > 1:
                del self.positions[1]
            else:
                self._unite_nearest(settled + 1)

    def _unite_nearest(self, first: int) -> None:
        """Merge the two adjacent positions, from index `first`, that together cover the fewest heights."""
        pairs = range(first, len(self.positions) - 1)
        at = min(pairs, key=lambda index: self.positions[index + 1].next - self.positions[index - 1].next)
        lower, upper = self.positions[at : at + 2]
        self.positions[at : at + 2] = [replace(upper, rows=[*(lower.rows or ()), *(upper.rows or ())])]

    def settle(self, below: int) -> None:
        """Mark rows as settled up to the last position that is not above height `below`."""
        self.positions = [
            replace(position, rows=UNSET) if position.next <= below else position for position in self.positions
        ]

    def unite(self, rows: Iterable[str]) -> None:
        """Record the unsettled rows, of all their heights together."""
        self.positions[-1] = replace(self.positions[-1], rows=list(rows))
        settled = self.positions.index(self.settled)
        self.positions = [*self.positions[: settled + 1], self.positions[-1]]

    def go_back(self) -> None:
        """Drop the positions whose rows are not settled."""
        self.positions = self.positions[: self.positions.index(self.settled) + 1]

    def rewind(self, blocks: int) -> None:
        """Go back at least `blocks` blocks, to the nearest position, at most to the first one."""
        if self.last is not None:
            target = self.last.next - blocks
            self.positions = [position for position in self.positions if position.next <= target] or self.positions[:1]

    def move(self, length: int) -> None:
        """Continue in another output, of `length` bytes and no rows yet: it has no earlier position to go back to."""
        if self.unsettled:
            self.unite(self.rows.elements())
        since = self.positions.index(self.settled)
        self.positions = [replace(position, length=length, total=0) for position in self.positions[since:]]
