"""The line of chunks of a range: which heights are in which chunk, in the order of the output."""

from dataclasses import dataclass

from chainq import tuning
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Asking, DueRequest, HandBack, RowsRequest, TipRequest, Wait
from chainq.planning.facts import Facts


@dataclass(slots=True, eq=False)
class Chunk:
    """A chunk in the line: not begun, asked for (steps), or waiting for its turn. `answered`: a response has come.
    `rest`: a response that began below it ended at its first row. `contradiction`: of its responses, since which full
    blocks name its rows."""

    heights: HeightRange
    overlap: int
    rest: bool = False
    steps: Asking[None] | None = None
    request: RowsRequest | TipRequest | DueRequest | Wait | HandBack | None = None
    sent: bool = False
    answered: bool = False
    proved: bool = False
    error: BaseException | None = None
    retries: int = 0
    rounds: int = 0
    responses: int = 0
    contradiction: IncompleteError | None = None


class ChunkLine:
    """The chunks of some heights. `rest`: the heights that are not in a chunk yet.

    `window`: concurrent requests; `alone`: one chunk at a time.
    """

    def __init__(self, heights: HeightRange, facts: Facts, window: int, *, reverse: bool, alone: bool) -> None:
        self._facts, self._window, self._reverse, self._alone = facts, window, reverse, alone
        self.rest = self._left = heights  # the latter: those that are not handed on
        self.chunks: list[Chunk] = []

    def fit(self) -> None:
        """Extend or shorten the line to the tip known now, and add chunks while the window has room."""
        self._end_at_tip()
        if len(cut_off := self.cut_off()):
            self.chunks.insert(0, Chunk(cut_off, self._facts.pace.choose()[1]))
        self._extend()

    def shorten(self, chunk: Chunk, given: HeightRange) -> None:
        """Remove the heights that were returned from the front of the line."""
        chunk.heights, self._left = (
            HeightRange(heights.start, given.start) if self._reverse else HeightRange(given.end, heights.end)
            for heights in (chunk.heights, self._left)
        )
        if not len(chunk.heights):
            self.chunks.pop(0)
        chunk.proved = False

    def divide(self, chunk: Chunk, asked: int | None = None) -> None:
        """Split off the heights of a chunk that are not proved yet, in chunks of the current length. If none is proved,
        split off those that were handed back from `asked` on."""
        start, end = chunk.heights.start, chunk.heights.end
        reach = self._facts.evidence.reach(start, end)
        if reach > start:
            chunk.rounds, chunk.proved, asked = 0, True, reach
        elif asked is None:
            if chunk.rounds > tuning.MOST_ROUNDS:
                chunk.error = IncompleteError(f"{chunk.heights}: its rows cannot be proved complete")
            return
        parts = []
        chunk.heights = HeightRange(start, asked)
        length, overlap = self._facts.pace.choose()
        beyond = self._facts.top is None or self._facts.end < self._facts.top  # a request may show rows there
        at = asked
        while at < end:
            upto = min(end, at + length)
            last = 1 if self._facts.evidence.with_heights else tuning.SEVERAL  # whose rows only other methods can prove
            most = max(2 * overlap, length // 4) if upto < self._facts.end else last * (not beyond)
            rest = at == reach and upto - at <= most
            parts.append(
                Chunk(HeightRange(at, upto), overlap, rest, retries=chunk.retries, contradiction=chunk.contradiction)
            )
            at = upto
        place = self.chunks.index(chunk)
        if self._reverse:
            self.chunks[place:place] = parts[::-1]
        else:
            self.chunks[place + 1 : place + 1] = parts

    def cut_off(self) -> HeightRange:
        """Return the heights before the line that an older tip excluded and that have blocks now."""
        low, high = self._left.edges
        if self._facts.top is not None:
            high = min(high, self._facts.top)
        ahead = self.chunks[0].heights if self.chunks else self.rest
        if self._reverse:
            low = max(low, ahead.end) if self.chunks or len(ahead) else low
        else:
            high = min(high, ahead.start) if self.chunks or len(ahead) else high
        return HeightRange(low, max(low, high))

    def _end_at_tip(self) -> None:
        """Leave out heights above the tip, if it is known: they have no blocks."""
        if (top := self._facts.top) is None or self._facts.end <= top:
            return
        self.rest = HeightRange(min(self.rest.start, top), min(self.rest.end, top))
        for chunk in self.chunks:
            if chunk.heights.end > top and not chunk.sent:
                chunk.heights = HeightRange(min(chunk.heights.start, top), top)
                if chunk.heights.start == top:
                    chunk.steps = chunk.request = None
        self.chunks = [chunk for chunk in self.chunks if len(chunk.heights)]

    def _extend(self) -> None:
        """Make chunks from the rest while the window has room; one at a time while their length still grows."""
        wanted = self._window if self._facts.pace.settled else 1
        # Rejected: more chunks, so that none waits for its neighbors: no faster, and each chunk may be 8 MB.
        # Rejected: fewer chunks than concurrent requests: a fifth slower at 200 ms per call.
        while len(self.rest) and len(self.chunks) < max(self._window, tuning.FRONT):
            if sum(not chunk.answered for chunk in self.chunks) >= wanted or (self._alone and self.chunks):
                return
            length, overlap = self._facts.pace.choose()
            rest = self.rest
            if self._reverse:
                heights = HeightRange(max(rest.start, rest.end - length), rest.end)
                self.rest = HeightRange(rest.start, heights.start)
            else:
                heights = HeightRange(rest.start, min(rest.end, rest.start + length))
                self.rest = HeightRange(heights.end, rest.end)
            self.chunks.append(Chunk(heights, overlap))
