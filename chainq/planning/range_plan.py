"""Plans one run over a height range: which chunks to prove next, and which rows are next in the order of the output.

The range is a line of chunks in the order of the output. Threads prove them (`chunk.py`); what a chunk does not prove
of its heights becomes chunks of its own. `results` takes proofs from the front of the line, compares neighbours where
they meet, and yields the rows. An error is raised in its turn, so all rows before it are printed, the same in every
run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from chainq import tuning
from chainq.errors import BehindError, IncompleteError, OverdueError, ProofError
from chainq.heights.range import HeightRange
from chainq.planning.chunk import Outcome, Prover
from chainq.planning.chunking import within_limit
from chainq.planning.exchange import NOTHING_KNOWN, Due, Grade, Known, behind
from chainq.planning.kernel import Named, Proved, check_meeting, compare
from chainq.planning.run import Run, Send
from chainq.process.threads import Pool
from chainq.query import Query
from chainq.rows.sorting import turned


@dataclass(slots=True, eq=False)
class Chunk:
    """A chunk in the line. `sent`: it is with a worker. `retries`: how often its responses contradicted others."""

    heights: HeightRange
    overlap: int
    sent: bool = False
    outcome: Outcome | None = None
    error: BaseException | None = None
    retries: int = 0
    contradiction: IncompleteError | None = None  # since which full blocks name its rows


class RangePlan:
    """One run of a query over `heights`, the range that its bounds resolve to. `send` sends a request, `workers` prove
    chunks.

    `tip`: the tip height, None if it is not known yet (it is then requested only if needed). `window`: concurrent
    chunks. `known`: from earlier ranges. `witness`: whether other methods may be used to name the due rows. `strict`:
    raise an error for rows that rest on belief.
    """

    def __init__(
        self,
        query: Query,
        heights: HeightRange,
        send: Send,
        workers: Pool[Chunk],
        *,
        tip: int | None = None,
        window: int = 10,
        known: Known = NOTHING_KNOWN,
        witness: bool = True,
        strict: bool = False,
    ) -> None:
        heights = within_limit(query, heights)
        self.run = Run(query, heights, send, tip, known, witness=witness)
        self.compared: list[Due] = []  # what full blocks name at heights that must match
        self._query, self._reverse, self._workers, self._strict = query, query.reverse, workers, strict
        # With a limit, one at a time: an extra request would be wasted.
        self._alone = query.limit is not None and not query.method.single
        self._window = 1 if self._alone else window
        self._rest = heights
        self._edge = heights.end if query.reverse else heights.start  # of what was printed
        self._line: list[Chunk] = []
        self._last: Proved | None = None  # the last one printed; not in reverse, what its response showed beyond

    @property
    def known(self) -> Known:
        """Return what the next ranges can use from this one."""
        return Known(self.run.pace.rows_per_height, self.run.pace.row_bytes, self.run.widest, self.run.kinds)

    def results(self) -> Iterator[tuple[Proved, int]]:
        """Yield the rows in the order of the output, and from how many responses. Raises an error in its turn."""
        while True:
            self._close_gap()
            self._send()
            if not self._line:
                return
            front = self._line[0]
            if front.error is not None:
                raise front.error
            if front.outcome is None:
                self._receive(*self._workers.wait())
            elif self._agrees(front, front.outcome):
                yield from self._print(front.outcome)

    # The line

    def _close_gap(self) -> None:
        """Insert the heights before the line that an older tip excluded and that have blocks now."""
        top = self.run.top
        ahead = self._line[0].heights if self._line else self._rest
        if self._reverse:
            gap = HeightRange(ahead.end, self._edge if top is None else min(top, self._edge))
        else:
            end = ahead.start if len(ahead) else self.run.heights.end  # the rest may have ended at an older tip
            gap = HeightRange(self._edge, end if top is None else min(top, end))
        if gap.start < gap.end:
            self._line.insert(0, Chunk(gap, self.run.pace.choose()[1]))

    def _send(self) -> None:
        """Make chunks from the rest and give them to workers while the window has room. Nothing beyond an error is
        printed."""
        if (top := self.run.top) is not None:  # heights above it have no blocks
            self._rest = HeightRange(min(self._rest.start, top), min(self._rest.end, top))
            self._line = [one for one in self._line if one.sent or one.outcome or one.heights.start < top]
        wanted = self._window if self.run.pace.settled else 1  # while the length of chunks still grows
        # Rejected: more chunks, so that none waits for its neighbors: no faster, and each chunk may be 8 MB.
        while len(self._rest) and len(self._line) < max(self._window, tuning.FRONT):
            if sum(chunk.outcome is None for chunk in self._line) >= wanted or (self._alone and self._line):
                break
            first, self._rest = self._split(self._rest)
            self._line.append(first)
        busy = sum(chunk.sent for chunk in self._line)
        for chunk in self._line:
            if chunk.error is not None or busy >= self._window:
                break
            if not chunk.sent and chunk.outcome is None:
                chunk.sent, busy = True, busy + 1
                self._workers.submit(chunk, partial(Prover(self.run).prove, chunk.heights, chunk.overlap))

    def _split(self, heights: HeightRange) -> tuple[Chunk, HeightRange]:
        """Return the next chunk of some heights, and the others."""
        length, overlap = self.run.pace.choose()
        edge = heights.end - length if self._reverse else heights.start + length
        edge = max(heights.start, min(heights.end, edge))
        below, above = HeightRange(heights.start, edge), HeightRange(edge, heights.end)
        return (Chunk(above, overlap), below) if self._reverse else (Chunk(below, overlap), above)

    def _receive(self, chunk: Chunk, outcome: object) -> None:
        """Take what a worker came to."""
        chunk.sent = False
        if isinstance(outcome, OverdueError):
            raise outcome  # no other request can help
        if isinstance(outcome, Outcome):
            chunk.outcome = outcome
            reach = outcome.proofs[-1].heights.end if outcome.proofs else chunk.heights.end
            rest, chunk.heights = HeightRange(reach, chunk.heights.end), HeightRange(chunk.heights.start, reach)
            place = self._line.index(chunk) + (not self._reverse)
            while len(rest):
                part, rest = self._split(rest)
                self._line.insert(place, part)
                place += 1
        elif isinstance(outcome, IncompleteError) and not isinstance(outcome, BehindError):
            self._contradicted(chunk, outcome)
        elif isinstance(outcome, BaseException):
            chunk.error = outcome if isinstance(outcome, BehindError) else chunk.contradiction or outcome

    def _contradicted(self, chunk: Chunk, error: IncompleteError) -> None:
        """Prove a chunk again whose responses contradict others. If they do so again and nothing is printed yet, order
        proves nothing in this run: full blocks name the rows."""
        run, chunk.outcome, chunk.retries = self.run, None, chunk.retries + 1
        if run.method.single or chunk.retries > tuning.CONTRADICTIONS:
            if self._last is None and run.blocks and run.order.usable and not run.method.single:
                chunk.contradiction = error
                run.disprove_order("responses of the service contradict each other")
            else:
                chunk.error = chunk.contradiction or error

    # Output

    def _agrees(self, chunk: Chunk, outcome: Outcome) -> bool:
        """Return whether the proofs of the front chunk can be printed; else prove it again."""
        run = self.run
        if not run.order.usable and any(one.grade is Grade.ORDER for one in outcome.proofs):
            chunk.outcome = None  # responses have shown since then that order proves nothing
            return False
        try:
            for proof in outcome.proofs:
                with run.lock:
                    run.conservation.check(proof)
                if self._last is not None and not self._reverse:
                    check_meeting(self._last, proof)
                for due in self.compared:
                    compare(proof, Named(due, run.names, run.kinds))
            if self._reverse and outcome.beyond is not None and self._last is not None:
                check_meeting(outcome.beyond, self._last)
        except IncompleteError as error:
            self._contradicted(chunk, error)
            return False
        return True

    def _print(self, outcome: Outcome) -> Iterator[tuple[Proved, int]]:
        self._line.pop(0)
        responses = outcome.responses
        for proof in reversed(outcome.given) if self._reverse else outcome.given:
            if proof.grade is Grade.BELIEF and self._strict:
                said = "nothing proves that these are all rows: no row beyond, and no other method tells"
                raise ProofError(f"{proof.heights}: {said}", behind(proof.heights.start, self.run.top or 0))
            shown = turned(proof.rows, proof.row_heights) if self._reverse else (proof.rows, proof.row_heights)
            self._edge = proof.heights.start if self._reverse else proof.heights.end
            with self.run.lock:
                self.run.conservation.print(proof.heights)
            if self._query.limit is None:  # the service works while the rows are drawn
                self._send()
            yield Proved(proof.heights, *shown, proof.grade), max(1, responses)
            responses = 0
        if outcome.proofs:
            self._last = outcome.proofs[0] if self._reverse else outcome.beyond or outcome.proofs[-1]
