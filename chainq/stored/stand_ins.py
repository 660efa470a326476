"""Rows that replace the rows of a table missing from a data set, read from the tables of full blocks, or from these.

Records are outputs, and transitions without record inputs are calls. They lack fields that only their own methods send:
row ids, block hashes, and source texts of programs; their times are those of their blocks. They are therefore shown to
people (`chainq show`), but never sent by a service.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.query import Batch
from chainq.rows.fields import integer_of, object_of, text_of
from chainq.rows.full_block import RECORDS
from chainq.rows.tables import table_rows
from chainq.stored.reader import Reader

_SHARED = {name: name for name in ("height", "transaction_id", "transition_id")}


_STAND_INS = {
    "records": (
        "outputs",
        {
            "value": "record_ciphertext",
            "program": "program_id",
            **_SHARED,
            "function": "function_name",
            "index": "output_index",
        },
    ),
    "transitions": (
        "calls",
        {**_SHARED, "program": "program", "function": "function_name", "tpk": "tpk", "tcm": "tcm"},
    ),
}
"""By command: a table, and what its columns are called in the rows that it stands in for."""


def stand_ins(reader: Reader, command: str, heights: HeightRange, *, reverse: bool) -> Iterator[Batch] | None:
    """Return the rows of a command from other tables; None if its own table has these heights, or no table can.

    Its own table may cover fewer heights than the others.
    """
    table, _ = _STAND_INS.get(command, ("", {}))
    if not table or not reader.has(table) or (reader.has(command) and _has(reader, command, heights)):
        return None
    timed = reader.has("blocks", own=True) and _has(reader, "blocks", heights)
    return (
        batch._replace(
            rows=_rows(command, batch.rows, _times(reader.rows("blocks", batch.heights or heights) if timed else ()))
        )
        for batch in reader.batches(table, heights, reverse=reverse)
    )


def can_stand_in(command: str) -> bool:
    """Return whether other rows can stand in for those of a command."""
    return command in _STAND_INS


def stand_ins_in(blocks: Iterable[Raw], command: str) -> list[Raw]:
    """Return the same rows of a command from full blocks: of a served data set, other tables cannot be read."""
    table, _ = _STAND_INS[command]
    read = map(table_rows, blocks)
    return [row for rows in read for row in _rows(command, rows[table], _times(rows["blocks"]))]


def _rows(command: str, rows: Iterable[Raw], times: Mapping[int | None, str]) -> list[Raw]:
    _, names = _STAND_INS[command]
    return [_row(row, names, times) for row in map(object_of, rows) if _is_due(command, row)]


def _times(blocks: Iterable[Raw]) -> dict[int | None, str]:
    """Return the times of blocks by height, as text: full blocks have numbers, but rows of records do not."""
    rows = map(object_of, blocks)
    return {integer_of(row.get("height")): text_of(row["timestamp"]) for row in rows if "timestamp" in row}


def _has(reader: Reader, table: str, heights: HeightRange) -> bool:
    try:
        reader.check(table, heights)
    except IncompleteError:
        return False
    return True


def _is_due(command: str, row: Mapping[str, Raw]) -> bool:
    if command == "records":
        return text_of(row.get("type")) in RECORDS
    return integer_of(row.get("record_inputs")) == 0


def _row(row: Mapping[str, Raw], names: Mapping[str, str], times: Mapping[int | None, str]) -> Raw:
    found = {sent: row[name] for name, sent in names.items() if name in row}
    time = times.get(integer_of(row.get("height")))
    return Raw(msgspec.json.encode(found if time is None else {**found, "timestamp": time}))
