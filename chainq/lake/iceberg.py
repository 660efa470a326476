"""Iceberg tables over the files of a data set (`registered.py`). The only module that loads pyiceberg.

The files are added as they are. A version is a snapshot.

Tables are not partitioned. Partitioning by height would need the column in all tables, and the file statistics in the
table's manifests skip the same files. `start`, which is not in the files, is therefore not a column.

The catalog is the one named `chainq` in pyiceberg's configuration, or else a SQLite file in the data set.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from chainq.catalog.tables import TABLES
from chainq.errors import Phrase, UsageError, needed
from chainq.lake.registered import Table
from chainq.lake.table import arrow_schema
from chainq.stored.receipt import Entry
from chainq.stored.store import Store

CATALOG = NAMESPACE = "chainq"
FILE = "_chainq/iceberg.db"
FOLDER = "_iceberg"  # readers of the files skip it
_MOVED = Phrase(
    f"if the data set was moved or copied, delete its {FILE} and all folders {FOLDER}, and pass {{iceberg}} again",
    iceberg=True,
)


def load() -> tuple[Any, type[Exception]]:
    """Return pyiceberg's exceptions and the one of its SQLite catalog. Raises UsageError without pyiceberg."""
    with needed("Iceberg tables need the pyiceberg package", "iceberg"):
        from pyiceberg import exceptions
        from sqlalchemy.exc import SQLAlchemyError
    return exceptions, SQLAlchemyError


class IcebergTable(Table):
    """The Iceberg table of one command. Raises UsageError without pyiceberg, and without a catalog."""

    renewal = "drop the table and remove its folder _iceberg to create it again"

    def __init__(self, store: Store, command: str) -> None:
        exceptions, of_catalog = load()
        # Its exceptions have no common base class except Exception.
        own = (one for one in vars(exceptions).values() if isinstance(one, type) and issubclass(one, Exception))
        self._name = f"{NAMESPACE}.{command.replace('-', '_')}"
        label = f"the Iceberg table {self._name} of {store.label}"
        super().__init__(command, label, (*own, of_catalog, OSError, ValueError))
        self._missing: type[Exception] = exceptions.NoSuchTableError
        self._root = store.address(command)
        self._catalog = self._guarded(partial(_catalog, store))
        self._table: Any = None
        self._look()

    def _read(self) -> dict[str, Any]:
        try:
            self._table = self._catalog.load_table(self._name)
        except self._missing:
            return {}
        except FileNotFoundError:
            raise UsageError(f"the metadata of {self._label} is missing", _MOVED) from None
        if self._table.location() != self._root:
            raise UsageError(
                f"{self._label} lies elsewhere, in {self._table.location()}",
                "use a catalog for each data set; " + _MOVED,
            )
        return {file.file_path.removeprefix(f"{self._root}/"): file for file in _files(self._table)}

    def _remove(self, paths: Collection[str]) -> None:
        with self._table.transaction() as transaction, transaction.update_snapshot().overwrite() as snapshot:
            for path in paths:
                snapshot.delete_data_file(self._files[path])

    def _add(self, new: Mapping[str, Entry]) -> None:
        """Add files, whose statistics are read from their footers."""
        if self._table is None:
            self._catalog.create_namespace_if_not_exists(NAMESPACE)
            self._table = self._catalog.create_table(
                self._name,
                arrow_schema(TABLES[self.command]),
                location=self._root,
                properties={"write.metadata.path": f"{self._root}/{FOLDER}"},
            )
        receipts = "".join(f"{name}\n" for name in sorted(entry.name for entry in new.values()))
        self._table.add_files(
            [f"{self._root}/{path}" for path in new],
            snapshot_properties={"chainq.receipts": sha256(receipts.encode()).hexdigest()},
            check_duplicate_files=False,  # it would read the manifests again; `_read` already has the files
        )


def _files(table: Any) -> Iterator[Any]:
    """Yield the data files and delete files of the last snapshot. A scan would leave out files without rows."""
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot else ():
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            yield entry.data_file


def _catalog(store: Store) -> Any:
    """Return the catalog. Raises UsageError for an object store without one, as SQLite needs a file."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.io import load_file_io
    from pyiceberg.utils.config import Config

    if Config().get_catalog_config(CATALOG):
        return load_catalog(CATALOG)
    path = store.address(FILE)
    if "://" in path:
        raise UsageError(
            "Iceberg tables in an object store need a catalog", f"configure one with the name {CATALOG} for pyiceberg"
        )
    Path(path).parent.mkdir(parents=True, exist_ok=True)  # --no-lock has not created it
    catalog = load_catalog(CATALOG, type="sql", uri=f"sqlite:///{path}", warehouse=store.address(""))
    # Properties of a table in the data set name modules to import, and hosts: only those of the catalog count.
    vars(catalog)["_load_file_io"] = lambda properties=None, location=None: load_file_io(catalog.properties, location)  # noqa: ARG005
    return catalog
