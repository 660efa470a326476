"""The journal of a run: keeps the output and its checkpoint consistent."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from chainq import tuning
from chainq.errors import IncompleteError, OutputError
from chainq.formats.protocol import Writer
from chainq.heights.height_set import HeightSet
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade
from chainq.query import Batch
from chainq.resume.checkpoint import Checkpoint
from chainq.resume.history import History, Position
from chainq.sinks.append_file import Recorded
from chainq.sinks.base import Sink
from chainq.text.humanize import counted

_KEEPS = "-o FILE keeps them"


class Journal:
    """The output of a run, its history, and the checkpoint that records both; without one they last as long as the run.

    `output`: the path of the output file, empty for standard output. `learned_lag`: blocks below the tip that runs
    learned to leave out. `believed`: heights whose rows rest on belief. `rewound`: heights that this run
    has gone back over.
    """

    def __init__(self, sink: Sink, history: History, checkpoint: Checkpoint | None, output: str) -> None:
        self.sink, self.history, self.checkpoint, self._output = sink, history, checkpoint, output
        self.learned_lag = checkpoint.content.lag if checkpoint else 0
        self.believed = HeightSet(HeightRange(*edges) for edges in (checkpoint.content.believed if checkpoint else ()))
        self.rewound = HeightRange(0, 0)
        self._end_hash = checkpoint.content.output_end if checkpoint else ""  # of the output at the last position
        self._record_after = tuning.FIRST_RECORD_SECONDS
        self._recorded_at, self._noted_at = time.monotonic(), -math.inf

    @property
    def cuttable(self) -> bool:
        """Return whether the output is cut back to its last position when a run ends, so that few positions are enough.

        Rows in other outputs than files cannot be taken back; and without a checkpoint a position costs nothing.
        """
        return self.checkpoint is not None and self.sink.appends

    @property
    def due(self) -> bool:
        """Return whether it is time to record a position."""
        return time.monotonic() - self._recorded_at >= self._record_after

    @property
    def position(self) -> Position:
        """Return the position that the output has reached. Needs `begin`, or a checkpoint that has one."""
        return self.history.positions[-1]

    @property
    def continues_output(self) -> bool:
        """Return whether the output is the one that the checkpoint recorded last; a file may have a new name."""
        last, checkpoint, sink = self.history.last, self.checkpoint, self.sink
        if last is None or checkpoint is None:
            return False
        if checkpoint.content.output == self._output:
            return True
        return sink.length == last.length > 0 and sink.end_hash(last.length) == checkpoint.content.output_end

    def begin(
        self,
        first_height: Callable[[], int],
        rewind: int,
        open_writer: Callable[[Sink, bool], Writer],
        warn: Callable[[str], None],
    ) -> Writer:
        """Set output and checkpoint to the start of the run, and return the writer.

        `first_height`: where a first run starts; `rewind`: blocks to go back. Raises OutputError.
        """
        history, sink, checkpoint = self.history, self.sink, self.checkpoint
        first = history.last is None
        if not sink.intact:  # the service may have answered long after the file was opened
            self._reopen(warn)
        rotated = sink.moved
        same = self.continues_output and not rotated
        switched, rewound = not (first or same or rotated), False
        if first:
            history.add(Position(first_height(), length=sink.length, total=0))
            if checkpoint and sink.pipe:
                warn("the output is a pipe: rows that its reader does not take are lost; " + _KEEPS)
        elif rewind:
            rewound = self._rewind(rewind, warn)
        if checkpoint and not same:
            self._warn_other(checkpoint, warn, switched=switched)
        if not first and not same:
            history.move(sink.length)
        # Before the first row, and before the file is cut: a crash must not leave less on disk.
        if first or rewound or rotated or (checkpoint and checkpoint.content.output != self._output):
            self.save()
        if checkpoint and sink.appends and sink.owner != str(checkpoint.path):
            sink.owner = str(checkpoint.path)  # not before: a run that writes nothing must not claim the file
        if rewound and same:
            sink.truncate(self.position.length)
        return self._write_header(open_writer, first)

    def _warn_other(self, checkpoint: Checkpoint, warn: Callable[[str], None], *, switched: bool) -> None:
        """Warn if the output is not the recorded one; `switched`: another output has the earlier rows."""
        if self.sink.length:
            warn(f"{self._output} already has content that is not from this checkpoint; rows are appended to it")
        elif switched and Path(checkpoint.content.output).is_file():
            now = f"{self._output or 'standard output'} gets the rows from height {self.position.next} on"
            warn(f"{now}, and {checkpoint.content.output} has the earlier ones")

    def _write_header(self, open_writer: Callable[[Sink, bool], Writer], first: bool) -> Writer:
        """Return the writer, which may begin with a header."""
        sink = self.sink
        writer = open_writer(sink, self.position.length > 0 if sink.appends else not first)
        if sink.length != self.position.length:
            self.record(replace(self.position, length=sink.length))
        return writer

    def reopen(self, open_writer: Callable[[Sink, bool], Writer], warn: Callable[[str], None]) -> Writer:
        """Continue in the file that has the name now, and return its writer. `warn` takes one line for the user.

        Raises OutputError, BusyError, and IncompleteError if the file was changed rather than rotated.
        """
        self._reopen(warn)
        if self.sink.moved:
            self.history.move(self.sink.length)
            self.save()
            if self.checkpoint:
                self.sink.owner = str(self.checkpoint.path)
        return self._write_header(open_writer, first=False)

    def _reopen(self, warn: Callable[[str], None]) -> None:
        """Open the file that has the name now, which is a new one if the rows were rotated away (`sink.moved`)."""
        last, checkpoint, sink = self.history.last, self.checkpoint, self.sink
        if last is None or (checkpoint is not None and checkpoint.content.output != self._output):
            sink.reopen(Recorded(sink.length))  # nothing of it is recorded yet
            return
        by = "the checkpoint" if checkpoint is not None else "this run"
        try:
            other = sink.reopen(Recorded(last.length, self._end_hash, sink.length > last.length, by))
        except IncompleteError as error:
            if checkpoint is None:
                error.hint = ""  # which is for runs that resume
            self._save(writing=False)  # else the next run removes what another program wrote, as the rest of this one
            raise
        if other:
            warn(f"{self._output} gets the rows from height {last.next} on, and {other} has the earlier ones")

    def _rewind(self, blocks: int, warn: Callable[[str], None]) -> bool:
        """Go back in the history at least `blocks` blocks; return whether that was possible."""
        before = self.position.next
        self.history.rewind(blocks)
        again = before - self.position.next
        self.rewound = HeightRange(self.position.next, before)
        self.believed.remove(self.rewound)
        if not self.sink.appends and again != blocks:
            warn(
                f"--rewind {blocks} goes back to the nearest checkpoint position"
                + f", height {self.position.next}: {counted(again, 'height')} to fetch again"
            )
        return again > 0

    def record(self, *positions: Position) -> None:
        """Add the positions that the output has reached, durably if there is a checkpoint. Raises OutputError."""
        self.sink.keep()  # first: what the checkpoint may just have recorded must never be removed
        before = self.history.positions
        for position in positions:
            self.history.add(position)
        try:
            self.save()
        except BaseException:
            self.history.positions = before
            raise
        self._recorded_at, self._record_after = time.monotonic(), tuning.RECORD_SECONDS

    def save(self, *, writing: bool = True) -> None:
        """Record the history durably; `writing`: a run that is killed may leave more than that. Raises OutputError."""
        if self.checkpoint:
            self.sink.sync()
        self._end_hash = self.sink.end_hash(self.position.length)
        if self.checkpoint:
            self._save(writing=writing and self.sink.appends)

    def _save(self, *, writing: bool) -> None:
        if self.checkpoint:
            self.checkpoint.save(
                output=self._output,
                output_end=self._end_hash,
                writing=writing,
                lag=self.learned_lag,
                believed=self.believed,
            )

    def note_grade(self, batch: Batch) -> None:
        """Note the grade of a batch; the next save records it."""
        if batch.heights is not None:
            self.believed.remove(batch.heights)
            if batch.proof is not None and batch.proof.grade is Grade.BELIEF:
                self.believed.add(batch.heights)

    def succeeded(self, tip: int, tip_time: int | None) -> None:
        """Note that a round succeeded, and the tip that it saw. The next save, `note_state` or `end` records it."""
        if self.checkpoint:
            self.checkpoint.succeeded(tip, tip_time)

    def note_state(self) -> None:
        """Record that a run that follows the tip succeeded: at first, after a failure, and then every few seconds.

        Raises OutputError.
        """
        if self.checkpoint and time.monotonic() - self._noted_at >= tuning.RECORD_SECONDS:
            self._noted_at = time.monotonic()
            self.checkpoint.note()

    def failed(self, message: str, *, lasting: bool = False) -> None:
        """Record why a run or a round failed, and whether for good (`errors.is_lasting`). Raises OutputError."""
        if self.checkpoint:
            self.checkpoint.failed(message, lasting=lasting)
            self._noted_at = -math.inf
            self.checkpoint.note()

    def learn_lag(self, lag: int) -> None:
        """Record that runs leave out `lag` blocks below the tip from now on. Raises OutputError."""
        self.learned_lag = lag
        if self.checkpoint:  # also if no row follows, since the user is told
            self.save(writing=self.checkpoint.content.writing)

    def expect_rows(self) -> None:
        """Record that rows are about to be written, once a run. Raises OutputError."""
        if self.checkpoint and self.sink.appends and not self.checkpoint.content.writing:
            self.save()

    def settle(self, below: int) -> None:
        """Mark rows as settled up to the last position that is not above height `below`. Raises OutputError."""
        before = self.history.settled
        self.history.settle(below)
        if self.checkpoint and self.history.settled != before:  # also if no row follows: else runs look for ever
            self.save(writing=self.checkpoint.content.writing)

    def go_back(self) -> None:
        """Remove the rows that are not settled. Raises OutputError."""
        before = self.position.next
        self.history.go_back()
        self._cut(before)

    def go_back_to(self, height: int) -> None:
        """Return to the last position that is not above a height, without the rows after it. Raises OutputError."""
        before = self.position.next
        self.history.rewind(before - height)
        self._cut(before)

    def _cut(self, before: int) -> None:
        """Record that the position was at `before`, and remove the rows after the position that is left."""
        self.believed.remove(HeightRange(self.position.next, before))
        self.save()
        self.sink.truncate(self.position.length)

    def remove_rest(self) -> None:
        """Remove what was written after the last position, after a failure; what cannot be removed stays."""
        with suppress(OutputError, IncompleteError):
            self.sink.truncate(self.position.length)

    def end(self) -> None:
        """Record that the file holds no more than is recorded, so data appended later is recognized as foreign.

        Raises OutputError.
        """
        checkpoint = self.checkpoint
        written = checkpoint is not None and checkpoint.content.writing and checkpoint.content.output == self._output
        if written and self.sink.length == self.position.length:
            self.save(writing=False)
        elif checkpoint is not None:
            checkpoint.note()
