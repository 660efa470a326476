"""Goes on where the last run ended (`--checkpoint`), and as blocks appear (`--follow`).

Each round looks at the newest block, makes sure that the chain is still the one it knew, and writes what is new, batch
by batch. Between two batches everything is consistent: rows written, synced, and recorded, in that order.
"""

import dataclasses
import gc
import os
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import msgspec

from chainq.catalog.methods import Column
from chainq.cli import output
from chainq.cli.query import Asked, Options
from chainq.cli.report import Reporter
from chainq.errors import BrokenBodyError, IncompleteError, OutputError, UnreachableError, UsageError
from chainq.fetching.service import Client
from chainq.formats.protocol import Format, Writer
from chainq.heights.block_time import parse_age
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.planning.query import Batch, Question
from chainq.process.signals import Interrupted, PipeClosed, held
from chainq.resume.checkpoint import Checkpoint, Mark
from chainq.resume.reorg import check_block
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.text.sanitize import mask_url, printable


def run(
    client: Client,
    question: Asked,
    options: Options,
    format_name: str,
    make: Format,
    columns: tuple[Column, ...],
    reporter: Reporter,
) -> None:
    """Write what is new, and with `--follow` go on until interrupted. Raises ChainqError or Interrupted."""
    gc.enable()
    going, file = options.checkpoint, options.output.file
    place = printable(os.path.realpath(file)) if file is not None else ""
    with ExitStack() as stack:
        checkpoint, known = None, None
        if going.checkpoint is not None:
            if place in (kept := printable(os.path.realpath(going.checkpoint)), f"{kept}.lock"):
                raise UsageError(f"-o {place} is the checkpoint's own file", "give each its own")
            identity = _identity(client, question, options, format_name)
            checkpoint = stack.enter_context(Checkpoint(going.checkpoint, identity))
            if going.rewind:
                _rewind(checkpoint, going.rewind, reporter if file is None else None)
            known = checkpoint.last
        recorded = known.length if known and checkpoint and checkpoint.output == place else None
        sink = stack.enter_context(open_sink(file, append=True, recorded=recorded))
        mark = known or Mark(_first(client, question, kept=checkpoint is not None))
        mark = msgspec.structs.replace(mark, length=sink.length)
        course = _Course(client, question, options, reporter, sink, mark, checkpoint, place)
        if checkpoint and not (known and checkpoint.output == place):
            if mark.length and not known:
                reporter.warn(
                    f"{place} is not empty, and what it holds is unknown to the new checkpoint: rows follow it"
                )
            course.record(mark)  # before the first row: what a crash leaves can then be told from what was there
        continued = mark.length > 0 if sink.appends else known is not None
        told = output.sheet(question.method, columns, options.output, reporter, continued=continued)
        course.go(lambda: make(sink, told))


def _rewind(checkpoint: Checkpoint, blocks: int, reporter: Reporter | None) -> None:
    """Go back to a mark. A file is cut back to it; of all else the reporter says how many heights come again."""
    before = checkpoint.last
    checkpoint.rewind(blocks)
    if reporter and before and checkpoint.last and checkpoint.last.next != before.next - blocks:
        reporter.warn(f"--rewind {blocks} from {before.next} goes to {checkpoint.last.next}, the nearest mark it has")


def planned(client: Client, question: Asked, options: Options, format_name: str) -> Asked:
    """The same question with the range of the first round, as far as it is known without a call (`--dry-run`).

    Nothing is written but the checkpoint's lock, where there is a checkpoint. Raises ChainqError.
    """
    going, ask, known = options.checkpoint, question.heights or Bounds(), None
    if going.checkpoint is not None and going.checkpoint.exists():
        with Checkpoint(going.checkpoint, _identity(client, question, options, format_name)) as checkpoint:
            if going.rewind:
                checkpoint.rewind(going.rewind, recorded=False)
            known = checkpoint.last
    if going.checkpoint is None and ask.start is None:  # --follow alone begins with the newest blocks
        return question
    start = known.next if known else ask.start or 0
    end = ask.end if ask.end is not None else -going.lag or None
    if end is not None and end >= 0:  # done already
        start = min(start, end)
    return dataclasses.replace(question, heights=Bounds(start=start, end=end))


def _identity(client: Client, question: Asked, options: Options, format_name: str) -> dict[str, object]:
    """What tells one question from another; no secrets."""
    return {
        "command": question.method.command,
        "arguments": {role.value: value for role, value in question.arguments.items()},
        "start": options.heights.start or "0",
        "url": mask_url(client.url),
        "dialect": client.dialect.name,
        "format": format_name,
        "columns": options.output.columns or "",
    }


