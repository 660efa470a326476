"""Calls whose result is one row: the block at the tip, a block by height, a transaction by ID.

Each row is checked to be the one that was looked up.
"""

from msgspec import Raw

from chainq.catalog.methods import Method, Role
from chainq.errors import IncompleteError, ResponseError, ServiceError
from chainq.fetching.calls import MethodCall
from chainq.rows import fields
from chainq.text.sanitize import excerpt
from chainq.transport.connection import Decode
from chainq.transport.failures import IS_URL_RIGHT
from chainq.transport.jsonrpc import decode_result, decode_rows


def fetch_latest(latest: MethodCall) -> list[Raw]:
    """Return the summary of the tip block as one row; none on an empty chain (docs/protocol.md, "Methods").

    Raises ResponseError, and what `Connection.call` raises.
    """
    return latest({}, _object_of(latest.method))


def check_empty(block: MethodCall) -> None:
    """Check that a service whose latest/block is null has no block 0, which every chain with blocks has.

    Raises ResponseError if it has one, and what `fetch_block` raises: a server of something else may send null always.
    """
    try:
        found = fetch_block(block, 0)
    except (ResponseError, ServiceError) as error:
        error.message += " (looked up because latest/block returned null)"
        error.hint = error.hint or IS_URL_RIGHT
        raise
    if found:
        raise ResponseError("latest/block returned null, but block 0 exists", "run the command again later")


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
    found = transaction({Role.ID: name}, _object_of(transaction.method), name)
    sent = fields.text_of(fields.Picker(["transaction.id"])(found[0])[0]) if found else ""
    if sent and sent.lower() != name.lower():  # BIP 173: either case, but not mixed
        raise IncompleteError(f"{transaction.name} {name}: response has transaction {excerpt(sent, 80)}")
    return found or None


def _object_of(method: Method) -> Decode[list[Raw]]:
    """Return what decodes a result to one row, none for null. Any of its fields may be missing, but not all of them."""

    def decode(text: memoryview, call_id: int) -> list[Raw]:
        result = decode_result(text, call_id)
        if bytes(result) == b"null":
            return []
        shown = excerpt(bytes(result).decode(), 60)
        if bytes(result)[:1] != b"{":
            raise ResponseError(f"result is not an object: {shown}")
        if fields.object_of(result).keys().isdisjoint(column.path.partition(".")[0] for column in method.sent):
            raise ResponseError(f"result has no field of a {method.command} row: {shown}")
        return [result]

    return decode
