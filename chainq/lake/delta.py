"""Delta tables for other programs over the files of a data set, one per table. The only module that loads deltalake.

A table stores its log in a folder below its own, which exists once `--delta` was given; every later export keeps it up
to date. It lists only full partitions that need not be written again. Files never change, so a version can be read as
long as its files are there: before one is removed (after a reorg), a version without it is committed.

Each commit carries a transaction of the application `chainq`, numbered from 1: of two exports that commit at once,
deltalake refuses one, which then reads the table again.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

from chainq.errors import OutputError, UsageError, needed
from chainq.heights.range import HeightRange
from chainq.lake.data_set import PARTITION_COLUMN, Entry, parse_entry
from chainq.lake.files import schema_of
from chainq.lake.store import Store
from chainq.text.sanitize import excerpt

APPLICATION = "chainq"
FOLDER = "_delta_log"
"""Of the log of a table, in the folder of the table."""
_ATTEMPTS = 5  # of a commit, if others commit to the same table


def update(store: Store, name: str, entries: Sequence[Entry], heights: HeightRange, *, adds: bool) -> int:
    """Commit a version of a table with no other files of these heights and, if `adds`, with these, unless it is the
    last one; return how many were added.

    Raises UsageError without deltalake, and for a table with files of other programs; OutputError if the table cannot
    be read or written.
    """
    with needed("Delta tables need the deltalake package", "delta"):
        from deltalake import exceptions
    wanted = {entry.name.partition("/")[2]: entry for entry in entries}
    for _ in range(_ATTEMPTS):
        try:
            return _commit(store, name, wanted, heights, adds)
        except (exceptions.DeltaError, OSError, ValueError) as error:
            said = excerpt(" ".join(str(error).split()), 200)
    raise OutputError(f"cannot use the Delta table {name} of {store.label}: {said}", "run the command again")


def _commit(store: Store, name: str, wanted: dict[str, Entry], heights: HeightRange, adds: bool) -> int:
    import pyarrow
    from deltalake import DeltaTable, transaction

    schema = schema_of(name).append(pyarrow.field(PARTITION_COLUMN, pyarrow.int64()))
    table = DeltaTable.create(store.address(name), schema, "ignore", name=name, partition_by=[PARTITION_COLUMN])
    listed, now = table.get_add_actions(flatten=True), time.time_ns() // 1_000_000
    paths, sizes = listed["path"].to_pylist(), listed["size_bytes"].to_pylist()
    there = {path: parse_entry(f"{name}/{path}", size) for path, size in zip(paths, sizes, strict=True)}
    actions: list[Any] = []
    for path, one in there.items():
        if one is None:
            what = f"the Delta table {name} of {store.label} has files that export did not write"
            raise UsageError(what, f"remove its folder {FOLDER} to create it again")
        if path not in wanted and one.spec.start in heights:
            actions.append(transaction.RemoveAction(path, True, now, one.size, _values(one)))
    new = {path: one for path, one in wanted.items() if adds and path not in there}
    for path, one in new.items():
        counted = json.dumps({"numRecords": one.rows})
        actions.append(transaction.AddAction(path, one.size, _values(one), now, True, counted))
    if actions:
        number = (table.transaction_version(APPLICATION) or 0) + 1
        sealed = transaction.CommitProperties(app_transactions=[transaction.Transaction(APPLICATION, number)])
        table.create_write_transaction(actions, "append", schema, [PARTITION_COLUMN], commit_properties=sealed)
    return len(new)


def _values(entry: Entry) -> dict[str, str | None]:
    return {PARTITION_COLUMN: str(entry.spec.start)}
