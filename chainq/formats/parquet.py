"""`parquet`: a file for duckdb, pandas and their like, written by pyarrow; its schema depends on the catalogue alone.

Which type a column has and how values become that is in `arrow_rows`. null, and a field that a row does not have, is
null. Without `--columns` a file has all columns of the command and `extra`, as an export has (`arrow_rows`). With it,
a file has exactly those columns, and a value that does not fit is an error: the user named the column to read it.

The footer has a hash of itself, because readers look at little of what is in it. The hash is a value of the file's
metadata, of as many zeros while it is computed. It is there twice, so that no single change can hide it: where the name
of one is damaged, the other one does not fit any more.
"""

import hashlib
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw

from chainq.errors import needed
from chainq.formats.arrow_rows import MORE, ArrowRows
from chainq.formats.protocol import Output, OutputSpec, few, unlisted_of

GROUP_ROWS = 50_000  # in a row group, or a few more
GROUP_BYTES = 64 << 20
UNSEALED = {f"chainq.footer{number}": "0" * 64 for number in (1, 2)}
"""The metadata of a file whose footer is to be sealed."""
HEIGHTS_KEY = "chainq.heights"
"""The metadata with the height range of a file: `START:END`, the end excluded."""
_HASH = re.compile(rb"(?<=chainq\.footer[12]\x18\x40)[0-9a-f]{64}")  # of a text of 64 bytes (Thrift, compact protocol)
TRAILER = 8  # bytes after the metadata: their length, and PAR1


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


def footer_size(end: bytes) -> int:
    """Return the number of bytes of a footer by the last bytes of its file."""
    return int.from_bytes(end[-TRAILER:-4], "little") + TRAILER


def sealed(end: bytes) -> bytes:
    """Return the end of a file, its whole footer included, with the hash in it."""
    start = max(0, len(end) - footer_size(end))
    digest = hashlib.sha256(end[start:]).hexdigest().encode()
    return end[:start] + _HASH.sub(digest, end[start:])


def is_damaged(footer: bytes) -> bool:
    """Return whether a footer has a hash and is not what that is of."""
    found = set(_HASH.findall(footer))
    digest = hashlib.sha256(_HASH.sub(b"0" * 64, footer)).hexdigest().encode()
    return bool(found) and found != {digest}
