"""Requests the due rows from other methods of the service: full blocks, and for `ownership` the records."""

from collections.abc import Callable, Iterator
from threading import Lock

from msgspec import Raw

from chainq.catalog.dialects import DIALECTS, Value
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import ServiceError
from chainq.fetching.calls import MethodCall, always
from chainq.fetching.service_dialect import ServiceDialect
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DIVISIBLE, UNAVAILABLE, Due, DueRequest, Key, Located
from chainq.rows.full_block import FullBlock, read_full_block
from chainq.rows.response import name_reader
from chainq.rows.sorting import Sorter
from chainq.transport.connection import Connection
from chainq.transport.failures import is_misunderstood
from chainq.transport.jsonrpc import decode_array

_BLOCKS, _RECORDS = BY_COMMAND["full-blocks"], BY_COMMAND["records"]


class Witness:
    """The due rows of one method, read from other methods. Threads share it.

    If the dialect of the server is unknown, the full-block name of each dialect is tried, so a command that is the same
    in all dialects needs no detection.
    """

    def __init__(self, connection: Connection, method: Method, dialect: ServiceDialect) -> None:
        self._method, self._records = method, MethodCall(connection, dialect.of, _RECORDS)
        self._connection, self._dialect = connection, dialect
        self._trying = Lock()
        self._blocks: MethodCall | None = None  # once a response has shown its name
        self._sort, self._names = Sorter(_RECORDS), name_reader(_RECORDS.identity)

    def due(self, heights: HeightRange) -> Due:
        """Return the due rows, from the first height to the last one before a block that does not arrive.

        Raises ServiceError if the service has no full blocks, and the other failures of a request.
        """
        blocks: dict[int, FullBlock] = {}
        for row in self._full_blocks(heights):
            block = read_full_block(row)
            if block.height is not None and heights.start <= block.height < heights.end:
                blocks[block.height] = block
        end = next((height for height in range(heights.start, heights.end) if height not in blocks), heights.end)
        named = [(height, blocks[height]) for height in range(heights.start, end)]
        hashes = {height: block.hash for height, block in named}
        covered = HeightRange(heights.start, end)
        if self._method.command == "transitions":
            at = _by_key(named, lambda block: block.listed)
            return Due(covered, at, hashes=hashes, strict=False)
        return Due(covered, _by_key(named, lambda block: block.outputs), hashes=hashes)

    def blocks_of(self, heights: HeightRange) -> Iterator[Due]:
        """Yield the due rows, as far as the service has full blocks; with fewer heights per request if too many."""
        left = [heights] if len(heights) else []
        while left:
            part = left.pop()
            try:
                yield self.due(part)
            except DIVISIBLE:
                left += part.halves() if len(part) > 1 else ()
            except UNAVAILABLE:
                return

    def _full_blocks(self, heights: HeightRange) -> list[Raw]:
        arguments: dict[Role, Value] = {Role.START: heights.start, Role.END: heights.end}
        with self._trying:  # one thread tries the names, and the others wait for what it finds
            if self._blocks is None:
                return self._try_names(arguments, heights)
        return self._blocks(arguments, decode_array, str(heights), divisible=True)

    def _try_names(self, arguments: dict[Role, Value], heights: HeightRange) -> list[Raw]:
        first = self._dialect.known(_BLOCKS) or self._dialect.published
        others = [one.with_names(self._dialect.names) for one in DIALECTS.values()]
        names = [first, *(one for one in others if one != first)]
        for dialect in names:
            call = MethodCall(self._connection, always(dialect), _BLOCKS)
            try:
                rows = call(arguments, decode_array, str(heights), divisible=True)
            except ServiceError as error:
                if dialect == names[-1] or not is_misunderstood(error.code, error.message):
                    raise
                continue
            self._blocks = call
            if dialect != first:
                self._dialect.learn(dialect)
            return rows
        raise AssertionError  # the last name returns rows or raises

    def located(self, request: DueRequest) -> Located:
        """Return a page of the records of some heights, in order. Raises IncompleteError and what requests raise."""
        heights, size = request.heights, request.page_size
        arguments: dict[Role, Value] = {
            Role.START: heights.start,
            Role.END: heights.end,
            Role.PAGE: request.page,
            Role.SIZE: size,
        }
        page = self._sort(self._records(arguments, decode_array, str(heights), divisible=True), heights)
        return Located(self._names(page.rows), page.heights, page.ordered)


def _by_key(named: list[tuple[int, FullBlock]], keys: Callable[[FullBlock], list[Key]]) -> dict[Key, int]:
    return {key: height for height, block in named for key in keys(block)}
