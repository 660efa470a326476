"""Finds out whether all rows of a run are of one chain, although a reorg may happen during the run. Pure.

The run knows the hash of its last block before it requests any row. That block is still the last one

-   if another method names it in a response that was requested after all rows had arrived, or
-   if the rows name it: a response is of the chain of each block that it names. So are the rows before, if each
    response showed the first block of the rows after it, and the last row is of the last block.

Otherwise that block must be requested again.
"""

from collections.abc import Callable

from msgspec import Raw

from chainq.planning.evidence import Proved
from chainq.planning.exchange import Due, DueRequest, Grade, RowsRequest, TipRequest


class OneChain:
    """The evidence from the responses of a run that ends at height `end`. `block_hash`: the block that a row names.

    `last`: the hash of the last block. If it is unknown (empty), the chain is not checked.
    """

    def __init__(self, end: int, block_hash: Callable[[Raw], str] | None) -> None:
        self._end, self._block_hash, self.last = end, block_hash, ""
        self._asked, self._named = 0, False  # after all rows: the number of the request; whether it named the block
        self._joined = block_hash is not None  # the rows given so far
        self._next: tuple[int, str] | None = None  # the block that their last response showed next

    def waits(self, request: RowsRequest | TipRequest | DueRequest, *, under_way: bool) -> bool:
        """Return whether a request should wait until no other is in progress: its response names the last block."""
        return bool(self.last) and under_way and self._names_last(request)

    def sent(self, number: int, request: RowsRequest | TipRequest | DueRequest, *, under_way: bool) -> None:
        """Record that a request is sent. `under_way`: whether others are in progress."""
        self._asked, self._named = number if self._names_last(request) and not under_way else 0, False

    def came(self, number: int, outcome: object) -> None:
        """Record the outcome of a request."""
        if number == self._asked and isinstance(outcome, Due):
            self._named = outcome.hashes.get(self._end - 1) == self.last

    def given(self, proved: Proved) -> bool:
        """Record the rows that are returned next, in order of height. Return whether they are the last ones and all
        rows are of the chain of the last block."""
        if not self.last:
            return False
        self._joined = self._joined and self._follow(proved)
        if proved.heights.end != self._end:
            return False
        named = proved.row_heights[-1:] == [self._end - 1] and self._hash_of(proved.rows[-1]) == self.last
        return self._named or (self._joined and named)

    def _names_last(self, request: RowsRequest | TipRequest | DueRequest) -> bool:
        return isinstance(request, DueRequest) and not request.located and request.heights.end == self._end

    def _follow(self, proved: Proved) -> bool:
        """Return whether rows begin with the next block that the previous response showed."""
        first, before = self._next, self._next
        beyond = None if proved.beyond is None else (proved.beyond[0], self._hash_of(proved.beyond[1]))
        if proved.rows and proved.row_heights:
            first = proved.row_heights[0], self._hash_of(proved.rows[0])
        elif not proved.rows:
            first = beyond
        self._next = beyond
        # From one response: rows from another method or belief may be from several. A row may not name a block.
        return proved.grade is Grade.ORDER and beyond is not None and bool(beyond[1]) and before in (None, first)

    def _hash_of(self, row: Raw) -> str:
        return "" if self._block_hash is None else self._block_hash(row)
