"""`Service`: one chain data service, as the command line and the Python API use it. Every row passes through here."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from chainq.catalog.dialects import AUTO, DIALECTS
from chainq.catalog.identifiers import is_data_set
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import UsageError
from chainq.fetching import lookups
from chainq.fetching.blocks import Blocks
from chainq.fetching.calls import ROWS, Asked, Calls, ServiceDialect
from chainq.heights import bounds
from chainq.heights.range import HeightRange, HeightSet
from chainq.options import ServiceOptions
from chainq.process import Closing
from chainq.query import Batch, Lookup, Query
from chainq.text.sanitize import quoted
from chainq.transport.base import Report, Transport
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_result, decode_rows

if TYPE_CHECKING:
    from chainq.fetching.lake import Lake
    from chainq.lake.reader import Reader
    from chainq.planning.exchange import Known


def _sample() -> Transport:
    from chainq.demo import service
    from chainq.demo.chain import Chain

    return service.DemoTransport(service.SampleService(Chain()))


IN_PROCESS: dict[str, Callable[[], Transport]] = {"demo:": _sample}
"""The services within this process, by URL: what makes the transport to each, in the place of the network."""


class Service(Closing):
    """One service at a URL (`demo:` is the sample chain), or a data set that answers as one. A context manager.

    Not thread-safe, except as `Blocks` is, and for batches.

    `report`: called after every attempt of a request. `warn`: called with warnings about the server; `trace`: with how
    each chunk was proved complete.
    Raises UsageError for an unknown dialect.

    `export`: what reads the data set that it is, None for a network, also for one that serves a data set. `dialect`:
    how its methods are called. `blocks`: its tip, and the hashes and times of its blocks.
    `believed`: heights whose rows rest on belief, by method name; `believed_lists`: the same for lists, as text.
    `unhashed`: counts of what the hash checks of a query could not cover. `learned`: from ranges of
    a method, also by another process, for the next ones, by its name.
    """

    def __init__(
        self,
        options: ServiceOptions,
        *,
        report: Callable[[Report], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
        trace: Callable[[str], None] = lambda _: None,
    ) -> None:
        dialect = options.dialect or AUTO
        if dialect not in (AUTO, *DIALECTS):
            raise UsageError(f"unknown dialect {quoted(dialect)}", f"the dialects are {', '.join(DIALECTS)} and {AUTO}")
        self.options, self.url = options, options.url
        self.transport: Transport | None = None  # None for the network
        if make := IN_PROCESS.get(self.url):
            self.transport = make()
        if self.url == "demo:" and dialect == AUTO:
            dialect = "chain"
        self.export: Reader | None = None
        if is_data_set(self.url):
            from chainq.lake.service import StoredService

            dialect, stored = "chain", StoredService(self.url, self.options.max_memory)
            self.transport, self.export = stored, stored.reader
        self.connection = Connection(options, report, transport=self.transport)
        self.dialect = ServiceDialect(dialect, self.connection, self.url)
        self.calls = Calls(self.connection, self.dialect, options, warn, trace, set())
        self.blocks = Blocks(self.calls, self._summary, self._ask_lake, self.export.first if self.export else 0)
        self.believed: dict[str, HeightSet] = {}
        self.believed_lists: dict[str, str] = {}
        self.unhashed: Counter[str] = Counter()
        self.learned: dict[str, Known] = {}
        self._lake: Lake | None = None
        if options.lake:
            from chainq.fetching import lake

            self._lake = lake.Lake(options.lake, self.blocks.own_hash, options)

    def _summary(self, height: int) -> Raw:
        """Return the summary of a block. Raises ChainqError."""
        (batch,) = self.fetch_lookups(BY_COMMAND["block"], [height])
        return batch.rows[0]

    def _ask_lake(self) -> None:
        if self._lake is not None:
            self._lake.ask()

    def close(self) -> None:
        """Cancel the requests in progress and close the sockets."""
        self.connection.close()

    def height_range(self, requested: bounds.Bounds, *, to_tip: bool = False) -> HeightRange:
        """Return the heights that bounds resolve to. With `to_tip` they end at the tip at the latest.

        Raises UsageError for bounds that contradict each other or the tip.
        """
        start, end = bounds.resolve(requested, self.blocks.tip_height, self.blocks.first_at)
        if to_tip and end > start and not (self._lake is not None and self._lake.reader.has_block(end - 1)):
            end = max(start, min(end, self.blocks.tip_for(end) + 1))
        return HeightRange(start, end)

    def fetch_range(self, query: Query, heights: HeightRange, asked: Asked = ROWS) -> Iterator[Batch]:
        """Yield every row of a height range (what the query's bounds resolve to), exactly once, in height order.

        This includes rows that do not match the query's `where`; the caller applies that (`query.matching`).
        """
        if query.pick is not None:
            return query.pick(self, query._replace(pick=None), heights)
        if query.where is not None:  # the number of rows to read is unknown until rows pass
            query = query._replace(limit=None)
        if self.export is not None:
            batches = self._read_range(self.export, query, heights)
        elif self._lake is not None and query.method.stored:
            reader = self._lake.reader
            batches = chain.from_iterable(
                self._read_range(reader, query, part) if stored else self._ask_range(query, part, asked)
                for part, stored in self._lake.parts(query, heights)
            )
        else:
            batches = self._ask_range(query, heights, asked)
        if query.hash_workers:
            from chainq.fetching.links import hashed

            batches = hashed(batches, query, self.unhashed, self.calls.trace)
        return batches

    def need(self, *commands: str) -> None:
        """Raise IncompleteError if this is an export that has no rows of some commands at any height."""
        if self.export is not None:
            self.export.need(*commands)

    def requested(self, query: Query, heights: HeightRange) -> list[HeightRange]:
        """Return the heights of a range whose rows `fetch_range` would request. Sends nothing."""
        if self._lake is None or not query.method.stored:
            return [heights]
        return self._lake.missing(query, heights)

    def _read_range(self, reader: "Reader", query: Query, heights: HeightRange) -> Iterator[Batch]:
        """Yield the rows of a range from a data set."""
        from chainq.fetching.lake import fetch_stored

        return fetch_stored(self.calls, reader, partial(self.believe, query.method), query, heights)

    def _ask_range(self, query: Query, heights: HeightRange, asked: Asked) -> Iterator[Batch]:
        """Yield the rows of a range as requests prove them."""
        from chainq.fetching.ranges import fetch_range

        return fetch_range(self, query, heights, asked) if len(heights) else iter(())  # nor is the dialect detected

    def fetch_pages(self, query: Query, start: int = 0) -> Iterator[Batch]:
        """Yield every row of a method that has pages but no heights; an export must have all heights from `start`."""
        if self.export is not None:
            from chainq.lake.reader import program_transactions

            names = (str(query.arguments[role]) for role in (Role.PROGRAM, Role.FUNCTION))
            return program_transactions(self.export, *names, newest=query.newest, start=start)
        from chainq.fetching.pages import fetch_pages

        return fetch_pages(self, query)

    def believe(self, method: Method, heights: HeightRange) -> None:
        """Record that the rows of some heights rest on belief."""
        self.believed.setdefault(method.name, HeightSet()).add(heights)

    def fetch_one_page(self, query: Query, heights: HeightRange | None) -> Iterator[Batch]:
        """Yield the one page that the query names, unverified and in the server's order."""
        arguments = {
            **query.arguments,
            Role.PAGE: query.page or 0,
            Role.SIZE: query.page_size or query.method.page_size or 1,
        }
        if heights is not None:
            arguments |= {Role.START: heights.start, Role.END: heights.end}
        yield Batch(self.calls.of(query.method)(arguments, decode_rows, str(heights or "")))

    def fetch_lookups(self, method: Method, wanted: Iterable[Lookup | HeightRange | None]) -> Iterator[Batch]:
        """Yield the rows of each height or ID, in the order given; a range means all its heights, None a lookup that is
        not known yet.

        Raises NotFoundError after the last one if some do not exist, IncompleteError for a block that must.
        """
        stored = self._lake.block if self._lake is not None and method.stored else lambda _: None
        return lookups.fetch_lookups(self.calls, method, wanted, stored, tip_height=self.blocks.tip_height)

    def call(self, name: str, params: Any) -> Raw:
        """Return the `result` of any method. `params`: an object, an array, or None to send none."""
        return self.connection.call(name, params, decode_result, divisible=False)
