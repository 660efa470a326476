"""Opens the file of a partition and checks it for damage: its pages, its rows, and its own receipt."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from chainq.errors import IncompleteError
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
        check_rows(store, entry, file.metadata)
        receipt = msgspec.json.decode(file.metadata.metadata[METADATA_KEY.encode()], type=Receipt)
        if entry_of(receipt, entry.size) != entry:
            heights = f"{receipt.start}-{receipt.end - 1}"
            raise damaged(store.label, entry.spec.name, f"its own receipt is of {receipt.command} {heights}")
        yield file, receipt


def check_rows(store: Store, entry: Entry, footer: Any) -> None:
    """Raise IncompleteError if the number of rows in the footer differs from the receipt."""
    if footer.num_rows != entry.rows:
        raise damaged(store.label, entry.spec.name, f"{footer.num_rows} rows, the receipt names {entry.rows}")


@contextmanager
def checked(store: Store, name: str) -> Iterator[None]:
    """Convert the errors of a damaged file to IncompleteError. `name`: of the file, or of several."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, KeyError, *UNFIT) as error:
        raise damaged(store.label, name, excerpt(" ".join(str(error).split()), 200)) from None


def no_table(label: str, table: str, hint: str) -> IncompleteError:
    """Return the error of the data set of that label that it does not have a table."""
    error = lacking(f"{label} has no table {table}", hint)
    error.table = table
    return error
