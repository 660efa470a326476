"""Rows of Parquet files, which pyarrow reads."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column
from chainq.errors import IncompleteError
from chainq.formats.arrow_rows import EXTRA, ArrowRows
from chainq.formats.parquet_footer import HEIGHTS_KEY, footer_size, is_damaged
from chainq.heights.range import HeightRange
from chainq.lake.files import METADATA_KEY, Receipt
from chainq.lake.names import UNFIT
from chainq.verify.file_rows import BATCH, Damaged, RowsFile


class ParquetRows(RowsFile):
    """A Parquet file. `source` returns its path, or an open file; `name` is for messages. `footer`: to be checked."""

    typed = True

    def __init__(self, source: Callable[[], Any], name: str, footer: bytes = b"") -> None:
        import pyarrow
        from pyarrow import parquet

        self._arrow, self._parquet, self._source, self._name, self._footer = pyarrow, parquet, source, name, footer
        try:
            self.names = list(parquet.read_schema(source()).names)
            metadata: Mapping[bytes, bytes] = parquet.read_metadata(source()).metadata or {}
            self.receipt = receipt_in(metadata.get(METADATA_KEY.encode()))
            sealed = self.receipt and HeightRange(self.receipt.start, self.receipt.end)
            self.heights = sealed or _heights_in(metadata)
        except unreadable() as error:
            if isinstance(error, OSError) and error.errno:  # from the file system: not damage
                raise
            raise IncompleteError(f"{name} is not a whole Parquet file: {reason(error)}") from None

    def length(self) -> int:
        """Return the number of rows in the footer."""
        return int(self._parquet.read_metadata(self._source()).num_rows)

    def tables(self, names: Sequence[str], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as tables. All columns are read, so that damage in any of them is noticed."""
        try:
            with self._parquet.ParquetFile(self._source()) as file:
                for table in tables_of(file):
                    yield table.select(names)
        except unreadable() as error:
            self.unreadable = True
            damaged(f"{self._name}: {reason(error)}")
            return
        if is_damaged(self._footer):
            damaged(f"{self._name}: its footer was changed after it was written")

    def table(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Any:
        """Return rows of a service as a table."""
        made = ArrowRows([column for column in columns if column.path != EXTRA], self._arrow)
        return self._arrow.Table.from_batches(made.batches(sent), made.schema).select([one.path for one in columns])


def receipt_in(sealed: bytes | None) -> Receipt | None:
    """Return the receipt in the metadata of a partition, None if it cannot be read."""
    try:
        return msgspec.json.decode(sealed or b"null", type=Receipt | None)
    except UNFIT:
        return None


def _heights_in(metadata: Mapping[bytes, bytes]) -> HeightRange | None:
    """Return the height range in a file's metadata, None if there is none."""
    found = re.fullmatch(rb"([0-9]{1,16}):([0-9]{1,16})", metadata.get(HEIGHTS_KEY.encode(), b""))
    return HeightRange(int(found[1]), int(found[2])) if found and int(found[1]) < int(found[2]) else None


def footer_of(path: Path) -> bytes:
    """Return the footer of a Parquet file."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        file.seek(max(0, size - footer_size(file.read())))
        return file.read()


def tables_of(file: Any, names: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield small batches of rows of an open Parquet file, with some of its columns or all.

    Raises what `unreadable` returns. pyarrow accepts texts that are not UTF-8, so they are validated here.
    """
    import pyarrow

    for batch in file.iter_batches(BATCH, columns=None if names is None else list(names), use_threads=False):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                column.validate(full=True)
            except pyarrow.ArrowInvalid as error:
                raise pyarrow.ArrowInvalid(f"column {name}: {reason(error)}") from None
        yield pyarrow.Table.from_batches([batch])


def unreadable() -> tuple[type[Exception], ...]:
    """Return the errors that pyarrow raises for damage in a Parquet file's texts, pages or metadata."""
    import pyarrow

    return pyarrow.ArrowException, OSError, UnicodeDecodeError


def reason(error: Exception) -> str:
    """Return the first line of an error, or its type if it has none."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
