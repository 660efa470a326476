"""Looks up the transactions of blocks, and compares them with their full blocks.

`transactions` takes a block's height on some servers and its row id on others. If it gets the wrong one, a server
returns the transactions of another block, or none, without an error, and `block_id` in its rows is the number that was
sent, however the server read it (docs/protocol.md, "Results"). A server may also leave the last rows out of a list, for
which `index` has no gap. So every list is compared with the full block; one call returns those of a range, and comes
first: it shows the dialect, too.

Rejected: comparing only lists that look odd (as long as the longest, or with a gap), because a list without its last
row looks like any other. Rejected: relying on the dialect, which is known by method names; servers may share names
and differ in this.
"""

from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.errors import BrokenBodyError, GatewayError, IncompleteError, ResponseError, ServiceError
from chainq.fetching.calls import Calls
from chainq.fetching.lookups import fetch_block
from chainq.heights.range import HeightRange
from chainq.rows.block import read_block
from chainq.rows.fields import integer_of, text_of, value_at
from chainq.rows.sorting import in_place
from chainq.text.humanize import counted
from chainq.transport.jsonrpc import decode_listed, decode_rows

T = TypeVar("T")
_METHOD = BY_COMMAND["transactions"]
_HINT = (
    "run the command again; near the tip a server may be behind; if it speaks another dialect, chainq doctor finds out "
    "which"
)
_UNPROVED = "full blocks are missing, so nothing proves that these are all transactions of their blocks"
_FAILED = (ServiceError, GatewayError, BrokenBodyError)  # has another name there, or is too large


class _Ahead(Generic[T]):
    """What rows of many heights, read by one call, say of each. `width`: the most heights of a call. Thread-safe."""

    def __init__(self, calls: Calls, command: str, width: int, read: Callable[[Raw], tuple[int | None, T]]) -> None:
        self._call, self._width, self._read = calls.of(BY_COMMAND[command]), width, read
        self._lock = Lock()
        self._most = 4 * width  # more than all threads look up at a time
        self._found: dict[int, T | None] = {}
        self.heights = HeightRange(0, 0)  # that will be looked up

    def at(self, height: int) -> T | None:
        """Return what is known of a height, None if no row of it came."""
        with self._lock:
            if height not in self._found:
                self._look(height)
            return self._found.setdefault(height, None)

    def _look(self, height: int) -> None:
        alone = around = HeightRange(height, height + 1)
        if height in self.heights:
            start = height - (height - self.heights.start) % self._width
            around = HeightRange(start, min(self.heights.end, start + self._width))
        for part in dict.fromkeys((around, alone)):
            try:
                rows = self._call({Role.START: part.start, Role.END: part.end}, decode_rows, f"height {height}")
            except _FAILED:
                self._width = 1  # the block alone may not be too large
                continue
            self._found |= {at: found for at, found in map(self._read, rows) if at is not None and at in part}
            break
        while len(self._found) > self._most:
            self._found.pop(next(iter(self._found)))


def _named(row: Raw) -> tuple[int | None, set[str]]:
    block = read_block(row)
    return block.height, {transaction.id for transaction in block.transactions}


def _row_id(row: Raw) -> tuple[int | None, int | None]:
    return integer_of(value_at(row, "height")), integer_of(value_at(row, "id"))


class BlockTransactions:
    """Looks up transactions by height, for one run. Threads share it."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self._list, self._block = calls, calls.of(_METHOD), calls.of(BY_COMMAND["block"])
        self._due = _Ahead(calls, "full-blocks", tuning.NAMED_BLOCKS, _named)
        self._row_ids = _Ahead(calls, "blocks", BY_COMMAND["blocks"].max_heights or 1, _row_id)

    def expect(self, heights: HeightRange) -> None:
        """Record that all these heights will be looked up."""
        self._due.heights = self._row_ids.heights = heights

    def fetch(self, height: int) -> list[Raw] | None:
        """Return the transactions of a block by index, None if there is no such block.

        Raises IncompleteError if they are not those of the block, ResponseError if the call needs a row id and the
        block has none, and the errors of `Connection.call`.
        """
        due, sent = self._due.at(height), height
        if self._calls.dialect.of(_METHOD).transactions_by_row_id:
            row_id = self._row_ids.at(height) if height in self._row_ids.heights else None
            if row_id is None:
                block = fetch_block(self._block, height)
                if block is None:
                    return None
                row_id = integer_of(value_at(block[0], "id"))
            if row_id is None:
                raise ResponseError(f"{self._list.name} height {height}: the block has no valid row id")
            sent = row_id
        rows = self._list({Role.HEIGHT: sent}, decode_listed, f"height {height}")
        names = [text_of(value_at(row, "transaction_id")) for row in rows]
        if any(count > 1 for name, count in Counter(names).items() if name):
            place = f"{self._list.name} height {height}"
            raise IncompleteError(f"{place}: a row appears twice in one response", "the service repeats rows")
        if due is not None:
            self._check(height, {*names}, due)
        elif fetch_block(self._block, height) is None:
            if rows:
                raise self._mismatch(height, "the rows are of another block, for there is no such block")
            return None
        else:
            self._refuse_unproved(height)
        return in_place(rows, _METHOD.order or "")

    def _check(self, height: int, names: set[str], due: set[str]) -> None:
        """Raise IncompleteError unless these are the transactions of the full block."""
        if due and names.isdisjoint(due):
            found = "the rows are of another block" if names else "there are no rows, but the block has transactions"
            raise self._mismatch(height, found)
        if missing := len(due - names):
            raise IncompleteError(
                f"{self._list.name} height {height}: {missing} of its {counted(len(due), 'transaction')}"
                f" {'does' if missing == 1 else 'do'} not come, by its full block",
                "the service lacks them, or limits its responses",
            )
        if names - due:
            raise self._mismatch(height, "a row is not in the block, by its full block")

    def _refuse_unproved(self, height: int) -> None:
        """Warn that no full block came; with `strict`, raise IncompleteError."""
        if self._calls.options.strict:
            raise IncompleteError(f"{self._list.name} height {height}: {_UNPROVED}")
        self._calls.tell(_METHOD, [_UNPROVED])

    def _mismatch(self, height: int, found: str) -> IncompleteError:
        return IncompleteError(f"{self._list.name} height {height}: {found}", _HINT)
