"""The journal of a run: what its output has reached, and the checkpoint that records it.

Rows are written first, then the output is synced, then the checkpoint is replaced. So a checkpoint never records more
than the disk holds, and what a file holds beyond the recorded length is the rest of a run that was killed: the next run
removes it.
"""

import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from chainq import tuning
from chainq.errors import IncompleteError, Shortfall, UsageError
from chainq.formats.protocol import Writer
from chainq.heights.range import HeightRange, HeightSet
from chainq.planning.exchange import Grade
from chainq.query import Batch
from chainq.resume.checkpoint import Checkpoint, Position
from chainq.sinks.base import Sink
from chainq.text.humanize import counted
from chainq.text.sanitize import printable

_OVER = "restore the file, or start over with a new checkpoint and a new file"
POSITIONS = 32  # kept for --rewind: the first one and the latest


class Journal:
    """The output of a run and its positions; without a checkpoint file these last as long as the run.

    `output`: the path of the output file, empty for standard output. `open_writer` returns a writer for the sink; its
    second argument says whether the output has its beginning already. `warn` takes one line for the user.

    `content`: what the checkpoint records; `kept`: whether in a file. `reached`: the position up to which whole heights
    are written, which may be further than the last one of `content.positions`. `believed`: heights whose rows rest on
    belief. `rewound`: heights that this run has gone back over. Raises UsageError for a file with rows that the
    checkpoint does not record, IncompleteError for one that has fewer.
    """

    def __init__(
        self,
        sink: Sink,
        checkpoint: Checkpoint,
        output: str,
        open_writer: Callable[[Sink, bool], Writer],
        warn: Callable[[str], None],
    ) -> None:
        self.sink, self.checkpoint, self._output = sink, checkpoint, output
        self._open_writer, self.warn = open_writer, warn
        self.content, self.kept = checkpoint.content, checkpoint.path is not None
        self.believed = HeightSet(HeightRange(*edges) for edges in self.content.believed)
        self.rewound = HeightRange(0, 0)
        self.reached = self.position if self.content.positions else Position(0)
        self._record_after = tuning.FIRST_RECORD_SECONDS
        self._recorded_at = time.monotonic()
        if sink.appends and sink.length:  # else it is new, or was rotated away
            self._check_file()

    @property
    def position(self) -> Position:
        """Return the position that was recorded last. Needs `begin`, or a checkpoint that has one."""
        return self.content.positions[-1]

    @property
    def due(self) -> bool:
        """Return whether it is time to record a position: few are enough if rows after the last one can be removed."""
        return not self.sink.appends or time.monotonic() - self._recorded_at >= self._record_after

    @property
    def _elsewhere(self) -> bool:
        """Whether the checkpoint records another output."""
        return self.kept and self.content.output != self._output

    def _check_file(self) -> None:
        """Compare an output file with what is recorded of it, and remove the rest of a run that was killed."""
        name = self._output
        if not self.content.positions or self._elsewhere:
            kept = "without --checkpoint nothing records"
            if self.kept:
                kept = f"checkpoint {printable(str(self.checkpoint.path))} does not record"
            raise UsageError(f"{name} has rows already, and {kept} how far they go", "use another output file")
        length = self.position.length
        if self.sink.length < length:
            raise IncompleteError(f"{length} bytes of {name} are recorded, and it has {self.sink.length}", _OVER)
        if not self.sink.has_line_end(length):
            raise IncompleteError(f"{name} was changed: no row ends at byte {length}, as is recorded", _OVER)
        self.sink.truncate(length)

    def begin(self, first_height: Callable[[], int], rewind: int) -> Writer:
        """Set output and checkpoint to the start of the run, and return the writer.

        `first_height`: where a first run starts; `rewind`: blocks to go back. Raises OutputError.
        """
        if not self.sink.intact:  # the service may have answered long after the file was opened
            self.sink.reopen()
        first = not self.content.positions
        if first:
            self.content.positions = [Position(first_height())]
            if self.kept and not self.sink.appends:
                self.warn("if a run is killed, rows may be lost or come twice; only -o FILE has each once")
            self.save()
        elif rewind:
            self._rewind(rewind)
        return self._open(continued=not first)

    def reopen(self) -> Writer:
        """Continue in the new file that has the name now, and return its writer.

        Raises OutputError, BusyError, and IncompleteError if the file was changed rather than replaced by a new one.
        """
        self.sink.reopen()
        return self._open(continued=True)

    def _open(self, *, continued: bool) -> Writer:
        """Return the writer for the output, which may be a new one and begin with a header."""
        last = self.position
        if continued and not self.sink.length and (self._elsewhere or last.length):
            if last.length or len(self.content.positions) > 1:
                earlier = self.content.output
                where = f", and {earlier} has the earlier ones" if self._elsewhere and Path(earlier).is_file() else ""
                said = f"{self._output or 'standard output'} gets the rows from height {last.next} on{where}"
                self.warn(Shortfall(f"{said}; if a run was killed, the file before may have some of them, too"))
            self.content.positions = [replace(last, length=0, rows=0)]  # the earlier ones are of another output
            self.save()
        self.reached = self.position
        writer = self._open_writer(self.sink, self.position.length > 0 if self.sink.appends else continued)
        if self.sink.length != self.position.length:
            self.record(replace(self.position, length=self.sink.length))
        return writer

    def _rewind(self, blocks: int) -> None:
        """Go back at least `blocks` blocks, to the nearest position, at most to the first one."""
        before = self.position.next
        self.go_back_to(before - blocks)
        again = before - self.position.next
        self.rewound = HeightRange(self.position.next, before)
        if not self.sink.appends and again != blocks:
            self.warn(
                f"--rewind {blocks} goes back to the nearest checkpoint position, height {self.position.next}:"
                f" {counted(again, 'height')} to fetch again"
            )

    def go_back_to(self, height: int) -> None:
        """Return to the last position that is not above a height, without the rows after it. Raises OutputError."""
        positions = self.content.positions
        self.content.positions = [one for one in positions if one.next <= height] or positions[:1]
        self._forget_rest()
        if self.sink.length or not self.sink.appends:  # else they are in another file
            self.save()  # first: a crash must not leave less on disk than is recorded
            self.sink.truncate(self.position.length)

    def _forget_rest(self) -> None:
        self.believed.cut(self.position.next)
        self.reached = self.position

    def wrote(self, batch: Batch, end: int) -> None:
        """Note that all heights below `end` are written, the last of them by this batch."""
        rows = self.reached.rows + len(batch.rows)
        self.reached = Position(end, length=self.sink.length, rows=rows)
        if batch.heights is not None and batch.proof is not None and batch.proof.grade is Grade.BELIEF:
            self.believed.add(batch.heights)

    def record(self, position: Position) -> None:
        """Add the position that the output has reached, durably if there is a checkpoint file. Raises OutputError."""
        self.sink.keep()  # first: what the checkpoint may just have recorded must never be removed
        before = self.content.positions
        positions = [known for known in before if known.next < position.next] + [position]
        if len(positions) > POSITIONS + 1:
            del positions[1]
        self.content.positions = positions
        try:
            self.save()
        except BaseException:
            self.content.positions = before  # what is saved next must not record rows that are removed
            raise
        self.reached = position
        self._recorded_at, self._record_after = time.monotonic(), min(2 * self._record_after, tuning.RECORD_SECONDS)

    def save(self) -> None:
        """Record the positions, durably if there is a checkpoint file. Raises OutputError."""
        if self.kept:
            self.sink.sync()
        self.content.output = self._output
        self.content.believed = [heights.edges for heights in self.believed]
        self.checkpoint.save()

    def drop_rest(self) -> int:
        """Remove the rows after the last position from a file; return how many. Raises OutputError."""
        dropped = self.reached.rows - self.position.rows
        self.sink.truncate(self.position.length)  # always: a write that failed may have left part of a row
        self._forget_rest()
        return dropped
