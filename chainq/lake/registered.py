"""Tables of other programs over the files of a data set, one of each kind for each command: Delta and Iceberg.

Each kind keeps its metadata in a folder of its own below that of the command. Other readers skip it, because its name
begins with an underscore. That folder says that there is a table, which every later export keeps up.
"""

from collections.abc import Iterable
from typing import Protocol

from chainq.heights.grid import PartitionSpec
from chainq.stored.receipt import Entry
from chainq.stored.store import Store

DELTA, ICEBERG = "delta", "iceberg"
KINDS = {DELTA: "Delta", ICEBERG: "Iceberg"}
"""The kinds, and what messages call them."""
_FOLDERS = {"_delta_log": DELTA, "_iceberg": ICEBERG}


class Table(Protocol):
    """A table over the files of one command. Every method raises OutputError if the table cannot be read or written."""

    def withdraw(self, specs: Iterable[PartitionSpec]) -> None:
        """Commit a version without these partitions, unless none of them is in the table."""

    def add(self, entries: Iterable[Entry]) -> int:
        """Commit a version with all these full partitions; return how many were not in the table before."""


def open_table(kind: str, store: Store, command: str) -> Table:
    """Return the table of a kind, which may not exist yet. Raises UsageError without its package, and if others have
    rewritten it; OutputError."""
    if kind == DELTA:
        from chainq.lake.delta import DeltaTable

        return DeltaTable(store, command)
    from chainq.lake.iceberg import IcebergTable

    return IcebergTable(store, command)


def registered(names: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Return the kinds and commands of all tables, by the names in their data set.

    >>> registered(["records/_iceberg/00000.metadata.json", "records/start=000000000/data.parquet"])
    frozenset({('iceberg', 'records')})
    """
    parts = (name.split("/") for name in names)
    return frozenset((_FOLDERS[one[1]], one[0]) for one in parts if len(one) > 2 and one[1] in _FOLDERS)
