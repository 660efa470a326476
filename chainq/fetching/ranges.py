"""Drives a range plan: sends its requests from threads, and yields complete chunks as batches."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import Method, Role
from chainq.errors import BrokenBodyError, ChainqError, GatewayError, OverdueError, ServiceError
from chainq.fetching.calls import Asked, Calls, MethodCall, Say
from chainq.fetching.links import Links
from chainq.heights.range import HeightRange
from chainq.planning.chunking import proving
from chainq.planning.exchange import (
    NOTHING_KNOWN,
    ChunkResult,
    Due,
    DueRequest,
    Grade,
    Located,
    RowsRequest,
    TipRequest,
)
from chainq.planning.range_plan import RangePlan
from chainq.process.threads import Pool
from chainq.query import Batch, Query
from chainq.rows.sorting import Page
from chainq.transport.jsonrpc import decode_array

if TYPE_CHECKING:
    from chainq.fetching.witness import Witness


def fetch_range(
    calls: Calls,
    call: MethodCall,
    query: Query,
    heights: HeightRange,
    asked: Asked,
    *,
    tip: int | None,
    tip_height: Callable[[], int],
    believed: Callable[[HeightRange], None],
    witness: "Witness | None",
) -> Iterator[Batch]:
    """Yield every row of a height range, exactly once, in batches that end with the last row of a height.

    `tip`: the tip height if it is known; else `tip_height` is called if the range turns out to need it. `believed` is
    called with the heights of a batch that rests on belief; with `strict` it raises an error. `witness`: the other
    methods that name the due rows, None to use none. Raises ChainqError.
    """
    most = calls.options.concurrency
    plan = RangePlan(
        query,
        heights,
        tip=tip,
        window=min(asked.concurrency or most, most) + 2,  # a few chunks more are decoded or held until their turn comes
        known=asked.known or NOTHING_KNOWN,
        witness=witness is not None,
        strict=calls.options.strict,
    )

    # Rows before a block that does not make its own hash are printed, so links are checked with the hashes then.
    linked = query.method.linked and query.verify and not query.hash_workers
    check = Links(query.method, query.reverse).check if linked else _unlinked
    send = _sender(call, query, heights, tip_height, plan.page, witness)
    pool: Pool[int] = Pool(plan.window)
    hung = _HungCheck(send, heights.start)

    def submit() -> None:
        for number, request in plan.requests():
            hung.sent[number] = request
            pool.submit(number, partial(send, request))

    try:
        for due in witness.blocks_of(asked.compared) if witness is not None else ():
            plan.evidence.witness(due)
        submit()
        while not plan.done:
            for result in plan.ready():
                check(result.rows, result.row_heights)
                if query.limit is None:  # the server works while the rows are drawn; with a limit they may be the last
                    submit()
                yield _batch(query.method, result, calls.trace, believed)
                del result  # its rows keep their whole response alive, and the next wait may be long
            submit()
            if plan.waiting:
                number, outcome = _next(pool)
                hung.take(number, outcome)
                plan.receive(number, outcome)
                del outcome  # a response is large, and the next wait may be long
            calls.tell(query.method, plan.facts.notes if asked.notes else ())
        asked.learned(plan.known)
    except ChainqError as error:
        if not error.message.startswith((query.method.name, call.name)):  # planning has at most the published name
            error.message = f"{call.name} " + error.message  # which may be a phrase
        raise
    finally:
        pool.close()


def _unlinked(_rows: Sequence[Raw], _heights: Sequence[int]) -> None:
    """Check nothing: rows of this method name no other rows."""


def _next(pool: Pool[int]) -> tuple[int, object]:
    """Return the next outcome. Raises OverdueError: no other request can help then."""
    number, outcome = pool.wait()
    if isinstance(outcome, OverdueError):
        raise outcome
    return number, outcome


class _HungCheck:
    """Ends a run if the server does not respond, since every request would be divided down to a single height.

    After the first request that fails so (or tuning.FAILED_IN_A_ROW of them, if the server has responded before), it
    sends the narrowest one: one row of the first height. If that fails in the same way, no other can do better.
    The same for incomplete bodies if no request has succeeded, but only at `first`, the lowest height of the run:
    elsewhere the error would hide the rows below it.
    """

    def __init__(self, send: Callable[[RowsRequest], object], first: int) -> None:
        self.sent: dict[int, RowsRequest | TipRequest | DueRequest] = {}
        self._send, self._first = send, first
        self._answered, self._failed = False, 0

    def take(self, number: int, outcome: object) -> None:
        """Record the outcome of a request. Raises GatewayError or BrokenBodyError."""
        request = self.sent.pop(number)
        broken = isinstance(outcome, BrokenBodyError)
        if not (broken or isinstance(outcome, GatewayError)):
            self._answered, self._failed = True, 0
            return
        self._failed += not broken
        again = not broken and self._failed % tuning.FAILED_IN_A_ROW == 0
        if isinstance(request, RowsRequest) and (not self._answered or again):
            start = request.heights.start
            if broken and start > self._first:
                return
            size = None if request.page_size is None else 1
            self._send(request._replace(heights=HeightRange(start, start + 1), page=0, page_size=size))
            self._answered, self._failed = True, 0


def _batch(method: Method, result: ChunkResult, trace: Say, believed: Callable[[HeightRange], None]) -> Batch:
    trace(f"{method.name} {result.heights}: {len(result.rows)} rows, proof: {result.proof}")
    if result.proof.grade is Grade.BELIEF:
        believed(result.heights)
    return Batch(result.rows, result.heights, result.proof)


def _sender(
    call: MethodCall,
    query: Query,
    heights: HeightRange,
    tip_height: Callable[[], int],
    page: Callable[[RowsRequest, list[Raw]], Page],
    witness: "Witness | None",
) -> Callable[[RowsRequest | TipRequest | DueRequest], Page | Due | Located | dict[int, int] | int]:
    """Return a function that sends a request of the plan and returns its outcome for the plan."""

    def send(request: RowsRequest | TipRequest | DueRequest) -> Page | Due | Located | dict[int, int] | int:
        if isinstance(request, TipRequest):
            return tip_height()
        if isinstance(request, DueRequest):
            if witness is None:
                raise ServiceError("no other method is asked")
            if request.row_ids:
                return witness.row_ids(request.heights)
            return witness.located(request) if request.located else witness.due(request.heights)
        arguments = {**query.arguments, Role.START: request.heights.start, Role.END: request.heights.end}
        if request.page_size is not None:
            arguments |= {Role.PAGE: request.page, Role.SIZE: request.page_size}
        where = f"{request.heights}, page {request.page}" if request.page else str(request.heights)
        inside = request.heights.common(heights) == request.heights
        purpose = "" if inside else proving(heights)
        return page(request, call(arguments, decode_array, where, divisible=True, purpose=purpose))

    return send
