"""Plans one run over a height range: which requests to send next, and which rows the kernel has proved complete.

A pure state machine, in the manner of sans-I/O protocol libraries: no threads, no clock, no network. Whoever drives it
sends what `requests` gives, has the rows of each response put in order by `page`, hands each outcome to `receive`, and
takes what is proved from `ready`:

    plan = RangePlan(query, HeightRange(0, 5000), ...)
    while not plan.done:
        for number, request in plan.requests(): send(number, request)
        number, outcome = next_outcome()
        plan.receive(number, outcome)
        yield from plan.ready()

The range is a line of chunks in the order of the output. Each has a generator that asks for it (`questions`,
`exact_heights`); every response becomes evidence, and what the kernel (`evidence`) proves at the front of the line is
handed on, whichever chunk's response showed it. An error is raised when its turn comes: whatever can be printed before
it is printed, in every run alike.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import Method
from chainq.errors import IncompleteError, Phrase
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Chunker, page_sizes, within_limit
from chainq.planning.evidence import Evidence, Proved
from chainq.planning.exact_heights import ask_blocks
from chainq.planning.exchange import (
    DIVISIBLE,
    NOTHING_KNOWN,
    Asking,
    ChunkResult,
    Due,
    DueRequest,
    Grade,
    HandBack,
    Known,
    Located,
    Proof,
    RowsRequest,
    TipRequest,
    Wait,
)
from chainq.planning.facts import BehindError, Facts
from chainq.planning.links import Links
from chainq.planning.questions import pursue
from chainq.query import Query
from chainq.rows.fields import Picker, text_of
from chainq.rows.response import name_reader
from chainq.rows.sorting import Page, Sorter, turned
from chainq.text.sanitize import printable


@dataclass(slots=True, eq=False)
class _Chunk:
    """A chunk in the line: not begun, asked for (steps), or waiting for its turn. `answered`: a response has come.
    `rest`: a response that began below it ended at its first row."""

    heights: HeightRange
    overlap: int
    rest: bool = False
    steps: Asking[int] | None = None
    request: RowsRequest | TipRequest | DueRequest | Wait | HandBack | None = None
    sent: bool = False
    answered: bool = False
    proved: bool = False
    error: BaseException | None = None
    retries: int = 0
    rounds: int = 0
    responses: int = 0


class RangePlan:
    """One run of a query over `heights`, to which its bounds come down.

    `tip`: the tip height, None if it is not known yet (it is then requested only if needed). `window`: requests at one
    time. `known`: by ranges before. `witness`: whether other methods may be asked what is due. `strict`: rows that rest
    on belief are an error. `edges`: heights that no result spans.
    """

    def __init__(
        self,
        query: Query,
        heights: HeightRange,
        *,
        tip: int | None = None,
        window: int = 10,
        known: Known = NOTHING_KNOWN,
        witness: bool = True,
        strict: bool = False,
        edges: Sequence[int] = (),
    ) -> None:
        method = query.method
        self._method, self._reverse, self._verify, self._strict = method, query.reverse, query.verify, strict
        self._edges = edges
        heights = within_limit(query, heights)
        size, chunk_rows = page_sizes(query)
        self._rest = self._left = heights  # that are in no chunk yet; that are not handed on
        # With a limit, one after the other: a request too many would be one that was not needed.
        self._alone = query.limit is not None and not method.linked
        self.window = 1 if self._alone else window
        self._chunker = Chunker(method, chunk_rows, known)
        self._sort = Sorter(method)
        self._links = Links(method, query.reverse) if method.linked and query.verify else None
        self._line: list[_Chunk] = []  # in the order of the output
        self._waiting: dict[int, _Chunk] = {}  # by the number of their request
        self._number = 0
        self.evidence = Evidence(
            heights=method.height is not None,
            linked=method.linked,
            names=name_reader(method.identity),
            block_hash=_hash_reader(method),
        )
        self.evidence.widest = known.shown_width
        identified = bool(method.identity) and witness
        self.facts = Facts(
            self.evidence,
            self._chunker,
            heights.end,
            size,
            heights.start,
            tip,
            blocks=identified,
            locate=identified and method.height is None,
            spot_checked=query.limit is not None,
            strict=strict,
            repeats=method.repeats,
        )
        self.believed: list[HeightRange] = []

    @property
    def done(self) -> bool:
        """Return whether nothing is left: no chunk to send, to wait for, or to give."""
        return not self._line and not len(self._rest) and not len(self._cut_off())

    @property
    def known(self) -> Known:
        """Return what this range teaches about the next ones."""
        return Known(self._chunker.rows_per_height, self._chunker.row_bytes, self.evidence.widest)

    @property
    def waiting(self) -> bool:
        """Return whether an outcome is due."""
        return bool(self._waiting)

    def requests(self) -> Iterator[tuple[int, RowsRequest | TipRequest | DueRequest]]:
        """Yield the requests to send now, each with the number under which `receive` wants its outcome."""
        self._end_at_tip()
        if len(cut_off := self._cut_off()):
            self._line.insert(0, _Chunk(self._within_edges(cut_off), self._chunker.choose()[1]))
        self._extend()
        line = list(takewhile(lambda chunk: chunk.error is None, self._line))  # nothing beyond an error is printed
        for place, chunk in enumerate(line):
            if len(self._waiting) >= self.window and place >= tuning.FRONT:
                break
            if chunk.sent or (chunk.proved and chunk.steps is None):
                continue
            if chunk.steps is None and self._begin(chunk):  # what is left of it goes before the next ones
                yield from self.requests()
                return
            if isinstance(chunk.request, TipRequest) and self._tip_requested(chunk):
                continue
            if isinstance(chunk.request, Wait) and self._has_waited(place, chunk):
                self._step(chunk)
            if isinstance(chunk.request, RowsRequest | TipRequest | DueRequest):
                self._number += 1
                self._waiting[self._number] = chunk
                chunk.sent = True
                yield self._number, chunk.request
        if not self._waiting and (stuck := next((c for c in line if isinstance(c.request, Wait)), None)):
            self._step(stuck)  # nothing is under way that it could wait for
            yield from self.requests()

    def _has_waited(self, place: int, chunk: _Chunk) -> bool:
        """Return whether the responses are there that a chunk waits for, or have become needless."""
        if self._above_answered(place):
            return True
        if place:
            return False
        try:
            reach = self.evidence.reach(*chunk.heights.edges)
        except IncompleteError:  # it is raised when the chunk goes on
            return True
        return reach == chunk.heights.end or (self.evidence.with_heights and reach > chunk.heights.start)

    def _above_answered(self, place: int) -> bool:
        """Return whether the responses are there that a chunk may wait for."""
        wanted = 1 if self.evidence.with_heights else tuning.NEIGHBOURS
        above = self._line[max(0, place - wanted) : place] if self._reverse else self._line[place + 1 :][:wanted]
        if not self._reverse and len(above) < wanted and (len(self._rest) or (above and above[-1].steps is not None)):
            return False  # the last chunk has the tip tell where its rows lie, and so do those of others
        return all(chunk.answered or chunk.error for chunk in above)

    def _tip_requested(self, chunk: _Chunk) -> bool:
        """Return whether the tip is known, and the chunk goes on with it, or another chunk waits for it already."""
        if self.facts.tip is not None:
            self._step(chunk, self.facts.tip)
            return not isinstance(chunk.request, RowsRequest | DueRequest)
        return any(isinstance(other.request, TipRequest) for other in self._waiting.values())

    def page(self, request: RowsRequest, rows: list[Raw]) -> Page:
        """Return the rows of a response to a request in order, for `receive`. Raises IncompleteError or ResponseError.

        It changes nothing, and any thread may call it: the one that has decoded the rows has them in its cache.
        """
        return self._sort(rows, request.heights, verify=self._verify)

    def receive(self, number: int, outcome: object) -> None:
        """Take in the outcome of a request: a page, what is due, a tip height, or the failure."""
        chunk = self._waiting.pop(number)
        request, chunk.sent = chunk.request, False
        chunk.responses += 1
        try:
            if isinstance(outcome, Page) and isinstance(request, RowsRequest):
                self._chunker.came(request.heights)
                self._learn(chunk, request, outcome)
                self.evidence.see(request, outcome)
            elif isinstance(outcome, Due):
                self.facts.highest = max(self.facts.highest, outcome.heights.end - 1 if len(outcome.heights) else -1)
                self.evidence.witness(outcome)
            elif isinstance(outcome, Located) and isinstance(request, DueRequest):
                self.facts.highest = max(self.facts.highest, *outcome.heights, -1)
                self.evidence.locate(request, outcome)
        except IncompleteError as error:
            self._contradicted(chunk, error)
            return
        if (
            isinstance(outcome, DIVISIBLE)
            and isinstance(request, RowsRequest)
            and len(request.heights) > 1
            and request.page_size == self.facts.size
        ):  # else it says nothing of chunks
            self._chunker.too_heavy(request.heights)
        if isinstance(outcome, BaseException):
            self._step(chunk, failure=outcome)
        else:
            self._step(chunk, outcome)

    def _learn(self, chunk: _Chunk, request: RowsRequest, page: Page) -> None:
        """Learn from the first response to a chunk how long chunks should be."""
        if page.rows:  # of rows without heights each lies at `start` at least
            self.facts.highest = max(self.facts.highest, *page.heights[-1:], request.heights.start)
        if chunk.answered or request.page or chunk.rest:
            return
        covered, full = request.heights, request.page_size is not None and len(page.rows) >= request.page_size
        chunk.answered = not full or self.evidence.with_heights or len(covered) == 1
        if full and self.evidence.with_heights:
            covered = HeightRange(covered.start, page.heights[-1])
        self._chunker.learn(covered, len(page.rows), _bytes(page.rows), complete=not full)

    def _contradicted(self, chunk: _Chunk, error: IncompleteError) -> None:
        """Ask for a chunk anew whose responses contradict others, or end in an error if they do so again."""
        chunk.steps = chunk.request = None
        chunk.retries += 1
        if chunk.retries > tuning.CONTRADICTIONS:
            chunk.error = error
        else:
            self.evidence.forget(chunk.heights)
            for other in self._line:
                other.proved, other.rounds = False, 0

    def ready(self) -> Iterator[ChunkResult]:
        """Yield what is proved and whose turn it is, in the order of the output. Raises an error in its turn."""
        while self._line:
            chunk = self._line[0]
            if chunk.steps is not None or len(self._cut_off()):  # it goes on from what is not given yet
                return
            wrong = isinstance(chunk.error, IncompleteError) and not isinstance(chunk.error, BehindError)
            if chunk.error is not None and wrong and not chunk.sent:  # then what proves its first rows may be wrong too
                raise chunk.error
            proved = self._prove(chunk)
            if proved is not None:
                yield self._hand_on(chunk, proved)
            elif not len(chunk.heights):
                self._line.pop(0)
            elif chunk.error is not None and not chunk.sent:
                raise chunk.error
            else:
                chunk.proved = False  # what proved it was forgotten
                return

    def _prove(self, chunk: _Chunk) -> Proved | None:
        try:
            return self.evidence.prove(chunk.heights, reverse=self._reverse)
        except IncompleteError as error:
            self._contradicted(chunk, error)
            return None

    def _hand_on(self, chunk: _Chunk, proved: Proved) -> ChunkResult:
        """Return what is proved at the front of the line, in the order of the output, and take it off there.

        Raises IncompleteError.
        """
        if proved.grade is Grade.BELIEF:
            self._believe(proved.heights)
        if proved.grade is Grade.WITNESS and proved.row_heights:  # in the order of the other method
            page = self._sort(proved.rows, proved.heights, verify=self._verify)
            proved = proved._replace(rows=page.rows, row_heights=page.heights)
        result = ChunkResult(*proved[:3], Proof(proved.grade, max(1, chunk.responses)))
        chunk.responses = 0
        self._shorten(chunk, proved.heights)
        if self._reverse:
            rows, row_heights = turned(result.rows, result.row_heights)
            result = result._replace(rows=rows, row_heights=row_heights)
        if self._links is not None and len(result.row_heights) == len(result.rows):
            self._links.check(result.rows, result.row_heights)
        self.evidence.given(proved.heights, reverse=self._reverse)
        return result

    def _believe(self, heights: HeightRange) -> None:
        """Note that heights rest on belief. Raises IncompleteError if that is not enough."""
        if self._strict:
            raise IncompleteError(
                f"{heights}: nothing proves that these are all rows: no row beyond, and no other method tells",
                Phrase("leave out {strict} to get them"),
            )
        self.believed.append(heights)

    def _shorten(self, chunk: _Chunk, given: HeightRange) -> None:
        """Take the heights that were given off the front of the line."""
        chunk.heights, self._left = (
            HeightRange(heights.start, given.start) if self._reverse else HeightRange(given.end, heights.end)
            for heights in (chunk.heights, self._left)
        )
        if not len(chunk.heights):
            self._line.pop(0)
        chunk.proved = False

    def _end_at_tip(self) -> None:
        """Leave out heights above the tip, if it is known: there are no blocks."""
        if (top := self.facts.top) is None or self.facts.end <= top:
            return
        self._rest = HeightRange(min(self._rest.start, top), min(self._rest.end, top))
        for chunk in self._line:
            if chunk.heights.end > top and not chunk.sent:
                chunk.heights = HeightRange(min(chunk.heights.start, top), top)
                if chunk.heights.start == top:
                    chunk.steps = chunk.request = None
        self._line = [chunk for chunk in self._line if len(chunk.heights)]

    def _cut_off(self) -> HeightRange:
        """Return the heights before the line that an older tip cut off, and which have blocks by now."""
        low, high = self._left.edges
        if self.facts.top is not None:
            high = min(high, self.facts.top)
        ahead = self._line[0].heights if self._line else self._rest
        if self._reverse:
            low = max(low, ahead.end) if self._line or len(ahead) else low
        else:
            high = min(high, ahead.start) if self._line or len(ahead) else high
        return HeightRange(low, max(low, high))

    def _extend(self) -> None:
        """Cut new chunks off the rest while the window has room; one after the other while their length still grows."""
        wanted = self.window if self._chunker.settled else 1
        # Rejected: more, so that none waits for its neighbours: no faster, and each chunk of the line may be 8 MB.
        # Fewer than requests at a time: a fifth slower at 200 ms a call.
        while len(self._rest) and len(self._line) < max(self.window, tuning.FRONT):
            if sum(not chunk.answered for chunk in self._line) >= wanted or (self._alone and self._line):
                return
            length, overlap = self._chunker.choose()
            rest = self._rest
            if self._reverse:
                heights = self._within_edges(HeightRange(max(rest.start, rest.end - length), rest.end))
                self._rest = HeightRange(rest.start, heights.start)
            else:
                heights = self._within_edges(HeightRange(rest.start, min(rest.end, rest.start + length)))
                self._rest = HeightRange(heights.end, rest.end)
            self._line.append(_Chunk(heights, overlap))

    def _within_edges(self, heights: HeightRange) -> HeightRange:
        """Return the first part of some heights that spans no edge, in the order of the output."""
        inside = [edge for edge in self._edges if heights.start < edge < heights.end]
        if self._reverse:
            return HeightRange(max(inside, default=heights.start), heights.end)
        return HeightRange(heights.start, min(inside, default=heights.end))

    def _begin(self, chunk: _Chunk) -> bool:
        """Start asking for a chunk; return whether the kernel can prove it by now, or its beginning."""
        chunk.rounds += 1
        try:
            start = self.evidence.reach(chunk.heights.start, chunk.heights.end)
            if start > chunk.heights.start:
                self._divide(chunk, start)
                return True
        except IncompleteError as error:
            self._contradicted(chunk, error)
            return False
        if self._method.linked:
            chunk.steps = ask_blocks(chunk.heights, self.facts, verify=self._verify)
        else:
            chunk.steps = pursue(chunk.heights, chunk.overlap, self.facts, rest=chunk.rest)
        self._step(chunk)
        return False

    def _step(self, chunk: _Chunk, value: Any = None, failure: BaseException | None = None) -> None:
        """Let the questions of a chunk take their next step."""
        if chunk.steps is None:
            return
        chunk.request = None
        try:
            chunk.request = chunk.steps.throw(failure) if failure is not None else chunk.steps.send(value)
            if isinstance(chunk.request, HandBack):
                self._divide(chunk, chunk.request.end)
                chunk.request = next(chunk.steps)
        except StopIteration as stop:
            chunk.steps, asked = None, stop.value
        except Exception as error:
            chunk.steps, chunk.error = None, error
            return
        else:
            return
        try:
            self._divide(chunk, asked)
        except IncompleteError as error:
            self._contradicted(chunk, error)

    def _divide(self, chunk: _Chunk, asked: int) -> None:
        """Cut what was not asked for, or is not proved yet, off a chunk, into chunks of a length that suits now."""
        start, end = chunk.heights.start, chunk.heights.end
        if self.facts.top is not None and end > self.facts.top:  # no blocks there
            end = max(start, self.facts.top)
            chunk.heights = HeightRange(start, end)
        reach = self.evidence.reach(start, end)
        if reach > start:
            chunk.rounds = 0
        elif asked >= end:
            if chunk.rounds > tuning.MOST_ROUNDS:
                chunk.error = IncompleteError(f"{chunk.heights}: its rows cannot be proved complete")
            return
        parts = []
        middle = reach if reach > start else asked
        chunk.proved = reach > start
        chunk.heights = HeightRange(start, middle)
        length, overlap = self._chunker.choose()
        beyond = self.facts.top is None or self.facts.end < self.facts.top  # a request may show rows there
        at = middle
        while at < end:
            upto = min(end, at + length)
            most = max(2 * overlap, length // 4) if upto < self.facts.end else int(not beyond)
            rest = at == reach and upto - at <= most
            parts.append(_Chunk(HeightRange(at, upto), overlap, rest, retries=chunk.retries))
            at = upto
        place = self._line.index(chunk)
        if self._reverse:
            self._line[place:place] = parts[::-1]
        else:
            self._line[place + 1 : place + 1] = parts


def _hash_reader(method: Method) -> Callable[[Raw], str] | None:
    """Return what reads the block that a row names; None for methods whose rows name none."""
    if not method.names_block:
        return None
    pick = Picker(["block_hash"])
    return lambda row: printable(text_of(pick(row)[0]))  # as the hashes of blocks are kept


def _bytes(rows: list[Raw]) -> int:
    sample = rows[:64]
    return sum(len(bytes(row)) for row in sample) * len(rows) // max(1, len(sample))
