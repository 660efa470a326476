"""`Service`: one chain data service, as the command line and the Python API use it. Every row passes through here."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from chainq.catalog.dialects import AUTO, DIALECTS, NO_NAMES, Dialect, is_shared
from chainq.catalog.identifiers import is_data_set
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import ChainqError, NotFoundError, ResponseError, ServiceError, UsageError
from chainq.fetching import lookups, single_rows
from chainq.fetching.calls import ROWS, Asked, Calls, MethodCall
from chainq.fetching.tip import Tip, highest_block
from chainq.heights import bounds
from chainq.heights.range import HeightRange
from chainq.process import Closing
from chainq.query import Batch, Lookup, Query
from chainq.rows import fields
from chainq.text.sanitize import printable, quoted
from chainq.transport.base import Report, ServiceOptions, Transport
from chainq.transport.connection import Connection
from chainq.transport.failures import is_misunderstood
from chainq.transport.jsonrpc import decode_array, decode_result, decode_rows

if TYPE_CHECKING:
    from chainq.fetching.lake import Lake
    from chainq.fetching.witness import Witness
    from chainq.heights.height_set import HeightSet
    from chainq.planning.exchange import Known
    from chainq.stored.reader import Reader

_NO_BLOCK = "the chain has no blocks yet"


class Service(Closing):
    """One service at a URL (`demo:` is the sample chain), or a data set that answers as one. A context manager.

    Not thread-safe, except for `tip_height` and `tip_for`, which the threads of several ranges may call, and for
    batches whose dialect is known (`dialect_for`).

    `report`: called after every attempt of a request. `warn`: called with warnings about the server; `trace`: with how
    each chunk was proved complete.
    Raises UsageError for an unknown dialect.

    `believed`: heights whose rows rest on belief, by method name; `believed_lists`: the same for lists, as text.
    `unhashed`: counts of what the hash checks of a query could not cover.
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
        self.options, self.url, self.names = options, options.url, options.names or NO_NAMES
        self.transport: Transport | None = None  # None for the network
        if self.url == "demo:":
            from chainq.demo.chain import Chain
            from chainq.demo.service import Service as DemoService
            from chainq.demo.transport import DemoTransport

            dialect = "chain" if dialect == AUTO else dialect
            self.transport = DemoTransport(DemoService(Chain()))
        self._stored = None
        if is_data_set(self.url):
            from chainq.stored.service import StoredService

            dialect, self.names = "chain", NO_NAMES
            self.transport = self._stored = StoredService(self.url)
        self.dialect_name = dialect
        self._dialect = None if dialect == AUTO else DIALECTS[dialect].with_names(self.names)
        self.connection = Connection(options, report, transport=self.transport)
        self.calls = Calls(self.connection, self.dialect_for, options, warn, trace)
        self.believed: dict[str, HeightSet] = {}
        self.believed_lists: dict[str, str] = {}
        self.unhashed: Counter[str] = Counter()
        self._tip: Tip | None = None
        self._lake: Lake | None = None
        if options.lake:
            self.use_lake(options.lake)
        self._tip_lock = Lock()  # so that threads that need the tip request it once
        self._tip_block: Raw | None = None  # the summary that it was read from
        self._times: dict[int, int] = {}  # block times by height, for searches by time below one tip

    def use_lake(self, destination: str) -> None:
        """Read stored rows from a data set, in its present state, from now on. Raises UsageError if there is none."""
        from chainq.fetching.lake import Lake

        self._lake = Lake(destination, self._own_hash, strict=self.options.strict)

    def close(self) -> None:
        """Cancel the requests in progress and close the sockets."""
        self.connection.close()

    def dialect_for(self, method: Method) -> Dialect:
        """Return the dialect in which to call a method. Detect it if it is unknown and makes a difference.

        Raises ChainqError if detection fails.
        """
        known = self.known_dialect(method)
        if known is None:
            from chainq.fetching import dialect_detection

            def probe(name: str, params: Any) -> list[Raw]:
                return self.connection.call(
                    name, params, decode_array, divisible=False, purpose=dialect_detection.PURPOSE
                )

            known = self._dialect = dialect_detection.dialect_of(self.url, probe, self.names)
        return known

    def known_dialect(self, method: Method) -> Dialect | None:
        """Return the dialect in which to call a method, None if it would have to be detected. Sends nothing."""
        if self._dialect is not None:
            return self._dialect
        if is_shared(method, self.names):
            return self.published_dialect
        from chainq.config import dialect_cache

        if name := dialect_cache.remembered(self.url):
            self._dialect = DIALECTS[name].with_names(self.names)
        return self._dialect

    @property
    def published_dialect(self) -> Dialect:
        """The published interface, with the server's own names."""
        return DIALECTS["chain"].with_names(self.names)

    def _explained(self, method: Method, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches; add a hint to an error that means that the server has another dialect."""
        try:
            yield from batches
        except ServiceError as error:
            from chainq.fetching import dialect_detection

            dialect, stated = self.known_dialect(method) or self.published_dialect, self.dialect_name != AUTO
            shared = is_shared(method, self.names)
            if not dialect_detection.explain_name(error, method, self.names, self.options.profile):
                dialect_detection.explain(error, self.url, dialect, stated=stated, shared=shared)
            raise

    @property
    def known_tip(self) -> int | None:
        """The tip height, None if it was not requested yet."""
        return None if self._tip is None else self._tip.height

    def tip_height(self) -> int:
        """Return the tip height, -1 for a chain without blocks; requested once and then cached."""
        return self.tip().height

    def tip(self, *, refresh: bool = False) -> Tip:
        """Return the tip. It is requested once and then cached until a `refresh`, so a run has one end."""
        with self._tip_lock:
            if self._tip is None or refresh:
                self._tip = self._read_tip()
            return self._tip

    def _read_tip(self) -> Tip:
        """Request the tip, and cache its summary and time as well."""
        if self._lake is not None:
            self._lake.ask()
        found = self._latest()
        self._tip_block = found[0] if found else None
        if not found:
            return Tip(-1, "", "", None)
        sent = fields.Picker(["height", "timestamp", "block_hash", "previous_hash"])(found[0])
        height = fields.integer_of(sent[0])
        if height is None or not 0 <= height <= bounds.HIGHEST:
            raise ResponseError("latest/block: the block has no valid height")
        time = fields.seconds_of(sent[1])
        self._times = {} if time is None else {height: time}
        return Tip(height, hash_text(sent[2]), hash_text(sent[3]), time)

    def tip_block(self) -> Raw:
        """Return the summary of the tip. Raises NotFoundError for a chain without blocks."""
        self.tip()
        if self._tip_block is None:
            raise NotFoundError(_NO_BLOCK)
        return self._tip_block

    def know_tip(self, tip: Tip) -> None:
        """Record the tip that another process has requested for the same run."""
        self._tip = tip

    def tip_for(self, end: int) -> int:
        """Return the tip height, as far as it matters to a range that ends before `end`.

        A response of latest/block may be stale and must not shorten the range: a lookup checks that no block follows.
        """
        tip = self.tip_height()
        if tip < end - 1:
            return highest_block(tip, end - 1, lambda height: self.block_hash(height) is not None)
        return tip

    @property
    def origin(self) -> dict[int, str]:
        """The block that identifies the chain of an export, which may lack its rows; empty for a network."""
        if self._stored is None:
            return {}
        block = self._stored.reader.origin
        return {block.height: block.hash}

    @property
    def first_height(self) -> int:
        """The lowest height of an export; 0 for a network."""
        return 0 if self._stored is None else self._stored.reader.first

    @property
    def partition(self) -> int | None:
        """How many heights each partition of an export has; None for a network."""
        return None if self._stored is None else self._stored.reader.partition

    def hash_of(self, height: int) -> str | None:
        """Return the hash of a block, None if it does not exist; the tip has its own hash and the previous one."""
        tip = self.tip()
        if height == tip.height and tip.hash:
            return tip.hash
        if height == tip.height - 1 and tip.previous_hash:
            return tip.previous_hash
        return self.block_hash(height)

    def block_hash(self, height: int) -> str | None:
        """Return the hash of a block as the service has it now, None if it does not exist."""
        if self._lake is not None:
            self._lake.ask()
        return self._own_hash(height)

    def _own_hash(self, height: int) -> str | None:
        """Return the same, ignoring the lake."""
        method = BY_COMMAND["block"]
        try:
            (found,) = lookups.fetch_lookups(self.calls, method, [height])
        except NotFoundError:
            return None
        return hash_text(fields.Picker(["block_hash"])(found.rows[0])[0])

    def block_hashes(self, heights: HeightRange) -> dict[int, str]:
        """Return block hashes by height, of one chain: of the last existing block, and of the blocks it links to.

        The block before these has one too if the service lacks it, as the last link names it.
        Uses one request; if that fails, only the last height is looked up.
        """
        links: dict[int, tuple[str, str]] = {}
        rows = self._summaries(heights)
        if rows is None:
            found = self.block_hash(heights.end - 1)
            return {} if found is None else {heights.end - 1: found}
        for row in rows:
            sent = fields.Picker(["height", "block_hash", "previous_hash"])(row)
            height = fields.integer_of(sent[0])
            if height is not None and heights.start <= height < heights.end:
                links[height] = hash_text(sent[1]), hash_text(sent[2])
        at = max(links, default=-1)
        if at < heights.end - 1 and (found := self.block_hash(heights.end - 1)) is not None:  # a list may be truncated
            return {heights.end - 1: found}
        hashes = {at: links[at][0]} if links else {}
        while at - 1 in links and links[at][1] == links[at - 1][0] != "":
            at -= 1
            hashes[at] = links[at][0]
        if heights.start < at and at - 1 not in links and links[at][1]:
            hashes[at - 1] = links[at][1]
        return hashes

    def _summaries(self, heights: HeightRange) -> list[Raw] | None:
        """Return the summaries of blocks, with one request of at most 1,000; None if the service lacks the method.

        `blocks` differs between dialects. If no dialect is known, this tries the published name, so commands that are
        the same in all dialects need no detection.
        """
        method = BY_COMMAND["blocks"]
        arguments: dict[Role, int | str] = {Role.START: heights.start, Role.END: heights.end}
        try:
            dialect = self.known_dialect(method) or self.published_dialect
            try:
                call = MethodCall(self.connection, dialect, method)
                return call(arguments, decode_rows, str(heights), divisible=True)
            except ServiceError as error:
                if self.known_dialect(method) is not None or not is_misunderstood(error.code, error.message):
                    raise
            return self.calls.of(method)(arguments, decode_rows, str(heights), divisible=True)
        except ServiceError:
            return None

    def _latest(self) -> list[Raw]:
        """Return the summary of the tip as one row; no row for a chain without blocks."""
        found = single_rows.fetch_latest(self.calls.of(BY_COMMAND["latest"]))
        if not found:
            single_rows.check_empty(self.calls.of(BY_COMMAND["block"]))
        return found

    def first_at(self, time: float) -> int:
        """Return the first height whose block time is `time` (seconds since 1970) or later; tip + 1 for none.

        Raises IncompleteError for a time before the first block of an export: blocks that it lacks may be of that time.
        """
        from chainq.heights import block_time

        if self._stored is not None and 0 < self.first_height <= self.tip_height():
            self._stored.reader.check_time(time, self.time_of(self.first_height))
        return block_time.first_at(time, self.tip_height(), self.time_of, self.first_height)

    def time_of(self, height: int) -> int:
        """Return the block time of a height, in seconds since 1970. Raises ChainqError."""
        if height not in self._times:
            (batch,) = self.fetch_lookups(BY_COMMAND["block"], [height])
            time = fields.seconds_of(fields.Picker(["timestamp"])(batch.rows[0])[0])
            if time is None:
                raise ResponseError(f"block {height} has no valid timestamp, so no block can be found by its time")
            self._times[height] = time
        return self._times[height]

    def height_range(self, requested: bounds.Bounds, *, to_tip: bool = False) -> HeightRange:
        """Return the heights that bounds resolve to. With `to_tip` they end at the tip at the latest.

        Raises UsageError for bounds that contradict each other or the tip.
        """
        start, end = bounds.resolve(requested, self.tip_height, self.first_at)
        if to_tip and end > start and not (self._lake is not None and self._lake.has_block(end - 1)):
            end = max(start, min(end, self.tip_for(end) + 1))
        return HeightRange(start, end)

    def fetch_range(self, query: Query, heights: HeightRange, asked: Asked = ROWS) -> Iterator[Batch]:
        """Yield every row of a height range (what the query's bounds resolve to), exactly once, in height order.

        This includes rows that do not match the query's `where`; the caller applies that (`query.matching`).
        """
        if query.where is not None:  # the number of rows to read is unknown until rows pass
            query = query._replace(limit=None)
        if self._stored is not None:
            batches = self._read_range(self._stored.reader, asked, query, heights)
        elif self._lake is not None and query.method.stored:
            asked = asked._replace(hashes=cache(asked.hashes))  # for all parts
            read = partial(self._read_range, self._lake.reader, asked)
            batches = self._lake.fetch_range(query, heights, asked, read, self._ask_range)
        else:
            batches = self._ask_range(query, heights, asked)
        if query.hash_workers:
            from chainq.fetching.hashed import hashed

            batches = hashed(batches, query, self.unhashed, self.calls.trace)
        return batches

    def density(self, query: Query, heights: HeightRange) -> "Known":
        """Return what one request shows about the right length of requests for a range that begins here."""
        from chainq.planning.exchange import NOTHING_KNOWN, Known

        size = query.page_size or query.method.page_size or 0
        if not size or self._stored is not None or self._lake is not None:
            return NOTHING_KNOWN
        try:
            (batch,) = self._one_page(query._replace(page=0, page_size=size), heights)
        except ChainqError:  # it will be raised by the rows, if it is more than chance
            return NOTHING_KNOWN
        rows = len(batch.rows)
        if not 0 < rows < size:
            return NOTHING_KNOWN
        return Known(rows / len(heights), sum(len(bytes(row)) for row in batch.rows[:64]) / min(64, rows))

    def fetch_known(self, query: Query, heights: HeightRange) -> Iterator[Batch]:
        """Yield the rows of a range as far as known: if a data set lacks their table, from its other tables."""
        if self._stored is not None:
            from chainq.stored.stand_ins import stand_ins

            found = stand_ins(self._stored.reader, query.method.command, heights, reverse=query.reverse)
            if found is not None:
                return found
        return self.fetch_range(query, heights)

    def lacks(self, command: str) -> bool:
        """Return whether this is an export that has no rows of a command at any height."""
        return self._stored is not None and not self._stored.reader.has(command)

    def unheld(self, command: str) -> tuple[str, ...]:
        """Return the columns of a command that rows of an export lack, because it has these from full blocks.

        Known only after rows were read.
        """
        table = "blocks" if command in ("block", "latest") else command
        if self._stored is None or table not in self._stored.reader.extracted:
            return ()
        from chainq.rows.tables import LACKING

        return LACKING.get(table, ())

    def has_index(self, table: str) -> bool:
        """Return whether the service is a data set with a table, so that `find` can look up rows of an indexed one."""
        return self._stored is not None and self._stored.reader.can_find(table)

    def find(self, table: str, column: str, text: str) -> Raw | None:
        """Return the row of a data set with a text in an indexed column, None if there is none from its first height.

        Raises IncompleteError if it lacks the table, or heights, so that this is not known.
        """
        from chainq.stored.lookups import row_of

        return None if self._stored is None else row_of(self._stored.reader, table, column, text)

    def requested(self, query: Query, heights: HeightRange) -> list[HeightRange]:
        """Return the heights of a range whose rows `fetch_range` would request. Sends nothing."""
        if self._lake is None or not query.method.stored:
            return [heights]
        return self._lake.missing(query, heights)

    def _read_range(self, reader: "Reader", asked: Asked, query: Query, heights: HeightRange) -> Iterator[Batch]:
        """Yield the rows of a range from a data set."""
        from chainq.fetching.stored_ranges import fetch_stored

        return fetch_stored(self.calls, reader, partial(self._believe, query.method), asked, query, heights)

    def _ask_range(self, query: Query, heights: HeightRange, asked: Asked) -> Iterator[Batch]:
        """Yield the rows of a range as requests prove them."""
        from chainq.fetching.ranges import fetch_range

        if not len(heights):
            return iter(())  # nor is the dialect detected
        tip = self.known_tip
        batches = fetch_range(
            self.calls,
            self.calls.of(query.method),
            query,
            heights,
            asked,
            tip=tip if tip is not None and tip >= heights.end - 1 else None,
            tip_height=lambda: self.tip_for(heights.end),
            believed=partial(self._believe, query.method),
            witness=self._witness(query.method),
        )
        return self._explained(query.method, batches)

    def _witness(self, method: Method) -> "Witness | None":
        """Return a `Witness` that requests the due rows of this method from others, or None if none has them."""
        if not method.identity:
            return None
        from chainq.fetching.witness import Witness

        dialect = partial(self.known_dialect, BY_COMMAND["full-blocks"])
        return Witness(self.connection, method, dialect, self.published_dialect)

    def fetch_pages(self, query: Query, start: int = 0) -> Iterator[Batch]:
        """Yield every row of a method that has pages but no heights; an export must have all heights from `start`."""
        if self._stored is not None:
            from chainq.stored.lookups import program_transactions

            names = (str(query.arguments[role]) for role in (Role.PROGRAM, Role.FUNCTION))
            return program_transactions(self._stored.reader, *names, newest=query.newest, start=start)
        from chainq.fetching.pages import fetch_pages

        believed = partial(self.believed_lists.__setitem__, query.method.name)
        return self._explained(query.method, fetch_pages(self.calls, self.calls.of(query.method), query, believed))

    def _believe(self, method: Method, heights: HeightRange) -> None:
        from chainq.heights.height_set import HeightSet

        self.believed.setdefault(method.name, HeightSet()).add(heights)

    def fetch_one_page(self, query: Query, heights: HeightRange | None) -> Iterator[Batch]:
        """Yield the one page that the query names, unverified and in the server's order."""
        return self._explained(query.method, self._one_page(query, heights))

    def _one_page(self, query: Query, heights: HeightRange | None) -> Iterator[Batch]:
        arguments = {
            **query.arguments,
            Role.PAGE: query.page or 0,
            Role.SIZE: query.page_size or query.method.page_size or 1,
        }
        if heights is not None:
            arguments |= {Role.START: heights.start, Role.END: heights.end}
        yield Batch(self.calls.of(query.method)(arguments, decode_rows, str(heights or "")))

    def fetch_lookups(
        self,
        method: Method,
        wanted: Iterable[Lookup | HeightRange | None],
        *,
        incremental: bool = False,
    ) -> Iterator[Batch]:
        """Yield the rows of each height or ID, in the order given; a range means all its heights, None a lookup that is
        not known yet. `incremental`: as in `Asked`.

        Raises NotFoundError after the last one if some do not exist, IncompleteError for a block that must.
        """
        stored = self._lake.block if self._lake is not None and method.stored else lambda _: None
        found = lookups.fetch_lookups(
            self.calls, method, wanted, stored, tip_height=self.tip_height, incremental=incremental
        )
        return self._explained(method, found)

    def fetch_latest(self, *, known: bool = False) -> Iterator[Batch]:
        """Yield the summary of the tip. With `known`, reuse the summary of an earlier request, if there is one.

        Raises NotFoundError for a chain without blocks.
        """
        found = [self._tip_block] if known and self._tip_block is not None else self._latest()
        if not found:
            raise NotFoundError(_NO_BLOCK)
        yield Batch(found)

    def latest_height(self, *, known: bool = True) -> int:
        """Return the height of the tip; unless `known`, request it anew. Raises NotFoundError if there is no block."""
        height = self.tip_height() if known else self._read_tip().height
        if height < 0:
            raise NotFoundError(_NO_BLOCK)
        return height

    def call(self, name: str, params: Any) -> Raw:
        """Return the `result` of any method. `params`: an object, an array, or None to send none."""
        return self.connection.call(name, params, decode_result, divisible=False)


def hash_text(value: Raw | None) -> str:
    """Return a block hash as text that any file can hold, empty if there is none: it is only compared."""
    return printable(fields.text_of(value))
