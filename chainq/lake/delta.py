"""Delta tables over the files of a data set, one for each command. The only module that loads deltalake.

A version of a table names files and their sizes, but the file of a partition has the same name whatever it holds. So
that the last version never names a file that has been replaced:

- Only full partitions that are settled are in a table. The one that holds the tip is written again in place as it
  fills; it follows when that has ended.
- Before a full partition is replaced (after a reorg), a version without it is committed; the next one has it again.

All partitions of a run are one version, committed at its end. What is committed is the difference between the table
and the receipts: after a killed run the next one commits its partitions too, and a repeated run commits nothing. Each
commit carries a transaction of the application `chainq`, numbered from 1: of two exports without the lock that commit
at once, deltalake refuses one, which then reads the table again.
"""

import json
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from chainq.catalog.tables import TABLES
from chainq.errors import OutputError, UsageError, missing_package
from chainq.heights.grid import PARTITION_COLUMN, PartitionSpec, parse_name
from chainq.lake.table import arrow_schema
from chainq.stored.receipt import Entry
from chainq.stored.store import Store
from chainq.text.sanitize import excerpt

T = TypeVar("T")
APPLICATION = "chainq"
ATTEMPTS = 5  # of a commit, if others commit to the same table


class DeltaTable:
    """The Delta table of one command, which may not exist yet. Raises UsageError without deltalake.

    OutputError if the table cannot be read or written, UsageError if others have rewritten it.
    """

    def __init__(self, store: Store, command: str) -> None:
        try:
            import deltalake
            from deltalake import transaction
        except ImportError:
            raise missing_package("Delta tables need the package deltalake", "delta") from None
        self._delta, self._transaction = deltalake, transaction
        self._command, self._uri = command, store.address(command)
        self._label = f"the Delta table {command} of {store.label}"
        self._table: Any = None
        self._files = self._guarded(self._read)

    def withdraw(self, specs: Iterable[PartitionSpec]) -> None:
        """Commit a version without these partitions, unless none of them is in the table."""
        now, starts = _milliseconds(), {spec.start for spec in specs}
        removed = [
            self._transaction.RemoveAction(path, True, now, size, {PARTITION_COLUMN: str(_start(path, self._command))})
            for path, size in self._files.items()
            if _start(path, self._command) in starts
        ]
        if removed:
            self._guarded(lambda: self._commit(removed))
            self._files = self._guarded(self._read)

    def add(self, entries: Iterable[Entry]) -> int:
        """Commit a version with all these full partitions; return how many were not in the table before."""
        full = {entry.spec.name.partition("/")[2]: entry for entry in entries}
        for left in reversed(range(ATTEMPTS)):
            new = {path: entry for path, entry in full.items() if self._files.get(path) != entry.size}
            if not new:
                return 0
            actions = [self._addition(path, entry) for path, entry in new.items()]
            try:
                self._guarded(partial(self._commit, actions))
                return len(new)
            except OutputError:
                if not left:
                    raise
                self._files = self._guarded(self._read)
        return 0

    def _read(self) -> dict[str, int]:
        """Read the last version; return the sizes of its files by their paths."""
        if not self._delta.DeltaTable.is_deltatable(self._uri):
            return {}
        self._table = self._delta.DeltaTable(self._uri)
        found = self._table.get_add_actions(flatten=True)
        files = dict(zip(found["path"].to_pylist(), found["size_bytes"].to_pylist(), strict=True))
        for path in files:
            if _start(path, self._command) is None:
                raise UsageError(
                    f"{self._label} has files that export did not write, such as {path}",
                    "remove its folder _delta_log to have it made anew",
                )
        return files

    def _addition(self, path: str, entry: Entry) -> Any:
        values, counts = {PARTITION_COLUMN: str(entry.spec.start)}, json.dumps({"numRecords": entry.rows})
        return self._transaction.AddAction(path, entry.size, values, _milliseconds(), True, counts)

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

    def _guarded(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except (self._delta.exceptions.DeltaError, OSError, ValueError) as error:
            said = " ".join(str(error).split())
            raise OutputError(f"cannot use {self._label}: {excerpt(said, 200)}", "run the command again") from None


def _start(path: str, command: str) -> int | None:
    """Return the first height of a partition by the path of its file; None for a file that is none."""
    key = parse_name(f"{command}/{path}")
    return key[1] if key else None


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
