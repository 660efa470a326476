"""Lookups, a few calls each: blocks and transactions by height, transactions by ID.

Rows are in the order of the lookups, and each is checked to be the one that was looked up. Keys that do not exist raise
an error at the end, after all rows.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import Method, Role, Shape
from chainq.errors import IncompleteError, NotFoundError, ResponseError, ServiceError
from chainq.fetching.calls import Calls, MethodCall
from chainq.heights.range import HeightRange
from chainq.process.threads import in_order
from chainq.query import Batch, Lookup
from chainq.rows.fields import integer_of, object_of, text_of, value_at
from chainq.rows.raw_json import put_first
from chainq.text.sanitize import excerpt
from chainq.transport.connection import Decode
from chainq.transport.jsonrpc import decode_result, decode_rows

Fetch = Callable[[Any], list[Raw] | None]


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
    fetch, expect = _fetcher(calls, method)

    def found_by(key: Lookup) -> tuple[Lookup, list[Raw] | None]:
        return key, stored(key) or fetch(key)

    jobs = (None if key is None else partial(found_by, key) for key in _single(keys, expect))
    threads = calls.options.concurrency
    for key, found in in_order(threads, jobs, threads + 2):
        if found is not None:
            yield Batch(found, HeightRange(key, key + 1) if isinstance(key, int) else None)
            continue
        missing.append(str(key))
        if isinstance(key, int):
            tip = _known(tip_height) if tip is None else tip
            _check_above(key, tip)
    if missing:
        kind = "transaction" if method.param(Role.ID) else "block"
        raise NotFoundError(f"{kind}{'s' * (len(missing) > 1)} {', '.join(missing)} not found", missing=missing)


def _known(tip_height: Callable[[], int]) -> int:
    """Return the tip, -1 if the service does not name it, or has none. Raises the other errors of a request."""
    try:
        return tip_height()
    except (ServiceError, NotFoundError):
        return -1


def _check_above(height: int, tip: int) -> None:
    """Raise IncompleteError for a block that does not come unless it is above the tip."""
    if height <= tip:
        from chainq.planning import exact_heights

        raise IncompleteError(exact_heights.lacking([height], tip), exact_heights.behind(height, tip + 1))


def with_height(batch: Batch) -> Batch:
    """Return the rows of a lookup with the height that was looked up as their first field."""
    if batch.heights is None:
        return batch
    height = {"height": b"%d" % batch.heights.start}
    return batch._replace(rows=[put_first(row, height) for row in batch.rows])


def _single(
    keys: Iterable[Lookup | HeightRange | None], expect: Callable[[HeightRange], None]
) -> Iterator[Lookup | None]:
    """Yield each key separately. `expect` is called with each range before its first height."""
    for key in keys:
        if isinstance(key, HeightRange):
            expect(key)
            yield from range(*key.edges)
        else:
            yield key


def _fetcher(calls: Calls, method: Method) -> tuple[Fetch, Callable[[HeightRange], None]]:
    """Return a function that fetches the rows of one height or ID, and one to call before a range is fetched."""
    if method.shape is Shape.ROWS:
        from chainq.fetching.block_transactions import BlockTransactions

        transactions = BlockTransactions(calls)
        return transactions.fetch, transactions.expect
    fetch: Fetch = partial(_fetch_transaction if method.param(Role.ID) else fetch_block, calls.of(method))
    return fetch, lambda _: None


def fetch_latest(latest: MethodCall) -> list[Raw]:
    """Return the summary of the tip block as one row; none on an empty chain (docs/protocol.md, "Methods").

    Raises ResponseError, and what `Connection.call` raises.
    """
    return latest({}, _object_of(latest.method))


def fetch_block(block: MethodCall, height: int) -> list[Raw] | None:
    """Return the summary of the block at a height as one row, None if there is no such block.

    Raises ResponseError or IncompleteError for another block, and what `Connection.call` raises.
    """
    found = block({Role.HEIGHT: height}, decode_rows, f"height {height}")
    if len(found) > 1:
        raise ResponseError(f"{block.name} height {height}: response has {len(found)} blocks, expected one")
    sent = integer_of(value_at(found[0], "height")) if found else None
    if sent not in (None, height):
        raise IncompleteError(f"{block.name} height {height}: response has block {sent}")
    return found or None


def _fetch_transaction(transaction: MethodCall, name: str) -> list[Raw] | None:
    """Return a transaction as one row, None if there is none of that ID. Raises as `fetch_block` does."""
    found = transaction({Role.ID: name}, _object_of(transaction.method), name)
    sent = text_of(value_at(found[0], "transaction.id")) if found else ""
    if sent and sent.lower() != name.lower():  # BIP 173: either case, but not mixed
        raise IncompleteError(f"{transaction.name} {name}: response has transaction {excerpt(sent, 80)}")
    return found or None


def _object_of(method: Method) -> Decode[list[Raw]]:
    """Return what decodes a result to one row, none for null. Any of its fields may be missing, but not all of them."""
    names = {column.path.partition(".")[0] for column in method.sent}

    def decode(text: memoryview, call_id: int) -> list[Raw]:
        result = decode_result(text, call_id)
        if bytes(result) == b"null":
            return []
        if names.isdisjoint(object_of(result)):
            raise ResponseError(f"result is not a {method.command} row: {excerpt(bytes(result).decode(), 60)}")
        return [result]

    return decode
