"""One service, its eleven methods: the way every row takes, for the command line and for Python alike."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from msgspec import Raw

from chainq import heights, named, rows
from chainq.dialects import DIALECTS, Dialect, Value
from chainq.errors import AnswerError, NotFoundError
from chainq.fetch import Batch, Question, RangeFetch
from chainq.methods import Method, Role
from chainq.pages import PageFetch
from chainq.plan import Span
from chainq.rpc import Connection, Endpoint, Report, decode_result, decode_rows


class Client:
    """Calls one service. Use it as a context, or `close` it; threads may not share it.

    `timeout` in seconds a call, `rate` in requests a second, `concurrency` in calls at a time.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str = "chain",
        timeout: float = 30.0,
        retries: int = 5,
        rate: float | None = None,
        headers: Mapping[str, str] | None = None,
        concurrency: int = 8,
        report: Callable[[Report], None] = lambda _: None,
    ) -> None:
        transport = None
        if url == "demo:":
            from chainq.demo.chain import Chain
            from chainq.demo.service import Service
            from chainq.demo.transport import DemoTransport

            transport, url = DemoTransport(Service(Chain())), "http://demo.invalid/"
        self.dialect: Dialect = DIALECTS[dialect]
        self.connection = Connection(Endpoint(url, timeout, retries, rate, headers or {}, transport), report)
        self._concurrency = concurrency
        self._newest: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what is under way, and give the sockets back."""
        self.connection.close()

    def newest(self) -> int:
        """The newest block's height, -1 where the chain has no block; asked for once and then pinned."""
        if self._newest is None:
            found = self.latest_row()
            height = rows.integer_of(rows.Picker(["height"])(found[0])[0]) if found else -1
            if height is None:
                raise AnswerError("latest/block: the newest block has no readable height")
            self._newest = height
        return self._newest

    def latest_row(self) -> list[Raw]:
        """The newest block's summary as one row; none where the chain has no block."""
        return named.fetch_latest(self.connection, self.dialect)

    def span(self, ask: heights.RangeAsk, *, reverse: bool = False) -> Span:
        """The heights that are asked for; from the newest down, none above the newest block."""
        start, end = heights.resolve(ask, self.newest)
        if reverse and end > start:
            end = max(start, min(end, self.newest() + 1))
        return Span(start, end)

    def ranged(self, question: Question) -> Iterator[Batch]:
        """Every row of a range, exactly once, in height order."""
        return iter(RangeFetch(self.connection, self.dialect, question, self.newest, self._concurrency))

    def paged(
        self, method: Method, arguments: dict[Role, Value], *, page_size: int | None = None, limit: int | None = None
    ) -> Iterator[Batch]:
        """Every row of a method that has pages but no heights."""
        pages = PageFetch(
            self.connection,
            self.dialect,
            method,
            arguments,
            page_size=page_size,
            limit=limit,
            concurrency=self._concurrency,
        )
        return iter(pages)

    def named(self, method: Method, names: Iterable[named.Name]) -> Iterator[Batch]:
        """The rows of each name, in order. Raises NotFoundError at the end where some do not exist."""
        return named.fetch_named(self.connection, self.dialect, method, names, self._concurrency)

    def latest(self) -> Iterator[Batch]:
        """The newest block as one batch. Raises NotFoundError where the chain has no block yet."""
        found = self.latest_row()
        if not found:
            raise NotFoundError("the chain has no block yet")
        yield Batch(found)

    def one_page(self, method: Method, arguments: dict[Role, Value], span: Span | None) -> Iterator[Batch]:
        """One page of one call, raw: unproved and in the server's order."""
        if span is not None:
            arguments = {**arguments, Role.START: span.start, Role.END: span.end}
        name, params = self.dialect.call(method, arguments)
        yield Batch(self.connection.call(name, params, decode_rows, str(span or "")))

    def raw(self, name: str, params: Any) -> Raw:
        """The `result` of any call. `params` is an object, an array, or None to send none."""
        return self.connection.call(name, params, decode_result)
