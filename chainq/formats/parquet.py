"""`parquet`: a file for duckdb, pandas and their like, written by pyarrow; its schema depends on the catalogue alone.

Which type a column has and how values become that is in `parquet_types`. null, and a field that a row does not have, is
null. Without `--columns` a file has all columns of the command and `extra`, as an export has (`arrow_rows`). With it,
a file has exactly those columns, and a value that does not fit is an error: the user named the column to read it.
"""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw

from chainq.errors import needed
from chainq.formats.arrow_rows import MORE, ArrowRows
from chainq.formats.parquet_footer import HEIGHTS_KEY, UNSEALED, sealed
from chainq.formats.protocol import Output, OutputSpec, few, unlisted_of

GROUP_ROWS = 50_000  # in a row group, or a few more
GROUP_BYTES = 64 << 20


class SealedFile:
    """A Parquet file in progress, compressed with zstd; memory holds no more than about one row group.

    `rows`: makes record batches of rows. `out`: writes bytes. A row group is written
    when its rows and its bytes, as shares of the `most` of each, come to one. `options`: of pyarrow's writer.
    """

    def __init__(self, rows: ArrowRows, out: Callable[[bytes], object], most: tuple[int, int], **options: Any) -> None:
        from pyarrow.parquet import ParquetWriter

        self._rows, self._out, self._most = rows, out, most
        # pyarrow writes to a buffer and not to `out`: a writer that is dropped after a failure still adds its footer,
        # and half a file in a pipe would then look like a complete one.
        self._buffer = io.BytesIO()
        self._file = ParquetWriter(self._buffer, rows.schema, compression="zstd", **options)
        self._batches: list[Any] = []
        self._size = 0.0  # of the row group

    def write(self, rows: Sequence[Raw]) -> None:
        """Add rows to the row group in progress, and write it when it is full."""
        for batch in self._rows.batches(rows):
            self._batches.append(batch)
            self._size += batch.num_rows / self._most[0] + batch.nbytes / self._most[1]
            if self._size >= 1:
                self._end_group()

    def finish(self, metadata: Mapping[str, str | bytes]) -> None:
        """Write the last row group, and the footer with metadata and a seal."""
        self._end_group()
        self._file.add_key_value_metadata({**metadata, **UNSEALED})
        self._file.close()
        self._out(sealed(self._buffer.getvalue()))

    def _end_group(self) -> None:
        from pyarrow import Table

        if self._batches:
            table = Table.from_batches(self._batches, self._rows.schema)
            self._batches.clear()
            self._size = 0.0
            self._file.write_table(table, row_group_size=max(table.num_rows, 1))
            self._out(self._buffer.getvalue())
            self._buffer.seek(0)
            self._buffer.truncate()


class Parquet:
    """Writes rows in row groups, with the heights that they are of in the footer: lost rows leave no other trace.

    Takes `out` and `spec` as every format does. Raises UsageError without pyarrow; while rows are written, if columns
    were selected, OutputError for a value that does not fit the type of its column.
    """

    binary = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        with needed("parquet needs the pyarrow package", "parquet"):
            import pyarrow
        rows = ArrowRows(spec.columns, pyarrow, few(spec.warn, MORE), unlisted_of(spec), strict=spec.selected)
        # pandas would turn a whole column of integers into floats for one null.
        kinds = {"pandas_type": "int64", "numpy_type": "Int64", "metadata": None}
        whole = [field.name for field in rows.schema if field.type == pyarrow.int64()]
        columns = [{"name": name, "field_name": name, **kinds} for name in whole]
        pandas = {"columns": columns, "index_columns": [], "column_indexes": []}
        rows.schema = rows.schema.with_metadata({"pandas": json.dumps(pandas)})
        self._spec, self._file = spec, SealedFile(rows, out.write, (GROUP_ROWS, GROUP_BYTES))
        self.write = self._file.write

    def close(self) -> None:
        """Write the last group and the footer."""
        heights = self._spec.heights()
        self._file.finish({} if heights is None else {HEIGHTS_KEY: f"{heights[0]}:{heights[1]}"})
