"""Lookups, one or two calls each: blocks and transactions by height, transactions by ID.

Rows come in the order of the lookups. What does not exist is an error at the end, after all that does.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import Raw

from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import BY_COMMAND, Method, Role, Shape
from chainq.errors import IncompleteError, NotFoundError, ResponseError
from chainq.planning.query import Batch, Lookup
from chainq.rows import fields
from chainq.text.sanitize import excerpt
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_result, decode_rows
from chainq.transport.threads import in_order

_Found = list[Raw] | None


def fetch_lookups(
    connection: Connection, dialect: Dialect, method: Method, keys: Iterable[Lookup | None], concurrency: int
) -> Iterator[Batch]:
    """Yield one batch for each height or ID that exists, in their order.

    A key of None means that the next one is not known yet. Raises NotFoundError after the last batch if a key does not
    exist, ResponseError or IncompleteError for rows that are not those of their key, and what `Connection.call` raises.
    """
    missing: list[str] = []
    jobs = (None if key is None else partial(_lookup, connection, dialect, method, key) for key in keys)
    for key, found in in_order(concurrency, jobs, concurrency + 2):
        if found is None:
            missing.append(str(key))
        else:
            yield Batch(found)
    if missing:
        kind = "transaction" if method.param(Role.ID) else "block"
        raise NotFoundError(f"{kind} {', '.join(missing)} not found")


def fetch_latest(connection: Connection, dialect: Dialect) -> list[Raw]:
    """Return the summary of the block at the tip as one row; none on an empty chain (docs/protocol.md, "Methods")."""
    name, params = dialect.call(BY_COMMAND["latest"], {})
    return _object(connection.call(name, params, decode_result, divisible=False), name)


def _lookup(connection: Connection, dialect: Dialect, method: Method, key: Lookup) -> tuple[Lookup, _Found]:
    return key, _rows(connection, dialect, method, key)


def _rows(connection: Connection, dialect: Dialect, method: Method, key: Lookup) -> _Found:
    """Return the rows of one height or ID, None where it does not exist."""
    if method.shape is Shape.ROW_OR_NULL:
        name, params = dialect.call(method, {Role.ID: key})
        found = _object(connection.call(name, params, decode_result, str(key), divisible=False), name)
        return _check_transaction(found, name, key) if found else None
    if method.shape is Shape.ROWS and dialect.transactions_by_row_id:
        return _rows_by_row_id(connection, dialect, method, key)
    name, params = dialect.call(method, {Role.HEIGHT: key})
    found = connection.call(name, params, decode_rows, f"height {key}", divisible=False)
    if method.shape is Shape.ROW_IN_ARRAY:
        return _check_block(found, name, key) if found else None
    # An empty list means that the block has no transactions, or that there is no such block.
    if not found and _rows(connection, dialect, BY_COMMAND["block"], key) is None:
        return None
    return _sorted(found, method)


def _rows_by_row_id(connection: Connection, dialect: Dialect, method: Method, key: Lookup) -> _Found:
    """Return the transactions of a height, from a server that wants the block's row id (docs/protocol.md, "Results").

    Given anything else, such a server returns another block's transactions and no error, so each row must have the
    row id that was sent. Raises IncompleteError where one does not.
    """
    block = _rows(connection, dialect, BY_COMMAND["block"], key)
    if block is None:
        return None
    row_id = fields.integer_of(fields.Picker(["id"])(block[0])[0])
    if row_id is None:
        raise ResponseError(f"{method.name} height {key}: the block has no valid row id")
    name, params = dialect.call(method, {Role.HEIGHT: row_id})
    found = connection.call(name, params, decode_rows, f"height {key}", divisible=False)
    pick = fields.Picker(["block_id"])
    for row in found:
        block_id = fields.integer_of(pick(row)[0])
        if block_id != row_id:
            raise IncompleteError(
                f"{name} height {key}: a row has block_id {block_id}, expected row id {row_id}",
                "run chainq doctor to see what the server expects",
            )
    return _sorted(found, method)


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


def _sorted(found: list[Raw], method: Method) -> list[Raw]:
    from chainq.planning.ordering import in_place

    return in_place(found, method.order or "")
