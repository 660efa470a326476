"""Gathers what a screen of `chainq show` shows: a few calls, side by side if none needs the result of another.

Each kind of object has its parts as a value: rows as the service sent them. What they mean is read in `summary`, what
they look like is in `screens`.
"""

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
from msgspec import Raw

from chainq.catalog import identifiers
from chainq.catalog.identifiers import TextKind, kind_of
from chainq.catalog.methods import BY_COMMAND, Role
from chainq.errors import IncompleteError, NotFoundError, UsageError
from chainq.fetching.service import Service
from chainq.heights.bounds import LATEST, Bounds, parse_height
from chainq.heights.range import HeightRange
from chainq.process.threads import in_order
from chainq.query import Batch, Query, limited, matching
from chainq.rows.fields import integer_of, text_of, value_at
from chainq.rows.where import Where
from chainq.text.humanize import counted
from chainq.text.sanitize import abridged, quoted

NEWEST = 10  # transactions of an address or of a function
ADDRESS_BLOCKS = 500_000  # newest blocks in which transactions of an address are looked for
RECORD_BLOCKS = 1000  # newest blocks in which a record or a block hash is looked for
# Newest blocks in which a transition or calls of a program are looked for: each transition carries its source.
PROGRAM_BLOCKS = 100


class Parts(msgspec.Struct, tag_field="kind"):
    """The parts of an object; its tag is the kind. As JSON an object with `kind` and the fields of the parts, `heights`
    as `start` and `end`, end excluded."""


class BlockParts(Parts, tag="block"):
    """A block: its summary and its full content."""

    height: int
    summary: Raw
    block: Raw


class TransactionParts(Parts, tag="transaction"):
    """A transaction. `height`: that of its block, None if the service has no method that says it."""

    transaction_id: str
    transaction: Raw
    height: int | None = None


class AddressParts(Parts, tag="address"):
    """The newest transactions of an address, the newest first.

    They are those of its newest rows in `heights`, NEWEST at most: there may be more in these heights.
    """

    address: str
    heights: HeightRange
    transactions: list[Raw]


class ProgramParts(Parts, tag="program"):
    """What a range holds of a program: its records, and its transitions without record inputs."""

    program: str
    heights: HeightRange
    records: list[Raw]
    transitions: list[Raw]


class FunctionParts(Parts, tag="function"):
    """The newest transactions that call a function, the newest first: NEWEST at most.

    `start`: the lowest height looked at.
    """

    program: str
    function: str
    start: int
    transactions: list[Raw]


class TransitionParts(Parts, tag="transition"):
    """A transition as far as lists have it: the records that it made, or itself, if it made none and took none."""

    transition_id: str
    records: list[Raw]
    transitions: list[Raw]


class RecordParts(Parts, tag="record"):
    """A record by its ciphertext."""

    ciphertext: str
    record: Raw


Job = Callable[[], list[Raw]]


def gather(service: Service, text: str, last: int | None) -> Parts:
    """Return the parts of what `text` names: a height, `latest`, an ID, an address, a program, PROGRAM/FUNCTION, the
    ciphertext of a record, or, of a data set, the tag of a record that was spent.

    `last`: how many of the newest blocks to look at, if no method finds the object; None for as many as is usual, and
    never more than an export has.
    Raises UsageError for a text that names nothing of these, NotFoundError (also for a program or function without
    rows), and the errors of calls.
    """
    kind = kind_of(text)
    if text == LATEST or kind is TextKind.HEIGHT:
        return _block(service, None if text == LATEST else parse_height(text))
    if kind is TextKind.TRANSACTION:
        return _transaction(service, text)
    if kind is TextKind.FIELD:
        return _spent(service, text)
    find, usual = _SEARCHED[kind or TextKind.FUNCTION]
    return find(service, text, usual if last is None else last)


def _newest_heights(service: Service, last: int | None) -> HeightRange:
    """Return the newest heights, `last` of them at most, or all; of an export, only those that it has."""
    start, end = service.height_range(Bounds(last=last, whole=last is None)).edges
    return HeightRange(min(max(start, service.blocks.first), end), end)


