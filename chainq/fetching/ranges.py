"""Drives a range plan: sends its requests from threads, and yields complete chunks as batches."""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.errors import BrokenBodyError, ChainqError, GatewayError, ResponseError, ServiceError, UnreachableError
from chainq.fetching.calls import Asked, Calls, MethodCall, Say
from chainq.fetching.links import Links
from chainq.heights.range import HeightRange
from chainq.planning.chunking import proving
from chainq.planning.exchange import NOTHING_KNOWN, ChunkResult, DueRequest, Grade, RowsRequest, TipRequest
from chainq.planning.range_plan import RangePlan
from chainq.planning.run import Request, Send
from chainq.process.threads import Pool
from chainq.query import Batch, Query
from chainq.rows.raw_json import put_first
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
    threads = min(asked.concurrency or most, most)
    window = threads + 2  # a few chunks more are held until their turn comes
    # Rows before a block that does not make its own hash are printed, so links are checked with the hashes then.
    linked = query.method.linked and query.verify and not query.hash_workers
    check = Links(query.method, query.reverse).check if linked else _unlinked
    pool: Pool[Any] = Pool(threads)
    send = _HungCheck(_sender(call, query, heights, tip_height, witness), heights.start)
    plan = RangePlan(
        query,
        heights,
        send,
        pool,
        tip=tip,
        window=window,
        known=asked.known or NOTHING_KNOWN,
        witness=witness is not None,
        strict=calls.options.strict,
    )
    try:
        plan.compared.extend(witness.blocks_of(asked.compared) if witness is not None else ())
        for result in plan.results():
            calls.tell(query.method, plan.run.notes if asked.notes else ())
            check(result.rows, result.row_heights)
            yield _batch(query, result, calls.trace, believed)
            del result  # its rows keep their whole response alive, and the next wait may be long
        calls.tell(query.method, plan.run.notes if asked.notes else ())
        asked.learned(plan.known)
    except ChainqError as error:
        names = query.method.name, call.name, BY_COMMAND["records"].name
        if not error.message.startswith(names):  # planning has at most the published name
            error.message = f"{call.name} " + error.message  # which may be a phrase
        raise
    finally:
        plan.run.stopped = True
        pool.close()


def _unlinked(_rows: Sequence[Raw], _heights: Sequence[int]) -> None:
    """Check nothing: rows of this method name no other rows."""


class _HungCheck:
    """Sends requests, and ends a run if the server does not respond: every request would be divided down to a single
    height.

    After the first request that fails so (or tuning.FAILED_IN_A_ROW of them, if the server has responded before), it
    sends the narrowest one: one row of the first height. If that fails in the same way, no other can do better.
    The same for incomplete bodies if no request has succeeded, but only at `first`, the lowest height of the run:
    elsewhere the error would hide the rows below it.
    """

    def __init__(self, send: Send, first: int) -> None:
        self._send, self._first = send, first
        self._answered, self._failed = False, 0
        self._final: ChainqError | None = None
        self._lock = Lock()

    def __call__(self, request: Request) -> Any:
        """Return the outcome of a request. Raises its failure, or that of the narrowest one, which is final."""
        if self._final is not None:
            raise self._final
        try:
            outcome = self._send(request)
        except (BrokenBodyError, GatewayError) as error:
            with self._lock:
                self._look(request, isinstance(error, BrokenBodyError))
            raise
        self._answered, self._failed = True, 0
        return outcome

    def _look(self, request: Request, broken: bool) -> None:
        if self._final is not None:
            raise self._final
        self._failed += not broken
        again = not broken and self._failed % tuning.FAILED_IN_A_ROW == 0
        if isinstance(request, RowsRequest) and (not self._answered or again):
            start = request.heights.start
            if broken and start > self._first:
                return
            size = None if request.page_size is None else 1
            try:
                self._send(request._replace(heights=HeightRange(start, start + 1), page=0, page_size=size))
            except (BrokenBodyError, GatewayError) as error:
                kind = UnreachableError if isinstance(error, GatewayError) else ResponseError
                self._final = kind(error.message, error.hint)
                self._final.again = error.again
                raise self._final from error
            self._answered, self._failed = True, 0


def _batch(query: Query, result: ChunkResult, trace: Say, believed: Callable[[HeightRange], None]) -> Batch:
    trace(f"{query.method.name} {result.heights}: {len(result.rows)} rows, proof: {result.proof}")
    if result.proof.grade is Grade.BELIEF:
        believed(result.heights)
    rows = result.rows
    if query.located and result.row_heights:
        pairs = zip(rows, result.row_heights, strict=True)
        rows = [put_first(row, {"height": b"%d" % height}) for row, height in pairs]
    return Batch(rows, result.heights, result.proof)


def _sender(
    call: MethodCall, query: Query, heights: HeightRange, tip_height: Callable[[], int], witness: "Witness | None"
) -> Send:
    """Return a function that sends a request of the plan and returns its outcome."""

    def send(request: Request) -> Any:
        if isinstance(request, TipRequest):
            return tip_height()
        if isinstance(request, DueRequest):
            if witness is None:
                raise ServiceError("no other method is asked")
            return witness.row_ids(request.heights) if request.row_ids else witness.due(request.heights)
        if request.records and witness is not None:
            return witness.records(request)
        arguments = {**query.arguments, Role.START: request.heights.start, Role.END: request.heights.end}
        if request.page_size is not None:
            arguments |= {Role.PAGE: request.page, Role.SIZE: request.page_size}
        where = f"{request.heights}, page {request.page}" if request.page else str(request.heights)
        inside = request.heights.common(heights) == request.heights
        purpose = "" if inside else proving(heights)
        return call(arguments, decode_array, where, divisible=True, purpose=purpose)

    return send
