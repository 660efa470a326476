"""Drives a page plan: sends its requests, requests ahead from threads what it will want next, hands on its results."""

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Raw

from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import Role
from chainq.defaults import CONCURRENCY
from chainq.errors import ChainqError, OverdueError, ResponseError
from chainq.planning.page_plan import NewestPlan, PagePlan
from chainq.planning.page_requests import PageRequest, PageResult
from chainq.process.threads import Pool
from chainq.query import Batch, Query
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_result, decode_rows

Send = Callable[[int, int], list[Raw]]


def fetch_pages(
    connection: Connection,
    dialect: Dialect,
    query: Query,
    *,
    concurrency: int = CONCURRENCY,
    warn: Callable[[str], None] = lambda _: None,
    trace: Callable[[str], None] = lambda _: None,
    believed: Callable[[str], None] = lambda _: None,
    strict: bool = False,
) -> Iterator[Batch]:
    """Yield every row of a method that has pages but no heights, exactly once, in batches of whole blocks.

    `concurrency`: requests at a time. `warn` is called with what the user should know of the service, `trace` with what
    the proof of each batch rests on, `believed` at the end with the rows that rest on belief, in words. `strict`: these
    are an error. Raises ChainqError.
    """
    method = query.method
    name = dialect.wire(method).name

    decode = _Decode()

    def send(number: int, size: int) -> list[Raw]:
        _, params = dialect.call(method, {**query.arguments, Role.PAGE: number, Role.SIZE: size})
        return connection.call(name, params, decode, f"page {number} of {size} rows", divisible=size > 1)

    largest = dialect.page_size_max(method)
    plan = (
        NewestPlan(query, largest=largest, strict=strict)
        if query.newest
        else PagePlan(query, largest=largest, window=concurrency + 2, strict=strict)
    )
    steps, pages = plan.steps(), _ReadAhead(send, concurrency + 2)
    warned = 0
    try:
        step = next(steps, None)
        while step is not None:
            if isinstance(step, PageResult):
                trace(f"{method.name}: {len(step.rows)} rows, proof: {step.proof}")
                yield Batch(step.rows, None, step.proof)
                step = next(steps, None)
                continue
            rows = pages.get(step)
            if isinstance(rows, OverdueError):  # as in `ranges`
                raise rows
            try:
                step = steps.throw(rows) if isinstance(rows, ChainqError) else steps.send(rows)
            except StopIteration:
                step = None
            while warned < len(plan.facts.notes):
                warn(f"{method.name}: {plan.facts.notes[warned]}")
                warned += 1
    except ChainqError as error:
        if not error.message.startswith(name):  # planning knows pages, not methods
            error.message = f"{name} " + error.message  # which may be a phrase
        raise
    finally:
        if plan.believed is not None:
            first, last = plan.believed.start, plan.believed.stop - 1
            believed(f"rows {first} to {last} of the list" if plan.believed else "list without rows")
        pages.close()


class _Decode:
    """Decodes the rows of responses. Of a service that has shown rows, null is an empty page, which proves nothing."""

    def __init__(self) -> None:
        self._shown = False

    def __call__(self, text: memoryview, call_id: int) -> list[Raw]:
        """Return the rows. Raises ServiceError and ResponseError."""
        try:
            rows = decode_rows(text, call_id)
        except ResponseError:
            if not self._shown or bytes(decode_result(text, call_id)) != b"null":
                raise
            return []
        self._shown = self._shown or bool(rows)
        return rows


class _ReadAhead:
    """Sends requests and those that will follow them; keeps what came early until it is wanted."""

    def __init__(self, send: Send, size: int) -> None:
        self._send = send
        self._pool: Pool[tuple[int, int]] = Pool(size)
        self._sent: set[tuple[int, int]] = set()
        self._kept: dict[tuple[int, int], object] = {}

    def get(self, request: PageRequest) -> list[Raw] | ChainqError:
        """Return the rows of a page, or the failure of its request. Raises what is no failure of the service."""
        wanted = [(number, request.size) for number in range(request.number, request.number + request.ahead + 1)]
        self._kept = {page: outcome for page, outcome in self._kept.items() if page in wanted}
        for page in wanted:
            if page not in self._kept and page not in self._sent:
                self._sent.add(page)
                self._pool.submit(page, partial(self._send, *page))
        first = wanted[0]
        while first not in self._kept:
            page, outcome = self._pool.wait()
            self._sent.discard(page)
            if page in wanted:
                self._kept[page] = outcome
        found = self._kept.pop(first)
        if isinstance(found, list | ChainqError):
            return found
        raise found if isinstance(found, BaseException) else TypeError(found)

    def close(self) -> None:
        """Let the threads end."""
        self._pool.close()
