"""The rounds of an incremental run: each writes the rows that are new, up to some blocks below the tip.

A round looks up its last block, compares the last recorded block with the service's, writes the rows, and looks its
last block up again: if it is the same, all that came between is of one chain. While rows are written, a position is
recorded every few seconds in the same way. Rows after the last position of a file are removed if a run fails
(docs/completeness.md, "Following the tip").
"""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from chainq import tuning
from chainq.defaults import INTERVAL, SETTLE
from chainq.errors import ChainqError, IncompleteError, OverdueError, ReorgError, Shortfall
from chainq.fetching.blocks import Tip
from chainq.fetching.calls import Asked
from chainq.fetching.service import Service
from chainq.formats.protocol import Writer
from chainq.heights.range import HeightRange, end_above
from chainq.process.progress import Progress
from chainq.process.signals import signals_deferred
from chainq.query import Query, limited, matching
from chainq.resume.checkpoint import Position
from chainq.resume.journal import Journal
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt

COMPARED = 64  # heights of a rewound stretch, the last ones, whose rows are compared with full blocks


class ResumeSettings(NamedTuple):
    """How an incremental run begins and ends; at least one of `checkpoint` and `follow` is set.

    `checkpoint`: the file that records the position. `lag`: blocks below the tip to leave out. `rewind`: blocks to go
    back first. `max_age`: maximum tip age in seconds. `follow`: poll until interrupted, every `interval` seconds.
    `output`: the file that rows are appended to, None for standard output. `header`: the output begins with a header
    that an option leaves out.
    """

    checkpoint: Path | None = None
    lag: int = SETTLE
    rewind: int | None = None
    max_age: float | None = None
    follow: bool = False
    interval: float = INTERVAL
    output: Path | None = None
    header: bool = False


def difference(position: Position, own_hash: str) -> str:
    """Return how the block below `position` differs from the recorded one; empty if it does not.

    `own_hash`: its hash now, empty for a block without one. A position without a hash matches anything.
    """
    if not position.hash or own_hash == position.hash:
        return ""
    now = f"is {excerpt(own_hash, 80)}" if own_hash else "has no hash now"
    return f"reorg: block {position.next - 1} {now}, and was {excerpt(position.hash, 80)}"


