"""One service, its eleven methods: the way every row takes, for the command line and for Python alike."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self

from msgspec import Raw

from chainq.catalog.dialects import AUTO, DIALECTS, Dialect, Names
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import AnswerError, NotFoundError, UsageError
from chainq.fetching import lookups
from chainq.fetching.tip import Tip
from chainq.heights import bounds
from chainq.heights.range import HeightRange
from chainq.planning.query import Batch, Lookup, Query
from chainq.rows import fields
from chainq.transport.base import Endpoint, Report
from chainq.transport.http import Connection
from chainq.transport.jsonrpc import decode_result, decode_rows

_NO_BLOCK = "the chain has no block yet"


class Client:
    """Calls one service. Use it as a context, or `close` it; threads may not share it.

    `dialect` is one of `dialects.DIALECTS`, or `auto`; `names` are the server's own beside it. `timeout` in seconds a
    call, `rate` in requests a second, `concurrency` in calls at a time. Raises UsageError for a dialect that is none.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str = "chain",
        names: Names | None = None,
        timeout: float = 30.0,
        retries: int = 5,
        rate: float | None = None,
        headers: Mapping[str, str] | None = None,
        concurrency: int = 8,
        report: Callable[[Report], None] = lambda _: None,
    ) -> None:
        if dialect not in (AUTO, *DIALECTS):
            raise UsageError(f"there is no dialect {dialect!r}", f"the dialects are {', '.join(DIALECTS)} and {AUTO}")
        self.url, self.dialect_name, self.names = url, dialect, names or Names()
        transport = None
        if url == "demo:":
            from chainq.demo.chain import Chain
            from chainq.demo.service import Service
            from chainq.demo.transport import DemoTransport

            transport, url = DemoTransport(Service(Chain())), "http://demo.invalid/"
        if concurrency < 1:
            raise UsageError(f"there is no run with {concurrency} calls at a time")
        endpoint = Endpoint(
            url,
            timeout=timeout,
            retries=retries,
            rate=rate,
            concurrency=concurrency,
            headers=headers or {},
            transport=transport,
        )
        self.connection = Connection(endpoint, report)
        self._concurrency = concurrency
        self._tip: Tip | None = None
        self._times: dict[int, int] = {}  # block times by height, for the search by time

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what is under way, and give the sockets back."""
        self.connection.close()

    @cached_property
    def dialect(self) -> Dialect:
        """How the server speaks, its own names included; `auto` is found out here, when it is first needed.

        Raises ChainqError where it cannot be.
        """
        if self.dialect_name != AUTO:
            return DIALECTS[self.dialect_name].with_names(self.names)
        from chainq.fetching import dialect_detection

        return dialect_detection.dialect_of(self.url, self.raw).with_names(self.names)

    def tip_height(self) -> int:
        """The newest block's height, -1 where the chain has no block; asked for once and then pinned."""
        return self.tip().height

    def tip(self, *, anew: bool = False) -> Tip:
        """The newest block, pinned until it is asked for `anew`."""
        if self._tip is None or anew:
            found = self.latest_row()
            if not found:
                self._tip = Tip(-1, "", "", None)
            else:
                sent = fields.Picker(["height", "timestamp", "block_hash", "previous_hash"])(found[0])
                height, time = fields.integer_of(sent[0]), fields.integer_of(sent[1])
                if height is None or height < 0:
                    raise AnswerError("latest/block: the newest block has no readable height")
                if time is not None:
                    self._times[height] = time
                self._tip = Tip(height, fields.text_of(sent[2]), fields.text_of(sent[3]), time)
        return self._tip

    def hash_of(self, height: int) -> str | None:
        """A block's hash, None where there is no such block. The newest blocks' are known from `tip`."""
        tip = self.tip()
        if height == tip.height and tip.hash:
            return tip.hash
        if height == tip.height - 1 and tip.previous_hash:
            return tip.previous_hash
        try:
            (found,) = self.named(BY_COMMAND["block"], [height])
        except NotFoundError:
            return None
        return fields.text_of(fields.Picker(["block_hash"])(found.rows[0])[0])

    def latest_row(self) -> list[Raw]:
        """The newest block's summary as one row; none where the chain has no block."""
        return lookups.fetch_latest(self.connection, self.dialect)

    def first_at(self, time: float) -> int:
        """The first height whose block time (seconds since 1970) is `time` or later, the newest + 1 where none is."""
        from chainq.heights import block_time

        return block_time.first_at(time, self.tip_height(), self._time_of)

    def _time_of(self, height: int) -> int:
        if height not in self._times:
            (batch,) = self.named(BY_COMMAND["block"], [height])
            time = fields.integer_of(fields.Picker(["timestamp"])(batch.rows[0])[0])
            if time is None:
                raise AnswerError(f"block {height} has no readable timestamp, so no block can be found by its time")
            self._times[height] = time
        return self._times[height]

    def span(self, ask: bounds.Bounds, *, reverse: bool = False) -> HeightRange:
        """The heights that are asked for; from the newest down, none above the newest block."""
        start, end = bounds.resolve(ask, self.tip_height, self.first_at)
        if reverse and end > start:
            end = max(start, min(end, self.tip_height() + 1))
        return HeightRange(start, end)

    def ranged(self, query: Query, heights: HeightRange) -> Iterator[Batch]:
        """Every row of a height range (what the query's bounds resolve to), exactly once, in height order."""
        from chainq.fetching.ranges import RangeFetch

        return iter(RangeFetch(self.connection, self.dialect, query, heights, self.tip_height, self._concurrency))

    def paged(self, query: Query) -> Iterator[Batch]:
        """Every row of a method that has pages but no heights."""
        from chainq.fetching.pages import PageFetch

        return iter(PageFetch(self.connection, self.dialect, query, self._concurrency))

    def named(self, method: Method, names: Iterable[Lookup | None]) -> Iterator[Batch]:
        """The rows of each name, in order. Raises NotFoundError at the end where some do not exist."""
        return lookups.fetch_lookups(self.connection, self.dialect, method, names, self._concurrency)

    def latest(self) -> Iterator[Batch]:
        """The newest block as one batch. Raises NotFoundError where the chain has no block yet."""
        found = self.latest_row()
        if not found:
            raise NotFoundError(_NO_BLOCK)
        yield Batch(found)

    def latest_height(self) -> int:
        """The newest block's height. Raises NotFoundError where the chain has no block yet."""
        if self.tip_height() < 0:
            raise NotFoundError(_NO_BLOCK)
        return self.tip_height()

    def one_page(self, query: Query, heights: HeightRange | None) -> Iterator[Batch]:
        """The one page of one request that the query names, unverified and in the server's order."""
        arguments = {**query.arguments, Role.PAGE: query.page or 0, Role.SIZE: query.page_size or 1}
        if heights is not None:
            arguments |= {Role.START: heights.start, Role.END: heights.end}
        name, params = self.dialect.call(query.method, arguments)
        yield Batch(self.connection.call(name, params, decode_rows, str(heights or "")))

    def raw(self, name: str, params: Any) -> Raw:
        """The `result` of any call. `params` is an object, an array, or None to send none."""
        return self.connection.call(name, params, decode_result)
