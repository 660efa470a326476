"""Lookups, a few calls each: blocks and transactions by height, transactions by ID.

Rows are in the order of the lookups, and each is checked to be the one that was looked up. Keys that do not exist raise
an error at the end, after all rows.

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
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import BY_COMMAND, Method, Role, Shape
from chainq.errors import BrokenBodyError, GatewayError, IncompleteError, NotFoundError, ResponseError, ServiceError
from chainq.fetching.calls import Calls, MethodCall
from chainq.heights.range import HeightRange
from chainq.process.threads import in_order
from chainq.query import Batch, Lookup
from chainq.rows.block import read_block
from chainq.rows.fields import in_place, integer_of, object_of, text_of, value_at
from chainq.rows.raw_json import put_first
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt
from chainq.transport.connection import Decode
from chainq.transport.jsonrpc import decode_listed, decode_result, decode_rows

Fetch = Callable[[Any], list[Raw] | None]
T = TypeVar("T")
_METHOD = BY_COMMAND["transactions"]
_HINT = (
    "run the command again; near the tip a server may be behind; if it speaks another dialect, chainq doctor finds out "
    "which"
)
_UNPROVED = "full blocks are missing, so nothing proves that these are all transactions of their blocks"
_FAILED = (ServiceError, GatewayError, BrokenBodyError)  # has another name there, or is too large


def fetch_lookups(
    calls: Calls,
    method: Method,
    keys: Iterable[Lookup | HeightRange | None],
    stored: Fetch = lambda _: None,
    *,
    tip_height: Callable[[], int] = lambda: -1,
) -> Iterator[Batch]:
    """Yield one batch per existing height or ID, in input order. A batch for a height records that height.

    A range means each of its heights. A key of None means that the next one is not known yet. `stored` returns the rows
    that need no request, or None if one is needed. `tip_height` is called if a block does not come: up to the tip it
    must exist. Raises NotFoundError after the last batch if a
    key does not exist, at once IncompleteError if it must, ResponseError or IncompleteError for rows that do not belong
    to their key, and the errors of calls.
    """
    missing: list[str] = []
    tip: int | None = None
    transactions = BlockTransactions(calls) if method.shape is Shape.ROWS else None
    by_key = _fetch_transaction if method.param(Role.ID) else fetch_block
    fetch: Fetch = transactions.fetch if transactions else partial(by_key, calls.of(method))

    def found_by(key: Lookup) -> tuple[Lookup, list[Raw] | None]:
        return key, stored(key) or fetch(key)

    jobs = (None if key is None else partial(found_by, key) for key in _single(keys, transactions))
    threads = calls.options.concurrency
    for key, rows in in_order(threads, jobs, threads + 2):
        if rows is not None:
            yield Batch(rows, HeightRange(key, key + 1) if isinstance(key, int) else None)
            continue
        missing.append(str(key))
        if isinstance(key, int):
            if tip is None:
                tip = -1
                with suppress(ServiceError, NotFoundError):  # it does not name the tip, or has none
                    tip = tip_height()
            if key <= tip:
                from chainq.planning.exchange import behind, lacking

                raise IncompleteError(lacking([key], tip), behind(key, tip + 1))
    if missing:
        kind = "transaction" if method.param(Role.ID) else "block"
        raise NotFoundError(f"{kind}{'s' * (len(missing) > 1)} {', '.join(missing)} not found", missing=missing)


def with_height(batch: Batch) -> Batch:
    """Return the rows of a lookup with the height that was looked up as their first field."""
    if batch.heights is None:
        return batch
    height = {"height": b"%d" % batch.heights.start}
    return batch._replace(rows=[put_first(row, height) for row in batch.rows])


def _single(
    keys: Iterable[Lookup | HeightRange | None], transactions: "BlockTransactions | None"
) -> Iterator[Lookup | None]:
    """Yield each key separately."""
    for key in keys:
        if isinstance(key, HeightRange):
            if transactions is not None:
                transactions.expect(key)
            yield from range(*key.edges)
        else:
            yield key


def fetch_block(block: MethodCall, height: int) -> list[Raw] | None:
    """Return the summary of the block at a height as one row, None if there is no such block.

    Raises ResponseError or IncompleteError for another block, and what `Connection.call` raises.
    """
    rows = block({Role.HEIGHT: height}, decode_rows, f"height {height}")
    if len(rows) > 1:
        raise ResponseError(f"{block.name} height {height}: response has {len(rows)} blocks, expected one")
    sent = integer_of(value_at(rows[0], "height")) if rows else None
    if sent not in (None, height):
        raise IncompleteError(f"{block.name} height {height}: response has block {sent}")
    return rows or None


def _fetch_transaction(transaction: MethodCall, name: str) -> list[Raw] | None:
    """Return a transaction as one row, None if there is none of that ID. Raises as `fetch_block` does."""
    rows = transaction({Role.ID: name}, row_of(transaction.method), name)
    sent = text_of(value_at(rows[0], "transaction.id")) if rows else ""
    if sent and sent.lower() != name.lower():  # BIP 173: either case, but not mixed
        raise IncompleteError(f"{transaction.name} {name}: response has transaction {excerpt(sent, 80)}")
    return rows or None


def row_of(method: Method) -> Decode[list[Raw]]:
    """Return what decodes a result to one row, none for null. Any of its fields may be missing, but not all of them."""
    names = {column.path.partition(".")[0] for column in method.sent}

    def decode(text: memoryview, call_id: int) -> list[Raw]:
        result = decode_result(text, call_id)
        if bytes(result) == b"null":
            return []
        if names.isdisjoint(object_of(result)):
            raise ResponseError(f"result is not a row of {method.command}: {excerpt(bytes(result).decode(), 60)}")
        return [result]

    return decode


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
            self._found |= {at: said for at, said in map(self._read, rows) if at is not None and at in part}
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
        elif self._calls.options.strict:
            raise IncompleteError(f"{self._list.name} height {height}: {_UNPROVED}")
        else:
            self._calls.tell(_METHOD, [_UNPROVED])
        return in_place(rows, _METHOD.order or "")

    def _check(self, height: int, names: set[str], due: set[str]) -> None:
        """Raise IncompleteError unless these are the transactions of the full block."""
        if due and names.isdisjoint(due):
            said = "the rows are of another block" if names else "there are no rows, but the block has transactions"
            raise self._mismatch(height, said)
        if missing := len(due - names):
            raise IncompleteError(
                f"{self._list.name} height {height}: {missing} of its {counted(len(due), 'transaction')}"
                f" {'does' if missing == 1 else 'do'} not come, by its full block",
                "the service lacks them, or limits its responses",
            )
        if names - due:
            raise self._mismatch(height, "a row is not in the block, by its full block")

    def _mismatch(self, height: int, said: str) -> IncompleteError:
        return IncompleteError(f"{self._list.name} height {height}: {said}", _HINT)
