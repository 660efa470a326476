"""Plans one run over a height range: which requests to send next, and which chunks are complete.

A pure state machine, in the manner of sans-I/O protocol libraries: no threads, no clock, no network. Whoever drives it
sends what `requests` gives, has the rows of each response put in order by `page`, hands each outcome to `receive`, and
takes complete chunks from `ready`:

    plan = RangePlan(method, HeightRange(0, 5000), ...)
    while not plan.done:
        for number, request in plan.requests(): send(number, request)
        number, outcome = next_outcome()
        plan.receive(number, outcome)
        yield from plan.ready()

A chunk is proved by a generator of its own (`completeness`, `heightless`, `exact_heights`). It may prove less than its
chunk; the rest goes back into the line as new chunks. An error is raised when its turn comes: whatever can be printed
before it is printed, in every run alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Chunker, page_sizes, within_limit
from chainq.planning.completeness import prove_rows
from chainq.planning.exact_heights import prove_blocks
from chainq.planning.heightless import prove_heightless
from chainq.planning.links import Links
from chainq.planning.neighbours import Neighbours
from chainq.planning.ordering import Sorter, turned
from chainq.planning.overlaps import Shown
from chainq.planning.server import ServerFacts
from chainq.planning.steps import (
    DIVISIBLE,
    NOTHING_KNOWN,
    ChunkResult,
    ChunkSpec,
    Known,
    OverlapRequest,
    Page,
    ProofKind,
    Request,
    Steps,
    TipRequest,
    Unsettled,
)

FRONT = 4  # chunks at the front of the line, which all others wait for, are sent beyond the window
RETRIES = 2  # of a chunk whose response contradicts its neighbour's


@dataclass(slots=True, eq=False)
class _Chunk:
    """A chunk in the line: waiting (no steps), being proved (steps), parked (its turn must come first), or complete."""

    heights: HeightRange
    overlap: int
    steps: Steps | None = None
    request: Request | TipRequest | OverlapRequest | None = None
    shown: Shown = field(default_factory=Shown)
    sent: bool = False
    parked: bool = False
    result: ChunkResult | None = None
    error: BaseException | None = None
    retries: int = 0
    doubtful: bool = False
    full: bool = False

    @property
    def settled(self) -> bool:
        return self.result is not None or self.error is not None


class RangePlan:
    """One run of a method over `heights`.

    `tip`: the tip height, None where it is not known yet (it is then requested only if needed). `limit`: rows after
    which no further request is made. `window`: requests at one time. `verify`: blocks must be all there and linked.
    `known`: by ranges before.
    """

    def __init__(
        self,
        method: Method,
        heights: HeightRange,
        *,
        page_size: int | None = None,
        reverse: bool = False,
        limit: int | None = None,
        verify: bool = True,
        tip: int | None = None,
        window: int = 10,
        known: Known = NOTHING_KNOWN,
    ) -> None:
        self._method, self._reverse, self._verify, self._limit = method, reverse, verify, limit
        heights = within_limit(method, heights, limit, reverse=reverse)
        self._page_size, chunk_rows = page_sizes(method, page_size)
        self._rest = heights
        self._end = heights.end
        # With a limit, one after the other: a request too many would be one that was not needed.
        self.window = 1 if limit is not None and not method.linked else window
        self._chunker = Chunker(method, chunk_rows, known, alone=reverse or self.window == 1)
        self._sort = Sorter(method)
        self._links = Links(method, reverse) if method.linked and verify else None
        self._line: list[_Chunk] = []  # in the order of the output
        self._waiting: dict[int, _Chunk] = {}  # by the number of their request
        self._number = 0
        self._anchor: int | None = None
        self._ended = False  # whether nothing is to follow the rows given so far
        self._neighbours = Neighbours()
        self.server = ServerFacts(tip=tip, page_size=self._page_size, trusted_width=known.trusted_width)

    @property
    def done(self) -> bool:
        """Return whether nothing is left: no chunk to send, to wait for, or to give."""
        return not self._line and not len(self._rest)

    @property
    def known(self) -> Known:
        """Return what this range teaches about the next ones."""
        return Known(self._chunker.rows_per_height, self._chunker.row_bytes, self.server.trusted_width)

    @property
    def waiting(self) -> bool:
        """Return whether an outcome is due."""
        return bool(self._waiting)

    def requests(self) -> Iterator[tuple[int, Request | TipRequest]]:
        """Yield the requests to send now, each with the number under which `receive` wants its outcome."""
        self._extend()
        self._divide()
        for place, chunk in enumerate(self._line):
            if chunk.settled or chunk.sent or isinstance(chunk.request, OverlapRequest):
                continue
            if len(self._waiting) >= self.window and place >= FRONT:
                return
            if chunk.steps is None and (not chunk.parked or place == 0):
                self._begin(chunk, first=place == 0)
            if isinstance(chunk.request, TipRequest) and self._tip_requested(chunk):
                continue
            if chunk.request is not None:
                self._number += 1
                self._waiting[self._number] = chunk
                chunk.sent = True
                yield self._number, chunk.request
        if not self._waiting and self._line and isinstance(self._line[0].request, OverlapRequest):
            self._step(self._line[0])  # the next chunk is not in the line: nothing will show it
            yield from self.requests()

    def _divide(self) -> None:
        """Tell chunks which of their rows come before those of the next chunk, where responses show it by now."""
        asking = [
            (chunk, chunk.request.heights.end, following)
            for chunk, following in pairwise(self._line)
            if isinstance(chunk.request, OverlapRequest)
        ]
        for chunk, _, following in asking:
            chunk.shown.compare(following.shown.rows if following.result is None else following.result.rows)
        for chunk, end, following in asking:
            shows = following.result is not None or following.shown.before is not None
            if following.error is not None or chunk.shown.apart or following.heights.end < end:
                self._step(chunk)
            elif shows and chunk.shown.before is not None:
                self._step(chunk, chunk.shown.before)

    def _tip_requested(self, chunk: _Chunk) -> bool:
        """Return whether the tip is known, and the chunk goes on with it, or another chunk waits for it already."""
        if self.server.tip is not None:
            self._step(chunk, self.server.tip)
            return chunk.request is None
        return any(isinstance(other.request, TipRequest) for other in self._waiting.values())

    def page(self, request: Request, rows: list[Raw]) -> Page:
        """Return the rows of a response to a request in order, for `receive`. Raises IncompleteError or ResponseError.

        It changes nothing, and any thread may call it: the one that has decoded the rows has them in its cache.
        """
        return self._sort(rows, request.heights, verify=self._verify)

    def receive(self, number: int, outcome: object) -> None:
        """Take in the outcome of a request: a page, a tip height, or the failure."""
        chunk = self._waiting.pop(number)
        request, chunk.sent = chunk.request, False
        if self._method.height is None and chunk.shown.rows is None and isinstance(outcome, Page):
            chunk.shown.rows = outcome.rows
        if isinstance(outcome, BaseException):
            if (
                isinstance(outcome, DIVISIBLE)
                and isinstance(request, Request)
                and request.heights.start == chunk.heights.start
            ):
                self._chunker.too_heavy(request.heights)
            self._step(chunk, failure=outcome)
        else:
            if isinstance(request, Request) and isinstance(outcome, Page) and self._method.height is not None:
                self.server.see(request, outcome)
            self._step(chunk, outcome)

    def ready(self) -> Iterator[ChunkResult]:
        """Yield the complete chunks whose turn it is, in the order of the output. Raises an error in its turn."""
        while self._line and self._line[0].settled:
            chunk = self._line[0]
            if chunk.error is not None:
                raise chunk.error
            result = chunk.result
            if result is None:
                return
            if self._links is not None and len(result.row_heights) == len(result.rows):
                rows, row_heights = turned(result) if self._reverse else (result.rows, result.row_heights)
                self._links.check(rows, row_heights)
            if result.rows and self._ended and not self._reverse:
                raise IncompleteError(
                    f"{result.heights}: rows appeared after two responses had none from height {self._anchor} on",
                    "the data changed while it was read, or the service leaves out rows; run the command again",
                )
            self._ended |= result.proof.kind is ProofKind.TAIL and self._method.height is not None
            self._line.pop(0)
            self._neighbours.given(result, reverse=self._reverse)
            self.server.proved(result.heights, result.row_heights)
            if result.row_heights:
                self._anchor = result.row_heights[-1]
            if self._reverse:
                rows, row_heights = turned(result)
                result = result._replace(rows=rows, row_heights=row_heights)
            yield result

    def _extend(self) -> None:
        """Cut new chunks off the rest while the window has room; one after the other while their length still grows."""
        if (top := self.server.top) is not None and self._rest.end > top:
            self._rest = HeightRange(min(self._rest.start, top), top)
        # Where rows carry no heights the first chunk makes sure how the service takes bounds; others would do so again.
        alone = self._method.height is None and self.server.proved_start is None
        wanted = self.window if self._chunker.settled and not alone else 1
        while len(self._rest) and len(self._line) < wanted:
            length, overlap = self._chunker.choose()
            rest = self._rest
            if self._reverse:
                middle = max(rest.start, rest.end - length)
                heights, self._rest = HeightRange(middle, rest.end), HeightRange(rest.start, middle)
            else:
                middle = min(rest.end, rest.start + length)
                heights, self._rest = HeightRange(rest.start, middle), HeightRange(middle, rest.end)
            self._line.append(_Chunk(heights, overlap))

    def _begin(self, chunk: _Chunk, *, first: bool) -> None:
        horizon = self._end + chunk.overlap
        if self.server.top is not None:  # nothing is to be seen beyond the tip
            horizon = max(self._end, min(horizon, self.server.top))
        spec = ChunkSpec(
            chunk.heights,
            chunk.overlap,
            self._end,
            horizon,
            self._page_size,
            first,
            self._anchor if first and not self._reverse else None,
            chunk.doubtful,
            chunk.full,
        )
        if self._method.linked:
            chunk.steps = prove_blocks(spec, self.server, verify=self._verify)
        elif self._method.height is None:
            chunk.steps = prove_heightless(spec, self.server, repeats=self._method.repeats)
        else:
            chunk.steps = prove_rows(spec, self.server)
        self._step(chunk)

    def _step(self, chunk: _Chunk, value: Any = None, failure: BaseException | None = None) -> None:
        """Let the proof of a chunk take its next step."""
        if chunk.steps is None:
            return
        chunk.request = None
        try:
            chunk.request = chunk.steps.throw(failure) if failure is not None else chunk.steps.send(value)
        except StopIteration as stop:
            chunk.steps = None
            if isinstance(stop.value, Unsettled):
                chunk.parked = True
            else:
                self._finish(chunk, stop.value)
        except Exception as error:
            chunk.steps, chunk.error = None, error

    def _finish(self, chunk: _Chunk, result: ChunkResult) -> None:
        """Take in a result: learn from it, hold it against its neighbours', put what it leaves back into the line."""
        covered, wanted = result.heights, chunk.heights
        if result.proof.kind is ProofKind.WALK:  # rows of many pages, each in an order of its own
            result = result._replace(rows=self._sort(result.rows, covered).rows)
        if len(covered) > 1 or len(wanted) == 1:
            size = _bytes(result.rows)
            self._chunker.learn(covered, len(result.rows), size, complete=covered == wanted)
        if self.server.cut_rows is not None:
            self._chunker.cut(self.server.cut_rows)
        if not self._agrees(chunk, result):
            return
        chunk.result, chunk.heights = result, covered
        # 0 for an empty chain: not the same as a tip that is not known
        top = wanted.end if self.server.top is None else self.server.top
        if covered.end < wanted.end and not (self._method.linked and top <= covered.end):
            self._put_back(chunk, HeightRange(covered.end, wanted.end), result)

    def _put_back(self, chunk: _Chunk, rest: HeightRange, result: ChunkResult) -> None:
        """Divide what a result leaves of its chunk into chunks of the length that suits now."""
        length, overlap = self._chunker.choose()
        doubtful = result.more
        parts = []
        if rest.start < result.full_until <= rest.end:
            parts.append(_Chunk(HeightRange(rest.start, result.full_until), overlap, doubtful=doubtful, full=True))
            rest = HeightRange(result.full_until, rest.end)
        while len(rest):
            middle = min(rest.end, rest.start + length)
            parts.append(_Chunk(HeightRange(rest.start, middle), overlap, doubtful=doubtful))
            rest = HeightRange(middle, rest.end)
        place = self._line.index(chunk)
        if self._reverse:
            self._line[place:place] = parts[::-1]
        else:
            self._line[place + 1 : place + 1] = parts

    def _agrees(self, chunk: _Chunk, result: ChunkResult) -> bool:
        """Hold a result against its neighbours; where they differ, have the chunk fetched again, or end in an error."""
        if self._method.linked:
            return True
        wrong = self._neighbours.contradiction(result, chunk.overlap)
        if wrong is None:
            return True
        self._neighbours.drop(result)
        chunk.shown = Shown()
        chunk.retries += 1
        if chunk.retries > RETRIES:
            chunk.error = IncompleteError(
                f"height {wrong}: two responses differ in its rows",
                "the data changed while it was read, or the service includes `end` or leaves out `start`;"
                " run the command again",
            )
        return False


def _bytes(rows: list[Raw]) -> int:
    sample = rows[:64]
    return sum(len(bytes(row)) for row in sample) * len(rows) // max(1, len(sample))
