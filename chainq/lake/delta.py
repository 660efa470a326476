"""Delta tables for other programs over the files of a data set, one per command. The only module that loads deltalake.

A table stores its log in a folder below the command's folder. Other readers skip it, because its name begins with an
underscore. If the folder exists, every later export keeps the table up to date.

A version of a table lists file names, but the file of a partition keeps its name when its contents change. Two rules
ensure that the last version never lists a replaced file:

- A table contains only full, settled partitions. The partition with the tip is rewritten in place as it fills, and is
  added when it is full.
- Before a full partition is replaced (after a reorg), a version without it is committed; the next one has it again.

All partitions of a run are one version, committed at its end: the difference between the table and the receipts. After
a killed run the next run commits its partitions too; a repeated run commits nothing.

Each commit carries a transaction of the application `chainq`, numbered from 1: of two exports without the lock that
commit at once, deltalake refuses one, which then reads the table again.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chainq.catalog.tables import TABLES
from chainq.errors import OutputError, UsageError, needed
from chainq.heights.grid import PARTITION_COLUMN, PartitionSpec, parse_name
from chainq.lake.table import arrow_schema
from chainq.stored.receipt import Entry
from chainq.stored.store import Store
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


def update(store: Store, command: str, gone: Iterable[PartitionSpec] = (), entries: Iterable[Entry] = ()) -> int:
    """Commit a version of a command's table without the partitions that are `gone` and with all full ones of
    `entries`, unless it is the last one; return how many changed.

    Raises UsageError without deltalake, and for a table with files of other programs; OutputError if the table cannot
    be read or written.
    """
    deltalake, label = load()[0], f"the Delta table {command} of {store.label}"
    paths, full = sorted(map(_path, gone)), {_path(entry.spec): entry for entry in entries}
    for left in reversed(range(_ATTEMPTS)):
        try:
            return _commit(store.address(command), command, label, paths, full)
        except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
            if not left:
                said = excerpt(" ".join(str(error).split()), 200)
                raise OutputError(f"cannot use {label}: {said}", "run the command again") from None
    return 0


def _commit(uri: str, command: str, label: str, gone: Sequence[str], full: Mapping[str, Entry]) -> int:
    import pyarrow

    deltalake, transaction = load()
    table = deltalake.DeltaTable(uri) if deltalake.DeltaTable.is_deltatable(uri) else None
    found = table.get_add_actions(flatten=True) if table else None
    sizes = dict(zip(found["path"].to_pylist(), found["size_bytes"].to_pylist(), strict=True)) if found else {}
    if foreign := [path for path in sizes if parse_name(f"{command}/{path}") is None]:
        what = f"{label} has files that export did not write, such as {foreign[0]}"
        raise UsageError(what, f"remove its folder {_FOLDER} to create it again")
    now = time.time_ns() // 1_000_000
    actions = [
        transaction.RemoveAction(path, True, now, sizes[path], _values(path)) for path in gone if path in sizes
    ] + [
        transaction.AddAction(path, one.size, _values(path), now, True, json.dumps({"numRecords": one.rows}))
        for path, one in full.items()
        if sizes.get(path) != one.size
    ]
    if not actions:
        return 0
    number = (table.transaction_version(APPLICATION) or 0) + 1 if table else 1
    sealed = transaction.CommitProperties(app_transactions=[transaction.Transaction(APPLICATION, number)])
    schema = arrow_schema(TABLES[command]).append(pyarrow.field(PARTITION_COLUMN, pyarrow.int64()))
    how: dict[str, Any] = {"partition_by": [PARTITION_COLUMN], "commit_properties": sealed}
    if table:
        table.create_write_transaction(actions, "append", schema, **how)
    else:
        schema = deltalake.Schema.from_arrow(schema)
        transaction.create_table_with_add_actions(uri, schema, actions, name=command, **how)
    return len(actions)


def _values(path: str) -> dict[str, str | None]:
    """Return the values of the columns that are in the path of a file."""
    return {PARTITION_COLUMN: str(int(path.partition("/")[0].partition("=")[2]))}


def commands_in(names: Iterable[str]) -> frozenset[str]:
    """Return the commands that have a Delta table, by the names in their data set.

    >>> commands_in(["records/_delta_log/00000000000000000000.json", "blocks/start=000000000/data.parquet"])
    frozenset({'records'})
    """
    parts = (name.split("/") for name in names)
    return frozenset(one[0] for one in parts if len(one) > 2 and one[1] == _FOLDER)


def _path(spec: PartitionSpec) -> str:
    """Return the path of a partition's file below its command."""
    return spec.name.partition("/")[2]
