"""Looks up the transactions of blocks, and compares them with their blocks.

`transactions` takes a block's height on some servers and its row id on others. If it gets the wrong one, a server
returns the transactions of another block, or none, without an error, and `block_id` in its rows is the number that was
sent, however the server read it (docs/protocol.md, "Results"). So once per run, the rows of a block are compared with
another method. An empty list is compared each time, because a lagging replica also returns one, unless the block's
`transactions_root` is the root of a block that was seen to be empty.

A server that limits its responses returns lists that end early. They are as long as its limit, so a list is compared if
it is as long as the longest that was, up to `AGREED` times for each length, and also if `index` has a gap. Rejected: to
compare every list, because full blocks have hundreds of times as many bytes as the lists.

For a range, one call of `blocks` returns the row ids and roots of many blocks.

Rejected: relying on the dialect, which is detected by method names. Servers may share names and differ in this.
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

AGREED = 2  # lists of one length that are compared
_METHOD = BY_COMMAND["transactions"]
_DIALECT_HINT = "this server seems to speak another dialect; chainq doctor finds out which"
_LAG_HINT = (
    "the service sent an empty or stale result: run the command again; near the tip a server may be behind: end the "
    "range some blocks below the tip"
)


class BlockTransactions:
    """Looks up transactions by height, for one run. Threads share it."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self._transactions = calls, calls.of(_METHOD)
        self._pick = Picker(["block_id", "transaction_id", _METHOD.order or ""])
        self._lock = Lock()
        self._proved = False  # whether the server reads the number that is sent as intended
        self._empty_root = ""  # of the transactions of a block without any
        self._agreed = Counter([0])  # lengths of lists that were compared -> how many of them
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
        picked = [self._pick(row) for row in rows]
        self._check_twice(height, [text_of(name) for _, name, _ in picked])
        named = {integer_of(block_id) for block_id, *_ in picked}
        indexes = [integer_of(index) for *_, index in picked]
        gap = None not in indexes and {*indexes} != {*range(len(rows))}
        whole = self._is_whole_if_odd(height, rows, gap=gap) if rows else False
        if not (self._proved and named == {height}):
            block = block or self._block(height)
            if block is not None:
                self._check(height, sent, block[0], rows, named, whole=whole)
            elif rows:
                raise self._mismatch(height, "the rows are of another block, for there is no such block")
            else:
                return None
        return in_place(rows, _METHOD.order or "")

    def _check_twice(self, height: int, names: list[str]) -> None:
        """Raise IncompleteError if the IDs of a list name a transaction twice."""
        if any(count > 1 for name, count in Counter(names).items() if name):
            raise IncompleteError(
                f"{self._transactions.name} height {height}: a row appears twice in one response",
                "the service repeats rows",
            )

    def _is_whole_if_odd(self, height: int, rows: list[Raw], *, gap: bool) -> bool | None:
        """Return `_is_whole` of a list with a gap, or that is as long as a limit of the server may be; else False."""
        with self._lock:
            seen = self._agreed[len(rows)]
            if not gap and (len(rows) < max(self._agreed) or seen >= AGREED):
                return False
            self._agreed[len(rows)] = seen + 1
            return self._is_whole(height, rows)

    def _check(
        self, height: int, sent: int, block: Raw, rows: list[Raw], named: set[int | None], *, whole: bool | None
    ) -> None:
        """Raise IncompleteError unless rows with these values of `block_id` are of the block.

        `whole`: they are, by its full block; None if no full block came.
        """
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
                if not whole and (not self._proved or None in named):
                    self._compare(height, rows, by_records=whole is None)
                self._proved = True

    def _compare(self, height: int, rows: list[Raw], *, by_records: bool = False) -> None:
        """Raise IncompleteError unless rows are of the block, by its full block or else by its records."""
        if not by_records and self._is_whole(height, rows):
            return
        heights: dict[Role, Value] = {Role.START: height, Role.END: height + 1}
        records = self._call(BY_COMMAND["records"], {**heights, Role.PAGE: 0, Role.SIZE: tuning.SAMPLE}, height)
        due = {text_of(Picker(["transaction_id"])(record)[0]) for record in records}
        if not due:
            unknown = "nothing shows whether " + ("this is the block" if rows else "it has transactions")
            raise self._mismatch(height, f"{unknown}: no records and no full block came")
        self._check_common(height, rows, due)

    def _check_common(self, height: int, rows: list[Raw], due: set[str]) -> None:
        """Raise IncompleteError if rows have none of these transactions of the block."""
        if due.isdisjoint(text_of(self._pick(row)[1]) for row in rows):
            found = "the rows are of another block" if rows else "there are no rows, but the block has transactions"
            raise self._mismatch(height, found)

    def _is_whole(self, height: int, rows: list[Raw]) -> bool | None:
        """Return True if rows are all transactions of the full block, None if none came. Raises IncompleteError."""
        due = self._of_full_block(height)
        if due is None:
            return None
        if rows or due:
            self._check_common(height, rows, due)
        if missing := len(due) - len(rows):
            raise IncompleteError(
                f"{self._transactions.name} height {height}: {missing} of its {counted(len(due), 'transaction')}"
                f" {'does' if missing == 1 else 'do'} not come, by its full block",
                "the service lacks them, or limits its responses",
            )
        return True

    def _of_full_block(self, height: int) -> set[str] | None:
        """Return the IDs of a block's transactions, None if no full block came."""
        heights: dict[Role, Value] = {Role.START: height, Role.END: height + 1}
        try:
            blocks = self._call(BY_COMMAND["full-blocks"], heights, height)
        except (ServiceError, GatewayError, BrokenBodyError):  # has another name there, or is too large
            return None
        for block in blocks:
            at, transactions = Picker(["header.metadata.height", "transactions"])(block)
            if integer_of(at) == height:
                pick = Picker(["transaction.id"])
                return {text_of(pick(transaction)[0]) for transaction in array_of(transactions)}
        return None

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