def _first(client: Client, question: Asked, kept: bool) -> int:
    """The height that a first run starts at: with a checkpoint 0 unless `--start` says otherwise."""
    ask = question.heights or Bounds()
    if kept:
        ask = Bounds(start=ask.start or 0)
    return ask.start if ask.start is not None and ask.start >= 0 else client.span(ask).start


@dataclasses.dataclass(slots=True)
class _Course:
    """One run's way along the chain: where it is (`mark`), and how it moves."""

    client: Client
    question: Asked
    options: Options
    reporter: Reporter
    sink: Sink
    mark: Mark
    checkpoint: Checkpoint | None
    place: str  # of the output file; empty for standard output
    behind: bool = False  # whether it was said that the service is
    written: int = 0  # rows

    def go(self, begin: Callable[[], Writer]) -> None:
        """Make rounds until there is nothing new, or with `--follow` until interrupted."""
        going, limit, first = self.options.checkpoint, self.question.limit, True
        try:
            writer = begin()
            while limit is None or self.written < limit:
                try:
                    self._round(writer, anew=not first)
                except (UnreachableError, BrokenBodyError) as error:
                    if not going.follow:
                        raise
                    self.reporter.warn(f"{error}; going on when the service is back")
                first = False
                if not going.follow or (limit is not None and self.written >= limit):
                    break
                time.sleep(going.interval)
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

    def _round(self, writer: Writer, anew: bool) -> None:
        going, ask = self.options.checkpoint, self.question.heights or Bounds()
        tip = self.client.tip(anew=anew)
        top = tip.height + 1
        if top < self.mark.next:
            if not self.behind:
                last = self.mark.next - 1
                rest = f"{last} is written" if self.mark.hash else f"height {self.mark.next} is still to come"
                self.reporter.warn(f"the service is behind: its newest block is {tip.height}, and {rest}")
            self.behind = True
        else:
            self.behind = False
            if self.mark.hash:
                check_block(self.mark, self.client.hash_of(self.mark.next - 1))
            end = top - going.lag
            if ask.end is not None:
                end = min(end, ask.end if ask.end >= 0 else top + ask.end)
            if end > self.mark.next:
                self._write_span(writer, HeightRange(self.mark.next, end))
        if going.max_age is not None and tip.time is not None and time.time() - tip.time > parse_age(going.max_age):
            raise IncompleteError(
                f"the newest block, {tip.height}, is {time.time() - tip.time:.0f} s old, more than {going.max_age}",
                "the chain or the service stands still",
            )

    def _write_span(self, writer: Writer, span: HeightRange) -> None:
        question, limit = self.question, self.question.limit
        left = None if limit is None else limit - self.written
        batches = self.client.ranged(
            Question(
                question.method,
                span,
                question.arguments,
                page_size=question.page_size,
                limit=left,
                verify=question.verify,
            )
        )
        for batch in batches:
            if batch.span is None or not len(batch.span):
                continue
            self._check_link(batch)
            block_hash = self._last_hash(batch, batch.span, span)
            rows = batch.rows if left is None else batch.rows[:left]
            with held():
                writer.write(rows)
                self.record(Mark(batch.span.end, block_hash, self.sink.length))
                self.written += len(rows)
            if left is not None:
                left -= len(rows)
                if left <= 0:
                    return

    def _check_link(self, batch: Batch) -> None:
        """Raise IncompleteError where the chain changed between the look at it and the answer."""
        if self.question.method.linked and self.question.verify and self.mark.hash and batch.rows:
            check_block(self.mark, text_of(Picker(["previous_hash"])(batch.rows[0])[0]))

    def _last_hash(self, batch: Batch, span: HeightRange, whole: HeightRange) -> str:
        """The hash of the last block of a batch: from the batch where it holds blocks, else asked for.

        Without a checkpoint only the end of a round needs one.
        """
        method = self.question.method
        if method.linked and batch.rows:
            block_hash, height = Picker(["block_hash", method.height or ""])(batch.rows[-1])
            if integer_of(height) == span.end - 1:  # with --no-verify the last block may be missing
                return text_of(block_hash)
        if self.checkpoint is None and span.end < whole.end:
            return ""
        found = self.client.hash_of(span.end - 1)
        if found is None:  # some server behind that URL lags: its answer may lack rows as well
            raise IncompleteError(
                f"{self.question.method.name} {span}: there is no block {span.end - 1}, though the newest is"
                f" {self.client.tip_height()}",
                "--lag N leaves out the newest N",
            )
        return found

    def _rest(self) -> str:
        if self.checkpoint:
            return f"the next run goes on at height {self.mark.next}"
        follow = " --follow" if self.options.checkpoint.follow else ""
        return f"resume with --start {self.mark.next}{follow}"
