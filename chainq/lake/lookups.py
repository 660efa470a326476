"""Looks up rows without a height: transactions by ID, function and address, transitions by ID, and inputs by tag.

The columns with the texts are searched for the heights of the rows. An empty result is certain only if the data set has
all heights.

Rejected: an index of its own, which made a search of 10,000 partitions shorter by seconds, and every export longer.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from chainq.catalog.tables import SOURCE
from chainq.heights.range import HeightRange
from chainq.lake.names import lacking, no_table
from chainq.lake.reader import Reader
from chainq.query import Batch
from chainq.rows.block import looked_up
from chainq.rows.fields import object_of, text_of
from chainq.rows.transaction import times_called

NEEDED = {
    "transaction": ("transactions", SOURCE.command),
    "program-transactions": ("calls", SOURCE.command),
    "address-transactions": ("inputs",),
}
"""The tables that each command reads."""
_NEAR = 100  # heights that are read together: a row group contains several blocks


def transaction(reader: Reader, name: str) -> Raw | None:
    """Return a transaction by its ID, None if there is none. Raises IncompleteError if heights are missing."""
    for height in _heights(reader, "transactions", "transaction_id", name):
        for batch in _transactions(reader.batches(SOURCE.command, HeightRange(height, height + 1))):
            for row in batch.rows:
                if text_of(object_of(object_of(row).get("transaction")).get("id")) == name:
                    return row
    if reader.first:
        held = HeightRange(reader.first, reader.tip + 1)
        raise lacking(f"not found in {held} of {reader.label}", "it may be in others")
    return None


def row_of(reader: Reader, table: str, column: str, text: str) -> Raw | None:
    """Return the first row of a table with a text in a column, None if there is none from its first height.

    Raises IncompleteError if heights are missing.
    """
    for height in _heights(reader, table, column, text):
        for row in reader.rows(table, HeightRange(height, height + 1)):
            if text_of(object_of(row).get(column)) == text:
                return row
    return None


def program_transactions(
    reader: Reader, program: str, function: str, *, newest: bool = False, start: int = 0
) -> Iterator[Batch]:
    """Yield the transactions that call a function, once per call, by height; `newest`: from the highest one on.

    Raises IncompleteError, also for heights from `start` that are missing; those below the first height matter to
    `newest` only after all rows.
    """
    whole = HeightRange(start, max(start, reader.tip + 1))
    if missing := [table for table in NEEDED["program-transactions"] if not reader.has(table, own=True)]:
        hint = reader.export_hint(" ".join(missing), whole)
        if not start:
            hint = f"this command needs the whole chain: use the URL of a service, or {hint}"
        raise no_table(reader.label, missing[0], hint)
    reader.check("calls", HeightRange(max(start, reader.first), whole.end) if newest else whole)
    for part in _near([*reader.occurrences("calls", {"program": program, "function": function})], reverse=newest):
        yield from calls_in(reader.batches(SOURCE.command, part, reverse=newest), program, function)
    reader.check("calls", whole)


def calls_in(blocks: Iterator[Batch], program: str, function: str) -> Iterator[Batch]:
    """Yield the transactions of full blocks that call a function, once per call."""
    for batch in _transactions(blocks):
        yield batch._replace(
            rows=[row for row in batch.rows for _ in range(times_called(bytes(row), program, function))]
        )


def address_transactions(
    reader: Reader, address: str, heights: HeightRange, *, reverse: bool = False
) -> Iterator[Batch]:
    """Yield references to transactions in a range with an address in a public input, once per such input.

    Raises IncompleteError.
    """
    reader.check("inputs", heights)
    texts = {"value": address, "type": "public", "value_type": "address"}
    found = [height for height in reader.occurrences("inputs", texts, heights) if height in heights]
    start, end = heights.edges  # of the remaining heights
    for part in _near(found, reverse=reverse):
        for batch in reader.batches("inputs", part, reverse=reverse):
            rows = [
                Raw(msgspec.json.encode({"transaction_id": row["transaction_id"]}))
                for row in map(object_of, batch.rows)
                if text_of(row.get("type")) == "public" and text_of(row.get("value")) == address
            ]
            done = batch.heights or part
            yield Batch(rows, HeightRange(done.start, end) if reverse else HeightRange(start, done.end), batch.proof)
            start, end = (start, done.start) if reverse else (done.end, end)
    yield Batch([], HeightRange(start, end))


def _heights(reader: Reader, table: str, column: str, text: str) -> Iterator[int]:
    """Yield the heights at which rows have a text in a column.

    Raises IncompleteError after the last one if heights from the first one on are missing.
    """
    yield from reader.occurrences(table, {column: text})
    reader.check(table, HeightRange(reader.first, max(reader.first, reader.tip + 1)))


def _transactions(blocks: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the transactions of full blocks in the form of lookups."""
    for batch in blocks:
        yield batch._replace(rows=[one for row in batch.rows for one in looked_up(row)])


def _near(heights: Sequence[int], *, reverse: bool) -> list[HeightRange]:
    """Return ranges with these heights, one range for heights near each other.

    >>> [str(part) for part in _near([5, 8, 900], reverse=False)]
    ['heights 5-8', 'height 900']
    """
    parts: list[HeightRange] = []
    for height in heights:
        near = parts and height - parts[-1].end < _NEAR
        parts.append(HeightRange(parts.pop().start if near else height, height + 1))
    return parts[::-1] if reverse else parts
