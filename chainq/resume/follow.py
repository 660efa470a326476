"""Incremental runs: resume at the position of a checkpoint (`--checkpoint`), poll for new blocks (`--follow`).

This module sets up a run and repeats its rounds until it ends. `rounds` makes the requests and writes the rows.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from chainq import tuning
from chainq.defaults import DEFAULT_LAST
from chainq.errors import (
    BrokenBodyError,
    ChainqError,
    IncompleteError,
    OutputError,
    OverdueError,
    ReorgError,
    ResponseError,
    ServiceError,
    StaleError,
    UnreachableError,
    UsageError,
    is_lasting,
    sentences,
)
from chainq.fetching.service import Service
from chainq.fetching.tip import Tip
from chainq.formats.protocol import Writer
from chainq.heights.block_time import format_age
from chainq.heights.bounds import Bounds
from chainq.process.progress import Progress
from chainq.process.signals import Interrupted, PipeClosed, raise_if_ending, signals_deferred
from chainq.query import Query
from chainq.resume.checkpoint import Checkpoint, recorded
from chainq.resume.history import History
from chainq.resume.journal import Journal
from chainq.resume.reorg import SeenReorgError
from chainq.resume.rounds import Rounds
from chainq.resume.settings import ResumeSettings
from chainq.resume.settling import UnsteadyError
from chainq.sinks.append_file import FileChangedError, Recorded
from chainq.sinks.base import Sink
from chainq.sinks.open import descriptor_of, open_sink
from chainq.text.humanize import counted, duration
from chainq.text.sanitize import printable

FEW = 1000  # heights: a first run reads these in seconds


def run(
    service: Service,
    query: Query,
    settings: ResumeSettings,
    identity: Mapping[str, object],
    begin: Callable[[Sink, bool], Writer],
    warn: Callable[[str], None],
    note: Callable[[str], None],
    remark: Callable[[str], None],
    progress: Progress,
) -> None:
    """Write the rows that are new, and with `settings.follow` keep polling until interrupted.

    `identity`: what the checkpoint tells queries apart by. `begin` makes the writer for a sink; its second argument
    says whether an earlier run wrote the beginning of the output. `warn`, `note` and `remark` take one
    line for the user, `remark` what only somebody who watches wants to know. Raises ChainqError, PipeClosed,
    Interrupted.
    """
    with ExitStack() as stack:
        journal = open_journal(stack, settings, identity)
        rounds = Rounds(service, query, settings, journal, warn, progress)
        before, polls = journal.history.last, _Polls(rounds, note)
        polls.run(begin)
        if before is not None and before.next == journal.position.next and not rounds.written and not settings.follow:
            remark(_nothing_new(journal, polls.tip))


def open_journal(
    stack: ExitStack,
    settings: ResumeSettings,
    identity: Mapping[str, object],
) -> Journal:
    """Return the journal of a run: its checkpoint and its output, both open and locked until `stack` ends.

    `identity`: the values by which the checkpoint distinguishes queries. Raises ChainqError.
    """
    file = settings.output
    output = printable(os.path.realpath(file)) if file is not None and descriptor_of(file) is None else ""
    checkpoint, recorded = None, None
    if settings.checkpoint is not None:
        if output in (path := printable(os.path.realpath(settings.checkpoint)), f"{path}.lock"):
            raise UsageError(f"-o and --checkpoint are the same file {output}")
        checkpoint = stack.enter_context(Checkpoint(settings.checkpoint, identity))
        last = checkpoint.history.last
        if last is not None and checkpoint.content.output == output:
            recorded = Recorded(last.length, checkpoint.content.output_end, checkpoint.content.writing)
    try:
        sink = stack.enter_context(open_sink(file, append=True, recorded=recorded))
    except (IncompleteError, OutputError) as error:  # the file is gone, changed, or cannot be written
        if checkpoint is not None:
            with suppress(OutputError):
                checkpoint.failed(str(error), lasting=True)
                checkpoint.note()
        raise
    journal = Journal(sink, checkpoint.history if checkpoint else History(), checkpoint, output)
    if checkpoint is not None and sink.owner == str(checkpoint.path):
        _check_earlier(journal, checkpoint, output)
    elif checkpoint is not None and sink.owner:
        _check_other(Path(sink.owner), output)
    if journal.history.last is None and sink.appends and sink.length:
        _refuse_unknown(output, checkpoint)
    return journal


def _refuse_unknown(output: str, checkpoint: Checkpoint | None) -> NoReturn:
    """Raise UsageError for an output file with rows that no checkpoint records: a run could write them twice."""
    if checkpoint is not None:
        raise UsageError(
            f"{output} has rows of an earlier run, and there is no checkpoint {printable(str(checkpoint.path))}"
        )
    raise UsageError(f"{output} has rows already, and without --checkpoint nothing records how far they go")


def _check_earlier(journal: Journal, checkpoint: Checkpoint, output: str) -> None:
    """Raise UsageError if the checkpoint has moved to another output since: the file would have a gap."""
    last = checkpoint.history.last
    if last is None or not journal.sink.length or journal.continues_output:
        return
    name, later = printable(str(checkpoint.path)), checkpoint.content.output
    raise UsageError(
        f"{output} contains earlier rows of checkpoint {name}, and later ones went to {later or 'standard output'}"
    )


def _check_other(other: Path, output: str) -> None:
    """Raise UsageError if another checkpoint records the output file, or if that checkpoint cannot be read."""
    try:
        of_other = recorded(other).output if other.exists() else ""
    except UsageError as error:
        raise UsageError(f"{output} was the output of another checkpoint: " + error.message) from None
    if of_other == output:
        raise UsageError(f"{output} is the output of checkpoint {printable(str(other))}")


def _nothing_new(journal: Journal, tip: Tip | None) -> str:
    """Return that a run found no new blocks; empty if the service is behind, of which it has warned."""
    block = journal.position.next - 1
    if journal.checkpoint is None or tip is None or tip.height < block:
        return ""
    at = f"{printable(journal.checkpoint.path.name)} is at block {block}"
    return f"no new blocks: {at}{', the tip' if block == tip.height else ''}"


def from_genesis(count: int) -> str:
    """Return a note that a first run without a range reads all blocks, so many; empty if they are few."""
    begin = f"--start {-DEFAULT_LAST} begins near the tip"
    return f"starts at height 0: {count:,} heights; {begin}" if count > FEW else ""


def first_round(query: Query, settings: ResumeSettings, identity: Mapping[str, object]) -> Query:
    """Return the query with the bounds of the first round, as far as they are known without a request (`--dry-run`).

    Writes nothing but the lock file of an existing checkpoint. Raises ChainqError.
    """
    bounds, known, lag = query.bounds or Bounds(), None, settings.lag
    if settings.checkpoint is not None and settings.checkpoint.exists():
        with Checkpoint(settings.checkpoint, identity) as checkpoint:
            if settings.rewind:
                checkpoint.history.rewind(settings.rewind)
            known, lag = checkpoint.history.last, max(lag, checkpoint.content.lag)
    if settings.checkpoint is None and bounds.start is None:  # --follow alone begins with the last blocks
        return query
    start = known.next if known else bounds.start or 0
    end = bounds.end if bounds.end is not None else -lag or None
    if end is not None and end >= 0:  # nothing is left of a range that is complete
        start = min(start, end)
    return query._replace(bounds=Bounds(start=start, end=end))


@dataclass(slots=True)
class _Polls:
    """The rounds of a run in sequence: one, or any number with `--follow`."""

    rounds: Rounds
    note: Callable[[str], None]
    writer: Writer | None = None  # None until the service has answered
    tip: Tip | None = None  # the last one that the service returned
    failures: int = 0  # polls in a row without a result
    failing_since: float = 0.0  # by time.monotonic, as the next two
    warned_at: float = 0.0
    recorded_at: float = 0.0
    refusals: int = 0  # the failures that waiting alone may not fix

    def run(self, begin: Callable[[Sink, bool], Writer]) -> None:
        """Make rounds until none is left, and end the output."""
        try:
            while self.rounds.left != 0:
                raise_if_ending()
                self._poll(begin)
                if not self.rounds.settings.follow or self.rounds.left == 0:
                    break
                self.rounds.progress.begin(None)
                self.rounds.progress.waits(self.rounds.settings.interval, "next poll in")
                time.sleep(self.rounds.settings.interval)
        except PipeClosed:
            raise
        except BaseException as error:
            if self.rounds.journal.history.last is not None:
                self._clean_up(error)
            raise
        self.rounds.drop_pending()
        with signals_deferred():
            if self.writer is not None:
                self.writer.close()
            self.rounds.journal.end()

    def _poll(self, begin: Callable[[Sink, bool], Writer]) -> None:
        """Make one round; warn of a failure that `--follow` tolerates."""
        try:
            if self.writer is None:
                self.rounds.requested.foresee()
            self.tip = tip = self.rounds.service.blocks.tip(refresh=True)
            self.rounds.run(self._ready(begin, tip), tip)
        except FileChangedError:  # rotated in the middle of a round; the next one writes the rest
            if not self.rounds.settings.follow or self.writer is None:
                raise
            self._reopen(begin)
        except UnsteadyError as unsteady:
            self._failed(unsteady.error)
        except (ServiceError, UnreachableError, ResponseError) as error:
            self._failed(error)
        else:
            if self.failures:
                self.rounds.warn(f"the service responds again, after {counted(self.failures, 'failed poll')}")
            self.failures = self.refusals = 0
            # Else the service is behind, and nothing can be new.
            if tip.height + 1 >= self.rounds.journal.position.next:
                self.rounds.journal.succeeded(tip.height, tip.time)
                if self.rounds.settings.follow:
                    self.rounds.journal.note_state()

    def _ready(self, begin: Callable[[Sink, bool], Writer], tip: Tip) -> Writer:
        """Return the writer of a round, for the file that has the name of the output now.

        Raises IncompleteError if `--rewind` would remove rows that the service does not have.
        """
        journal, rewind = self.rounds.journal, self.rounds.settings.rewind or 0
        if self.writer is None:  # not before the service has answered: a run in vain changes nothing
            last = journal.history.last
            if rewind and last is not None and tip.height + 1 < last.next:
                behind = f"the service is behind: its tip is {tip.height}, but block {last.next - 1} was there before"
                raise IncompleteError(behind, "nothing is removed; run the command again later")
            self.writer = journal.begin(self._first_height, rewind, begin, self.rounds.warn)
        elif not journal.sink.intact:
            self._reopen(begin)
        return self.writer

    def _reopen(self, begin: Callable[[Sink, bool], Writer]) -> None:
        """Continue in the file that has the name of the output now, from the last position on."""
        self.writer = self.rounds.journal.reopen(begin, self.rounds.warn)
        self.rounds.drop_pending()

    def _first_height(self) -> int:
        """Return the start of a first run: `--start`, else 0 with a checkpoint, or the last blocks without one."""
        bounds = self.rounds.query.bounds or Bounds()
        if self.rounds.journal.checkpoint is not None:
            if bounds == Bounds() and self.tip is not None:
                self.note(from_genesis(self.tip.height + 1 - self.rounds.settings.lag))
            bounds = Bounds(start=bounds.start or 0)
        start = bounds.start
        return start if start is not None and start >= 0 else self.rounds.service.height_range(bounds).start

    def _failed(self, error: ChainqError) -> None:
        """Raise the error of a round, unless `--follow` tolerates it.

        `--follow` waits indefinitely for an unreachable service. If a service that worked before returns errors, as
        during a deploy, it is polled tuning.MAX_REFUSALS times in a row.
        """
        if isinstance(error, OverdueError):
            raise error
        refusal = not isinstance(error, UnreachableError | BrokenBodyError)
        self.refusals += refusal
        too_many = refusal and (self.writer is None or self.refusals > tuning.MAX_REFUSALS)
        if too_many or not self.rounds.settings.follow:
            raise error
        now = time.monotonic()
        if not self.failures:
            self.failing_since = self.warned_at = now
            self.rounds.warn(sentences(str(error), f"trying again every {self.rounds.settings.interval:g} s"))
            self._record(error)
        elif now - self.recorded_at >= tuning.STATE_SECONDS:
            self._record(error)
            if now - self.failing_since >= 2 * (self.warned_at - self.failing_since):  # the outage is twice as long
                self.warned_at, since = now, duration(now - self.failing_since)
                self.rounds.warn(f"no new rows for {since}, {counted(self.failures, 'failed poll')}: " + str(error))
        self.failures += 1
        self._check_age(error, now - self.failing_since)

    def _record(self, error: ChainqError) -> None:
        self.recorded_at = time.monotonic()
        with suppress(OutputError):  # of which the next rows will say more
            self.rounds.journal.failed(str(error))

    def _check_age(self, error: ChainqError, seconds: float) -> None:
        """Raise StaleError if the last tip is older than the limit, or no tip was seen for that long."""
        try:
            if self.tip is not None:
                self.rounds.check_age(self.tip)
            elif self.rounds.settings.max_age is not None and seconds > self.rounds.settings.max_age:
                limit = f"--max-age {format_age(self.rounds.settings.max_age)}"
                raise StaleError(f"no tip was seen for {duration(seconds)}, longer than {limit}")
        except StaleError as too_old:
            too_old.message += "; " + error.message
            raise

    def _clean_up(self, error: BaseException) -> None:
        """Leave complete rows after an error, and note on it how to get the rest."""
        journal = self.rounds.journal
        # A full disk leaves half a row, and a write that was broken off leaves rows that nothing records: remove them.
        # If the checkpoint may just have recorded them, the next run does that.
        broken_off = isinstance(error, Interrupted) and error.mid_write and journal.checkpoint is None
        with suppress(ChainqError):
            if isinstance(error, Interrupted | OverdueError):
                self.rounds.service.connection.allow_last(tuning.LAST_SECONDS)
                self.rounds.unrecorded.record_last(tuning.LAST_SECONDS)
        if broken_off or isinstance(error, OutputError) or self.rounds.unrecorded.pending:
            journal.remove_rest()
        height, left = journal.position.next, self.rounds.left
        if journal.checkpoint is None:
            if isinstance(error, SeenReorgError):
                height, left = error.back.next, self.rounds.left_from(error.back)
            more = "" if left is None else f" --limit {left}"
            if self.rounds.settings.header and self.rounds.settings.output is None:
                more += " --no-header"
            if journal.sink.appends:
                more += " and another -o FILE"
            error.add_note(f"resume with --start {height} --follow{more}")
        elif not isinstance(error, ReorgError) and journal.sink.intact:  # else the next run fails in the same way
            error.add_note(f"the next run resumes at height {height}")
        with suppress(OutputError, IncompleteError):
            if isinstance(error, ChainqError | Interrupted):
                journal.failed(str(error), lasting=is_lasting(error))
            journal.end()
