"""The rounds of an incremental run.

Each round requests the tip, checks the last known block for a reorg, requests the rows near the tip again, and writes
the new rows, batch by batch: rows written, synced and recorded, in this order. In a file, a position is recorded every
5 seconds, at the end of a round, and if a signal or `--deadline` ends the run; rows after it are removed. See
docs/completeness.md, "Following the tip", for what that proves.

`requested` requests rows, and `lagging` decides what follows if the service lacks some. `reorg` checks that what is
written is of one chain, `settling` up to which height the rows of a response are settled.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import UNSET, Raw
from msgspec.structs import replace

from chainq import tuning
from chainq.defaults import SETTLE
from chainq.errors import BehindError, ChainqError, IncompleteError
from chainq.fetching.service import Service
from chainq.fetching.tip import Tip, check_age
from chainq.formats.protocol import Writer
from chainq.heights.range import HeightRange
from chainq.process.progress import Progress
from chainq.process.signals import signals_deferred
from chainq.query import Batch, Query, limited
from chainq.resume.batch_stream import BatchStream
from chainq.resume.history import Position, digests
from chainq.resume.journal import Journal
from chainq.resume.lagging import Lagging
from chainq.resume.reorg import OnlyNamedError, ReorgCheck
from chainq.resume.requested import Requested
from chainq.resume.settings import ResumeSettings
from chainq.resume.settling import UnsteadyError, late_heights, new_positions, shown_to
from chainq.resume.unrecorded import Unrecorded
from chainq.text.humanize import counted, end_above


def _parted(rows: list[Raw], late: Counter[str]) -> tuple[list[Raw], list[Raw]]:
    """Return the rows that arrived late, by their digests, and the others."""
    left, new, old = late.copy(), list[Raw](), list[Raw]()
    for row, digest in zip(rows, digests(rows), strict=True):
        (new if left[digest] else old).append(row)
        left[digest] -= left[digest] > 0
    return new, old


@dataclass(slots=True)
class Rounds:
    """The rounds of one run: its state between two batches."""

    service: Service
    query: Query
    settings: ResumeSettings
    journal: Journal
    warn: Callable[[str], None]
    progress: Progress
    reorg: ReorgCheck = field(init=False)
    unrecorded: Unrecorded = field(init=False)
    lagging: Lagging = field(init=False)
    requested: Requested = field(init=False)
    looked: int = -1  # the end of the chain at the last look at unsettled rows
    written: int = 0  # rows
    begun: bool = False  # the first round has said how far it goes

    def __post_init__(self) -> None:
        self.reorg = ReorgCheck(self.service, self.query, self.journal)
        self.unrecorded = Unrecorded(self.journal, self.reorg)
        self.lagging = Lagging(self.service, self.query, self.settings, self.journal, self.reorg, self.warn)
        self.requested = Requested(self.service, self.query, self.settings, self.journal, self.reorg)

    @property
    def _next(self) -> int:
        """Return the first height that is not written yet."""
        return self.journal.position.next

    @property
    def left(self) -> int | None:
        """Return how many rows the limit leaves to be written, None without one."""
        return None if self.query.limit is None else self.query.limit - self.written

    def left_from(self, position: Position) -> int | None:
        """Return how many rows the limit leaves after a position of this run, None without one."""
        total = 0 if position.total is UNSET else position.total
        return None if self.query.limit is None else self.query.limit - total

    def run(self, writer: Writer, tip: Tip) -> None:
        """Make one round: write what is new up to the tip.

        Raises IncompleteError for a reorg or a tip that is too old, UnsteadyError, and what the service raises.
        """
        self.drop_pending()
        known = self.reorg.begin()
        if tip.height + 1 < max(self._next, known.next):
            before = f"block {known.next - 1} was there before" if known.hash else f"{self._next} comes next"
            self.lagging.warn_once(f"its tip is {tip.height}, but {before}")
        else:
            try:
                self._write_new(writer, tip)
            except BehindError as error:
                self.lagging.lack_rows(error, tip.height)
        self.check_age(tip)

    def _write_new(self, writer: Writer, tip: Tip) -> None:
        """Write rows that are not written yet, and rows that arrived late."""
        limit = self.query.bounds.end if self.query.bounds else None
        top = tip.height + 1
        if limit is not None and top < limit:  # one stale tip does not outrank --end
            top = self.service.blocks.tip_for(limit) + 1
        end = top - self.lagging.lag
        if limit is not None:
            end = min(end, limit if limit >= 0 else top + limit)
        # Blocks are settled at once: there is one for each height, and hashes link it to the one before.
        deep = end if self.query.method.linked else min(end, top - self.lagging.lag - SETTLE)
        history = self.journal.history
        if self.looked < 0:  # the run that wrote the last rows looked up to there
            self.looked = self._next + self.lagging.lag
        if self._next < end or (history.unsettled and history.settled.next < deep and top != self.looked):
            try:
                self._write_up_to(writer, tip, end, top, deep)
            except OnlyNamedError:
                self.drop_pending()
                self._write_up_to(writer, None, end, top, deep)
        elif self.reorg.check_known(self.service.blocks.hash_of):
            self.lagging.behind = False
        else:
            self.lagging.lack_known(tip.height)
        if limit is not None and self._next < limit:
            lag = f", and this run stays {counted(self.lagging.lag, 'block')} below it" if self.lagging.lag else ""
            self.warn(end_above(limit, top - 1) + lag)

    def _write_up_to(self, writer: Writer, tip: Tip | None, end: int, top: int, deep: int) -> None:
        """Write late and new rows below `end`.

        `tip`: as the service returned it, None if it lacks blocks below. `top`: the end of the chain; `deep`: heights
        below it are settled if their rows are the same as before.
        """
        linked, history = self.query.method.linked, self.journal.history
        there = self._existing(tip, end)
        if not self.reorg.check_known(self.service.blocks.hash_of if linked else self.reorg.hash_of):
            self.lagging.lack_known(top - 1)
            return
        self.lagging.behind = False
        self.lagging.note_lacked(there, end)
        end = there
        heights, method = history.unsettled, self.query.method
        together = self.query.limit is None  # one request may show late rows and new ones
        middle = max(heights.end, min(deep, end))
        asked = HeightRange(heights.start, max(heights.end, end) if together else heights.end)
        edges = (heights.end, middle) if together else ()
        stream = BatchStream(method, self.requested.batches(self.query._replace(limit=None), asked, edges))
        looked = [*stream.up_to(heights.end)] if heights else []
        self.looked = top
        if heights and not self._compare(writer, looked, heights, top, deep):
            return
        if not self.begun:  # later rounds of --follow only count up
            self.begun = True
            self.progress.begin(max(0, end - self._next) if self.query.limit is None else None)
        if self._next < heights.end:  # went back
            stream.put_back(looked)
            middle = max(self._next, min(deep, end))
            together = together and method.height is not None  # there may be a new edge
        for part in (HeightRange(self._next, middle), HeightRange(middle, end)):
            batches = stream if together else self._limited(part)
            if part.start < part.end and not self._write_range(writer, batches, part, end, settled=part.end == middle):
                self.unrecorded.record_all()
                return

    def _passing(self, rows: list[Raw]) -> list[Raw]:
        """Return the rows to write. Rows that the filter leaves out still count as evidence."""
        return rows if self.query.where is None else self.query.where.rows(rows)

    def _limited(self, heights: HeightRange) -> BatchStream:
        """Request all rows of some heights, as far as the limit allows."""
        batches = self.requested.batches(self.query._replace(limit=self.left), heights)
        alone = (batch._replace(confirmed=False) for batch in batches)  # says nothing of the part before
        return BatchStream(self.query.method, limited(alone, self.left, self.query.where))

    def _existing(self, tip: Tip | None, end: int) -> int:
        """Return `end`, or less if the service does not have the block below it, although it names its tip."""
        step, least = 1, self.journal.history.settled.next
        while end > least and self.query.verify:
            if self.reorg.see(tip, end, end - self._next):
                break
            end, step = end - step, step * 2
        return end

    def _compare(self, writer: Writer, batches: list[Batch], heights: HeightRange, top: int, deep: int) -> bool:
        """Compare the rows of unsettled heights with the earlier ones. Return whether the round can go on.

        `top`, `deep`: as in `_write_up_to`.
        """
        history = self.journal.history
        rows = [row for batch in batches for row in batch.rows]
        shown, before = Counter(digests(rows)), history.rows
        if late := shown - before:
            self._write_late(writer, rows, late, late_heights(self.query.method, batches, late))
        elif gone := before - shown:
            self.lagging.miss(heights, gone.total(), top)
            return False
        else:
            for batch in batches:
                self.journal.note_grade(batch)
            ends = [end for batch in batches if (end := shown_to(self.query.method, batch)) is not None]
            self.journal.settle(min(deep, max([*ends, heights.end - tuning.TAIL])))
        return True

    def _write_late(self, writer: Writer, rows: list[Raw], late: Counter[str], where: str) -> None:
        """Write late rows into the output. `where`: their heights as text.

        A file is truncated to the settled rows, and the round continues from there. If the output is not a file, or
        rows of other runs are in between, late rows follow the rows written since.
        """
        journal, removable = self.journal, self.journal.history.removable
        came = f"{counted(late.total(), 'row')} of {where} came late{'' if removable else ', after later ones'}"
        if more := self.lagging.stay_below(max(1, self.lagging.lag * 2)):
            self.warn(f"{came}{more}")
        if removable:
            with signals_deferred():
                self.written -= self._written_of(rows, late)
                journal.go_back()
            return
        new, _ = _parted(rows, late)
        new = [row for batch in limited(iter([Batch(new)]), self.left, self.query.where) for row in batch.rows]
        new = self._passing(new)
        with signals_deferred():
            journal.expect_rows()
            writer.write(new)
            journal.history.unite((journal.history.rows + late).elements())
            journal.record(replace(journal.position, length=journal.sink.length))
            self.written += len(new)

    def _written_of(self, rows: list[Raw], late: Counter[str]) -> int:
        """Return how many rows of unsettled heights were written; `rows`, `late`: their present rows."""
        if self.query.where is None:
            return self.journal.history.rows.total()
        return len(self._passing(_parted(rows, late)[1]))

    def _write_range(
        self, writer: Writer, stream: BatchStream, heights: HeightRange, last: int, *, settled: bool
    ) -> bool:
        """Write all rows of `heights`, one of the parts of a round that ends at height `last`; return whether the
        service had them all and more can follow.

        `settled`: whether their rows can be, which near the tip they cannot.
        """
        end = heights.start
        try:
            for batch in stream.up_to(heights.end):
                if batch.heights is None:
                    continue
                end = batch.heights.end
                if not self._write_batch(writer, batch, batch.heights, heights.end if settled else None, last):
                    return False
        except (ChainqError, UnsteadyError):
            self.unrecorded.record_all()
            raise
        if self.left != 0 and end < heights.end:  # the range ended at the tip of another server behind the URL
            self.lagging.step_back(f"it shows no block {end}")
            return False
        return self.left != 0

    def _write_batch(self, writer: Writer, batch: Batch, heights: HeightRange, deep: int | None, last: int) -> bool:
        """Write the rows of a batch, and record that at the end of a round or if it is due; return whether the
        service had all its blocks.

        `deep`: the end of what can be settled, None if nothing of the batch can; `last`: the end of the round.
        """
        self.reorg.check_link(batch)
        method = self.query.method
        if deep is not None and batch.shown and self.journal.history.unsettled:
            self._settle_before()
        # Heights without rows, even proved, do not settle the heights before them.
        settles = batch.shown or not self.journal.history.unsettled
        ends = new_positions(method, batch, heights, deep if settles or method.linked else None)
        wait = (
            ends == {heights.end: UNSET} and heights.end < last and self.query.limit is None and self.journal.cuttable
        )
        ends = self.unrecorded.before(ends)
        rows = self._passing(batch.rows)
        hashes = [] if wait else self.reorg.hashes_after(batch, [*ends])
        if hashes is None:
            if self.reorg.only_named:
                raise OnlyNamedError
            self.lagging.step_back(f"it does not have block {heights.end - 1} any more")
            return False
        with signals_deferred():
            self.journal.expect_rows()
            writer.write(rows)
            self.journal.note_grade(batch)
            self.written += len(rows)
            self.progress.wrote(len(heights), batch.shown, None if self.query.where is None else len(rows))
            if wait:
                self.unrecorded.add(batch, heights.end, len(rows))
            else:
                self.unrecorded.record(ends, hashes, len(rows), filtered=self.query.where is not None)
        self.unrecorded.record_meanwhile()
        return True

    def drop_pending(self) -> None:
        """Remove unrecorded rows from the output. Raises OutputError."""
        with signals_deferred():
            self.written -= self.unrecorded.drop()

    def _settle_before(self) -> None:
        """Settle the heights before a response that shows rows: the service has written all rows before them.

        It may have done so a moment ago, so these heights are requested again. Raises UnsteadyError if they have
        other rows now.
        """
        heights = self.journal.history.unsettled
        rows = [row for batch in self.requested.batches(self.query._replace(limit=None), heights) for row in batch.rows]
        if Counter(digests(rows)) != self.journal.history.rows:
            raise UnsteadyError(
                IncompleteError(
                    f"{self.query.method.name} {heights}: rows appeared meanwhile",
                    "the service is writing them; run the command again",
                )
            )
        self.journal.settle(heights.end)

    def check_age(self, tip: Tip) -> None:
        """Raise IncompleteError if the tip is older than `--max-age`, or has no time."""
        if self.settings.max_age is not None:
            check_age(tip, self.settings.max_age)