def _rows(service: Service, command: str, heights: HeightRange) -> Job:
    """Return a job that returns all rows of a range."""
    return partial(_all, service.fetch_range(Query(BY_COMMAND[command]), heights))


def _lookup(service: Service, command: str, *keys: int | str) -> Job:
    """Return a job that returns a row for each key; it raises NotFoundError for a missing one."""
    return partial(_all, service.fetch_lookups(BY_COMMAND[command], keys))


def _all(batches: Iterator[Batch]) -> list[Raw]:
    return [row for batch in batches for row in batch.rows]


def _side_by_side(*jobs: Job) -> list[list[Raw]]:
    return list(in_order(len(jobs), iter(jobs), len(jobs)))


def _block(service: Service, height: int | None) -> BlockParts:
    at = service.blocks.latest_height() if height is None else height
    summary = service.blocks.known.summary if height is None and service.blocks.known else None
    heights = HeightRange(at, at + 1)
    summaries, blocks = _side_by_side(
        _lookup(service, "block", at) if summary is None else lambda: [summary],
        _rows(service, "full-blocks", heights),
    )
    if not summaries or not blocks:
        raise NotFoundError(f"block {at} not found")
    hashes = {text_of(value_at(row, "block_hash")) for row in (*summaries, *blocks)} - {""}
    if len(hashes) > 1:
        raise IncompleteError(
            f"block {at}: its summary and its content have different hashes",
            "there was a reorg, or replicas of the service differ; run the command again",
        )
    return BlockParts(at, summaries[0], blocks[0])


def _transaction(service: Service, transaction_id: str) -> TransactionParts:
    height = None
    if service.export and service.export.has("transactions", own=True):
        height = _found(service, "transactions", "transaction_id", transaction_id, f"transaction {transaction_id}")[0]
    (row,) = _lookup(service, "transaction", transaction_id)()
    return TransactionParts(transaction_id, row, height)


def _address(service: Service, address: str, last: int) -> AddressParts:
    method, heights = BY_COMMAND["address-transactions"], _newest_heights(service, last)
    # A transaction comes once for each of its inputs.
    query = Query(method, {Role.ADDRESS: address}, reverse=True, limit=2 * NEWEST)
    found: dict[str, None] = {}
    for batch in service.fetch_range(query, heights):
        found |= dict.fromkeys(text_of(value_at(row, "transaction_id")) for row in batch.rows)
        if len(found) >= NEWEST:
            break
    ids = [text for text in found if kind_of(text) is TextKind.TRANSACTION]  # what is none, no service could look up
    return AddressParts(address, heights, _lookup(service, "transaction", *ids[:NEWEST])())


def _program(service: Service, program: str, last: int) -> ProgramParts:
    heights = _newest_heights(service, last)
    commands = ("records", "transitions")
    read = _side_by_side(*(_rows(service, command, heights) for command in commands))
    records, transitions = (
        Where(BY_COMMAND[command], programs=[program]).rows(rows) for command, rows in zip(commands, read, strict=True)
    )
    if len(heights) and not records and not transitions:
        raise _unseen(service, f"program {program}", heights)
    return ProgramParts(program, heights, records, transitions)


def _transition(service: Service, transition_id: str, last: int) -> TransitionParts | TransactionParts:
    """Return what lists have of a transition; of a data set that knows it, its transaction."""
    what, condition = f"transition {transition_id}", f"transition_id = '{transition_id}'"
    if service.export and service.export.has("calls", own=True):
        return _transaction(service, _found(service, "calls", "transition_id", transition_id, what)[1])
    heights = _newest_heights(service, last)
    records = _newest(service, "records", condition, heights)
    transitions = [] if records else _newest(service, "transitions", condition, heights)
    if not records and not transitions:
        where = "no record and no listed transition has its ID"
        raise _unseen(service, what, heights, where)
    return TransitionParts(transition_id, records, transitions)


def _spent(service: Service, tag: str) -> TransactionParts:
    """Return the transaction that spends the record with a tag."""
    if service.export is None:
        raise UsageError(f"cannot show {quoted(tag)}: only an export is searched for the tags of records")
    return _transaction(service, _found(service, "inputs", "tag", tag, f"tag {tag}")[1])


