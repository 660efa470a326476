"""Runs a range plan: sends its requests from threads, and yields complete chunks as batches."""

from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.errors import BrokenBodyError, ChainqError, GatewayError, ResponseError, ServiceError, UnreachableError
from chainq.fetching.calls import Asked, naming
from chainq.fetching.links import Links
from chainq.heights.range import HeightRange
from chainq.planning.exchange import NOTHING_KNOWN, DueRequest, Grade, Proof, RowsRequest, TipRequest
from chainq.planning.kernel import Proved
from chainq.planning.range_plan import Chunk, RangePlan
from chainq.planning.run import Request
from chainq.process.threads import Pool
from chainq.query import Batch, Query
from chainq.rows.raw_json import put_first
from chainq.transport.jsonrpc import decode_array

if TYPE_CHECKING:
    from chainq.fetching.service import Service


def fetch_range(service: "Service", query: Query, heights: HeightRange, asked: Asked) -> Iterator[Batch]:
    """Yield every row of a height range, exactly once, in batches that end with the last row of a height.

    Raises ChainqError.
    """
    calls, method, tip = service.calls, query.method, service.blocks.known
    most = calls.options.concurrency
    threads = min(asked.concurrency or most, most)
    # Rows before a block that does not make its own hash are printed, so links are checked with the hashes then.
    linked = method.linked and query.verify and not query.hash_workers
    links = Links(method, query.reverse) if linked else None
    requests = _Requests(service, query, heights)
    pool: Pool[Chunk] = Pool(threads)
    plan = RangePlan(
        query,
        heights,
        requests,
        pool,
        tip=tip.height if tip and tip.height >= heights.end - 1 else None,
        window=threads + 2,  # a few chunks more are held until their turn comes
        known=service.learned.get(method.name, NOTHING_KNOWN),
        witness=requests.witness is not None,
        strict=calls.options.strict,
    )
    try:
        plan.compared.extend(requests.witness.blocks_of(asked.compared) if requests.witness else ())
        with naming(calls.of(method)):
            for proved, responses in plan.results():
                calls.tell(method, plan.run.notes if asked.notes else ())
                if links is not None:
                    links.check(proved.rows, proved.row_heights)
                proof = Proof(proved.grade, responses)
                calls.trace(f"{method.name} {proved.heights}: {len(proved.rows)} rows, proof: {proof}")
                if proved.grade is Grade.BELIEF:
                    service.believe(method, proved.heights)
                yield Batch(_rows(query, proved), proved.heights, proof)
                del proved  # its rows keep their whole response alive, and the next wait may be long
        calls.tell(method, plan.run.notes if asked.notes else ())
        service.learned[method.name] = plan.known
    finally:
        plan.run.stopped = True
        pool.close()


def _rows(query: Query, proved: Proved) -> list[Raw]:
    """Return the rows, which begin with their heights if the query says so and these are known."""
    if not (query.located and proved.row_heights):
        return proved.rows
    pairs = zip(proved.rows, proved.row_heights, strict=True)
    return [put_first(row, {"height": b"%d" % height}) for row, height in pairs]


class _Requests:
    """Sends the requests of a plan, and ends a run if the server does not respond: every request would be divided down
    to a single height.

    After the first request that fails so (or tuning.FAILED_IN_A_ROW of them, if the server has responded before), it
    sends the narrowest one: one row of the first height. If that fails in the same way, no other can do better.
    The same for incomplete bodies if no request has succeeded, but only at the lowest height of the run: elsewhere the
    error would hide the rows below it.

    `witness`: what names the due rows, None for methods without. Threads share it.
    """

    def __init__(self, service: "Service", query: Query, heights: HeightRange) -> None:
        self._service, self._query, self._heights, self._lock = service, query, heights, Lock()
        self.witness = None
        if query.method.identity:
            from chainq.fetching.witness import Witness

            self.witness = Witness(service.calls, query.method)
        self._left = 1  # failures until the narrowest request
        self._final: ChainqError | None = None

    def __call__(self, request: Request) -> Any:
        """Return the outcome of a request. Raises its failure, or that of the narrowest one, which is final."""
        if self._final is not None:
            raise self._final
        try:
            outcome = self._send(request)
        except (BrokenBodyError, GatewayError) as error:
            with self._lock:
                self._look(request, broken=isinstance(error, BrokenBodyError))
            raise
        self._left = tuning.FAILED_IN_A_ROW
        return outcome

    def _look(self, request: Request, *, broken: bool) -> None:
        if self._final is not None:
            raise self._final
        if not isinstance(request, RowsRequest):
            return
        start, size = request.heights.start, None if request.page_size is None else 1
        if broken and (self._left > 1 or start > self._heights.start):
            return
        self._left -= 1
        if self._left > 0:
            return
        try:
            self._send(request._replace(heights=HeightRange(start, start + 1), page=0, page_size=size))
        except (BrokenBodyError, GatewayError) as error:
            kind = UnreachableError if isinstance(error, GatewayError) else ResponseError
            self._final = kind(error.message, error.hint)
            self._final.again = error.again
            raise self._final from error
        self._left = tuning.FAILED_IN_A_ROW

    def _send(self, request: Request) -> Any:
        service, query, heights = self._service, self._query, self._heights
        if isinstance(request, TipRequest):
            return service.blocks.tip_for(heights.end)
        if isinstance(request, DueRequest):
            if self.witness is None:
                raise ServiceError("no other method is asked")
            return (self.witness.row_ids if request.row_ids else self.witness.due)(request.heights)
        method = BY_COMMAND["records"] if request.records else query.method
        arguments = {**query.arguments, Role.START: request.heights.start, Role.END: request.heights.end}
        if request.page_size is not None:
            arguments |= {Role.PAGE: request.page, Role.SIZE: request.page_size}
        where = f"{request.heights}, page {request.page}" if request.page else str(request.heights)
        inside = request.heights.common(heights) == request.heights
        purpose = "" if inside else f"to prove {heights} complete"
        return service.calls.of(method)(arguments, decode_array, where, divisible=True, purpose=purpose)
