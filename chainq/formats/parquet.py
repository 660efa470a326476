"""`parquet`: a file for duckdb, pandas and their like, written by pyarrow; its schema depends on the catalogue alone.

Which type a column has and how values become that is in `parquet_types`. null, and a field that a row does not have, is
null.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Raw

from chainq.errors import ChainqError, ResponseError, missing_package
from chainq.formats.arrow_json import FLAT, read_columns
from chainq.formats.parquet_footer import HEIGHTS_KEY, UNSEALED, sealed
from chainq.formats.parquet_types import Read, integer, text, type_of
from chainq.formats.protocol import AS_SENT, Output, OutputSpec, not_unicode, unknown_field_warner
from chainq.rows.fields import Picker
from chainq.text.sanitize import excerpt, printable

GROUP_ROWS = 50_000  # in a row group, or a few more
GROUP_BYTES = 64 << 20
_READ_AT_ONCE = 10_000  # rows that pyarrow reads at a time
_BATCH = 512  # rows that are Python objects at a time
_INTEGERS = re.compile(rb'(?:(?:"-?[0-9]+"|-?[0-9]+|null)(?:,|$))+')


class Parquet:
    """Writes rows in row groups, compressed with zstd; memory holds no more than about one group.

    Takes `out` and `spec` as every format does. Raises UsageError without pyarrow; while rows are written ResponseError
    for a value that does not fit the type of its column, OutputError for text that is not valid Unicode.
    """

    binary = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        try:
            import pyarrow
            from pyarrow.parquet import ParquetWriter
        except ImportError:
            raise missing_package("parquet needs the pyarrow package", "parquet") from None
        names = [column.path for column in spec.columns]
        self._out, self._spec = out, spec
        self._arrow = pyarrow
        self._warn_unknown = unknown_field_warner(spec, "parquet")
        self._pick = Picker(names, self._warn_unknown)
        self._types = [type_of(column, pyarrow) for column in spec.columns]
        pairs = [(name, kind.arrow) for name, kind in zip(names, self._types, strict=True)]
        self._flat = all("." not in name and kind.read in FLAT for name, kind in zip(names, self._types, strict=True))
        self._schema = pyarrow.schema(pairs, metadata={"pandas": _for_pandas(pairs)})
        # pyarrow writes to a buffer and not to `out`: a writer that is dropped after a failure still adds its footer,
        # and half a file in a pipe would then look like a complete one.
        self._buffer = io.BytesIO()
        self._file = ParquetWriter(self._buffer, self._schema, compression="zstd")
        self._group: list[Any] = []
        self._rows = self._bytes = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Add rows to the row group in progress, and write it when it is full."""
        for start in range(0, len(rows), _READ_AT_ONCE):
            some = rows[start : start + _READ_AT_ONCE]
            for batch in self._read_json(some) or self._batches(some):
                self._group.append(batch)
                self._rows += batch.num_rows
                self._bytes += batch.nbytes
                if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
                    self._end_group()

    def close(self) -> None:
        """Write the last group and the footer, with the height range in it: lost rows leave no other trace."""
        if self._rows:
            self._end_group()
        if (heights := self._spec.heights()) is not None:
            self._file.add_key_value_metadata({HEIGHTS_KEY: f"{heights[0]}:{heights[1]}"})
        self._file.add_key_value_metadata(UNSEALED)
        self._file.close()
        self._out.write(sealed(self._buffer.getvalue()))

    def _batches(self, rows: Sequence[Raw]) -> Iterator[Any]:
        for start in range(0, len(rows), _BATCH):
            columns = zip(*map(self._pick, rows[start : start + _BATCH]), strict=True)
            arrays = [self._array(at, values) for at, values in enumerate(columns)]
            yield self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _read_json(self, rows: Sequence[Raw]) -> list[Any] | None:
        """Return the rows as pyarrow's own JSON reader reads them; None if it cannot.

        It refuses a value that does not fit the type of its column; `_batches` then says which one.
        """
        if not self._flat:
            return None
        unexpected: Literal["infer", "ignore"] = "infer" if self._warn_unknown else "ignore"
        found = read_columns(rows, self._schema.names, self._types, self._arrow, unexpected=unexpected)
        if found is None:
            return None
        if self._warn_unknown:
            for name in found.unknown:
                self._warn_unknown(name)
        batches: list[Any] = self._arrow.Table.from_arrays(found.arrays, schema=self._schema).to_batches()
        return batches

    def _end_group(self) -> None:
        self._file.write_table(self._arrow.Table.from_batches(self._group, self._schema), row_group_size=self._rows)
        self._group.clear()
        self._rows = self._bytes = 0
        self._out.write(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()

    def _array(self, number: int, values: Sequence[Raw | None]) -> Any:
        """Return the values of a column as an array. Raises for the first that does not fit its type."""
        read = self._types[number].read
        sent: list[Raw | bytes] = [b"null" if value is None else value for value in values]
        try:
            return self._arrow.array(
                _read_all(read, b",".join(sent)) or [read(bytes(value)) for value in sent],
                self._schema.types[number],
            )
        except (ValueError, OverflowError):
            raise self._refusal(self._schema.names[number], read, map(bytes, sent)) from None

    def _refusal(self, column: str, read: Read, values: Iterable[bytes]) -> ChainqError:
        """Return the error for the first value that cannot be written."""
        for value in values:
            try:
                str(read(value)).encode()
            except UnicodeError:
                return not_unicode(self._spec, column, value)
            except ValueError as reason:
                shown = excerpt(value.decode(errors="replace"), 80)
                return ResponseError(f"{self._spec.command}: invalid {printable(column)} {shown}: {reason}", AS_SENT)
        raise AssertionError("pyarrow refused values that are valid")


def _read_all(read: Read, values: bytes) -> list[Any] | None:
    """Return what `read` returns for each of the values, joined by commas; None if it must read one by one.

    Twice as fast as that.
    """
    try:
        if read is text:
            return msgspec.json.decode(b"[" + values + b"]", type=list[str | None])
        if read is integer and _INTEGERS.fullmatch(values):
            return msgspec.json.decode(b"[" + values.replace(b'"', b"") + b"]", type=list[int | None])
    except msgspec.DecodeError:
        return None
    return None


def _for_pandas(pairs: Sequence[tuple[str, Any]]) -> str:
    """Return metadata that makes pandas read integers as such: a null would turn the whole column into floats."""
    columns = [
        {"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "Int64", "metadata": None}
        for name, arrow_type in pairs
        if str(arrow_type) == "int64"
    ]
    return json.dumps({"columns": columns, "index_columns": [], "column_indexes": []})