def _hashed(service: Service, block_hash: str, last: int) -> BlockParts:
    """Return the block with a hash. Raises NotFoundError."""
    heights = _newest_heights(service, last)
    for row in _newest(service, "blocks", f"block_hash = '{block_hash}'", heights):
        return _block(service, integer_of(value_at(row, "height")))
    raise _unseen(service, f"block {block_hash}", heights)


def _record(service: Service, ciphertext: str, last: int) -> RecordParts:
    heights = _newest_heights(service, last)
    for row in _newest(service, "records", f"record_ciphertext = '{ciphertext}'", heights):
        return RecordParts(ciphertext, row)
    raise _unseen(service, f"record {abridged(ciphertext, 40)}", heights)


def _found(service: Service, table: str, column: str, text: str, what: str) -> tuple[int | None, str]:
    """Return the height and the transaction ID of a row of a data set. Raises NotFoundError."""
    from chainq.lake.reader import row_of

    row = row_of(service.export, table, column, text) if service.export else None
    if row is None:
        raise _unseen(service, what, _newest_heights(service, None))
    return integer_of(value_at(row, "height")), text_of(value_at(row, "transaction_id"))


def _newest(service: Service, command: str, condition: str, heights: HeightRange) -> list[Raw]:
    """Return the rows that meet a condition, of the newest block that has any. No method looks rows up."""
    where = Where(BY_COMMAND[command], [condition])
    query = Query(BY_COMMAND[command], reverse=True, where=where)
    found = matching(service.fetch_range(query, heights), where)
    return next((batch.rows for batch in found if batch.rows), [])


def newest_blocks(heights: HeightRange) -> str:
    """Return a range that ends at the tip in words."""
    if heights.end == 0:  # the tip is -1
        return "a chain without blocks"
    return f"the newest {counted(len(heights), 'block')} ({heights.start} to {heights.end - 1})"


def _unseen(service: Service, what: str, heights: HeightRange, where: str = "") -> NotFoundError:
    """Return the error for what is not in the newest blocks. `where`: what these have none of."""
    said = f"{what} not found in {newest_blocks(heights)}{f': {where}' if where else ''}"
    return NotFoundError(said, "look at more blocks with --last N" if heights.start > service.blocks.first else "")


def _function(service: Service, called: str, last: int) -> FunctionParts:  # noqa: ARG001  # one list has them all
    program, _, function = called.partition("/")
    method = BY_COMMAND["program-transactions"]
    query = Query(method, {Role.PROGRAM: program, Role.FUNCTION: function}, newest=True, limit=NEWEST)
    start = service.blocks.first
    transactions = _all(limited(service.fetch_pages(query, start), NEWEST))
    if not transactions:
        since = f" from height {start}" if start else ""
        raise NotFoundError(f"no transaction{since} calls {called}")
    return FunctionParts(program, function, start, transactions)


_SEARCHED: dict[TextKind, tuple[Callable[[Service, str, int], Parts], int]] = {
    TextKind.ADDRESS: (_address, ADDRESS_BLOCKS),
    TextKind.PROGRAM: (_program, PROGRAM_BLOCKS),
    TextKind.FUNCTION: (_function, PROGRAM_BLOCKS),
    TextKind.TRANSITION: (_transition, PROGRAM_BLOCKS),
    TextKind.RECORD: (_record, RECORD_BLOCKS),
    TextKind.BLOCK_HASH: (_hashed, RECORD_BLOCKS),
}
"""What finds an object, and in how many of the newest blocks."""
_CODED = {TextKind.TRANSACTION, *_SEARCHED} - {TextKind.PROGRAM, TextKind.FUNCTION}
"""What has a checksum."""


def check(text: str) -> str:
    """Return the text in the form that is sent. Raises UsageError if `chainq show` has no screen for it."""
    kind = kind_of(text)
    if kind is not None and kind in _CODED:
        return identifiers.coded(text, kind.value)
    if text == LATEST or kind is not None:
        return identifiers.sendable(text)
    raise UsageError(
        f"cannot show {quoted(text)}: expected a height, latest, a block hash (ab1...), a transaction ID (at1...), an "
        "address, a program such as credits.aleo, PROGRAM/FUNCTION, a transition ID (au1...) or the ciphertext of a "
        "record (record1...)"
    )
