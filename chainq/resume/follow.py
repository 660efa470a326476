"""Incremental runs: resume at the position of a checkpoint (`--checkpoint`), poll for new blocks (`--follow`).

Each round requests the tip, checks the last written block for a reorg, and writes what is new, batch by batch. Between
two batches everything is consistent: rows written, synced and recorded, in this order.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import msgspec

from chainq.errors import BrokenBodyError, IncompleteError, OutputError, UnreachableError, UsageError
from chainq.fetching.service import Service, hash_text
from chainq.fetching.tip import Tip
from chainq.formats.protocol import Writer
from chainq.heights.block_time import format_age
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.planning.query import Batch, Query
from chainq.process.signals import Interrupted, PipeClosed, signals_deferred
from chainq.resume.checkpoint import Checkpoint, Position
from chainq.resume.reorg import check_block
from chainq.resume.settings import ResumeSettings
from chainq.rows.fields import Picker, integer_of
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.text.humanize import counted, duration
from chainq.text.sanitize import printable


def run(
    service: Service,
    query: Query,
    settings: ResumeSettings,
    identity: Mapping[str, object],
    begin: Callable[[Sink, bool], Writer],
    warn: Callable[[str], None],
) -> None:
    """Write the rows that are new, and with `settings.follow` keep polling until interrupted.

    `identity`: what the checkpoint tells queries apart by. `begin` makes the writer for a sink; its second argument
    says whether an earlier run wrote the beginning of the output. `warn` takes one line for the user.
    Raises ChainqError, PipeClosed or Interrupted.
    """
    file = settings.output
    output = printable(os.path.realpath(file)) if file is not None else ""
    with ExitStack() as stack:
        checkpoint, known = None, None
        if settings.checkpoint is not None:
            if output in (path := printable(os.path.realpath(settings.checkpoint)), f"{path}.lock"):
                raise UsageError(f"-o and --checkpoint are the same file {output}", "use two files")
            checkpoint = stack.enter_context(Checkpoint(settings.checkpoint, identity))
            if settings.rewind:
                _rewind(checkpoint, settings.rewind, warn if file is None else None)
            known = checkpoint.last
        same_output = known is not None and checkpoint is not None and checkpoint.output == output
        recorded = known.length if known and same_output else None
        sink = stack.enter_context(open_sink(file, append=True, recorded=recorded))
        position = known or Position(_first_height(service, query, settings))
        position = msgspec.structs.replace(position, length=sink.length)
        incremental = IncrementalRun(service, query, settings, warn, sink, position, checkpoint, output)
        if checkpoint and not same_output:
            if position.length and not known:
                warn(f"{output} already has content that is not from this checkpoint; rows are appended to it")
            incremental.record(position)  # before the first row: the next run can then remove what a crash leaves
        continued = position.length > 0 if sink.appends else known is not None
        incremental.run(lambda: begin(sink, continued))


def first_round(query: Query, settings: ResumeSettings, identity: Mapping[str, object]) -> Query:
    """Return the query with the bounds of the first round, as far as they are known without a request (`--dry-run`).

    Writes nothing but the lock file of an existing checkpoint. Raises ChainqError.
    """
    bounds, known = query.bounds or Bounds(), None
    if settings.checkpoint is not None and settings.checkpoint.exists():
        with Checkpoint(settings.checkpoint, identity) as checkpoint:
            if settings.rewind:
                checkpoint.rewind(settings.rewind, save=False)
            known = checkpoint.last
    if settings.checkpoint is None and bounds.start is None:  # --follow alone begins with the last blocks
        return query
    start = known.next if known else bounds.start or 0
    end = bounds.end if bounds.end is not None else -settings.lag or None
    if end is not None and end >= 0:  # nothing is left of a range that is complete
        start = min(start, end)
    return query._replace(bounds=Bounds(start=start, end=end))


def _rewind(checkpoint: Checkpoint, blocks: int, warn: Callable[[str], None] | None) -> None:
    """Go back at least `blocks` blocks; `warn`, where given, is called if more heights than that are fetched again."""
    before = checkpoint.last
    checkpoint.rewind(blocks)
    if warn and before and checkpoint.last and checkpoint.last.next != before.next - blocks:
        again = counted(before.next - checkpoint.last.next, "height")
        warn(
            f"--rewind {blocks} goes back to the nearest checkpoint position, height {checkpoint.last.next}:"
            f" {again} to fetch again"
        )


def _first_height(service: Service, query: Query, settings: ResumeSettings) -> int:
    """Return where a first run starts: at `--start`, else at 0 with a checkpoint and at the last blocks without."""
    bounds = query.bounds or Bounds()
    if settings.checkpoint is not None:
        bounds = Bounds(start=bounds.start or 0)
    return bounds.start if bounds.start is not None and bounds.start >= 0 else service.height_range(bounds).start


@dataclass(slots=True)
class IncrementalRun:
    """One run from `position` towards the tip: its state between two batches."""

    service: Service
    query: Query
    settings: ResumeSettings
    warn: Callable[[str], None]
    sink: Sink
    position: Position
    checkpoint: Checkpoint | None
    output: str  # path of the output file; empty for standard output
    behind: bool = False  # the tip is below the position; the user was warned
    failing: bool = False  # the last round failed; the user was warned
    written: int = 0  # rows

    def run(self, begin: Callable[[], Writer]) -> None:
        """Make one round, or with `--follow` rounds until interrupted or `--limit` is reached."""
        settings, limit, refresh = self.settings, self.query.limit, False
        try:
            writer = begin()
            while limit is None or self.written < limit:
                try:
                    self._round(writer, refresh=refresh)
                    self.failing = False
                except (UnreachableError, BrokenBodyError) as error:
                    if not settings.follow:
                        raise
                    if not self.failing:
                        self.warn(f"{error}; trying again every {settings.interval:g} s")
                    self.failing = True
                refresh = True
                if not settings.follow or (limit is not None and self.written >= limit):
                    break
                time.sleep(settings.interval)
        except PipeClosed:
            raise
        except BaseException as error:
            # A full disk leaves half a row, and a write that was broken off leaves rows that nothing records: remove
            # them. Where the checkpoint may just have recorded them, that is left to the next run.
            broken_off = isinstance(error, Interrupted) and error.mid_write and self.checkpoint is None
            if broken_off or isinstance(error, OutputError):
                with suppress(OutputError):
                    self.sink.truncate(self.position.length)
            error.add_note(self._remedy())
            raise
        with signals_deferred():
            writer.close()

    def record(self, position: Position) -> None:
        """Set the position that the output has reached, durably where there is a checkpoint. Raises OutputError."""
        self.sink.keep()  # first: what the checkpoint may just have recorded must never be removed
        if self.checkpoint:
            self.sink.sync()
            self.checkpoint.save(position, self.output)
        self.position = position

    def _round(self, writer: Writer, refresh: bool) -> None:
        """Write what is new up to the tip. Raises IncompleteError for a reorg or a tip that is too old."""
        tip = self.service.tip(refresh=refresh)
        if tip.height + 1 < self.position.next:
            self._warn_behind(tip)
        else:
            self.behind = False
            if self.position.hash:
                self._check_block(self.service.hash_of(self.position.next - 1))
            end = self._end(tip)
            if end > self.position.next:
                self._write_range(writer, HeightRange(self.position.next, end))
        max_age = self.settings.max_age
        if max_age is not None and tip.time is not None and time.time() - tip.time > max_age:
            raise IncompleteError(
                f"block {tip.height} is {duration(time.time() - tip.time)} old,"
                f" older than --max-age {format_age(max_age)}",
                "the chain or the service has stopped",
            )

    def _end(self, tip: Tip) -> int:
        """Return the end of a round, exclusive: `--lag` blocks below the tip, at most `--end`."""
        end, limit = tip.height + 1 - self.settings.lag, self.query.bounds.end if self.query.bounds else None
        if limit is None:
            return end
        return min(end, limit if limit >= 0 else tip.height + 1 + limit)

    def _warn_behind(self, tip: Tip) -> None:
        """Say once that the tip is below the position."""
        if not self.behind:
            next_height = self.position.next
            expected = f"block {next_height - 1} is written" if self.position.hash else f"{next_height} comes next"
            self.warn(f"the service is behind: its tip is {tip.height}, but {expected}")
        self.behind = True

    def _write_range(self, writer: Writer, heights: HeightRange) -> None:
        left = None if self.query.limit is None else self.query.limit - self.written
        for batch in self.service.fetch_range(self.query._replace(limit=left), heights):
            if batch.heights is None or not len(batch.heights):
                continue
            self._check_link(batch)
            block_hash = self._last_hash(batch, batch.heights, heights)
            rows = batch.rows if left is None else batch.rows[:left]
            with signals_deferred():
                writer.write(rows)
                self.record(Position(batch.heights.end, block_hash, self.sink.length))
                self.written += len(rows)
            if left is not None:
                left -= len(rows)
                if left <= 0:
                    return

    def _check_link(self, batch: Batch) -> None:
        """Raise IncompleteError where a reorg happened between the check of this round and the response."""
        if self.query.method.linked and self.query.verify and self.position.hash and batch.rows:
            self._check_block(hash_text(Picker(["previous_hash"])(batch.rows[0])[0]))

    def _check_block(self, found: str | None) -> None:
        check_block(self.position, found, checkpoint=self.checkpoint is not None)

    def _last_hash(self, batch: Batch, covered: HeightRange, heights: HeightRange) -> str:
        """Return the hash of the last block that a batch covers: of its rows if they are blocks, else from the service.

        Without a checkpoint it is needed, and requested, only at the end of the round's `heights`.
        """
        method = self.query.method
        if method.linked and batch.rows:
            block_hash, height = Picker(["block_hash", method.height or ""])(batch.rows[-1])
            if integer_of(height) == covered.end - 1:  # with --no-verify the last block may be missing
                return hash_text(block_hash)
        if self.checkpoint is None and covered.end < heights.end:
            return ""
        found = self.service.hash_of(covered.end - 1)
        if found is None:  # a replica behind that URL lags: its response may lack rows as well
            raise IncompleteError(
                f"{method.name} {covered}: block {covered.end - 1} does not exist, although the tip is"
                f" {self.service.tip_height()}",
                "--lag N leaves out the last N blocks",
            )
        return found

    def _remedy(self) -> str:
        if self.checkpoint:
            return f"the next run resumes at height {self.position.next}"
        follow = " --follow" if self.settings.follow else ""
        return f"resume with --start {self.position.next}{follow}"
