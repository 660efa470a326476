"""Delta tables for other programs over the files of a data set, one per table. The only module that loads deltalake.

A table stores its log in a folder below its own, which exists once `--delta` was given; every later export keeps it up
to date. It lists only full partitions that need not be written again. Files never change, so a version can be read as
long as its files are there: before one is removed (after a reorg), a version without it is committed.

Each commit carries a transaction of the application `chainq`, numbered from 1: of two exports that commit at once,
deltalake refuses one, which then reads the table again.
"""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from chainq.catalog.tables import TABLES
from chainq.errors import OutputError, UsageError, needed
from chainq.formats.arrow_rows import ArrowRows
from chainq.heights.range import HeightRange
from chainq.lake.names import PARTITION_COLUMN, Entry, parse_entry
from chainq.lake.store import Store
from chainq.text.sanitize import excerpt

APPLICATION = "chainq"
_FOLDER = "_delta_log"
_ATTEMPTS = 5  # of a commit, if others commit to the same table


def load() -> tuple[Any, Any]:
    """Return deltalake and its module of transactions. Raises UsageError without it."""
    with needed("Delta tables need the deltalake package", "delta"):
        import deltalake
        from deltalake import transaction
    return deltalake, transaction


def tables_in(names: Iterable[str]) -> frozenset[str]:
    """Return the tables that have a Delta table, by the names in their data set.

    >>> tables_in(["records/_delta_log/00000000000000000000.json", "blocks/x"])
    frozenset({'records'})
    """
    parts = (name.split("/") for name in names)
    return frozenset(one[0] for one in parts if len(one) > 2 and one[1] == _FOLDER)


def update(store: Store, table: str, entries: Sequence[Entry], heights: HeightRange, *, adds: bool) -> int:
    """Commit a version of a table with no other files of these heights and, if `adds`, with these, unless it is the
    last one; return how many were added.

    Raises UsageError without deltalake, and for a table with files of other programs; OutputError if the table cannot
    be read or written.
    """
    deltalake = load()[0]
    for left in reversed(range(_ATTEMPTS)):
        try:
            wanted = {entry.name.partition("/")[2]: entry for entry in entries}
            return _commit(store, table, wanted, heights, adds)
        except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
            if not left:
                said = excerpt(" ".join(str(error).split()), 200)
                what = f"cannot use the Delta table {table} of {store.label}: {said}"
                raise OutputError(what, "run the command again") from None
    return 0


def _commit(store: Store, name: str, wanted: dict[str, Entry], heights: HeightRange, adds: bool) -> int:
    import pyarrow

    deltalake, transaction = load()
    uri, now = store.address(name), time.time_ns() // 1_000_000
    table = deltalake.DeltaTable(uri) if deltalake.DeltaTable.is_deltatable(uri) else None
    listed = table.get_add_actions(flatten=True) if table else None
    sizes = dict(zip(listed["path"].to_pylist(), listed["size_bytes"].to_pylist(), strict=True)) if listed else {}
    there = {path: parse_entry(f"{name}/{path}", size) for path, size in sizes.items()}
    if None in there.values():
        what = f"the Delta table {name} of {store.label} has files that export did not write"
        raise UsageError(what, f"remove its folder {_FOLDER} to create it again")
    gone = {path: one for path, one in there.items() if path not in wanted and one and one.spec.start in heights}
    new = {path: one for path, one in wanted.items() if adds and path not in there}
    actions = [transaction.RemoveAction(path, True, now, one.size, _values(one)) for path, one in gone.items()] + [
        transaction.AddAction(path, one.size, _values(one), now, True, json.dumps({"numRecords": one.rows}))
        for path, one in new.items()
    ]
    if not actions:
        return 0
    number = (table.transaction_version(APPLICATION) or 0) + 1 if table else 1
    sealed = transaction.CommitProperties(app_transactions=[transaction.Transaction(APPLICATION, number)])
    schema = ArrowRows(TABLES[name].columns, pyarrow).schema.append(pyarrow.field(PARTITION_COLUMN, pyarrow.int64()))
    how: dict[str, Any] = {"partition_by": [PARTITION_COLUMN], "commit_properties": sealed}
    if table:
        table.create_write_transaction(actions, "append", schema, **how)
    else:
        schema = deltalake.Schema.from_arrow(schema)
        transaction.create_table_with_add_actions(uri, schema, actions, name=name, **how)
    return len(new)


def _values(entry: Entry) -> dict[str, str | None]:
    return {PARTITION_COLUMN: str(entry.spec.start)}
