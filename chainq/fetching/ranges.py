"""Fetches a range whole: chunks side by side, each proved complete or divided, pages out in height order.

The way of a chunk: WAITING (to be asked for) -> ASKED -> WHOLE, and on to the output when its turn comes; or
-> DOUBT -> PROBED -> WHOLE; or divided into two that are WAITING; or, a single overfull height, asked for again with a
larger page, and at last walked page by page. `plan` decides which; this module sends and keeps the order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from math import log

from msgspec import Raw

from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import Role
from chainq.errors import BrokenBodyError, GatewayError, IncompleteError, ServiceError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Cutter
from chainq.planning.completeness import Evidence, Verdict
from chainq.planning.links import Links
from chainq.planning.ordering import Arranger
from chainq.planning.query import Batch, Query
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_array
from chainq.transport.threads import Pool

RAISE = 4  # times the page size, for a single height that fills a page
FAR = 10_000  # heights without a row, after which it is worth a call to know where the chain ends
LEAST_PAGE = 50  # rows; a height that is too heavy even so is given up
MOST_PAGES = 100_000  # of one walk through a height


class _State(Enum):
    WAITING = auto()
    ASKED = auto()
    DOUBT = auto()
    PROBED = auto()
    WHOLE = auto()


@dataclass(slots=True, eq=False)
class _Chunk:
    span: HeightRange
    page_size: int | None
    leads: bool = False
    state: _State = _State.WAITING
    rows: list[Raw] = field(default_factory=list)
    heights: list[int] | None = None
    counts: tuple[int, int] = (0, 0)  # rows, distinct rows
    walked: bool = False
    asked_again: bool = False


class RangeFetch:
    """One run over one range. `newest` gives the newest block's height, pinned for the run; called only when needed."""

    def __init__(
        self,
        connection: Connection,
        dialect: Dialect,
        query: Query,
        heights: HeightRange,
        tip_height: Callable[[], int],
        concurrency: int = 8,
    ) -> None:
        method, span = query.method, heights
        if query.limit is not None and method.linked:  # one row a height
            kept = min(len(span), query.limit)
            span = (
                HeightRange(span.end - kept, span.end) if query.reverse else HeightRange(span.start, span.start + kept)
            )
        self._connection, self._dialect, self._query = connection, dialect, query
        self._method, self._tip_height = method, tip_height
        self._page_size = (query.page_size or method.page_size) if method.page_size else None
        self._cutter = Cutter(method, span, self._page_size, query.reverse)
        self._evidence = Evidence()
        self._arrange = Arranger(method, query.reverse)
        self._links = Links(method, query.reverse) if method.linked and query.verify else None
        # With a limit, one after the other: a call too many would be a call that was not needed.
        alone = query.limit is not None and not method.linked
        # Chunks asked for, or held until their turn comes. The first of the line, that all others wait for, may be
        # asked for beyond that: parts of what was divided would else come one by one.
        self._window = 1 if alone else concurrency + 2
        self._first = 1 if alone else 4
        self._pool: Pool[_Chunk] = Pool(self._window)  # threads, of which some decode while others wait for answers
        self._line: list[_Chunk] = []  # chunks in the order of the output

    def __iter__(self) -> Iterator[Batch]:
        """The batches, in order; each ends with the last row of a height. Raises ChainqError."""
        try:
            yield from self._batches()
        finally:
            self._pool.close()

    def _batches(self) -> Iterator[Batch]:
        while True:
            while self._line and self._line[0].state is _State.WHOLE:
                chunk = self._line.pop(0)
                if self._links and chunk.heights is not None:
                    self._links.check(chunk.rows, chunk.heights)
                yield Batch(chunk.rows, chunk.span)
            self._send()
            if not self._line:
                return
            if self._line[0].state is _State.WHOLE:  # settled without a call
                continue
            chunk, outcome = self._pool.wait()
            self._take(chunk, outcome)
            del chunk, outcome

    def _send(self) -> None:
        if self._line and self._line[0].state is _State.DOUBT:
            self._settle(self._line[0])
        under_way = sum(chunk.state is not _State.WAITING for chunk in self._line)
        for place, chunk in enumerate(self._line):
            if chunk.state is _State.WAITING and (place < self._first or under_way < self._window):
                self._ask(chunk)
                under_way += 1
        while under_way < self._window and self._cutter:
            span, leads = self._cutter.cut()
            chunk = _Chunk(span, self._page_size, leads)
            self._line.append(chunk)
            self._ask(chunk)
            under_way += 1

    def _call(self, span: HeightRange, page: int, page_size: int | None) -> list[Raw]:
        arguments = {**self._query.arguments, Role.START: span.start, Role.END: span.end}
        if page_size is not None:
            arguments |= {Role.PAGE: page, Role.SIZE: page_size}
        name, params = self._dialect.call(self._method, arguments)
        where = f"{span}, page {page}" if page else str(span)
        return self._connection.call(name, params, decode_array, where)

    def _ask(self, chunk: _Chunk) -> None:
        chunk.state = _State.ASKED
        if chunk.walked:
            page_size = chunk.page_size or 1
            self._pool.submit(chunk, lambda: self._walk(chunk.span, page_size))
        else:
            self._pool.submit(chunk, lambda: self._call(chunk.span, 0, chunk.page_size))

    def _take(self, chunk: _Chunk, outcome: object) -> None:
        if isinstance(outcome, BaseException):
            self._failed(chunk, outcome)
        elif chunk.state is _State.PROBED:
            self._probed(chunk, more=bool(outcome))
        elif isinstance(outcome, list):
            chunk.rows, chunk.heights = self._arrange(outcome, chunk.span)
            sample = outcome[:64]
            size = sum(len(bytes(row)) for row in sample) * len(outcome) // max(1, len(sample))
            self._cutter.learn(chunk.span, len(outcome), size, chunk.leads)
            if chunk.walked:
                chunk.state = _State.WHOLE
            elif self._method.linked:
                self._check_heights(chunk)
            else:
                distinct = len(set(map(bytes, chunk.rows))) if self._method.repeats else len(chunk.rows)
                if not chunk.rows and len(chunk.span) >= FAR:
                    self._cutter.stop_at(max(self._tip_height() + 1, chunk.span.end))
                chunk.counts = len(chunk.rows), distinct
                self._judge(chunk)
                self._evidence.see(chunk.counts)

    def _judge(self, chunk: _Chunk) -> None:
        verdict = self._evidence.judge(chunk.counts, chunk.page_size or 0)
        if verdict is Verdict.WHOLE:
            chunk.state = _State.WHOLE
        elif verdict is Verdict.DOUBT:
            chunk.state = _State.DOUBT
        else:
            self._overfull(chunk)

    def _settle(self, chunk: _Chunk) -> None:
        """Prove the chunk whose turn it is: by a longer answer that has come since, else by an empty page 1."""
        self._judge(chunk)
        if chunk.state is _State.DOUBT:
            chunk.state = _State.PROBED
            page_size = min(len(chunk.rows), chunk.page_size or len(chunk.rows))
            self._pool.submit(chunk, lambda: self._call(chunk.span, 1, page_size))

    def _probed(self, chunk: _Chunk, more: bool) -> None:
        if not more:
            chunk.state = _State.WHOLE
            return
        self._evidence.cut_at(len(chunk.rows))
        for other in [other for other in self._line if other.state is _State.DOUBT]:
            self._judge(other)
        self._overfull(chunk)

    def _overfull(self, chunk: _Chunk) -> None:
        """There is, or may be, more than the answer holds."""
        rows = len(chunk.rows)
        self._cutter.hold_back(chunk.span, rows, chunk.leads)
        chunk.leads = False
        if len(chunk.span) > 1:
            self._divide(chunk)
        elif self._method.repeats:
            raise IncompleteError(
                f"{self._method.name} {chunk.span}: the height holds more than the {rows} rows that one call gives,"
                " and its rows cannot be told apart",
                "a larger --page-size may hold them all",
            )
        elif rows == chunk.page_size:
            self._again(chunk, chunk.page_size * RAISE)
        else:
            self._again(chunk, rows, walked=True)

    def _again(self, chunk: _Chunk, page_size: int, walked: bool = False) -> None:
        chunk.rows, chunk.heights = [], None
        chunk.page_size, chunk.walked, chunk.state = page_size, walked, _State.WAITING

    def _divide(self, chunk: _Chunk) -> None:
        place = self._line.index(chunk)
        # Where the server orders by height, a full answer tells by its last height how much of the range fits.
        low, high = chunk.span.split_near(max(chunk.heights) if chunk.heights else None)
        halves = (high, low) if self._query.reverse else (low, high)
        self._line[place : place + 1] = [_Chunk(half, self._page_size) for half in halves]

    def _failed(self, chunk: _Chunk, error: BaseException) -> None:
        """Divide, or ask in smaller pages, where a smaller answer may succeed; else raise the error."""
        if not isinstance(error, TooHeavyError | GatewayError | BrokenBodyError | ServiceError):
            raise error
        base, asked = self._page_size or 0, chunk.page_size or 0
        if len(chunk.span) > 1 and not (isinstance(error, ServiceError) and not isinstance(error, TooHeavyError)):
            self._cutter.hold_back(chunk.span, None, chunk.leads)
            self._divide(chunk)
        elif asked > base and not self._method.repeats:  # the larger page was refused
            self._again(chunk, base, walked=True)
        elif isinstance(error, TooHeavyError) and asked // RAISE >= LEAST_PAGE and not self._method.repeats:
            self._again(chunk, asked // RAISE, walked=True)
        else:
            raise error

    def _walk(self, span: HeightRange, page_size: int) -> list[Raw]:
        """All rows of one height by its pages, in the thread that calls.

        Pages of one walk add up to the true number of rows whatever their order, so walks are repeated until so many
        distinct rows have been seen. A row is missed by one walk with a chance of about 1/e.
        """
        # What a server gives for the first page is its true page size: a cap of its own may be lower than we ask for.
        page_size = len(self._call(span, 0, page_size)) or 1
        seen: dict[bytes, Raw] = {}
        total = walks = 0
        while walks == 0 or len(seen) < total:
            if walks and walks > 3 * log(total) + 10:
                raise IncompleteError(
                    f"{self._method.name} {span}: {walks} walks through its pages of {page_size} showed"
                    f" {len(seen)} of {total} rows",
                    "a larger --page-size may hold them all",
                )
            count = self._walk_once(span, page_size, seen)
            if walks and count != total:
                raise IncompleteError(f"{self._method.name} {span}: it had {total} rows, and then {count}")
            total, walks = count, walks + 1
        if len(seen) > total:
            raise IncompleteError(f"{self._method.name} {span}: its {total} rows are not the same in each answer")
        return list(seen.values())

    def _walk_once(self, span: HeightRange, page_size: int, seen: dict[bytes, Raw]) -> int:
        count = page = 0
        while rows := self._call(span, page, page_size):
            if count != page * page_size or count > 100 * max(1, len(seen)) or page == MOST_PAGES:
                raise IncompleteError(
                    f"{self._method.name} {span}: its pages of {page_size} rows do not end, or differ in length"
                )
            seen.update((bytes(row), row) for row in rows)
            count, page = count + len(rows), page + 1
        return count

    def _check_heights(self, chunk: _Chunk) -> None:
        """Every height once, up to the newest block (docs/completeness.md)."""
        wanted = range(chunk.span.start, chunk.span.end)
        heights, verify = chunk.heights, self._query.verify
        chunk.state = _State.WHOLE
        if heights is None:
            if verify:
                raise IncompleteError(
                    f"{self._method.name} {chunk.span}: a block has no readable height, so none can be proved present",
                    "--no-verify reads on",
                )
            return
        if heights == list(reversed(wanted) if self._query.reverse else wanted):
            return
        if verify and len(set(heights)) < len(heights):
            twice = sorted({height for height in heights if heights.count(height) > 1})
            raise IncompleteError(f"{self._method.name} {chunk.span}: twice in one answer: {_listed(twice)}")
        top = self._tip_height() + 1
        missing = sorted(set(wanted) - set(heights))
        if missing and missing[0] < top:
            if not chunk.asked_again:  # the newest block may have come after the answer
                chunk.asked_again = True
                chunk.state = _State.WAITING
                return
            if verify:
                raise IncompleteError(
                    f"{self._method.name} {chunk.span}: missing {_listed([h for h in missing if h < top])},"
                    f" though the newest block is {top - 1}",
                    "--no-verify reads on",
                )
        if top < chunk.span.end:
            kept = [place for place, height in enumerate(heights) if height < top]
            chunk.rows, chunk.heights = [chunk.rows[i] for i in kept], [heights[i] for i in kept]
            self._cutter.stop_at(top)


def _listed(heights: list[int]) -> str:
    """Heights as a few words: `height 5`, `heights 5, 7, 9 and 40 more`."""
    shown = ", ".join(map(str, heights[:5]))
    more = f" and {len(heights) - 5} more" if len(heights) > 5 else ""
    return f"{'height' if len(heights) == 1 else 'heights'} {shown}{more}"
