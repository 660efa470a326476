"""Goes on where the last run ended (`--checkpoint`), and as blocks appear (`--follow`).

Each round looks at the newest block, makes sure that the chain is still the one it knew, and writes what is new, batch
by batch. Between two batches everything is consistent: rows written, synced, and recorded, in that order.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import msgspec

from chainq.errors import BrokenBodyError, IncompleteError, OutputError, UnreachableError, UsageError
from chainq.fetching.service import Service
from chainq.formats.protocol import Writer
from chainq.heights.block_time import format_age
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.planning.query import Batch, Query
from chainq.process.signals import Interrupted, PipeClosed, held
from chainq.resume.checkpoint import Checkpoint, Mark
from chainq.resume.reorg import check_block
from chainq.resume.settings import ResumeSettings
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.text.humanize import duration
from chainq.text.sanitize import printable


def run(
    service: Service,
    query: Query,
    settings: ResumeSettings,
    identity: Mapping[str, object],
    begin: Callable[[Sink, bool], Writer],
    warn: Callable[[str], None],
) -> None:
    """Write what is new, and with `--follow` go on until interrupted.

    `identity`: what tells this query from another in the checkpoint. `begin` makes the writer on a sink; its second
    argument says whether an earlier run wrote the beginning. `warn` takes one line. Raises ChainqError or Interrupted.
    """
    file = settings.output
    place = printable(os.path.realpath(file)) if file is not None else ""
    with ExitStack() as stack:
        checkpoint, known = None, None
        if settings.checkpoint is not None:
            if place in (kept := printable(os.path.realpath(settings.checkpoint)), f"{kept}.lock"):
                raise UsageError(f"-o {place} is the checkpoint's own file", "give each its own")
            checkpoint = stack.enter_context(Checkpoint(settings.checkpoint, identity))
            if settings.rewind:
                _rewind(checkpoint, settings.rewind, warn if file is None else None)
            known = checkpoint.last
        recorded = known.length if known and checkpoint and checkpoint.output == place else None
        sink = stack.enter_context(open_sink(file, append=True, recorded=recorded))
        mark = known or Mark(_first(service, query, kept=checkpoint is not None))
        mark = msgspec.structs.replace(mark, length=sink.length)
        course = _Course(service, query, settings, warn, sink, mark, checkpoint, place)
        if checkpoint and not (known and checkpoint.output == place):
            if mark.length and not known:
                warn(f"{place} is not empty, and what it holds is unknown to the new checkpoint: rows follow it")
            course.record(mark)  # before the first row: what a crash leaves can then be told from what was there
        continued = mark.length > 0 if sink.appends else known is not None
        course.go(lambda: begin(sink, continued))


def _rewind(checkpoint: Checkpoint, blocks: int, warn: Callable[[str], None] | None) -> None:
    """Go back to a mark. A file is cut back to it; of all else `warn` says how many heights come again."""
    before = checkpoint.last
    checkpoint.rewind(blocks)
    if warn and before and checkpoint.last and checkpoint.last.next != before.next - blocks:
        warn(f"--rewind {blocks} from {before.next} goes to {checkpoint.last.next}, the nearest mark it has")


def planned(query: Query, settings: ResumeSettings, identity: Mapping[str, object]) -> Query:
    """The same query with the bounds of the first round, as far as they are known without a call (`--dry-run`).

    Nothing is written but the checkpoint's lock, where there is a checkpoint. Raises ChainqError.
    """
    bounds, known = query.bounds or Bounds(), None
    if settings.checkpoint is not None and settings.checkpoint.exists():
        with Checkpoint(settings.checkpoint, identity) as checkpoint:
            if settings.rewind:
                checkpoint.rewind(settings.rewind, recorded=False)
            known = checkpoint.last
    if settings.checkpoint is None and bounds.start is None:  # --follow alone begins with the newest blocks
        return query
    start = known.next if known else bounds.start or 0
    end = bounds.end if bounds.end is not None else -settings.lag or None
    if end is not None and end >= 0:  # done already
        start = min(start, end)
    return query._replace(bounds=Bounds(start=start, end=end))


def _first(service: Service, query: Query, kept: bool) -> int:
    """The height that a first run starts at: with a checkpoint 0 unless `--start` says otherwise."""
    bounds = query.bounds or Bounds()
    if kept:
        bounds = Bounds(start=bounds.start or 0)
    return bounds.start if bounds.start is not None and bounds.start >= 0 else service.height_range(bounds).start


@dataclass(slots=True)
class _Course:
    """One run's way along the chain: where it is (`mark`), and how it moves."""

    service: Service
    query: Query
    settings: ResumeSettings
    warn: Callable[[str], None]
    sink: Sink
    mark: Mark
    checkpoint: Checkpoint | None
    place: str  # of the output file; empty for standard output
    behind: bool = False  # whether it was said that the service is
    written: int = 0  # rows

    def go(self, begin: Callable[[], Writer]) -> None:
        """Make rounds until there is nothing new, or with `--follow` until interrupted."""
        settings, limit, first = self.settings, self.query.limit, True
        try:
            writer = begin()
            while limit is None or self.written < limit:
                try:
                    self._round(writer, refresh=not first)
                except (UnreachableError, BrokenBodyError) as error:
                    if not settings.follow:
                        raise
                    self.warn(f"{error}; going on when the service is back")
                first = False
                if not settings.follow or (limit is not None and self.written >= limit):
                    break
                time.sleep(settings.interval)
        except PipeClosed:
            raise
        except BaseException as error:
            # A disk that is full leaves half a row, a write that was broken off rows that were not taken note of: take
            # them back. Where a checkpoint may just have recorded them, the next run does.
            broken_off = isinstance(error, Interrupted) and error.cut and self.checkpoint is None
            if broken_off or isinstance(error, OutputError):
                with suppress(OutputError):
                    self.sink.truncate(self.mark.length)
            error.add_note(self._rest())
            raise
        with held():
            writer.close()

    def record(self, mark: Mark) -> None:
        """Make `mark` the place that the output has come to, durably where there is a checkpoint."""
        self.sink.keep()  # first: what a checkpoint may just have recorded must never be removed
        if self.checkpoint:
            self.sink.sync()
            self.checkpoint.save(mark, self.place)
        self.mark = mark

    def _round(self, writer: Writer, refresh: bool) -> None:
        settings, bounds = self.settings, self.query.bounds or Bounds()
        tip = self.service.tip(refresh=refresh)
        top = tip.height + 1
        if top < self.mark.next:
            if not self.behind:
                last = self.mark.next - 1
                rest = f"{last} is written" if self.mark.hash else f"height {self.mark.next} is still to come"
                self.warn(f"the service is behind: its newest block is {tip.height}, and {rest}")
            self.behind = True
        else:
            self.behind = False
            if self.mark.hash:
                check_block(self.mark, self.service.hash_of(self.mark.next - 1))
            end = top - settings.lag
            if bounds.end is not None:
                end = min(end, bounds.end if bounds.end >= 0 else top + bounds.end)
            if end > self.mark.next:
                self._write_span(writer, HeightRange(self.mark.next, end))
        if settings.max_age is not None and tip.time is not None and time.time() - tip.time > settings.max_age:
            raise IncompleteError(
                f"block {tip.height} is {duration(time.time() - tip.time)} old,"
                f" older than --max-age {format_age(settings.max_age)}",
                "the chain or the service has stopped",
            )

    def _write_span(self, writer: Writer, span: HeightRange) -> None:
        left = None if self.query.limit is None else self.query.limit - self.written
        batches = self.service.fetch_range(self.query._replace(limit=left), span)
        for batch in batches:
            if batch.heights is None or not len(batch.heights):
                continue
            self._check_link(batch)
            block_hash = self._last_hash(batch, batch.heights, span)
            rows = batch.rows if left is None else batch.rows[:left]
            with held():
                writer.write(rows)
                self.record(Mark(batch.heights.end, block_hash, self.sink.length))
                self.written += len(rows)
            if left is not None:
                left -= len(rows)
                if left <= 0:
                    return

    def _check_link(self, batch: Batch) -> None:
        """Raise IncompleteError where the chain changed between the look at it and the answer."""
        if self.query.method.linked and self.query.verify and self.mark.hash and batch.rows:
            check_block(self.mark, text_of(Picker(["previous_hash"])(batch.rows[0])[0]))

    def _last_hash(self, batch: Batch, span: HeightRange, whole: HeightRange) -> str:
        """The hash of the last block of a batch: from the batch where it holds blocks, else asked for.

        Without a checkpoint only the end of a round needs one.
        """
        method = self.query.method
        if method.linked and batch.rows:
            block_hash, height = Picker(["block_hash", method.height or ""])(batch.rows[-1])
            if integer_of(height) == span.end - 1:  # with --no-verify the last block may be missing
                return text_of(block_hash)
        if self.checkpoint is None and span.end < whole.end:
            return ""
        found = self.service.hash_of(span.end - 1)
        if found is None:  # some server behind that URL lags: its answer may lack rows as well
            raise IncompleteError(
                f"{self.query.method.name} {span}: there is no block {span.end - 1}, though the newest is"
                f" {self.service.tip_height()}",
                "--lag N leaves out the newest N",
            )
        return found

    def _rest(self) -> str:
        if self.checkpoint:
            return f"the next run goes on at height {self.mark.next}"
        follow = " --follow" if self.settings.follow else ""
        return f"resume with --start {self.mark.next}{follow}"
