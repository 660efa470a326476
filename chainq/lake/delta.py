"""Delta tables over the files of a data set (`registered.py`). The only module that loads deltalake.

Each commit carries a transaction of the application `chainq`, numbered from 1: of two exports without the lock that
commit at once, deltalake refuses one, which then reads the table again.
"""

import json
import time
from collections.abc import Collection, Mapping
from typing import Any

from chainq.catalog.tables import TABLES
from chainq.errors import needed
from chainq.heights.grid import PARTITION_COLUMN, parse_name
from chainq.lake.registered import Table
from chainq.lake.table import arrow_schema
from chainq.stored.receipt import Entry
from chainq.stored.store import Store

APPLICATION = "chainq"


def load() -> tuple[Any, Any]:
    """Return deltalake and its module of transactions. Raises UsageError without it."""
    with needed("Delta tables need the deltalake package", "delta"):
        import deltalake
        from deltalake import transaction
    return deltalake, transaction


class DeltaTable(Table):
    """The Delta table of one command. Its files are their sizes. Raises UsageError without deltalake."""

    renewal = "remove its folder _delta_log to create it again"

    def __init__(self, store: Store, command: str) -> None:
        deltalake, transaction = load()
        errors = (deltalake.exceptions.DeltaError, OSError, ValueError)
        super().__init__(command, f"the Delta table {command} of {store.label}", errors)
        self._delta, self._transaction = deltalake, transaction
        self._uri = store.address(command)
        self._table: Any = None
        self._look()

    def _has(self, path: str, entry: Entry) -> bool:
        return bool(self._files.get(path) == entry.size)

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
                self._transaction.RemoveAction(path, True, now, self._files[path], self._values(path))
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
        key = parse_name(f"{self.command}/{path}")
        return {PARTITION_COLUMN: str(key[1])} if key else {}

    def _commit(self, actions: list[Any]) -> None:
        import pyarrow

        number = 1 if self._table is None else (self._table.transaction_version(APPLICATION) or 0) + 1
        properties = self._transaction.CommitProperties(
            app_transactions=[self._transaction.Transaction(APPLICATION, number)]
        )
        schema = arrow_schema(TABLES[self.command]).append(pyarrow.field(PARTITION_COLUMN, pyarrow.int64()))
        if self._table is None:
            self._transaction.create_table_with_add_actions(
                self._uri,
                self._delta.Schema.from_arrow(schema),
                actions,
                partition_by=[PARTITION_COLUMN],
                name=self.command,
                commit_properties=properties,
            )
        else:
            self._table.create_write_transaction(
                actions, "append", schema, partition_by=[PARTITION_COLUMN], commit_properties=properties
            )


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
