"""Lookups, a few calls each: blocks and transactions by height, transactions by ID.

Rows come in the order of the lookups. What does not exist is an error at the end, after all that does.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import Raw

from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import BY_COMMAND, Method, Role, Shape
from chainq.errors import IncompleteError, NotFoundError, ResponseError
from chainq.heights.range import HeightRange
from chainq.planning.query import Batch, Lookup
from chainq.process.threads import in_order
from chainq.rows import fields
from chainq.text.sanitize import excerpt
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_result, decode_rows

_Found = list[Raw] | None
_Fetch = Callable[[Any], _Found]


def fetch_lookups(
    connection: Connection,
    dialect_for: Callable[[Method], Dialect],
    method: Method,
    keys: Iterable[Lookup | None],
    concurrency: int,
) -> Iterator[Batch]:
    """Yield one batch for each height or ID that exists, in their order; of a height it names the height.

    `dialect_for` returns the dialect in which to call a method. A key of None means that the next one is not known yet.
    Raises NotFoundError after the last batch if a key does not exist, ResponseError or IncompleteError for rows that
    are not those of their key, and what `dialect_for` and `Connection.call` raise.
    """
    missing: list[str] = []
    fetch = _fetcher(connection, dialect_for, method)
    jobs = (None if key is None else partial(_keyed, fetch, key) for key in keys)
    for key, found in in_order(concurrency, jobs, concurrency + 2):
        if found is None:
            missing.append(str(key))
        else:
            yield Batch(found, HeightRange(key, key + 1) if isinstance(key, int) else None)
    if missing:
        kind = "transaction" if method.param(Role.ID) else "block"
        raise NotFoundError(f"{kind} {', '.join(missing)} not found", missing=missing)


def fetch_latest(connection: Connection, dialect: Dialect) -> list[Raw]:
    """Return the summary of the block at the tip as one row; none on an empty chain (docs/protocol.md, "Methods")."""
    name, params = dialect.call(BY_COMMAND["latest"], {})
    return _object(connection.call(name, params, decode_result, divisible=False), name)


def fetch_block(connection: Connection, dialect: Dialect, height: int) -> _Found:
    """Return the summary of the block at a height as one row, None where there is no such block.

    Raises ResponseError or IncompleteError for another block, and what `Connection.call` raises.
    """
    name, params = dialect.call(BY_COMMAND["block"], {Role.HEIGHT: height})
    found = connection.call(name, params, decode_rows, f"height {height}", divisible=False)
    return _check_block(found, name, height) if found else None


def fetch_transaction(connection: Connection, dialect: Dialect, transaction_id: str) -> _Found:
    """Return a transaction as one row, None where there is none of that ID. Raises as `fetch_block` does."""
    name, params = dialect.call(BY_COMMAND["transaction"], {Role.ID: transaction_id})
    result = connection.call(name, params, decode_result, transaction_id, divisible=False)
    found = _object(result, name)
    return _check_transaction(found, name, transaction_id) if found else None


def _keyed(fetch: _Fetch, key: Lookup) -> tuple[Lookup, _Found]:
    return key, fetch(key)


def _fetcher(connection: Connection, dialect_for: Callable[[Method], Dialect], method: Method) -> _Fetch:
    """Return what fetches the rows of one height or ID."""
    if method.shape is Shape.ROWS:
        from chainq.fetching.block_transactions import BlockTransactions

        return BlockTransactions(connection, dialect_for).fetch
    fetch: Callable[[Connection, Dialect, Any], _Found] = fetch_transaction if method.param(Role.ID) else fetch_block
    return partial(fetch, connection, dialect_for(method))


def _object(result: Raw, name: str) -> list[Raw]:
    text = bytes(result)
    if text == b"null":
        return []
    if text[:1] != b"{":
        raise ResponseError(f"{name}: result is not an object: {excerpt(text.decode(), 60)}")
    return [result]


def _check_block(found: list[Raw], name: str, key: Lookup) -> list[Raw]:
    if len(found) > 1:
        raise ResponseError(f"{name} height {key}: response has {len(found)} blocks, expected one")
    height = fields.integer_of(fields.Picker(["height"])(found[0])[0])
    if height is not None and height != key:
        raise IncompleteError(f"{name} height {key}: response has block {height}")
    return found


def _check_transaction(found: list[Raw], name: str, key: Lookup) -> list[Raw]:
    transaction_id = fields.text_of(fields.Picker(["transaction.id"])(found[0])[0])
    if transaction_id and transaction_id.lower() != str(key).lower():  # BIP 173: either case, but not mixed
        raise IncompleteError(f"{name} {key}: response has transaction {excerpt(transaction_id, 80)}")
    return found
