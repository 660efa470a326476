"""Requests the due rows from other methods of the service: full blocks, and for `ownership` the records."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Raw

from chainq.catalog.dialects import Dialect, Value
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import ResponseError, ServiceError
from chainq.fetching.calls import MethodCall, always
from chainq.fetching.service_dialect import ServiceDialect
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DIVISIBLE, UNAVAILABLE, Due, Key, RowsRequest
from chainq.rows.fields import Picker, integer_of
from chainq.rows.full_block import FullBlock, read_full_block
from chainq.transport.connection import Connection
from chainq.transport.failures import NO_TABLE, is_misunderstood
from chainq.transport.jsonrpc import decode_array

_BLOCKS, _SUMMARIES, _RECORDS = (BY_COMMAND[command] for command in ("full-blocks", "blocks", "records"))
_pick_row_id = Picker(("height", "id"))


class Witness:
    """The due rows of one method, read from other methods. Threads share it."""

    def __init__(self, connection: Connection, method: Method, dialect: ServiceDialect) -> None:
        self._method, self._records = method, MethodCall(connection, dialect.of, _RECORDS)
        self._connection, self._dialect = connection, dialect

    def due(self, heights: HeightRange) -> Due:
        """Return the due rows, from the first height to the last one before a block that does not arrive.

        None arrives if the service refuses these heights, or returns no list. Raises ServiceError if it has no full
        blocks, and the other failures of a request.
        """
        blocks: dict[int, FullBlock] = {}
        try:
            rows = self._blocks(_BLOCKS, heights)
        except ResponseError:
            rows = []
        except ServiceError as error:
            lacks = is_misunderstood(error.code, error.message) or error.code == str(NO_TABLE)
            if isinstance(error, DIVISIBLE) or lacks or error.code.startswith("HTTP"):
                raise
            rows = []
        for row in rows:
            block = read_full_block(row)
            if block.height is not None and heights.start <= block.height < heights.end:
                blocks[block.height] = block
        end = next((height for height in range(heights.start, heights.end) if height not in blocks), heights.end)
        named = [(height, blocks[height]) for height in range(heights.start, end)]
        hashes = {height: block.hash for height, block in named}
        covered = HeightRange(heights.start, end)
        if self._method.command == "transitions":
            kinds = {key: of for _, block in named for key, of in block.listed.items()}
            return Due(covered, _by_key(named, lambda block: block.listed), hashes=hashes, kinds=kinds)
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

    def row_ids(self, heights: HeightRange) -> dict[int, int]:
        """Return the row ids of the blocks at some heights, as far as their summaries show them. Raises ChainqError."""
        found = (map(integer_of, _pick_row_id(row)) for row in self._blocks(_SUMMARIES, heights))
        return {height: row_id for height, row_id in found if height is not None and row_id is not None}

    def _blocks(self, method: Method, heights: HeightRange) -> list[Raw]:
        arguments: dict[Role, Value] = {Role.START: heights.start, Role.END: heights.end}

        def call(dialect: Dialect) -> list[Raw]:
            made = MethodCall(self._connection, always(dialect), method)
            return made(arguments, decode_array, str(heights), divisible=True)

        return self._dialect.spoken(method, call)

    def records(self, request: RowsRequest) -> list[Raw]:
        """Return a page of the records of some heights. Raises what requests raise."""
        heights = request.heights
        arguments: dict[Role, Value] = {
            Role.START: heights.start,
            Role.END: heights.end,
            Role.PAGE: request.page,
            Role.SIZE: request.page_size or 1,
        }
        where = f"{heights}, page {request.page}" if request.page else str(heights)
        return self._records(arguments, decode_array, where, divisible=True)


def _by_key(named: list[tuple[int, FullBlock]], keys: Callable[[FullBlock], Iterable[Key]]) -> dict[Key, int]:
    return {key: height for height, block in named for key in keys(block)}
