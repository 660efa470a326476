"""What is asked for by name, one call each: blocks and transactions of given heights, transactions of given IDs.

Answers come out in the order of the names; what does not exist is told at the end, when the rest has been given.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Raw

from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import BY_COMMAND, Method, Role, Shape
from chainq.errors import AnswerError, IncompleteError, NotFoundError
from chainq.planning.query import Batch, Lookup
from chainq.rows import fields
from chainq.text.sanitize import excerpt
from chainq.transport.http import Connection
from chainq.transport.jsonrpc import decode_result, decode_rows
from chainq.transport.threads import in_order

_Found = list[Raw] | None


def fetch_lookups(
    connection: Connection, dialect: Dialect, method: Method, names: Iterable[Lookup | None], concurrency: int
) -> Iterator[Batch]:
    """One batch for each name that exists, in their order. Raises NotFoundError after the last where some do not.

    A name of None means that the next one is not known yet.
    """
    missing: list[str] = []
    jobs = (None if name is None else _job(connection, dialect, method, name) for name in names)
    for name, found in in_order(concurrency, jobs, concurrency + 2):
        if found is None:
            missing.append(str(name))
        else:
            yield Batch(found)
    if missing:
        kind = "transaction" if method.param(Role.ID) else "block"
        raise NotFoundError(f"there is no {kind} {', '.join(missing)}")


def fetch_latest(connection: Connection, dialect: Dialect) -> list[Raw]:
    """The newest block's summary as one row; none where the chain has no blocks yet (docs/protocol.md, "Methods")."""
    name, params = dialect.call(BY_COMMAND["latest"], {})
    return _one(connection.call(name, params, decode_result), name)


def _job(connection: Connection, dialect: Dialect, method: Method, name: Lookup) -> Callable[[], tuple[Lookup, _Found]]:
    return lambda: (name, _ask(connection, dialect, method, name))


def _ask(connection: Connection, dialect: Dialect, method: Method, name: Lookup) -> _Found:
    """The rows of one name, None where it does not exist."""
    if method.shape is Shape.ROW_OR_NULL:
        wire, params = dialect.call(method, {Role.ID: name})
        found = _one(connection.call(wire, params, decode_result, str(name)), wire)
        return _checked_transaction(found, wire, name) if found else None
    if method.shape is Shape.ROWS and dialect.transactions_by_row_id:
        return _of_row_id(connection, dialect, method, name)
    wire, params = dialect.call(method, {Role.HEIGHT: name})
    found = connection.call(wire, params, decode_rows, f"height {name}")
    if method.shape is Shape.ROW_IN_ARRAY:
        return _checked_block(found, wire, name) if found else None
    # An empty list says either that the block has no transactions or that there is no such block.
    if not found and _ask(connection, dialect, BY_COMMAND["block"], name) is None:
        return None
    return _in_order(found, method)


def _of_row_id(connection: Connection, dialect: Dialect, method: Method, name: Lookup) -> _Found:
    """The transactions of a height from a server that wants the block's row id (docs/protocol.md, "Results").

    Given anything else, such a server answers with another block's transactions and no error: so each row must name
    the row id that was asked for. Raises IncompleteError where one does not.
    """
    block = _ask(connection, dialect, BY_COMMAND["block"], name)
    if block is None:
        return None
    row_id = fields.integer_of(fields.Picker(["id"])(block[0])[0])
    if row_id is None:
        raise AnswerError(f"{method.name} height {name}: the block has no readable row id to ask for")
    wire, params = dialect.call(method, {Role.HEIGHT: row_id})
    found = connection.call(wire, params, decode_rows, f"height {name}")
    pick = fields.Picker(["block_id"])
    for row in found:
        place = fields.integer_of(pick(row)[0])
        if place != row_id:
            raise IncompleteError(
                f"{wire} height {name}: asked for row id {row_id}, the answer is of block_id {place}",
                "chainq doctor tells what the server wants",
            )
    return _in_order(found, method)


def _one(result: Raw, wire: str) -> list[Raw]:
    sent = bytes(result)
    if sent == b"null":
        return []
    if sent[:1] != b"{":
        raise AnswerError(f"{wire}: the result is no object: {excerpt(sent.decode(), 60)}")
    return [result]


def _checked_block(found: list[Raw], wire: str, name: Lookup) -> list[Raw]:
    if len(found) > 1:
        raise AnswerError(f"{wire} height {name}: the answer holds {len(found)} blocks, not one")
    height = fields.integer_of(fields.Picker(["height"])(found[0])[0])
    if height is not None and height != name:
        raise IncompleteError(f"{wire} height {name}: the answer is block {height}")
    return found


def _checked_transaction(found: list[Raw], wire: str, name: Lookup) -> list[Raw]:
    told = fields.text_of(fields.Picker(["transaction.id"])(found[0])[0])
    if told and told.lower() != str(name).lower():  # BIP 173: either case, but not mixed
        raise IncompleteError(f"{wire} {name}: the answer is transaction {excerpt(told, 80)}")
    return found


def _in_order(found: list[Raw], method: Method) -> list[Raw]:
    from chainq.planning.ordering import in_place

    return in_place(found, method.order or "")
