"""Delta and Iceberg tables for other programs over the files of a data set, one of each kind per command.

Each kind stores its metadata in its own folder below the command's folder. Other readers skip it, because its name
begins with an underscore. If the folder of a Delta table exists, every later export keeps the
table up to date; an Iceberg table only an export that is told to.

A version of a table lists file names, but the file of a partition keeps its name when its contents change. Two rules
ensure that the last version never lists a replaced file:

- A table contains only full, settled partitions. The partition with the tip is rewritten in place as it fills, and is
  added when it is full.
- Before a full partition is replaced (after a reorg), a version without it is committed; the next one has it again.

All partitions of a run are one version, committed at its end: the difference between the table and the receipts. After
a killed run the next run commits its partitions too; a repeated run commits nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from chainq.errors import OutputError, UsageError
from chainq.heights.grid import PartitionSpec, parse_name
from chainq.stored.receipt import Entry
from chainq.stored.store import Store
from chainq.text.sanitize import excerpt

DELTA, ICEBERG = "delta", "iceberg"
KINDS = {DELTA: "Delta", ICEBERG: "Iceberg"}
"""The kinds, and what messages call them."""
_FOLDERS = {"_delta_log": DELTA, "_iceberg": ICEBERG}
_ATTEMPTS = 5  # of a commit, if others commit to the same table

T = TypeVar("T")


class Table(ABC):
    """A table over the files of one command, which may not exist yet.

    `label`: its name in messages; `errors`: what its package raises; `renewal`: how to recreate it. Every method raises
    OutputError if the table cannot be read or written, and UsageError if another program has rewritten it.
    """

    renewal: str

    def __init__(self, command: str, label: str, errors: tuple[type[Exception], ...]) -> None:
        self.command, self._label, self._errors = command, label, errors
        self._files: Mapping[str, Any] = {}

    def withdraw(self, specs: Iterable[PartitionSpec]) -> None:
        """Commit a version without these partitions, unless none of them is in the table."""
        names = self._files.keys() & {_path(spec) for spec in specs}
        if names:
            self._guarded(partial(self._remove, names))
            self._look()

    def add(self, entries: Iterable[Entry]) -> int:
        """Commit a version with all these full partitions; return how many were added."""
        full = {_path(entry.spec): entry for entry in entries}
        for left in reversed(range(_ATTEMPTS)):
            new = {path: entry for path, entry in full.items() if not self._has(path, entry)}
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
        self._files = self._guarded(self._read)
        for path in self._files:
            if parse_name(f"{self.command}/{path}") is None:
                raise UsageError(f"{self._label} has files that export did not write, such as {path}", self.renewal)

    def _guarded(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except self._errors as error:
            said = " ".join(str(error).split())
            raise OutputError(f"cannot use {self._label}: {excerpt(said, 200)}", "run the command again") from None

    def _has(self, path: str, _entry: Entry) -> bool:
        """Return whether the last version has the file of a partition."""
        return path in self._files

    @abstractmethod
    def _read(self) -> Mapping[str, Any]:
        """Read the last version; return the table's facts about its files, by their paths below the command."""

    @abstractmethod
    def _remove(self, paths: Collection[str]) -> None:
        """Commit a version without these files."""

    @abstractmethod
    def _add(self, new: Mapping[str, Entry]) -> None:
        """Commit a version with these files, by their paths."""


def load_kind(kind: str) -> None:
    """Import the package of a kind, before an export begins. Raises UsageError without it."""
    if kind == DELTA:
        from chainq.lake import delta

        delta.load()
    else:
        from chainq.lake import iceberg

        iceberg.load()


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


def _path(spec: PartitionSpec) -> str:
    """Return the path of a partition's file below its command."""
    return spec.name.partition("/")[2]
