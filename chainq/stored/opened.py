"""Opens the file of a partition and checks it for damage: its pages, its rows, and its own receipt."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec

from chainq.catalog.tables import TABLES
from chainq.errors import IncompleteError
from chainq.formats.arrow_rows import ArrowRows
from chainq.stored.decoded import check_decoded
from chainq.stored.narrow import UNFIT, damaged, lacking
from chainq.stored.receipt import METADATA_KEY, Entry, Receipt, entry_of
from chainq.stored.store import Listed, Store
from chainq.text.sanitize import excerpt


@contextmanager
def opened(store: Store, entry: Entry) -> Iterator[tuple[Any, Receipt]]:
    """Yield the Parquet file of a partition and the receipt in it. Raises IncompleteError if it is damaged."""
    from pyarrow import parquet

    source = store.source(Listed(entry.spec.name, entry.size))
    with checked(store, entry.spec.name), parquet.ParquetFile(source, page_checksum_verification=True) as file:
        check_footer(store, entry, file)
        sealed = (file.metadata.metadata or {}).get(METADATA_KEY.encode())
        if sealed is None:
            raise damaged(store.label, entry.spec.name, "no receipt in its metadata")
        receipt = msgspec.json.decode(sealed, type=Receipt)
        if entry_of(receipt, entry.size) != entry:
            heights = f"{receipt.start}-{receipt.end - 1}"
            raise damaged(store.label, entry.spec.name, f"its own receipt is of {receipt.command} {heights}")
        yield file, receipt


def check_footer(store: Store, entry: Entry, file: Any) -> None:
    """Raise IncompleteError if the number of rows in the footer of an open file differs from the receipt, or its
    columns from the table's."""
    if file.metadata.num_rows != entry.rows:
        raise damaged(store.label, entry.spec.name, f"{file.metadata.num_rows} rows, the receipt names {entry.rows}")
    if not file.schema_arrow.equals(_schema(entry.spec.command)):  # of the footer itself it would keep the footer
        raise damaged(store.label, entry.spec.name, f"its columns are not those of {entry.spec.command}")


def read_group(store: Store, entry: Entry, file: Any, group: int, columns: Sequence[str]) -> Any:
    """Return columns of a row group of an open file as a table. Raises IncompleteError if they do not fit into
    memory."""
    check_decoded(store, Listed(entry.spec.name, entry.size), file.metadata, columns, [group])
    return file.read_row_group(group, columns=[*columns])


def heights_in(store: Store, entry: Entry, table: Any, column: str) -> list[int]:
    """Return the heights of rows of a partition. Raises IncompleteError if one is null or outside of the partition."""
    found: list[int] = table.column(column).to_pylist()
    for height in found:
        if height is None or not entry.spec.start <= height < entry.spec.end:
            raise damaged(store.label, entry.spec.name, f"a row of height {height}")
    return found


@cache
def _schema(table: str) -> Any:
    import pyarrow

    return ArrowRows(TABLES[table].columns, pyarrow).schema


@contextmanager
def checked(store: Store, name: str) -> Iterator[None]:
    """Convert the errors of a damaged file to IncompleteError. `name`: of the file, or of several."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, KeyError, ValueError, *UNFIT) as error:
        raise damaged(store.label, name, excerpt(" ".join(str(error).split()), 200)) from None


def no_table(label: str, table: str, hint: str) -> IncompleteError:
    """Return the error of the data set of that label that it does not have a table."""
    error = lacking(f"{label} has no table {table}", hint)
    error.table = table
    return error
