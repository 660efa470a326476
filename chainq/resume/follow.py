"""Incremental runs: resume at the position of a checkpoint (`--checkpoint`), poll for new blocks (`--follow`).

This module sets up a run and repeats its rounds until it ends. `rounds` makes the requests and writes the rows.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

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
    WrongHashError,
    is_lasting,
    sentences,
)
from chainq.fetching.blocks import Tip, check_age
from chainq.fetching.service import Service
from chainq.formats.protocol import Writer
from chainq.heights.block_time import format_age
from chainq.heights.bounds import Bounds
from chainq.process.progress import Progress
from chainq.process.signals import Interrupted, PipeClosed, raise_if_ending, signals_deferred
from chainq.query import Query
from chainq.resume.checkpoint import Checkpoint
from chainq.resume.journal import Journal
from chainq.resume.rounds import ResumeSettings, Rounds
from chainq.sinks.base import Sink
from chainq.sinks.open import descriptor_of, open_sink
from chainq.text.humanize import counted, duration
from chainq.text.sanitize import printable


def run(
    service: Service,
    query: Query,
    settings: ResumeSettings,
    identity: Mapping[str, object],
    begin: Callable[[Sink, bool], Writer],
    warn: Callable[[str], None],
    progress: Progress,
) -> None:
    """Write the rows that are new, and with `settings.follow` keep polling until interrupted.

    `identity`: what the checkpoint tells queries apart by. `begin`, `warn`: as in `Journal`. Checkpoint and output are
    locked meanwhile. Raises ChainqError, PipeClosed, Interrupted.
    """
    file = settings.output
    output = printable(os.path.realpath(file)) if file is not None and descriptor_of(file) is None else ""
    path = "" if settings.checkpoint is None else printable(os.path.realpath(settings.checkpoint))
    if path and output in (path, f"{path}.lock"):
        raise UsageError(f"-o and --checkpoint are the same file {output}")
    with ExitStack() as stack:
        checkpoint = stack.enter_context(Checkpoint(settings.checkpoint, identity))
        try:
            sink = stack.enter_context(open_sink(file, append=True))
            journal = Journal(sink, checkpoint, output, begin, warn)
        except (IncompleteError, OutputError) as error:  # the file was changed, or cannot be written
            with suppress(OutputError):
                checkpoint.failed(str(error), lasting=True)
            raise
        _Polls(Rounds(service, query, settings, journal, progress)).run()


def first_round(query: Query, settings: ResumeSettings, identity: Mapping[str, object]) -> Query:
    """Return the query with the bounds of the first round, as far as they are known without a request (`--dry-run`).

    Writes nothing but the lock file of an existing checkpoint. Raises ChainqError.
    """
    bounds, known = query.bounds or Bounds(), None
    if settings.checkpoint is not None and settings.checkpoint.exists():
        with Checkpoint(settings.checkpoint, identity) as checkpoint:
            positions = checkpoint.content.positions
            target = positions[-1].next - (settings.rewind or 0)
            known = next((one for one in reversed(positions) if one.next <= target), positions[0])
    if settings.checkpoint is None and bounds.start is None:  # --follow alone begins with the last blocks
        return query
    start = known.next if known else bounds.start or 0
    end = bounds.end if bounds.end is not None else -settings.lag or None
    if end is not None and end >= 0:  # nothing is left of a range that is complete
        start = min(start, end)
    return query._replace(bounds=Bounds(start=start, end=end))


@dataclass(slots=True)
class _Polls:
    """The rounds of a run in sequence: one, or any number with `--follow`."""

    rounds: Rounds
    writer: Writer | None = None  # None until the service has answered
    tip: Tip | None = None  # the last one that the service returned
    failures: int = 0  # polls in a row without a result
    refusals: int = 0  # those of them that waiting alone may not fix
    failing_since: float = 0.0  # by time.monotonic, as the next one
    noted_at: float = -math.inf  # in the checkpoint, how the polls end

    def run(self) -> None:
        """Make rounds until none is left, and end the output."""
        settings, progress, journal = self.rounds.settings, self.rounds.progress, self.rounds.journal
        try:
            while self.rounds.left != 0:
                raise_if_ending()
                self._poll()
                if not settings.follow or self.rounds.left == 0:
                    break
                progress.begin(None)
                progress.waits(settings.interval, "next poll in")
                time.sleep(settings.interval)
        except PipeClosed:
            raise
        except BaseException as error:
            if journal.content.positions:
                self._clean_up(error)
            raise
        with signals_deferred():
            if self.writer is not None:
                self.writer.close()
            journal.checkpoint.save()

    def _poll(self) -> None:
        """Make one round; warn of a failure that `--follow` tolerates."""
        journal = self.rounds.journal
        try:
            self.tip = tip = self.rounds.service.blocks.tip(refresh=True)
        except (ServiceError, UnreachableError, ResponseError) as error:
            self._failed(error)
            return
        writer = self._ready(tip)  # a file that was changed is no failure of the service
        try:
            self.rounds.run(writer, tip)
        except (ServiceError, UnreachableError, ResponseError, IncompleteError) as error:
            self._failed(error)
            return
        if self.failures:
            journal.warn(f"the service responds again, after {counted(self.failures, 'failed poll')}")
        # Else the service is behind, and nothing can be new.
        if tip.height + 1 >= journal.reached.next:
            journal.checkpoint.succeeded(tip.height, tip.time)
            if self.rounds.settings.follow and self._is_due(tuning.RECORD_SECONDS, changed=self.failures > 0):
                journal.checkpoint.save()
        self.failures = self.refusals = 0
        self._check_age()

    def _is_due(self, seconds: float, *, changed: bool) -> bool:
        """Return whether to note in the checkpoint now how the polls end: at once, and then every few seconds."""
        now = time.monotonic()
        due = changed or now - self.noted_at >= seconds
        self.noted_at = now if due else self.noted_at
        return due

    def _check_age(self, failure: str = "") -> None:
        """Raise StaleError if the last tip is older than `--max-age` or has no time, or if no tip was seen for that
        long; the message ends with the failure of this poll."""
        limit = self.rounds.settings.max_age
        if limit is None:
            return
        try:
            if self.tip is not None:
                check_age(self.tip, limit)
            elif (seconds := time.monotonic() - self.failing_since) > limit:
                raise StaleError(f"no tip was seen for {duration(seconds)}, longer than --max-age {format_age(limit)}")
        except StaleError as too_old:
            too_old.message += failure and f"; {failure}"
            raise

    def _ready(self, tip: Tip) -> Writer:
        """Return the writer of a round, for the file that has the name of the output now.

        Raises IncompleteError if `--rewind` would remove rows that the service does not have.
        """
        journal, rewind = self.rounds.journal, self.rounds.settings.rewind or 0
        if self.writer is None:  # not before the service has answered: until then only what a killed run left is cut
            if rewind and journal.content.positions and tip.height + 1 < (reached := journal.position.next):
                behind = f"the service is behind: its tip is {tip.height}, but block {reached - 1} was there before"
                raise IncompleteError(behind, "nothing is removed; run the command again later")
            self.writer = journal.begin(self._first_height, rewind)
        elif not journal.sink.intact:  # rotated
            self.writer = journal.reopen()
        return self.writer

    def _first_height(self) -> int:
        """Return the start of a first run: `--start`, else 0 with a checkpoint, or the last blocks without one."""
        bounds, lag = self.rounds.query.bounds or Bounds(), self.rounds.settings.lag
        if self.rounds.journal.kept:
            bounds = Bounds(start=bounds.start or 0)
        elif bounds == Bounds():
            bounds = Bounds(last=DEFAULT_LAST + lag)
        start = bounds.start
        return start if start is not None and start >= 0 else self.rounds.service.height_range(bounds).start

    def _failed(self, error: ChainqError) -> None:
        """Raise the error of a round, unless `--follow` tolerates it.

        `--follow` waits indefinitely for an unreachable service. If a service that worked before returns errors, as
        during a deploy, or contradicts itself, it is polled tuning.MAX_REFUSALS times in a row.
        """
        if isinstance(error, OverdueError | ReorgError | StaleError | WrongHashError):
            raise error
        refusal = not isinstance(error, UnreachableError | BrokenBodyError)
        self.refusals += refusal
        too_many = refusal and (self.writer is None or self.refusals > tuning.MAX_REFUSALS)
        if too_many or not self.rounds.settings.follow:
            raise error
        if not self.failures:
            self.failing_since = time.monotonic()
            again = f"trying again every {self.rounds.settings.interval:g} s"
            self.rounds.journal.warn(sentences(str(error), again))
        if self._is_due(tuning.STATE_SECONDS, changed=not self.failures):
            with suppress(OutputError):  # of which the next rows will say more
                self.rounds.journal.checkpoint.failed(str(error))
        self.failures += 1
        self._check_age(error.message)

    def _clean_up(self, error: BaseException) -> None:
        """Leave complete rows after an error, record how far they go, and note on it how to get the rest."""
        rounds, journal = self.rounds, self.rounds.journal
        if isinstance(error, Interrupted | OverdueError):
            rounds.service.connection.allow_last(tuning.LAST_SECONDS)
            rounds.record_rest(ending=True)
        if isinstance(error, OutputError) or (isinstance(error, Interrupted) and error.mid_write):
            with suppress(OutputError, IncompleteError):
                journal.drop_rest()  # part of a row
        height = (journal.position if journal.kept else journal.reached).next
        if not journal.kept:
            more = "" if rounds.left is None else f" --limit {rounds.left}"
            if rounds.settings.header and rounds.settings.output is None:
                more += " --no-header"
            if journal.sink.appends:
                more += " and another -o FILE"
            error.add_note(f"resume with --start {height} --follow{more}")
        elif not isinstance(error, ReorgError) and journal.sink.length == journal.position.length:  # else again
            error.add_note(f"the next run resumes at height {height}")
        with suppress(OutputError):
            if isinstance(error, ChainqError | Interrupted):
                journal.checkpoint.failed(str(error), lasting=is_lasting(error))
            else:
                journal.checkpoint.save()
