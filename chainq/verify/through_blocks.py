"""Compares records, ownership, transitions and the tables of full blocks in files with the full blocks there.

A block hash that covers a full block thereby covers the matching rows of other commands, too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Raw

from chainq.catalog.tables import DERIVED
from chainq.rows.full_block import Key, Texts, read_block
from chainq.rows.tables import table_rows
from chainq.text.sanitize import excerpt
from chainq.verify.compare import compare_rows, number
from chainq.verify.file_rows import FileRows, nothing
from chainq.verify.findings import Contradiction, Finding, label
from chainq.verify.plain import plain
from chainq.verify.unlisted import Missing, Unlisted

COMMANDS = ("ownership", "records", "transitions")
TABLES = (*COMMANDS, *sorted(DERIVED))
"""The commands and tables whose rows full blocks explain."""
_FIELDS = {
    *("height", "timestamp", "block_hash", "program", "program_id", "function_name", "record_ciphertext"),
    *("transaction_id", "transition_id", "output_index", "tpk", "tcm"),
}
"""The columns that a full block explains, and those that identify rows."""


class ThroughBlocks:
    """The content of a partition's full blocks, to compare with its rows of `others`: call `learn` first."""

    def __init__(self, others: Iterable[FileRows] = ()) -> None:
        self._derived = {part.method.command: part for part in others if part.derived}
        # By the identity of a row of a table: its height, and a hash of its values.
        self._rows: dict[str, dict[Key, tuple[int, int]]] = {table: {} for table in self._derived}
        self._due: dict[str, dict[Key, tuple[int, Texts]]] = {command: {} for command in COMMANDS}
        self._optional: set[Key] = set()
        self._kinds: dict[Key, tuple[str, ...]] = {}

    def learn(self, block: Mapping[str, Any], height: int) -> None:
        """Record a full block."""
        row = Raw(json.dumps(block).encode())
        for table, rows in table_rows(row).items() if self._derived else ():
            if part := self._derived.get(table):
                self._rows[table].update((due.key, (height, due.digest)) for due in part.as_rows(rows))
        facts = read_block(row, height)
        for command, due in self._due.items():
            due.update((key, (height, fields)) for key, fields in facts.due[command].items())
        self._optional.update(facts.optional)
        self._kinds.update(facts.kinds)

    def compare(self, part: FileRows, end: int) -> Iterator[Finding]:
        """Yield differences between the rows of a file and the full blocks below `end`."""
        if part.method.command in self._derived:
            yield from self._table(part, end)
            return
        command, due = part.method.command, self._due[part.method.command]
        known = part.heights.end <= end or part.method.height is not None  # else rows above `end` are indistinguishable
        seen: set[Key] = set()
        for key, row in _rows(part):
            height = number(row.get(part.method.height or "") or "", 19)
            if height is not None and height >= end:
                continue
            if key in due:
                seen.add(key)
                wrong = list(compare_rows(command, {key: due[key][1]}, {key: [row]}))
                yield from (part.finding(due[key][0], one) for one in wrong)
            elif known and key not in self._optional:
                yield part.finding(height, Contradiction("unexpected", None, label(command, key)))
        last = min(end, part.heights.end)
        missing = [Missing(at, key, self._kinds.get(key, ())) for key, (at, _) in due.items() if key not in seen]
        for one in self._lost(command, [one for one in missing if one.height < last], seen):
            yield part.finding(one.height, Contradiction("missing", label(command, one.key), None))

    def _table(self, part: FileRows, end: int) -> Iterator[Finding]:
        """Yield differences between the rows of a table and the full blocks below `end`."""
        name, due = part.method.command, self._rows[part.method.command]
        for row in part.rows():
            height, wanted = due.pop(row.key, (row.height, None))
            if wanted is None and (height is None or height < end):
                yield part.finding(height, Contradiction("unexpected", None, label(name, row.key)))
            elif wanted not in (None, row.digest):
                whole = f"{label(name, row.key)} as in its full block"
                yield part.finding(height, Contradiction("altered", whole, excerpt(json.dumps(row.fields), 500)))
        for key, (at, _) in due.items():
            if at < part.heights.end:
                yield part.finding(at, Contradiction("missing", label(name, key), None))

    def _lost(self, command: str, missing: list[Missing], seen: set[Key]) -> Iterator[Missing]:
        """Yield missing rows; of transitions, which servers do not all list, only kinds that are present."""
        if command != "transitions":
            yield from missing
            return
        unlisted = Unlisted()
        for key in seen:
            yield from unlisted.listed(self._kinds[key])
        yield from filter(unlisted.is_lost, missing)


def _rows(part: FileRows) -> Iterator[tuple[Key, Texts]]:
    """Yield the rows of a file by identity, with the fields as a service sends them."""
    names = [name for name in part.file.names if name in _FIELDS]
    for table in part.file.tables(names, nothing):
        for batch in table.to_batches(max_chunksize=1000):
            for found in batch.to_pylist():
                row = {name: None if value is None else str(plain(value)) for name, value in found.items()}
                yield tuple(row.get(name) or "" for name in part.method.identity), row
