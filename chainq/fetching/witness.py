"""Requests from the full blocks of a service which rows of another method are due."""

from collections.abc import Iterator

from msgspec import Raw

from chainq.catalog.dialects import is_misunderstood
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import LackingError, ResponseError, ServiceError
from chainq.fetching.calls import Calls
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DIVISIBLE, UNAVAILABLE, Due, Key
from chainq.rows.block import Block, read_block
from chainq.rows.fields import Picker, integer_of
from chainq.transport.jsonrpc import decode_array

_BLOCKS, _SUMMARIES = BY_COMMAND["full-blocks"], BY_COMMAND["blocks"]
_pick_row_id = Picker(("height", "id"))


class Witness:
    """The due rows of one method, read from other methods. Threads share it."""

    def __init__(self, calls: Calls, method: Method) -> None:
        self._calls, self._method = calls, method

    def due(self, heights: HeightRange) -> Due:
        """Return the due rows, from the first height to the last one before a block that does not arrive.

        None arrives if the service refuses these heights, or returns no list. Raises ServiceError if it has no full
        blocks, and the other failures of a request.
        """
        blocks: dict[int, Block] = {}
        try:
            rows = self._blocks(_BLOCKS, heights)
        except ResponseError:
            rows = []
        except ServiceError as error:
            lacks = error.table if isinstance(error, LackingError) else is_misunderstood(error.code, error.message)
            if isinstance(error, DIVISIBLE) or lacks or error.code.startswith("HTTP"):
                raise
            rows = []
        for row in rows:
            block = read_block(row)
            if block.height is not None and heights.start <= block.height < heights.end:
                blocks[block.height] = block
        end = next((height for height in range(heights.start, heights.end) if height not in blocks), heights.end)
        named = [(height, blocks[height]) for height in range(heights.start, end)]
        hashes = {height: block.hash for height, block in named}
        covered = HeightRange(heights.start, end)
        if self._method.command == "transitions":
            listed = [(height, one.id, one.kinds) for height, block in named for one in block.transitions]
            at: dict[Key, int] = {(name,): height for height, name, of in listed if of is not None}
            return Due(covered, at, hashes=hashes, kinds={(name,): of for _, name, of in listed if of is not None})
        outputs = ((height, output) for height, block in named for output in block.outputs)
        at = {(output.transition, str(output.place)): height for height, output in outputs}
        return Due(covered, at, hashes=hashes)

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
        pairs = (map(integer_of, _pick_row_id(row)) for row in self._blocks(_SUMMARIES, heights))
        return {height: row_id for height, row_id in pairs if height is not None and row_id is not None}

    def _blocks(self, method: Method, heights: HeightRange) -> list[Raw]:
        arguments = {Role.START: heights.start, Role.END: heights.end}
        return self._calls.of(method)(arguments, decode_array, str(heights), divisible=True)
