"""Plans one run over a height range: which requests to send next, and which rows the kernel has proved complete.

A pure state machine, like sans-I/O protocol libraries: no threads, no clock, no network. The caller sends the requests
that `requests` yields, sorts the rows of each response with `page`, passes each outcome to `receive`, and takes the
proved rows from `ready`:

    plan = RangePlan(query, HeightRange(0, 5000), ...)
    while not plan.done:
        for number, request in plan.requests(): send(number, request)
        number, outcome = next_outcome()
        plan.receive(number, outcome)
        yield from plan.ready()

The range is a line of chunks in the order of the output. Each has a generator that requests it (`questions`,
`exact_heights`). Every response becomes evidence, and `ready` yields the heights at the front of the line that the
kernel (`evidence`) has proved, whichever chunk's response showed them. An error is raised in its turn, so all rows
before it are printed, the same in every run.
"""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import Method
from chainq.errors import BehindError, IncompleteError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.chunk_line import Chunk, ChunkLine
from chainq.planning.chunking import Chunker, page_sizes, within_limit
from chainq.planning.conservation import Conservation
from chainq.planning.evidence import Evidence, Proved
from chainq.planning.exact_heights import ask_blocks
from chainq.planning.exchange import (
    DIVISIBLE,
    NOTHING_KNOWN,
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
from chainq.planning.facts import Facts
from chainq.planning.naming import confirm
from chainq.planning.questions import pursue
from chainq.query import Query
from chainq.rows.fields import Picker, text_of
from chainq.rows.response import name_reader
from chainq.rows.sorting import Page, Sorter, turned
from chainq.text.sanitize import printable


class RangePlan:
    """One run of a query over `heights`, the range that its bounds resolve to.

    `tip`: the tip height, None if it is not known yet (it is then requested only if needed). `window`: concurrent
    requests. `known`: from earlier ranges. `witness`: whether other methods may be used to name the due rows. `strict`:
    raise an error for rows that rest on belief.
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
    ) -> None:
        method = query.method
        self._method, self._reverse, self._verify = method, query.reverse, query.verify
        heights = within_limit(query, heights)
        size, chunk_rows = page_sizes(query)
        # With a limit, one at a time: an extra request would be wasted.
        alone = query.limit is not None and not method.linked
        self.window = 1 if alone else window
        self._chunker = Chunker(method, chunk_rows, known)
        self._sort = Sorter(method)
        self._waiting: dict[int, Chunk] = {}  # by the number of their request
        self._number = 0
        self.evidence = Evidence(
            heights=method.height is not None,
            linked=method.linked,
            names=name_reader((*method.identity, *([method.text] if method.text else []))),
            block_hash=_hash_reader(method),
        )
        self.evidence.widest = known.shown_width
        self._conservation = Conservation(with_heights=method.height is not None, reverse=query.reverse)
        identified = bool(method.identity) and witness
        self.evidence.alone = not identified
        self.facts = Facts(
            self.evidence,
            self._chunker,
            end=heights.end,
            size=size,
            start=heights.start,
            tip=tip,
            blocks=identified,
            locate=identified and method.height is None,
            spot_checked=query.limit is not None,
            doubts=tuning.DOUBTED if query.limit is None else 0,
            strict=strict,
            repeats=method.repeats,
        )
        self._line = ChunkLine(heights, self.facts, self.window, reverse=query.reverse, alone=alone)

    @property
    def done(self) -> bool:
        """Return whether no chunk is left to send, to wait for, or to return."""
        return not self._line.chunks and not len(self._line.rest) and not len(self._line.cut_off())

    @property
    def known(self) -> Known:
        """Return what the next ranges can use from this one."""
        return Known(self._chunker.rows_per_height, self._chunker.row_bytes, self.evidence.widest)

    @property
    def waiting(self) -> bool:
        """Return whether an outcome is due."""
        return bool(self._waiting)

    def requests(self) -> Iterator[tuple[int, RowsRequest | TipRequest | DueRequest]]:
        """Yield the requests to send now, each with the number to pass to `receive` with its outcome."""
        self._line.fit()
        # Nothing beyond an error is printed.
        line = list(takewhile(lambda chunk: chunk.error is None, self._line.chunks))
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
            self._step(stuck)  # no request is in progress that it could wait for
            yield from self.requests()

    def _has_waited(self, place: int, chunk: Chunk) -> bool:
        """Return whether the responses that a chunk waits for have arrived or are not needed any more."""
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
        """Return whether the responses that a chunk may wait for have arrived."""
        chunks, wanted = self._line.chunks, 1 if self.evidence.with_heights else tuning.NEIGHBOURS
        above = chunks[max(0, place - wanted) : place] if self._reverse else chunks[place + 1 :][:wanted]
        if (
            not self._reverse
            and len(above) < wanted
            and (len(self._line.rest) or (above and above[-1].steps is not None))
        ):
            return False  # the last chunk locates its rows with the tip and with the rows of others
        return all(chunk.answered or chunk.error for chunk in above)

    def _tip_requested(self, chunk: Chunk) -> bool:
        """Return whether the tip is known (the chunk then goes on with it) or another chunk already waits for it."""
        if self.facts.tip is not None:
            self._step(chunk, self.facts.tip)
            return not isinstance(chunk.request, RowsRequest | DueRequest)
        return any(isinstance(other.request, TipRequest) for other in self._waiting.values())

    def page(self, request: RowsRequest, rows: list[Raw]) -> Page:
        """Return the rows of a response to a request in order, for `receive`. Raises IncompleteError or ResponseError.

        It changes nothing, and any thread may call it: the thread that decoded the rows has them in its cache.
        """
        return self._sort(rows, request.heights, verify=self._verify)

    def receive(self, number: int, outcome: object) -> None:
        """Record the outcome of a request: a page, the due rows, a tip height, or the failure."""
        chunk = self._waiting.pop(number)
        request, chunk.sent = chunk.request, False
        chunk.responses += 1
        try:
            if isinstance(outcome, Page) and isinstance(request, RowsRequest):
                self._chunker.came(request.heights)
                self._conservation.see(request.heights, outcome)
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

    def _learn(self, chunk: Chunk, request: RowsRequest, page: Page) -> None:
        """Learn from the first response to a chunk how long chunks should be."""
        if page.rows:  # each row without a height is at `start` at least
            self.facts.highest = max(self.facts.highest, *page.heights[-1:], request.heights.start)
        if chunk.answered or request.page or chunk.rest:
            return
        covered, full = request.heights, request.page_size is not None and len(page.rows) >= request.page_size
        chunk.answered = not full or self.evidence.with_heights or len(covered) == 1
        if full and self.evidence.with_heights:
            covered = HeightRange(covered.start, page.heights[-1])
        self._chunker.learn(covered, len(page.rows), _bytes(page.rows), complete=not full)

    def _contradicted(self, chunk: Chunk, error: IncompleteError) -> None:
        """Request a chunk again if its responses contradict others; if they do so again, end in an error."""
        chunk.steps = chunk.request = None
        chunk.retries += 1
        # Of a run with heights, the others might lack rows that no full block was requested for.
        alone = self.facts.end - self.facts.start == 1
        doubtful = self.facts.blocks and len(chunk.heights) > 0 and (alone or not self.evidence.with_heights)
        if chunk.retries <= tuning.CONTRADICTIONS:
            self.evidence.forget(chunk.heights)
            for other in self._line.chunks:
                other.proved, other.rounds = False, 0
        elif doubtful and self.evidence.doubted(chunk.heights.start) is None:
            # They may be in another order than that of heights; then full blocks name the rows of this chunk.
            chunk.contradiction = error
            self.evidence.doubt(chunk.heights)
            self.evidence.forget(chunk.heights)
        else:
            chunk.error = error

    def ready(self) -> Iterator[ChunkResult]:
        """Yield the proved rows that are next in the order of the output. Raises an error in its turn."""
        while self._line.chunks:
            chunk = self._line.chunks[0]
            if chunk.steps is not None or len(self._line.cut_off()):  # it continues with the heights not returned yet
                return
            wrong = isinstance(chunk.error, IncompleteError) and not isinstance(chunk.error, BehindError)
            if chunk.error is not None and wrong and not chunk.sent:  # then what proves its first rows may be wrong too
                raise chunk.error
            proved = self._prove(chunk)
            if proved is not None and self._unsure(chunk, proved):
                return
            if proved is not None:
                yield self._hand_on(chunk, proved)
            elif not len(chunk.heights):
                self._line.chunks.pop(0)
            elif chunk.error is not None and not chunk.sent:
                raise chunk.error
            else:
                chunk.proved = False  # what proved it was forgotten
                return

    def _prove(self, chunk: Chunk) -> Proved | None:
        try:
            proved = self.evidence.prove(chunk.heights, reverse=self._reverse)
            if proved is not None:
                proved = self._in_order(proved)
                self._conservation.check(*proved[:3])
        except IncompleteError as error:
            self._contradicted(chunk, error)
            return None
        return proved

    def _unsure(self, chunk: Chunk, proved: Proved) -> bool:
        """Request the heights that another method explains, once, if rows that it does not name may be there.

        Raises the error of the chunk instead, if it has one.
        """
        unsure = proved.grade is Grade.WITNESS and self._conservation.unsure(proved.heights, proved.rows)
        if unsure and chunk.error is not None:
            raise chunk.error
        if unsure:
            chunk.steps = confirm(proved.heights, self.facts)
            self._step(chunk)
        return unsure

    def _in_order(self, proved: Proved) -> Proved:
        """Return proved rows in order: those of a witness are in the order of the other method."""
        if proved.grade is not Grade.WITNESS or not proved.row_heights:
            return proved
        page = self._sort(proved.rows, proved.heights, verify=self._verify)
        return proved._replace(rows=page.rows, row_heights=page.heights)

    def _hand_on(self, chunk: Chunk, proved: Proved) -> ChunkResult:
        """Return the proved rows at the front of the line, in the order of the output, and remove them from the line.

        Raises IncompleteError.
        """
        if proved.grade is Grade.BELIEF and self.facts.strict:
            raise IncompleteError(
                f"{proved.heights}: nothing proves that these are all rows: no row beyond, and no other method tells",
                self.facts.behind(proved.heights.start) or "leave out --strict to get them",
            )
        proof = Proof(proved.grade, max(1, chunk.responses))
        result = ChunkResult(*proved[:3], proof)
        chunk.responses = 0
        self._line.shorten(chunk, proved.heights)
        if self._reverse:
            rows, row_heights = turned(result.rows, result.row_heights)
            result = result._replace(rows=rows, row_heights=row_heights)
        self.evidence.given(proved.heights, reverse=self._reverse)
        self._conservation.print(proved.heights, proved.rows)
        return result

    def _begin(self, chunk: Chunk) -> bool:
        """Start requesting a chunk; return whether the kernel can already prove it or its beginning."""
        chunk.rounds += 1
        try:
            if self.evidence.reach(*chunk.heights.edges) > chunk.heights.start:
                self._line.divide(chunk)
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

    def _step(self, chunk: Chunk, value: Any = None, failure: BaseException | None = None) -> None:
        """Advance the questions of a chunk by one step."""
        if chunk.steps is None:
            return
        request, chunk.request = chunk.request, None
        try:
            chunk.request = chunk.steps.throw(failure) if failure is not None else chunk.steps.send(value)
            if isinstance(chunk.request, HandBack):
                self._line.divide(chunk, chunk.request.end)
                chunk.request = next(chunk.steps)
        except StopIteration:
            chunk.steps = None
        except Exception as error:
            final = isinstance(error, BehindError) or self.evidence.with_heights or not self.facts.blocks
            if isinstance(error, IncompleteError) and not final:
                self._contradicted(chunk, error)
                return
            # Rows that do not come where others contradict each other: not those of a server that is behind.
            chunk.steps, chunk.error = None, (chunk.contradiction if isinstance(error, BehindError) else None) or error
            if isinstance(error, TooHeavyError) and isinstance(request, RowsRequest) and (request.page_size or 0) > 1:
                hint = f"a page of {request.page_size} rows was too heavy: try a smaller --page-size"
                error.hint = error.hint or hint
            return
        else:
            return
        try:
            self._line.divide(chunk)
        except IncompleteError as error:
            self._contradicted(chunk, error)


def _hash_reader(method: Method) -> Callable[[Raw], str] | None:
    """Return a function that reads the block that a row names, or None for methods whose rows name none."""
    if not method.names_block:
        return None
    pick = Picker(["block_hash"])
    return lambda row: printable(text_of(pick(row)[0]))  # as the hashes of blocks are kept


def _bytes(rows: list[Raw]) -> int:
    sample = rows[:64]
    return sum(len(bytes(row)) for row in sample) * len(rows) // max(1, len(sample))