@dataclass(slots=True)
class Rounds:
    """The rounds of one run.

    `known`: the last block of which all rows before are known to be. `end`, `seen`: of the round in progress, its end
    and the hash of the block below that before any row was requested.
    """

    service: Service
    query: Query
    settings: ResumeSettings
    journal: Journal
    progress: Progress
    known: Position = field(default=Position(0))
    end: int = 0
    seen: str = ""
    written: int = 0  # rows
    behind: bool = False  # the user was warned that the service is
    begun: bool = False

    @property
    def left(self) -> int | None:
        """Return how many rows the limit leaves to be written, None without one."""
        return None if self.query.limit is None else self.query.limit - self.written

    def run(self, writer: Writer, tip: Tip) -> None:
        """Write what is new up to the tip, less the lag.

        Raises ReorgError for a recorded block that was replaced, IncompleteError if the rows may be of two chains, and
        what the service raises.
        """
        limit, top = self.query.bounds.end if self.query.bounds else None, tip.height + 1
        if self.journal.position.hash:
            self.known = self.journal.position
        if limit is not None and top < limit:  # one stale tip does not outrank --end
            top = self.service.blocks.tip_for(limit) + 1
        start, end = self.journal.reached.next, top - self.settings.lag
        if limit is not None:
            end = min(end, limit if limit >= 0 else top + limit)
        if top < start:
            if not self.behind:  # once
                behind = f"the service is behind: its tip is {top - 1}, and it had block {start - 1}"
                self.journal.warn(Shortfall(behind))
            self.behind = True
        elif start < end:
            self._write(writer, HeightRange(start, end))
            self.behind = False
        elif start == top and self.known.next == top:  # the tip itself shows whether it was replaced
            self._check_known(tip.hash)
        if limit is not None and self.journal.reached.next < limit:
            lag = f", and this run stays {counted(self.settings.lag, 'block')} below it" if self.settings.lag else ""
            self.journal.warn(Shortfall(end_above(limit, top - 1) + lag))

    def _write(self, writer: Writer, heights: HeightRange) -> None:
        """Write the rows of `heights`, and record how far they go."""
        if not self.begun:  # later rounds of --follow only count up
            self.begun = True
            self.progress.begin(len(heights) if self.query.limit is None else None)
        # The last block before the known one: if it is the same after the rows, the known one was of its chain.
        self.end, self.seen = heights.end, self._hash_below(heights.end, self.service.blocks.hash_of)
        if self.known.hash:
            self._check_known(self._hash_below(self.known.next, self.service.blocks.hash_of))
        query = self.query._replace(limit=self.left)
        # After a reorg, a cache may still have the old rows. Blocks show that by their links.
        again, self.journal.rewound = self.journal.rewound, HeightRange(0, 0)
        compared = HeightRange(max(again.start, again.end - COMPARED), again.end)
        batches = self.service.fetch_range(query, heights, Asked(compared=compared))
        whole = False
        try:
            for batch in limited(matching(batches, query.where), query.limit):
                if batch.heights is not None:
                    with signals_deferred():
                        writer.write(batch.rows)
                        self.journal.wrote(batch, batch.heights.end)
                        self.written += len(batch.rows)
                        self.progress.wrote(len(batch.heights), batch.shown)
                    if self.journal.due and self.journal.reached.next < self.end:
                        self.record()
            whole = True
            self.record()
        except ChainqError as error:
            if not isinstance(error, OverdueError):  # else the end of the run records what is whole
                self.record_rest(again=not whole)
            raise
        if self.left != 0 and (reached := self.journal.reached.next) < self.end:
            raise IncompleteError(f"the service shows no block {reached}, and its tip is above it", "run again later")

    def record(self, *, ending: bool = False) -> None:
        """Record that all heights below `journal.reached` are written. `ending`: a signal has ended the run.

        Raises IncompleteError if a reorg came while they were read, ReorgError if their rows cannot be removed.
        """
        reached, block_hash = self.journal.reached, ""
        if reached == self.journal.position:
            return
        if reached.next == self.end or self.journal.kept or self.journal.sink.appends:
            block_hash = self._hash_below(reached.next)
            last = block_hash if reached.next == self.end else self._hash_below(self.end)
            if reorg := difference(Position(self.end, self.seen), last):
                if not self.journal.sink.appends:
                    raise self._reorg(reorg)
                self.written -= self.journal.drop_rest()
                raise IncompleteError(f"{reorg}, while rows were read", "run the command again")
        position = Position(reached.next, block_hash, reached.length, reached.rows)
        with nullcontext() if ending else signals_deferred():
            self.journal.record(position)
        # Rows on a pipe cannot be taken back, so that the next round checks the block that was seen before them.
        self.known = position if block_hash else Position(self.end, self.seen)

    def record_rest(self, *, again: bool = True, ending: bool = False) -> None:
        """Record what is whole before an error ends the round, if the service allows that, and remove the rest from a
        file, so that it comes again. `again`: not if just that failed."""
        if again:
            with suppress(ChainqError):
                self.record(ending=ending)
        if self.journal.sink.appends:
            with suppress(ChainqError):
                self.written -= self.journal.drop_rest()

    def _hash_below(self, height: int, hash_of: Callable[[int], str | None] | None = None) -> str:
        """Return the hash of the block below a height as the service has it now, or as `hash_of` knows it.

        Raises IncompleteError if none of tuning.REORG_LOOKS responses has it: one of several servers may be behind.
        """
        looks = ((hash_of or self.service.blocks.block_hash)(height - 1) for _ in range(tuning.REORG_LOOKS))
        own_hash = next((one for one in looks if one is not None), None)
        if own_hash is None:
            missing = f"the service is behind, or its chain was reset: it shows no block {height - 1}"
            raise IncompleteError(missing, "run again later; if it was reset, use a new checkpoint and a new file")
        return own_hash

    def _check_known(self, own_hash: str) -> None:
        """Raise ReorgError if the block below `known` is another one now."""
        if reorg := difference(self.known, own_hash):
            raise self._reorg(reorg)

    def _is_same(self, position: Position) -> bool:
        """Return whether the service still has the block of a position.

        A checkpoint may begin with a position without a hash: nothing is before it. Other runs have more of these.
        """
        if not position.hash:
            return self.journal.kept
        return self.service.blocks.block_hash(position.next - 1) == position.hash

    def _reorg(self, reorg: str) -> ReorgError:
        """Return the error of a reorg: it says how far a checkpoint must go back. Rows that nobody can go back to, of a
        run without one or after its position, are discarded."""
        positions = self.journal.content.positions
        same = next(filter(self._is_same, reversed(positions)), None)
        if self.journal.kept and same is None:
            over = "start over with a new checkpoint and a new output file"
            return ReorgError(reorg, f"the checkpoint has no position before the reorg; {over}")
        back = same or positions[0]
        if self.journal.kept and (blocks := self.journal.position.next - back.next):
            return ReorgError(reorg, f"--rewind {blocks} goes back far enough, to height {back.next}")
        self.written -= self.journal.reached.rows - back.rows
        self.journal.go_back_to(back.next)
        removed = "are removed" if self.journal.sink.appends else "must be discarded"
        return ReorgError(reorg, f"the rows from height {back.next} on {removed}: they may be of blocks that are gone")
