"""Detects reorgs: a block whose hash differs from the one that was recorded.

A missing block does not count as a reorg: a lagging server does not have it yet, so it is requested again for other
servers to return it.

A reorg may come at any moment, so what is recorded must be of one chain. The last block of a round is requested before
anything else (`seen`), then the last known one, then the rows, then the last block again: if both are the same as
before, all rows between them are of one chain. If responses show that by themselves (`planning.one_chain`), the last
block is not requested again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec import UNSET

from chainq import tuning
from chainq.errors import IncompleteError, ReorgError
from chainq.fetching.blocks import hash_text
from chainq.fetching.service import Service
from chainq.fetching.tip import Tip
from chainq.heights.range import HeightRange
from chainq.process.threads import Later
from chainq.query import Batch, Query
from chainq.resume.history import Position
from chainq.resume.journal import Journal
from chainq.rows.fields import Picker, integer_of
from chainq.text.sanitize import excerpt

LEAST_HASHES, MOST_HASHES = 16, 64  # of the last blocks, with which rows are compared


class SeenReorgError(ReorgError):
    """The same without a checkpoint. `back`: the last position of this run that is still on the chain."""

    def __init__(self, message: str, hint: str, back: Position) -> None:
        super().__init__(message, hint)
        self.back = back


def difference(position: Position, found: str, *, recorded: bool = True) -> str:
    """Return how the last block below `position` differs from the recorded one; empty if it does not.

    `found`: its hash now, empty for a block without one. A position without a hash matches anything. `recorded`:
    whether a checkpoint recorded it, and not only this run.
    """
    if not position.hash or found == position.hash:
        return ""
    now = f"is {excerpt(found, 80)}" if found else "has no hash now"
    before = f"{'the checkpoint recorded' if recorded else 'this run has seen'} {excerpt(position.hash, 80)}"
    return f"reorg: block {position.next - 1} {now}, {before}"


class OnlyNamedError(Exception):
    """The service returns a tip, but does not have its block."""


@dataclass(slots=True)
class ReorgCheck:
    """The blocks by which the rounds of a run detect a reorg. Methods that check raise IncompleteError for a reorg.

    `known`: the last block known before this round. `seen`: the last block of this round, before its rows were
    requested; `only_named`: by the tip alone.
    """

    service: Service
    query: Query
    journal: Journal
    known: Position = field(default=Position(0))
    seen: Position = field(default=Position(0))
    only_named: bool = False
    _hashes: Mapping[int, str] = field(default_factory=dict)
    _asked: Later[dict[int, str]] | None = None
    _foreseen: tuple[int, Later[dict[int, str]]] | None = None  # requested before the tip was known

    def foresee(self, end: int) -> None:
        """Send the requests of `see` for this end early, while the tip is being requested."""
        if not self.query.method.linked:
            self._foreseen = end, self._hashes_below(end, MOST_HASHES)

    def _hashes_below(self, end: int, blocks: int) -> Later[dict[int, str]]:
        """Request the hashes of the last `blocks` blocks below a height."""
        first = max(0, end - min(max(blocks, LEAST_HASHES), MOST_HASHES))
        return Later(lambda: self.service.blocks.block_hashes(HeightRange(first, end)))

    def begin(self) -> Position:
        """Begin a round; return the last known block."""
        # Without a checkpoint hashes are requested once a round. If one broke off, that of its last block counts.
        self.known = self.journal.position if self.journal.position.hash else self.seen
        return self.known

    def see(self, tip: Tip | None, end: int, blocks: int) -> bool:
        """Note the last block of this round, which ends at height `end`; return whether the service has it.

        `tip`: as the service named it a moment ago. It is enough if rows name no block, or only one or two are
        new, of `blocks`; else the last one is requested, with as many before it as `MOST_HASHES` allows: rows that name
        a block must name one of these.
        """
        if self.query.method.linked:  # its rows are blocks, and checked to link
            deep = tip is not None and end + tuning.NEAR_TIP <= tip.height
            return deep or self.service.blocks.block_hash(end - 1) is not None
        named = {} if tip is None else {tip.height: tip.hash, tip.height - 1: tip.previous_hash}
        self.only_named = bool(named.get(end - 1))
        self._hashes = {height: found for height, found in named.items() if height < end and found}
        foreseen, self._foreseen = self._foreseen, None
        asked = foreseen[1] if foreseen is not None and foreseen[0] == end else None
        if asked is None and (not self.only_named or (blocks > len(named) and self.query.method.names_block)):
            asked = self._hashes_below(end, blocks + 1)
        if asked is not None and not self.only_named:
            self._hashes, asked = asked.result(), None
        self._asked = asked
        if end - 1 in self._hashes:
            self.seen = Position(end, self._hashes[end - 1])
        return end - 1 in self._hashes

    def hashes(self) -> Mapping[int, str]:
        """Return the hashes of `seen` and of some blocks below, all of one chain, by height.

        Raises OnlyNamedError if the service does not have the block that it named as the tip.
        """
        if self._asked is not None:
            self._hashes, self._asked = self._asked.result(), None
            if self._hashes.get(self.seen.next - 1) != self.seen.hash:
                raise OnlyNamedError
            self.only_named = False
        return self._hashes

    def hash_of(self, height: int) -> str | None:
        """Return the hash of a block of the chain that ends with `seen`; requested if it is not known yet."""
        return self.hashes().get(height) or self.service.blocks.block_hash(height)

    def compared(self, heights: HeightRange) -> HeightRange:
        """Return the heights whose rows must be compared with full blocks: the last ones that were rewound.

        This is needed after a reorg, because a cache may still have the old rows. Rows that name their block need no
        such request.
        """
        method, rewound = self.query.method, self.journal.rewound
        if method.linked or method.names_block:
            return HeightRange(0, 0)
        end = min(rewound.end, heights.end)
        return HeightRange(min(end, max(rewound.start, heights.start, rewound.end - MOST_HASHES)), end)

    def check_known(self, hash_of: Callable[[int], str | None]) -> bool:
        """Check that the last known block is still the same; return whether the service has it, or one that names it.

        `hash_of` requests the hash of a block, None if it does not exist.
        """
        if not self.known.hash:
            return True
        known = self.known.next - 1
        found = _look(hash_of, known) or self.service.blocks.block_hashes(HeightRange(known, known + 2)).get(known)
        if found is not None:
            self._check(self.known, found)
        return found is not None

    def check_seen(self) -> None:
        """Check that the last block of this round is still the same, after responses that contradict each other."""
        if self.seen.hash and (found := self.service.blocks.block_hash(self.seen.next - 1)) is not None:
            self._check(self.seen, found)

    def check_link(self, batch: Batch) -> None:
        """Check that no reorg happened between the check of this round and the response."""
        position = self.journal.position
        follows = (
            batch.rows and batch.heights and batch.heights.start == position.next
        )  # later ones are checked to link
        if self.query.method.linked and self.query.verify and position.hash and follows:
            self._check(position, hash_text(Picker(["previous_hash"])(batch.rows[0])[0]))

    def hashes_after(self, batch: Batch, ends: list[int]) -> list[str] | None:
        """Return the hash of the last block below each of `ends`, of the chain that the rows of a batch are from.

        Rows that are blocks, or name their block, contain it. Otherwise it is requested after the rows, and the last
        block of the round must be the same as before them: then no reorg happened in between. A confirmed batch has
        shown that itself. None if the service no longer has one of these blocks. Without a checkpoint only the hash at
        the end of a round is requested; the others are empty.
        """
        if self.query.method.linked:
            own = self._own_hash(batch, ends[-1]) or _look(self.service.blocks.hash_of, ends[-1] - 1)
            return None if own is None else [own]
        hashes, same = [], batch.confirmed
        for end in ends:
            below = end < self.seen.next  # whose hash is requested last, after all others
            if below and self.journal.checkpoint is None:
                hashes.append("")
            elif below and (known := self.hashes().get(end - 1) or self._own_hash(batch, end)):
                hashes.append(known)  # `seen` links to it
            elif end == self.seen.next and batch.confirmed:
                hashes.append(self.seen.hash)
            elif (found := _look(self.service.blocks.block_hash, end - 1)) is None:
                return None
            else:
                hashes.append(found)
                same = False  # this hash is of a later request
        if hashes[-1] and not same:
            is_last = ends[-1] == self.seen.next and not batch.confirmed
            last = hashes[-1] if is_last else _look(self.service.blocks.block_hash, self.seen.next - 1)
            if last is None:
                return None
            self._check(self.seen, last)
        return hashes

    def _own_hash(self, batch: Batch, end: int) -> str | None:
        """Return the hash of the block below `end` as the last row of a batch names it, None if it does not."""
        method = self.query.method
        if not batch.rows or not (method.linked or method.names_block):
            return None
        block_hash, height = Picker(["block_hash", method.height or ""])(batch.rows[-1])
        return hash_text(block_hash) if integer_of(height) == end - 1 else None  # it may be missing with --no-verify

    def _check(self, known: Position, found: str) -> None:
        """Raise IncompleteError if the block below `known` is another one now.

        The hint depends on the last position that is still on the chain; blocks are requested to find it.
        """
        kept, history = self.journal.checkpoint is not None, self.journal.history
        reorg = difference(known, found, recorded=kept and known in history.positions)
        if not reorg:
            return
        same = next((position for position in reversed(history.positions) if self._still(position)), None)
        if not kept:
            same = same or history.positions[0]
            if same is history.last:
                raise IncompleteError(reorg)
            gone = f"discard the rows from height {same.next} on, which may be of blocks that are gone"
            raise SeenReorgError(reorg, f"{gone}: they are fetched again", same)
        if same is None:
            over = "start over with a new checkpoint and a new output file"
            raise ReorgError(reorg, f"the checkpoint has no position before the reorg; {over}")
        if same is history.last:
            raise IncompleteError(reorg, "run the command again")
        blocks = history.positions[-1].next - same.next
        raise ReorgError(reorg, f"--rewind {blocks} goes back far enough, to height {same.next}")

    def _still(self, position: Position) -> bool:
        """Return whether the service still has the block that a position recorded.

        A checkpoint may begin with a position without a hash. Without a checkpoint any position may lack one, or the
        number of its rows, which `--limit` needs, so an earlier one has to do.
        """
        if self.journal.checkpoint is None and (not position.hash or position.total is UNSET):
            return False
        if not position.hash:
            return True
        return self.service.blocks.block_hash(position.next - 1) == position.hash


def _look(hash_of: Callable[[int], str | None], height: int) -> str | None:
    """Return the hash of a block that was there before; None if none of tuning.REORG_LOOKS responses has it."""
    hashes = (hash_of(height) for _ in range(tuning.REORG_LOOKS))
    return next((found for found in hashes if found is not None), None)
