"""Runs a page plan: sends its requests, requests the next pages ahead from threads, and yields its results."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Role
from chainq.errors import ChainqError
from chainq.fetching.calls import naming
from chainq.planning.exchange import DIVISIBLE
from chainq.planning.page_plan import PagePlan, PageRequest
from chainq.process.threads import Pool
from chainq.query import Batch, Query
from chainq.rows.block import looked_up
from chainq.transport.jsonrpc import decode_listed, decode_rows

if TYPE_CHECKING:
    from chainq.fetching.service import Service

Send = Callable[[int, int], list[Raw]]


def fetch_pages(service: "Service", query: Query) -> Iterator[Batch]:
    """Yield every row of a method that has pages but no heights, exactly once, in batches of complete blocks.

    Raises ChainqError.
    """
    calls, method = service.calls, query.method
    call = calls.of(method)

    def send(number: int, size: int) -> list[Raw]:
        arguments = {**query.arguments, Role.PAGE: number, Role.SIZE: size}
        return call(arguments, decode_listed, f"page {number} (page size {size})", divisible=size > 1)

    window = calls.options.concurrency + 2
    pages = _ReadAhead(send, window)
    plan = PagePlan(
        query,
        pages.get,
        partial(_transactions_at, service),
        largest=call.dialect.page_size_max(method),
        window=window,
        strict=calls.options.strict,
    )
    try:
        with naming(call):
            for rows, proof in plan.results():
                calls.tell(method, plan.notes)
                calls.trace(f"{method.name}: {len(rows)} rows, proof: {proof}")
                yield Batch(rows, proof=proof)
    finally:
        calls.tell(method, plan.notes)
        if plan.believed is not None:
            first, last = plan.believed.start, plan.believed.stop - 1
            believed = f"rows {first} to {last} of the list" if plan.believed else "list without rows"
            service.believed_lists[method.name] = believed
        pages.pool.close()


def _transactions_at(service: "Service", time: int) -> list[Raw]:
    """Return the transactions of the first block from a time on; none if they do not come."""
    with suppress(ChainqError):  # pages may do without
        height = service.blocks.first_at(time)
        call = service.calls.of(BY_COMMAND["full-blocks"])
        blocks = call({Role.START: height, Role.END: height + 1}, decode_rows, f"height {height}", divisible=True)
        return [one for block in blocks for one in looked_up(block)]
    return []


class _ReadAhead:
    """Sends requests and the ones expected to follow; keeps early responses until they are needed."""

    def __init__(self, send: Send, size: int) -> None:
        self._send = send
        self.pool: Pool[tuple[int, int]] = Pool(size)
        self._sent: set[tuple[int, int]] = set()
        self._kept: dict[tuple[int, int], Any] = {}

    def get(self, request: PageRequest) -> list[Raw]:
        """Return the rows of a page. Raises the failure of its request."""
        wanted = [(number, request.size) for number in range(request.number, request.number + request.ahead + 1)]
        self._kept = {page: outcome for page, outcome in self._kept.items() if page in wanted}
        for page in wanted:
            if page not in self._kept and page not in self._sent:
                self._sent.add(page)
                self.pool.submit(page, partial(self._send, *page))
        first = wanted[0]
        while first not in self._kept:
            page, outcome = self.pool.wait()
            self._sent.discard(page)
            if page in wanted:
                self._kept[page] = outcome
        outcome = self._kept.pop(first)
        while isinstance(outcome, DIVISIBLE) and self._sent:  # smaller pages beside these would fail for their sake
            self._sent.discard(self.pool.wait()[0])
        if isinstance(outcome, BaseException):
            raise outcome
        rows: list[Raw] = outcome
        return rows
