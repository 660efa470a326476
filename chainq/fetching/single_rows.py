"""Calls whose result is one row: the block at the tip, a block by height, a transaction by ID.

Each row is checked to be the one that was looked up.
"""

from msgspec import Raw

from chainq.catalog.methods import Role
from chainq.errors import IncompleteError, ResponseError
from chainq.fetching.calls import MethodCall
from chainq.rows import fields
from chainq.text.sanitize import excerpt
from chainq.transport.jsonrpc import decode_result, decode_rows


def fetch_latest(latest: MethodCall) -> list[Raw]:
    """Return the summary of the tip block as one row; none on an empty chain (docs/protocol.md, "Methods").

    Raises ResponseError, and what `Connection.call` raises.
    """
    return _object(latest({}, decode_result), latest)


def fetch_block(block: MethodCall, height: int) -> list[Raw] | None:
    """Return the summary of the block at a height as one row, None if there is no such block.

    Raises ResponseError or IncompleteError for another block, and what `Connection.call` raises.
    """
    found = block({Role.HEIGHT: height}, decode_rows, f"height {height}")
    if len(found) > 1:
        raise ResponseError(f"{block.name} height {height}: response has {len(found)} blocks, expected one")
    sent = fields.integer_of(fields.Picker(["height"])(found[0])[0]) if found else None
    if sent not in (None, height):
        raise IncompleteError(f"{block.name} height {height}: response has block {sent}")
    return found or None


def fetch_transaction(transaction: MethodCall, name: str) -> list[Raw] | None:
    """Return a transaction as one row, None if there is none of that ID. Raises as `fetch_block` does."""
    found = _object(transaction({Role.ID: name}, decode_result, name), transaction)
    sent = fields.text_of(fields.Picker(["transaction.id"])(found[0])[0]) if found else ""
    if sent and sent.lower() != name.lower():  # BIP 173: either case, but not mixed
        raise IncompleteError(f"{transaction.name} {name}: response has transaction {excerpt(sent, 80)}")
    return found or None


def _object(result: Raw, call: MethodCall) -> list[Raw]:
    """Return the result as one row, none for null. Any of its fields may be missing, but not all of them."""
    text = bytes(result)
    if text == b"null":
        return []
    shown = excerpt(text.decode(), 60)
    if text[:1] != b"{":
        raise ResponseError(f"{call.name}: result is not an object: {shown}")
    if fields.object_of(result).keys().isdisjoint(column.path.partition(".")[0] for column in call.method.sent):
        raise ResponseError(f"{call.name}: result has no field of a {call.method.command} row: {shown}")
    return [result]
