"""Opens the file of a partition and checks what can be damaged in it: its pages, its rows, and its own receipt."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from chainq.errors import IncompleteError
from chainq.stored.receipt import METADATA_KEY, Entry, Receipt, entry_of
from chainq.stored.store import Listed, Store
from chainq.text.sanitize import excerpt


@contextmanager
def opened(store: Store, entry: Entry) -> Iterator[tuple[Any, Receipt]]:
    """Yield the Parquet file of a partition and the receipt in it. Raises IncompleteError if it is damaged."""
    from pyarrow import parquet

    source = store.source(Listed(entry.spec.name, entry.size))
    with checked(store, entry), parquet.ParquetFile(source, page_checksum_verification=True) as file:
        if file.metadata.num_rows != entry.rows:
            raise damaged(store, entry, f"{file.metadata.num_rows} rows, the receipt names {entry.rows}")
        receipt = msgspec.json.decode(file.metadata.metadata[METADATA_KEY.encode()], type=Receipt)
        if entry_of(receipt, entry.size) != entry:
            heights = f"{receipt.start}-{receipt.end - 1}"
            raise damaged(store, entry, f"its own receipt is of {receipt.command} {heights}")
        yield file, receipt


@contextmanager
def checked(store: Store, entry: Entry) -> Iterator[None]:
    """Have what is raised for a damaged file raise IncompleteError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, KeyError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise damaged(store, entry, excerpt(" ".join(str(error).split()), 200)) from None


def damaged(store: Store, entry: Entry, why: str) -> IncompleteError:
    """Return the error for a damaged file."""
    return IncompleteError(f"{entry.spec.name} of {store.label} is damaged: {why}", "see chainq verify DEST")
