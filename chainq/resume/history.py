"""How far an output has come, and the rows of its newest heights, which are looked at again. Pure.

A service may show a block before its records, or answer from a replica that is behind. So rows near the tip are
**settled** only when a later look, SETTLE blocks further on, showed the same rows. Until then digests of them are kept.
Heights above the last row, at most tuning.TAIL, are not settled either, for an indexer may not have come so far
(docs/completeness.md, "Following the tip").
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
    """How far the output has come.

    `next`: the first height that is not written yet. `hash`: the hash of the block before it, empty if it is not
    known. `length`: bytes of the output file up to there, 0 for standard output. `rows`: digests of the rows since the
    position before, until these are settled. `total`: the number of rows in this output up to there, if it is known.
    """

    next: int
    hash: str = ""
    length: int = 0
    rows: list[str] | UnsetType = UNSET
    total: int | UnsetType = UNSET


def digests(rows: Iterable[Raw]) -> list[str]:
    """Return 64 bits of a hash of each row, by which rows of a few heights are told apart."""
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
        """Return the digests of the rows that are not settled, each with its number."""
        return Counter(digest for position in self.positions for digest in position.rows or ())

    @property
    def removable(self) -> bool:
        """Return whether the rows that are not settled stand at the end of the output file, so that it can be cut."""
        pairs = pairwise(self.positions)
        return all(after.length > before.length for before, after in pairs if after.rows)

    def add(self, position: Position) -> None:
        """Take in the position that the output has reached; positions at its height and above are dropped.

        Those before one that is settled are settled as well.
        Where there are too many, settled ones go first, from the oldest on, then neighbours that are not settled become
        one. The first position stays, and the last settled one.
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
        """Make one position of the two neighbours, from index `first` on, that cover the fewest heights together."""
        pairs = range(first, len(self.positions) - 1)
        at = min(pairs, key=lambda index: self.positions[index + 1].next - self.positions[index - 1].next)
        lower, upper = self.positions[at : at + 2]
        self.positions[at : at + 2] = [replace(upper, rows=[*(lower.rows or ()), *(upper.rows or ())])]

    def settle(self, below: int) -> None:
        """Count rows as settled up to the last position at most at height `below`."""
        self.positions = [
            replace(position, rows=UNSET) if position.next <= below else position for position in self.positions
        ]

    def unite(self, rows: Iterable[str]) -> None:
        """Take in what the rows are that are not settled, of all their heights together."""
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
        """Go on in another output, of `length` bytes and no row yet: it has no earlier position to go back to."""
        if self.unsettled:
            self.unite(self.rows.elements())
        since = self.positions.index(self.settled)
        self.positions = [replace(position, length=length, total=0) for position in self.positions[since:]]
