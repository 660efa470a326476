"""The rounds of an incremental run.

Each round requests the tip, checks the last known block for a reorg, requests the rows near the tip again, and writes
the new rows, batch by batch: rows written, synced and recorded, in this order. In a file, a position is recorded every
5 seconds and at the end of a round; rows after the last position are removed if a run ends before the next. See
docs/completeness.md, "Following the tip", for what that proves.

`reorg` checks that what is written is of one chain, `settling` up to which height the rows of a response are settled.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET, Raw
from msgspec.structs import replace

from chainq import tuning
from chainq.defaults import SETTLE
from chainq.errors import ChainqError, IncompleteError, Phrase
from chainq.fetching.calls import Asked
from chainq.fetching.service import Service
from chainq.fetching.tip import Tip, check_age
from chainq.formats.protocol import Writer
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Known
from chainq.planning.facts import BehindError, WrongHashError
from chainq.process.progress import Progress
from chainq.process.signals import signals_deferred
from chainq.process.threads import Later
from chainq.query import Batch, Query, limited
from chainq.resume.batch_stream import BatchStream
from chainq.resume.history import Position, digests
from chainq.resume.journal import Journal
from chainq.resume.reorg import OnlyNamedError, ReorgCheck
from chainq.resume.settings import ResumeSettings
from chainq.resume.settling import UnsteadyError, late_heights, new_positions, shown_to
from chainq.resume.unrecorded import Unrecorded
from chainq.text.humanize import counted, end_above


class _Early:
    """Rows that are requested, up to their first batch, while another request is in progress."""

    def __init__(self, service: Service, query: Query, heights: HeightRange) -> None:
        self.query, self.heights = query, heights
        self._batches = iter(service.fetch_range(query, heights))
        self._first = Later(lambda: next(self._batches, None))

    def batches(self) -> Iterator[Batch]:
        """Yield the batches."""
        if (first := self._first.result()) is not None:
            yield first
            del first
            yield from self._batches


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
    looked: int = -1  # the end of the chain at the last look at unsettled rows
    behind: bool = False  # the service is behind what it showed before; the user was warned
    lacked: int | None = None  # the block at which the last rows ended, because the service lacks it below its tip
    written: int = 0  # rows
    begun: bool = False  # the first round has said how far it goes
    density: tuple[int, Later[Known]] | None = None  # of the rows up to a height, before the first round
    early: "_Early | None" = None  # rows that are requested beside the tip

    def __post_init__(self) -> None:
        self.reorg = ReorgCheck(self.service, self.query, self.journal)
        self.unrecorded = Unrecorded(self.journal, self.reorg)

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

    @property
    def _lag(self) -> int:
        """Return how many blocks below the tip are left out."""
        return max(self.settings.lag, self.journal.learned_lag)

    def foresee(self) -> None:
        """Request the last blocks and the first rows of a long range with an end, while the tip is requested.

        Runs before the first round. These rows only show how many heights fill a response, because rows count once the
        last block is known. Rows that are blocks count at once, because they name the previous ones. Only a first run
        requests them, because the ends of later runs, which have most of the range already, often lack blocks.
        """
        method, bounds, last = self.query.method, self.query.bounds or Bounds(), self.journal.history.last
        start, end = last.next if last else bounds.start or 0, bounds.end or 0
        first = HeightRange(start, start + method.first_heights)
        known = self.query.limit is None and not self.settings.rewind and self.service.dialect.known(method) is not None
        if start < 0 or first.end + 1000 > end or not known:
            return
        if method.linked:
            self.early = _Early(self.service, self.query, HeightRange(start, end)) if last is None else None
        else:
            self.reorg.foresee(end)
            self.density = first.end, Later(lambda: self.service.density(self.query, first))

    def run(self, writer: Writer, tip: Tip) -> None:
        """Make one round: write what is new up to the tip.

        Raises IncompleteError for a reorg or a tip that is too old, UnsteadyError, and what the service raises.
        """
        self.drop_pending()
        known = self.reorg.begin()
        if tip.height + 1 < max(self._next, known.next):
            before = f"block {known.next - 1} was there before" if known.hash else f"{self._next} comes next"
            far = known.hash and known.next - tip.height > SETTLE
            self._warn_behind(f"its tip is {tip.height}, but {before}{f'; {self._if_reset}' if far else ''}")
        else:
            try:
                self._write_new(writer, tip)
            except BehindError as error:
                self._lack_rows(error, tip.height)
        self.check_age(tip)

    def _write_new(self, writer: Writer, tip: Tip) -> None:
        """Write rows that are not written yet, and rows that arrived late."""
        limit = self.query.bounds.end if self.query.bounds else None
        top = tip.height + 1
        if limit is not None and top < limit:  # one stale tip does not outrank --end
            top = self.service.blocks.tip_for(limit) + 1
        end = top - self._lag
        if limit is not None:
            end = min(end, limit if limit >= 0 else top + limit)
        # Blocks are settled at once: there is one for each height, and hashes link it to the one before.
        deep = end if self.query.method.linked else min(end, top - self._lag - SETTLE)
        history = self.journal.history
        if self.looked < 0:  # the run that wrote the last rows looked up to there
            self.looked = self._next + self._lag
        if self._next < end or (history.unsettled and history.settled.next < deep and top != self.looked):
            try:
                self._write_up_to(writer, tip, end, top, deep)
            except OnlyNamedError:
                self.drop_pending()
                self._write_up_to(writer, None, end, top, deep)
        elif self.reorg.check_known(self.service.blocks.hash_of):
            self.behind = False
        else:
            self._lack_known(tip.height)
        if limit is not None and self._next < limit:
            lag = f", and this run stays {counted(self._lag, 'block')} below it" if self._lag else ""
            self.warn(f"{end_above(limit, top - 1)}{lag}")

    def _write_up_to(self, writer: Writer, tip: Tip | None, end: int, top: int, deep: int) -> None:
        """Write late and new rows below `end`.

        `tip`: as the service returned it, None if it lacks blocks below. `top`: the end of the chain; `deep`: heights
        below it are settled if their rows are the same as before.
        """
        linked, history = self.query.method.linked, self.journal.history
        there = self._existing(tip, end)
        if not self.reorg.check_known(self.service.blocks.hash_of if linked else self.reorg.hash_of):
            self._lack_known(top - 1)
            return
        self.behind = False
        self._note_lacked(there, end)
        end = there
        heights, method = history.unsettled, self.query.method
        together = self.query.limit is None  # one request may show late rows and new ones
        middle = max(heights.end, min(deep, end))
        asked = HeightRange(heights.start, max(heights.end, end) if together else heights.end)
        edges = (heights.end, middle) if together else ()
        stream = BatchStream(method, self._batches(self.query._replace(limit=None), asked, edges))
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

    def _note_lacked(self, there: int, end: int) -> None:
        """Warn, and leave out more blocks, if the service has only the blocks below `there` of those below `end`.

        Not again for the same block: it may never come, and then later blocks show that it is missing.
        """
        if there < end:
            if there != self.lacked:
                more, height = self._raise_lag(self._lag + end - there), self.service.blocks.tip_height()
                if more or self.lacked is None:
                    self._warn_behind(f"it does not have block {end - 1}, although its tip is {height}{more}")
            self.lacked = there
        elif self.lacked is not None and self.lacked < end:
            self.lacked = None

    def _passing(self, rows: list[Raw]) -> list[Raw]:
        """Return the rows to write. Rows that the filter leaves out still count as evidence."""
        return rows if self.query.where is None else self.query.where.rows(rows)

    def _limited(self, heights: HeightRange) -> BatchStream:
        """Request all rows of some heights, as far as the limit allows."""
        batches = self._batches(self.query._replace(limit=self.left), heights)
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

    def _lack_known(self, tip: int) -> None:
        """Record that the service lacks the last known block. Raises UnsteadyError if the chain has grown since."""
        known = self.reorg.known
        height, before = known.next - 1, "the checkpoint recorded" if self.journal.checkpoint else "this run has seen"
        if tip - height >= SETTLE:
            raise UnsteadyError(
                IncompleteError(
                    f"the service is behind or its chain was reset: it shows no block {height}, which {before},"
                    f" though its tip is {tip}",
                    f"run the command again later; {self._if_reset}",
                )
            )
        self._stop_behind(f"it does not have block {height}, which {before}")

    def _lack_rows(self, error: BehindError, tip: int) -> None:
        """Record that the service has a block but not all of its rows. Raises UnsteadyError far below the tip."""
        if tip - error.height >= tuning.TAIL:
            raise UnsteadyError(error)
        self._stop_behind(f"it has block {error.height}, and not all of its rows")

    @property
    def _if_reset(self) -> str:
        """Return what to do if the chain is a new one."""
        output = "a new checkpoint and a new output file" if self.journal.checkpoint else "a new output"
        return f"if the chain was reset, start over with {output}"

    def _raise_lag(self, lag: int) -> str:
        """Leave out `lag` blocks below the tip from now on, at most MAX_LAG; return a note for the user."""
        if (lag := min(lag, tuning.MAX_LAG)) <= self._lag:
            return ""
        self.journal.learn_lag(lag)
        return f"; from now on runs stay {counted(lag, 'block')} below the tip"

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
            self._miss(heights, gone.total(), top)
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
        if more := self._raise_lag(max(1, self._lag * 2)):
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

    def _miss(self, heights: HeightRange, rows: int, top: int) -> None:
        """Record that rows which were written are missing. Raises UnsteadyError if the chain has grown since."""
        missing = f"{counted(rows, 'row')} of {heights} that came before"
        if top - self._next >= SETTLE:
            advice = "the service has lost them, or another one answers; run the command again"
            rewind = Phrase("{}; {rewind} writes what it has now", advice, rewind=len(heights))
            raise UnsteadyError(
                IncompleteError(
                    f"{self.query.method.name}: {missing} are missing now",
                    rewind if self.journal.checkpoint else advice,
                )
            )
        self._warn_behind(f"it lacks {missing}")

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
            self._stop_behind(f"it shows no block {end}")
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
            self._stop_behind(f"it does not have block {heights.end - 1} any more")
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
        rows = [row for batch in self._batches(self.query._replace(limit=None), heights) for row in batch.rows]
        if Counter(digests(rows)) != self.journal.history.rows:
            raise UnsteadyError(
                IncompleteError(
                    f"{self.query.method.name} {heights}: rows appeared meanwhile",
                    "the service is writing them; run the command again",
                )
            )
        self.journal.settle(heights.end)

    def _batches(self, query: Query, heights: HeightRange, edges: Sequence[int] = ()) -> Generator[Batch]:
        """Request rows; no batch of rows without heights spans an edge, because only other batches can be split."""
        edges = edges if query.method.height is None else ()
        try:
            early, self.early = self.early, None
            if early is not None and early.heights == heights and query == early.query:
                yield from early.batches()
                return
            compared = self.reorg.compared(heights)
            known = None
            if self.density is not None:  # the first of these rows by themselves: what is to be asked of them waits
                (upto, later), self.density = self.density, None
                known, edges = later.result(), (*edges, upto)
            asked = Asked(known=known, hashes=self.reorg.hashes, compared=compared, edges=edges, incremental=True)
            yield from self.service.fetch_range(query, heights, asked=asked)
        except (BehindError, WrongHashError):
            raise
        except IncompleteError as error:
            self.reorg.check_seen()
            raise UnsteadyError(error) from error

    def check_age(self, tip: Tip) -> None:
        """Raise IncompleteError if the tip is older than `--max-age`, or has no time."""
        if self.settings.max_age is not None:
            check_age(tip, self.settings.max_age)

    def _stop_behind(self, what: str) -> None:
        """Warn once that the service lacks a block that it had, and stay further below the tip from now on."""
        if not self.behind:
            self._warn_behind(f"{what}{self._raise_lag(max(1, self._lag * 2))}")

    def _warn_behind(self, what: str) -> None:
        """Warn once that the service is lagging."""
        if not self.behind:
            self.warn(f"the service is behind: {what}")
        self.behind = True
