"""Calls whose result is one row: the block at the tip, a block by height, a transaction by ID.

Each row is checked to be the one that was looked up.
"""

from msgspec import Raw

from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.errors import IncompleteError, ResponseError
from chainq.query import Lookup
from chainq.rows import fields
from chainq.text.sanitize import excerpt
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_result, decode_rows


def fetch_latest(connection: Connection, dialect: Dialect) -> list[Raw]:
    """Return the summary of the block at the tip as one row; none on an empty chain (docs/protocol.md, "Methods")."""
    name, params = dialect.call(BY_COMMAND["latest"], {})
    return _object(connection.call(name, params, decode_result, divisible=False), name)


def fetch_block(connection: Connection, dialect: Dialect, height: int) -> list[Raw] | None:
    """Return the summary of the block at a height as one row, None if there is no such block.

    Raises ResponseError or IncompleteError for another block, and what `Connection.call` raises.
    """
    name, params = dialect.call(BY_COMMAND["block"], {Role.HEIGHT: height})
    found = connection.call(name, params, decode_rows, f"height {height}", divisible=False)
    return _check_block(found, name, height) if found else None


def fetch_transaction(connection: Connection, dialect: Dialect, transaction_id: str) -> list[Raw] | None:
    """Return a transaction as one row, None if there is none of that ID. Raises as `fetch_block` does."""
    name, params = dialect.call(BY_COMMAND["transaction"], {Role.ID: transaction_id})
    result = connection.call(name, params, decode_result, transaction_id, divisible=False)
    found = _object(result, name)
    return _check_transaction(found, name, transaction_id) if found else None


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
