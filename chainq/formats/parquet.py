"""`parquet`: a file for duckdb, pandas and their like, written by pyarrow; its schema depends on the catalogue alone.

Which type a column has and how values become that is in `parquet_types`. null, and a field that a row does not have, is
null. Without `--columns` a file has all columns of the command and `extra`, as an export has (`arrow_rows`). With it,
a file has exactly those columns, and a value that does not fit is an error: the user named the column to read it.
"""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Raw

from chainq.errors import needed
from chainq.formats.arrow_rows import MORE, ArrowRows
from chainq.formats.parquet_footer import HEIGHTS_KEY, UNSEALED, sealed
from chainq.formats.protocol import Output, OutputSpec, few, unlisted_of

GROUP_ROWS = 50_000  # in a row group, or a few more
GROUP_BYTES = 64 << 20


class RowGroups:
    """Collects record batches, and writes them as a row group when there are enough rows or bytes.

    `write`: writes a table as one row group.
    """

    def __init__(self, schema: Any, write: Callable[[Any], object], rows: int, size: int) -> None:
        self._schema, self._write = schema, write
        self._most_rows, self._most_bytes = rows, size
        self._batches: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, batch: Any) -> None:
        """Add a batch."""
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= self._most_rows or self._bytes >= self._most_bytes:
            self.end()

    def end(self) -> None:
        """Write the row group in progress, if there is one."""
        from pyarrow import Table

        if self._batches:
            table = Table.from_batches(self._batches, self._schema)
            self._batches.clear()
            self._rows = self._bytes = 0
            self._write(table)


class Parquet:
    """Writes rows in row groups, compressed with zstd; memory holds no more than about one group.

    Takes `out` and `spec` as every format does. Raises UsageError without pyarrow; while rows are written, if columns
    were selected, OutputError for a value that does not fit the type of its column.
    """

    binary = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        with needed("parquet needs the pyarrow package", "parquet"):
            import pyarrow
            from pyarrow.parquet import ParquetWriter
        self._out, self._spec = out, spec
        warn, unlisted = few(spec.warn, MORE), unlisted_of(spec)
        self._rows = ArrowRows(spec.columns, pyarrow, warn, unlisted, strict=spec.selected)
        pairs = [(field.name, field.type) for field in self._rows.schema]
        self._schema = self._rows.schema.with_metadata({"pandas": _for_pandas(pairs)})
        # pyarrow writes to a buffer and not to `out`: a writer that is dropped after a failure still adds its footer,
        # and half a file in a pipe would then look like a complete one.
        self._buffer = io.BytesIO()
        self._file = ParquetWriter(self._buffer, self._schema, compression="zstd")
        self._groups = RowGroups(self._schema, self._write_group, GROUP_ROWS, GROUP_BYTES)

    def write(self, rows: Sequence[Raw]) -> None:
        """Add rows to the row group in progress, and write it when it is full."""
        for batch in self._rows.batches(rows):
            self._groups.add(batch)

    def close(self) -> None:
        """Write the last group and the footer, with the height range in it: lost rows leave no other trace."""
        self._groups.end()
        if (heights := self._spec.heights()) is not None:
            self._file.add_key_value_metadata({HEIGHTS_KEY: f"{heights[0]}:{heights[1]}"})
        self._file.add_key_value_metadata(UNSEALED)
        self._file.close()
        self._out.write(sealed(self._buffer.getvalue()))

    def _write_group(self, table: Any) -> None:
        self._file.write_table(table, row_group_size=table.num_rows)
        self._out.write(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()


def _for_pandas(pairs: Sequence[tuple[str, Any]]) -> str:
    """Return metadata that makes pandas read integers as such: a null would turn the whole column into floats."""
    columns = [
        {"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "Int64", "metadata": None}
        for name, arrow_type in pairs
        if str(arrow_type) == "int64"
    ]
    return json.dumps({"columns": columns, "index_columns": [], "column_indexes": []})
