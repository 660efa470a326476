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
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

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

T = TypeVar("T")


def load() -> tuple[Any, Any]:
    """Return deltalake and its module of transactions. Raises UsageError without it."""
    with needed("Delta tables need the deltalake package", "delta"):
        import deltalake
        from deltalake import transaction
    return deltalake, transaction


class DeltaTable:
    """The Delta table of one command, which may not exist yet. Raises UsageError without deltalake.

    Every method raises OutputError if the table cannot be read or written, and UsageError if another program has
    rewritten it.
    """

    def __init__(self, store: Store, command: str) -> None:
        self._delta, self._transaction = load()
        self._errors = (self._delta.exceptions.DeltaError, OSError, ValueError)
        self._command, self._label = command, f"the Delta table {command} of {store.label}"
        self._uri = store.address(command)
        self._table: Any = None
        self._sizes: Mapping[str, int] = {}  # of the files of the last version, by their paths below the command
        self._look()

    def withdraw(self, specs: Iterable[PartitionSpec]) -> None:
        """Commit a version without these partitions, unless none of them is in the table."""
        paths = self._sizes.keys() & {_path(spec) for spec in specs}
        if paths:
            self._guarded(partial(self._remove, paths))
            self._look()

    def add(self, entries: Iterable[Entry]) -> int:
        """Commit a version with all these full partitions; return how many were added."""
        full = {_path(entry.spec): entry for entry in entries}
        for left in reversed(range(_ATTEMPTS)):
            new = {path: entry for path, entry in full.items() if self._sizes.get(path) != entry.size}
            if not new:
                return 0
            try:
                self._guarded(partial(self._add, new))
                return len(new)
            except OutputError:
                if not left:
                    raise
                self._look()
        return 0

    def _look(self) -> None:
        """Read the last version. Raises UsageError for a table with files of other programs."""
        self._sizes = self._guarded(self._read)
        for path in self._sizes:
            if parse_name(f"{self._command}/{path}") is None:
                raise UsageError(
                    f"{self._label} has files that export did not write, such as {path}",
                    f"remove its folder {_FOLDER} to create it again",
                )

    def _guarded(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except self._errors as error:
            said = " ".join(str(error).split())
            raise OutputError(f"cannot use {self._label}: {excerpt(said, 200)}", "run the command again") from None

    def _read(self) -> dict[str, int]:
        if not self._delta.DeltaTable.is_deltatable(self._uri):
            return {}
        self._table = self._delta.DeltaTable(self._uri)
        found = self._table.get_add_actions(flatten=True)
        return dict(zip(found["path"].to_pylist(), found["size_bytes"].to_pylist(), strict=True))

    def _remove(self, paths: Collection[str]) -> None:
        now = _milliseconds()
        self._commit(
            [
                self._transaction.RemoveAction(path, True, now, self._sizes[path], self._values(path))
                for path in sorted(paths)
            ]
        )

    def _add(self, new: Mapping[str, Entry]) -> None:
        now = _milliseconds()
        self._commit(
            [
                self._transaction.AddAction(
                    path, entry.size, self._values(path), now, True, json.dumps({"numRecords": entry.rows})
                )
                for path, entry in new.items()
            ]
        )

    def _values(self, path: str) -> dict[str, str | None]:
        """Return the values of the columns that are in the path of a file."""
        key = parse_name(f"{self._command}/{path}")
        return {PARTITION_COLUMN: str(key[1])} if key else {}

    def _commit(self, actions: list[Any]) -> None:
        import pyarrow

        number = 1 if self._table is None else (self._table.transaction_version(APPLICATION) or 0) + 1
        properties = self._transaction.CommitProperties(
            app_transactions=[self._transaction.Transaction(APPLICATION, number)]
        )
        schema = arrow_schema(TABLES[self._command]).append(pyarrow.field(PARTITION_COLUMN, pyarrow.int64()))
        if self._table is None:
            self._transaction.create_table_with_add_actions(
                self._uri,
                self._delta.Schema.from_arrow(schema),
                actions,
                partition_by=[PARTITION_COLUMN],
                name=self._command,
                commit_properties=properties,
            )
        else:
            self._table.create_write_transaction(
                actions, "append", schema, partition_by=[PARTITION_COLUMN], commit_properties=properties
            )


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


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
