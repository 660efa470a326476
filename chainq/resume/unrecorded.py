"""Rows that a run has written but not recorded yet; records positions while rows are written."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from chainq.errors import ChainqError
from chainq.process.signals import signals_deferred
from chainq.process.threads import Later
from chainq.query import Batch
from chainq.resume.history import Position
from chainq.resume.journal import Journal
from chainq.resume.reorg import ReorgCheck


class _Pending(NamedTuple):
    """Unrecorded output: its last batch, the height and the bytes at its end, and the number of all its rows."""

    batch: Batch
    end: int
    length: int
    rows: int


def _sum(total: int | UnsetType, more: int) -> int | UnsetType:
    return UNSET if total is UNSET else total + more


@dataclass(slots=True)
class Unrecorded:
    """The rows of a file since its last position: the file is truncated to that when a run ends."""

    journal: Journal
    reorg: ReorgCheck
    pending: _Pending | None = None
    asking: tuple[_Pending, Later[list[str] | None]] | None = None  # for the hashes of a position

    def add(self, batch: Batch, end: int, rows: int) -> None:
        """Record a batch up to height `end`, of which `rows` rows are written."""
        rows += self.pending.rows if self.pending else 0
        self.pending = _Pending(batch._replace(rows=batch.rows[-1:]), end, self.journal.sink.length, rows)

    def before(self, ends: dict[int, list[str] | UnsetType]) -> dict[int, list[str] | UnsetType]:
        """Return where to record positions in the next batch, and one before it if the settled rows end there."""
        if self.pending is None or next(iter(ends.values())) is UNSET:
            return ends
        return {self.pending.end: UNSET, **ends}

    def record(
        self, ends: Mapping[int, list[str] | UnsetType], hashes: Sequence[str], rows: int, *, filtered: bool
    ) -> None:
        """Record positions in a batch of which so many rows are written, and with them all before.

        `ends`, `hashes`: their heights with the rows that are not settled there, and their blocks. `filtered`: not all
        rows are written.
        """
        length = self.journal.sink.length
        lengths = {} if self.pending is None else {self.pending.end: self.pending.length}
        at = zip(ends.items(), hashes, self._totals(ends, rows, filtered=filtered), strict=True)
        self.journal.record(
            *(Position(end, one, lengths.get(end, length), left, total) for (end, left), one, total in at)
        )
        self.pending = self.asking = None

    def _totals(self, ends: Mapping[int, list[str] | UnsetType], rows: int, *, filtered: bool) -> list[int | UnsetType]:
        """Return how many rows there are up to each of the ends of a batch with so many rows, as far as is known."""
        pending = 0 if self.pending is None else self.pending.rows
        total = _sum(self.journal.position.total, pending + rows)
        totals: list[int | UnsetType] = []
        for end, left in reversed([*ends.items()]):
            if self.pending is not None and end == self.pending.end:
                total = _sum(self.journal.position.total, pending)
            totals.append(total)
            # With a filter it is unknown how many of the rows that are not settled passed.
            total = UNSET if left is UNSET or filtered else _sum(total, -len(left))
        return totals[::-1]

    def _record(self, written: _Pending, block_hash: str) -> None:
        """Record a position at the end of what is written."""
        total = _sum(self.journal.position.total, written.rows)
        self.journal.record(Position(written.end, block_hash, written.length, total=total))

    def _record_part(self, asked: _Pending, block_hash: str) -> None:
        """Record a position in what is written; the rest stays unrecorded."""
        self._record(asked, block_hash)
        if self.pending is not None:
            more = self.pending.rows - asked.rows
            self.pending = self.pending._replace(rows=more) if self.pending.end > asked.end else None

    def record_meanwhile(self) -> None:
        """Request the hashes of a position, if one is due, while rows are written; record it once they are there."""
        pending = self.pending
        if pending is None:
            return
        if self.asking is None:
            if self.journal.due:
                self.asking = pending, Later(lambda: self.reorg.hashes_after(pending.batch, [pending.end]))
        else:
            self.record_asked()

    def record_asked(self) -> None:
        """Record the position whose hashes were requested, if they are there."""
        if self.pending is None or self.asking is None or not self.asking[1].done():
            return
        (asked, later), self.asking = self.asking, None
        if hashes := later.result():
            with signals_deferred():
                self._record_part(asked, hashes[0])

    def record_all(self) -> None:
        """Record the written rows, if the service allows, so that after an error the next run resumes there."""
        with suppress(ChainqError):
            self.record_asked()  # also if the next request fails
            if self.pending is None:
                return
            if hashes := self.reorg.hashes_after(self.pending.batch, [self.pending.end]):
                self._record(self.pending, hashes[0])
                self.pending = self.asking = None

    def record_last(self, seconds: float) -> None:
        """Record the written rows of a run that was told to end, or those whose hashes were requested before.

        Waits so many seconds for the hashes at most. Raises ChainqError.
        """
        pending, before = self.pending, self.asking
        if pending is None:
            return
        later = Later(lambda: self.reorg.hashes_after(pending.batch, [pending.end]))
        for asked, asking in ((pending, later), *([before] if before else ())):
            if asking.done(seconds) and (hashes := asking.result()):
                self._record_part(asked, hashes[0])
                return
            seconds = 0

    def drop(self) -> int:
        """Remove unrecorded rows from the output, and return how many there were. Raises OutputError."""
        if self.pending is None:
            return 0
        self.journal.sink.truncate(self.journal.position.length)
        rows = self.pending.rows
        self.pending = self.asking = None
        return rows
