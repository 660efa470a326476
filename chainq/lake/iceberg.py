"""Iceberg tables over the files of a data set, one for each command. The only module that loads pyiceberg.

The files are added as they are. As with Delta tables (`delta.py`), only full partitions that are settled are in a
table, and they leave it before they are replaced, because the file of a partition has the same name whatever it holds.
All partitions of a run are one snapshot, committed at its end: the difference between the table and the receipts.

Tables are not partitioned. A partition by height would need the column in all tables, and the statistics of the files,
which are in the manifests of the table, leave out the same files. So `start`, which is not in the files, is no column.

The catalog is the one that pyiceberg's configuration calls `chainq`, else a file of SQLite in the data set.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

from chainq.catalog.tables import TABLES
from chainq.errors import OutputError, UsageError, missing_package
from chainq.heights.grid import PartitionSpec, parse_name
from chainq.lake.table import arrow_schema
from chainq.stored.receipt import Entry
from chainq.stored.store import Store
from chainq.text.sanitize import excerpt

T = TypeVar("T")
CATALOG = NAMESPACE = "chainq"
FILE = "_chainq/iceberg.db"
FOLDER = "_iceberg"  # readers of the files skip it
ATTEMPTS = 5  # of a commit, if others commit to the same table


class IcebergTable:
    """The Iceberg table of one command, which may not exist yet.

    Raises UsageError without pyiceberg, without a catalog, and if others have rewritten the table; OutputError if it
    cannot be read or written.
    """

    def __init__(self, store: Store, command: str) -> None:
        try:
            from pyiceberg import exceptions
            from sqlalchemy.exc import SQLAlchemyError
        except ImportError:
            raise missing_package("Iceberg tables need the package pyiceberg", "iceberg") from None
        # Its exceptions have no class in common but Exception.
        own = (one for one in vars(exceptions).values() if isinstance(one, type) and issubclass(one, Exception))
        self._errors: tuple[type[Exception], ...] = (*own, SQLAlchemyError, OSError, ValueError)
        self._missing: type[Exception] = exceptions.NoSuchTableError
        self._command, self._root = command, store.address(command)
        self._name = f"{NAMESPACE}.{command.replace('-', '_')}"
        self._label = f"the Iceberg table {self._name} of {store.label}"
        self._catalog = self._guarded(partial(_catalog, store))
        self._table: Any = None
        self._files = self._guarded(self._read)

    def withdraw(self, specs: Iterable[PartitionSpec]) -> None:
        """Commit a snapshot without these partitions, unless none of them is in the table."""
        names = {spec.name.partition("/")[2] for spec in specs}
        if names & self._files.keys():
            self._guarded(partial(self._remove, names))
            self._files = self._guarded(self._read)

    def add(self, entries: Iterable[Entry]) -> int:
        """Commit a snapshot with all these full partitions; return how many were not in the table before."""
        full = {entry.spec.name.partition("/")[2]: entry for entry in entries}
        for left in reversed(range(ATTEMPTS)):
            new = {path: entry for path, entry in full.items() if path not in self._files}
            if not new:
                return 0
            try:
                self._guarded(partial(self._append, new))
                return len(new)
            except OutputError:
                if not left:
                    raise
                self._files = self._guarded(self._read)
        return 0

    def _read(self) -> dict[str, Any]:
        """Read the last snapshot; return its data files by their paths."""
        try:
            self._table = self._catalog.load_table(self._name)
        except self._missing:
            return {}
        if self._table.location() != self._root:
            raise UsageError(
                f"{self._label} lies elsewhere, in {self._table.location()}", "use a catalog for each data set"
            )
        files = {}
        for file in _files(self._table):
            path = file.file_path.removeprefix(f"{self._root}/")
            if parse_name(f"{self._command}/{path}") is None:
                raise UsageError(
                    f"{self._label} has files that export did not write, such as {path}",
                    "drop the table and remove its folder _iceberg to have it made anew",
                )
            files[path] = file
        return files

    def _remove(self, names: set[str]) -> None:
        with self._table.transaction() as transaction, transaction.update_snapshot().overwrite() as snapshot:
            for name in names & self._files.keys():
                snapshot.delete_data_file(self._files[name])

    def _append(self, new: dict[str, Entry]) -> None:
        """Add files, whose statistics are read from their footers."""
        if self._table is None:
            self._catalog.create_namespace_if_not_exists(NAMESPACE)
            self._table = self._catalog.create_table(
                self._name,
                arrow_schema(TABLES[self._command]),
                location=self._root,
                properties={"write.metadata.path": f"{self._root}/{FOLDER}"},
            )
        receipts = "".join(f"{name}\n" for name in sorted(entry.name for entry in new.values()))
        self._table.add_files(
            [f"{self._root}/{path}" for path in new],
            snapshot_properties={"chainq.receipts": sha256(receipts.encode()).hexdigest()},
            check_duplicate_files=False,  # it reads the manifests again, of which `_read` knows the files
        )

    def _guarded(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except self._errors as error:
            said = " ".join(str(error).split())
            raise OutputError(f"cannot use {self._label}: {excerpt(said, 200)}", "run the command again") from None


def _files(table: Any) -> Iterator[Any]:
    """Yield the data files and delete files of the last snapshot. A scan would leave out files without rows."""
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot else ():
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            yield entry.data_file


def _catalog(store: Store) -> Any:
    """Return the catalog. Raises UsageError for an object store without one, as SQLite needs a file."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    if Config().get_catalog_config(CATALOG):
        return load_catalog(CATALOG)
    path = store.address(FILE)
    if "://" in path:
        raise UsageError(
            "Iceberg tables in an object store need a catalog", f"configure one with the name {CATALOG} for pyiceberg"
        )
    return load_catalog(CATALOG, type="sql", uri=f"sqlite:///{path}", warehouse=store.address(""))
