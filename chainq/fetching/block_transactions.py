"""Looks up the transactions of blocks, and compares them with their full blocks.

`transactions` takes a block's height on some servers and its row id on others. If it gets the wrong one, a server
returns the transactions of another block, or none, without an error, and `block_id` in its rows is the number that was
sent, however the server read it (docs/protocol.md, "Results"). A server may also leave the last rows out of a list, for
which `index` has no gap. So every list is compared with the full block; one call returns those of a range.

Rejected: comparing only lists that look odd (as long as the longest, or with a gap), because a list without its last
row looks like any other. Rejected: relying on the dialect, which is detected by method names; servers may share names
and differ in this.
"""

from collections import Counter
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
from chainq.text.humanize import counted
from chainq.transport.jsonrpc import decode_listed, decode_rows

_METHOD = BY_COMMAND["transactions"]
_DIALECT_HINT = "this server seems to speak another dialect; chainq doctor finds out which"
_LAG_HINT = (
    "the service sent an empty or stale result: run the command again; near the tip a server may be behind: end the "
    "range some blocks below the tip"
)
_UNPROVED = "full blocks are missing, so nothing proves that the lists have all transactions"
_FAILED = (ServiceError, GatewayError, BrokenBodyError)  # has another name there, or is too large

_pick_id = Picker(["transaction_id"])
_pick_transaction = Picker(["transaction.id"])


class BlockTransactions:
    """Looks up transactions by height, for one run. Threads share it."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self._transactions = calls, calls.of(_METHOD)
        self._lock = Lock()
        self._agreed = False  # whether a list with rows was compared
        self._ahead = HeightRange(0, 0)
        self._summaries: dict[int, list[Raw]] = {}
        self._due: dict[int, set[str] | None] = {}
        self._width = tuning.NAMED_BLOCKS

    def expect(self, heights: HeightRange) -> None:
        """Record that all these heights will be looked up."""
        self._ahead = heights

    def fetch(self, height: int) -> list[Raw] | None:
        """Return the transactions of a block by index, None if there is no such block.

        Raises IncompleteError if they are not those of the block, ResponseError if the call needs a row id and the
        block has none, and the errors of `Connection.call`.
        """
        dialect = self._transactions.dialect
        try:
            return self._fetch(height)
        except IncompleteError:  # a remembered dialect may not fit any more
            if not self._transactions.detect_anew(dialect):
                raise
            return self._fetch(height)

    def _fetch(self, height: int) -> list[Raw] | None:
        block, sent = None, height
        if self._transactions.dialect.transactions_by_row_id:
            block = self._block(height)
            if block is None:
                return None
            row_id = integer_of(Picker(["id"])(block[0])[0])
            if row_id is None:
                raise ResponseError(f"{self._transactions.name} height {height}: the block has no valid row id")
            sent = row_id
        rows = self._transactions({Role.HEIGHT: sent}, decode_listed, f"height {height}")
        names = [text_of(_pick_id(row)[0]) for row in rows]
        if any(count > 1 for name, count in Counter(names).items() if name):
            place = f"{self._transactions.name} height {height}"
            raise IncompleteError(f"{place}: a row appears twice in one response", "the service repeats rows")
        due = self._of_full_block(height)
        if due is not None:
            self._check(height, {*names}, due)
        elif block is not None or self._block(height) is not None:
            self._check_by_records(height, {*names})
        elif rows:
            raise self._mismatch(height, "the rows are of another block, for there is no such block")
        else:
            return None
        self._agreed = self._agreed or bool(rows)
        return in_place(rows, _METHOD.order or "")

    def _check(self, height: int, names: set[str], due: set[str]) -> None:
        """Raise IncompleteError unless these are the transactions of the full block."""
        if due and names.isdisjoint(due):
            found = "the rows are of another block" if names else "there are no rows, but the block has transactions"
            raise self._mismatch(height, found)
        if missing := len(due - names):
            raise IncompleteError(
                f"{self._transactions.name} height {height}: {missing} of its {counted(len(due), 'transaction')}"
                f" {'does' if missing == 1 else 'do'} not come, by its full block",
                "the service lacks them, or limits its responses",
            )
        if names - due:
            raise self._mismatch(height, "a row is not in the block, by its full block")

    def _check_by_records(self, height: int, names: set[str]) -> None:
        """Raise IncompleteError unless a list has a transaction of the block's records: once per run, and if empty."""
        if not (names and self._agreed):
            heights: dict[Role, Value] = {Role.START: height, Role.END: height + 1}
            records = self._call(BY_COMMAND["records"], {**heights, Role.PAGE: 0, Role.SIZE: tuning.SAMPLE}, height)
            due = {text_of(_pick_id(record)[0]) for record in records}
            if not due:
                unknown = "nothing shows whether " + ("this is the block" if names else "it has transactions")
                raise self._mismatch(height, f"{unknown}: no records and no full block came")
            if due.isdisjoint(names):
                self._check(height, names, due)
        if self._calls.options.strict:
            raise IncompleteError(f"{self._transactions.name} height {height}: {_UNPROVED}")
        self._calls.tell(_METHOD, [_UNPROVED])

    def _of_full_block(self, height: int) -> set[str] | None:
        """Return the IDs of a block's transactions, None if no full block came. A range takes one call for 50."""
        with self._lock:
            if height not in self._due:
                heights = self._around(height)
                try:
                    self._read(heights)
                except _FAILED:
                    self._width = 1  # the block alone may not be too large
                    if len(heights) > 1:
                        self._read_one(height)
            return self._due.setdefault(height, None)

    def _around(self, height: int) -> HeightRange:
        """Return the heights whose full blocks are requested with that of `height`."""
        if height not in self._ahead:
            return HeightRange(height, height + 1)
        start = height - (height - self._ahead.start) % self._width
        return HeightRange(start, min(self._ahead.end, start + self._width))

    def _read_one(self, height: int) -> None:
        try:
            self._read(HeightRange(height, height + 1))
        except _FAILED:
            return

    def _read(self, heights: HeightRange) -> None:
        """Request full blocks, and keep the IDs of their transactions."""
        blocks = self._call(
            BY_COMMAND["full-blocks"], {Role.START: heights.start, Role.END: heights.end}, heights.start
        )
        edge = heights.start - 2 * tuning.NAMED_BLOCKS  # other threads may still look up heights above it
        self._due = {at: due for at, due in self._due.items() if at >= edge or at not in self._ahead}
        for block in blocks:
            at, transactions = Picker(["header.metadata.height", "transactions"])(block)
            if (number := integer_of(at)) is not None and number in heights and bytes(transactions or b"")[:1] == b"[":
                self._due[number] = {text_of(_pick_transaction(one)[0]) for one in array_of(transactions)}

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
        except _FAILED:
            self._ahead = HeightRange(0, 0)
            return {}
        pick = Picker(["height"])
        return {at: [block] for block in blocks if (at := integer_of(pick(block)[0])) is not None}

    def _call(self, method: Method, arguments: dict[Role, Value], height: int) -> list[Raw]:
        return self._calls.of(method)(arguments, decode_rows, f"height {height}")

    def _mismatch(self, height: int, found: str) -> IncompleteError:
        hint = _LAG_HINT if self._agreed else _DIALECT_HINT
        return IncompleteError(f"{self._transactions.name} height {height}: {found}", hint)
