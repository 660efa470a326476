"""Looks up the transactions of blocks, and compares them with their blocks.

`transactions` takes a block's height on some servers and its row id on others. If it gets the wrong one, a server
returns the transactions of another block, or none, without an error, and `block_id` in its rows is the number that was
sent, however the server read it (docs/protocol.md, "Results"). So once per run, the rows of a block are compared with
another method. An empty list is compared each time, because a lagging replica also returns one, unless the block's
`transactions_root` is the root of a block that was seen to be empty.

For a range, one call of `blocks` returns the row ids and roots of many blocks.

Rejected: relying on the dialect, which is detected by method names. Servers may share names and differ in this.
"""

from threading import Lock

from msgspec import Raw

from chainq import tuning
from chainq.catalog.dialects import Value
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import BrokenBodyError, GatewayError, IncompleteError, ResponseError, ServiceError
from chainq.fetching.calls import Calls
from chainq.fetching.single_rows import fetch_block
from chainq.heights.range import HeightRange
from chainq.rows.fields import Picker, array_of, integer_of, text_of
from chainq.rows.sorting import in_place
from chainq.transport.jsonrpc import decode_listed, decode_rows

_METHOD = BY_COMMAND["transactions"]
_DIALECT_HINT = "this server seems to speak another dialect; chainq doctor finds out which"
_LAG_HINT = "the server, or one of several behind the URL, may be behind: end the range some blocks below the tip"


class BlockTransactions:
    """Looks up transactions by height, for one run. Threads share it."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self._transactions = calls, calls.of(_METHOD)
        self._pick = Picker(["block_id", "transaction_id"])
        self._lock = Lock()
        self._proved = False  # whether the server reads the number that is sent as intended
        self._empty_root = ""  # of the transactions of a block without any
        self._ahead = HeightRange(0, 0)
        self._summaries: dict[int, list[Raw]] = {}

    def expect(self, heights: HeightRange) -> None:
        """Record that all these heights will be looked up."""
        self._ahead = heights

    def fetch(self, height: int) -> list[Raw] | None:
        """Return the transactions of a block by index, None if there is no such block.

        Raises IncompleteError if they cannot be matched to the block, ResponseError if the call needs a row id and the
        block has none, and the errors of `Connection.call`.
        """
        block, sent = None, height
        if self._transactions.dialect.transactions_by_row_id:
            block = self._block(height)
            if block is None:
                return None
            row_id = _row_id(block[0])
            if row_id is None:
                raise ResponseError(f"{self._transactions.name} height {height}: the block has no valid row id")
            sent = row_id
        rows = self._transactions({Role.HEIGHT: sent}, decode_listed, f"height {height}")
        named = {integer_of(self._pick(row)[0]) for row in rows}
        if not (self._proved and named == {height}):
            block = block or self._block(height)
            if block is not None:
                self._check(height, sent, block[0], rows, named)
            elif rows:
                raise self._mismatch(height, "the rows are of another block, for there is no such block")
            else:
                return None
        return in_place(rows, _METHOD.order or "")

    def _check(self, height: int, sent: int, block: Raw, rows: list[Raw], named: set[int | None]) -> None:
        """Raise IncompleteError unless rows with these values of `block_id` are of the block."""
        row_id = _row_id(block)
        for block_id in named - {height, row_id, None}:
            raise self._mismatch(height, f"a row has block_id {block_id}, expected {height} or row id {row_id}")
        if named and not named & {sent, None}:  # the height or row id that was not sent: both are right
            self._proved = True
        elif not rows:
            root = text_of(Picker(["transactions_root"])(block)[0])
            if not root or root != self._empty_root:
                self._compare(height, rows)
                self._empty_root = root
        elif height != row_id:
            with self._lock:
                if not self._proved or None in named:
                    self._compare(height, rows)
                    self._proved = True

    def _compare(self, height: int, rows: list[Raw]) -> None:
        """Compare rows with the block from another method. Raises IncompleteError if they have nothing in common."""
        shown = {text_of(self._pick(row)[1]) for row in rows}
        due, all_of_them = self._due(height)
        if shown & due or (all_of_them and not shown and not due):
            return
        if due or all_of_them:
            found = "the rows are of another block" if rows else "there are no rows, but the block has transactions"
            raise self._mismatch(height, found)
        raise self._mismatch(
            height, "nothing shows whether this is the block: it has no records, and no full block came"
        )

    def _due(self, height: int) -> tuple[set[str], bool]:
        """Return the IDs of a block's transactions, and whether these are all."""
        heights: dict[Role, Value] = {Role.START: height, Role.END: height + 1}
        try:
            blocks = self._call(BY_COMMAND["full-blocks"], heights, height)
        except (ServiceError, GatewayError, BrokenBodyError):  # has another name there, or is too large
            blocks = []
        for block in blocks:
            at, transactions = Picker(["header.metadata.height", "transactions"])(block)
            if integer_of(at) == height:
                pick = Picker(["transaction.id"])
                return {text_of(pick(transaction)[0]) for transaction in array_of(transactions)}, True
        records = self._call(BY_COMMAND["records"], {**heights, Role.PAGE: 0, Role.SIZE: tuning.SAMPLE}, height)
        return {text_of(Picker(["transaction_id"])(record)[0]) for record in records}, False

    def _block(self, height: int) -> list[Raw] | None:
        with self._lock:
            if height in self._ahead and height not in self._summaries:
                self._summaries = self._blocks(height)
            found = self._summaries.get(height)
        return found or fetch_block(self._calls.of(BY_COMMAND["block"]), height)

    def _blocks(self, height: int) -> dict[int, list[Raw]]:
        """Return the blocks by height from one request. The first request starts at the first height to be looked up,
        whichever thread sends it; later ones start at `height`."""
        start = height if self._summaries else self._ahead.start
        end = min(self._ahead.end, start + (BY_COMMAND["blocks"].max_heights or 1))
        try:
            blocks = self._call(BY_COMMAND["blocks"], {Role.START: start, Role.END: end}, height)
        except (ServiceError, GatewayError, BrokenBodyError):
            self._ahead = HeightRange(0, 0)
            return {}
        pick = Picker(["height"])
        return {at: [block] for block in blocks if (at := integer_of(pick(block)[0])) is not None}

    def _call(self, method: Method, arguments: dict[Role, Value], height: int) -> list[Raw]:
        return self._calls.of(method)(arguments, decode_rows, f"height {height}")

    def _mismatch(self, height: int, found: str) -> IncompleteError:
        hint = _LAG_HINT if self._proved else _DIALECT_HINT
        return IncompleteError(f"{self._transactions.name} height {height}: {found}", hint)


def _row_id(block: Raw) -> int | None:
    return integer_of(Picker(["id"])(block)[0])
