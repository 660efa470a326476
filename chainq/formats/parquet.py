"""`parquet`: a file for duckdb, pandas and their like, written by pyarrow; its schema depends on the catalogue alone.

Which type a column has and how values become that is in `parquet_types`. null, and a field that a row does not have, is
null. Without `--columns` a file has all columns of the command and `extra`, as an export has (`arrow_rows`). With it,
a file has exactly those columns, and a value that does not fit is an error: the user named the column to read it.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from chainq.errors import ChainqError, ResponseError, needed
from chainq.formats.arrow_json import FLAT, read_columns
from chainq.formats.arrow_rows import EXTRA, MORE, ArrowRows
from chainq.formats.parquet_footer import HEIGHTS_KEY, UNSEALED, sealed
from chainq.formats.parquet_types import Read, integer, text, type_of
from chainq.formats.protocol import Output, OutputSpec, few, not_unicode, refused, unlisted_of
from chainq.rows.fields import Picker, integer_of
from chainq.text.sanitize import excerpt, printable

GROUP_ROWS = 50_000  # in a row group, or a few more
GROUP_BYTES = 64 << 20
_READ_AT_ONCE = 10_000  # rows that pyarrow reads at a time
_BATCH = 512  # rows that are Python objects at a time
_UNFIT = (
    "use jsonl or csv, which write it as it was sent, leave the column out, or omit --columns: all "
    f"such values are then in the column {EXTRA}"
)
_INTEGERS = re.compile(rb'(?:(?:"-?[0-9]+"|-?[0-9]+|null)(?:,|$))+')


class Parquet:
    """Writes rows in row groups, compressed with zstd; memory holds no more than about one group.

    Takes `out` and `spec` as every format does. Raises UsageError without pyarrow; while rows are written, if columns
    were selected, ResponseError for a value that does not fit the type of its column, and OutputError for text that is
    not valid Unicode.
    """

    binary = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        with needed("parquet needs the pyarrow package", "parquet"):
            import pyarrow
            from pyarrow.parquet import ParquetWriter
        self._out, self._spec = out, spec
        self._arrow = pyarrow
        self._all: ArrowRows | None = None
        if spec.selected:
            names = [column.path for column in spec.columns]
            self._pick = Picker(names)
            self._types = [type_of(column, pyarrow) for column in spec.columns]
            pairs = [(name, kind.arrow) for name, kind in zip(names, self._types, strict=True)]
            self._flat = not any("." in name for name in names) and all(kind.read in FLAT for kind in self._types)
        else:
            self._all = ArrowRows(spec.columns, pyarrow, few(spec.warn, MORE), unlisted_of(spec))
            pairs = [(field.name, field.type) for field in self._all.schema]
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
            batches = self._all.batches(some) if self._all else self._read_json(some) or self._batches(some)
            for batch in batches:
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
            some = rows[start : start + _BATCH]
            columns = zip(*map(self._pick, some), strict=True)
            arrays = [self._array(at, values, some) for at, values in enumerate(columns)]
            yield self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _read_json(self, rows: Sequence[Raw]) -> list[Any] | None:
        """Return the rows as pyarrow's own JSON reader reads them; None if it cannot.

        It refuses a value that does not fit the type of its column; `_batches` then says which one.
        """
        if not self._flat:
            return None
        arrays = read_columns(rows, self._schema.names, self._types, self._arrow, unexpected="ignore")
        if arrays is None:
            return None
        batches: list[Any] = self._arrow.Table.from_arrays(arrays, schema=self._schema).to_batches()
        return batches

    def _end_group(self) -> None:
        self._file.write_table(self._arrow.Table.from_batches(self._group, self._schema), row_group_size=self._rows)
        self._group.clear()
        self._rows = self._bytes = 0
        self._out.write(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()

    def _array(self, number: int, values: Sequence[Raw | None], rows: Sequence[Raw]) -> Any:
        """Return the values of a column of some rows as an array. Raises for the first that does not fit its type."""
        read = self._types[number].read
        sent: list[Raw | bytes] = [b"null" if value is None else value for value in values]
        try:
            return self._arrow.array(
                _read_all(read, b",".join(sent)) or [read(bytes(value)) for value in sent],
                self._schema.types[number],
            )
        except (ValueError, OverflowError):
            raise self._refusal(self._schema.names[number], read, zip(map(bytes, sent), rows, strict=True)) from None

    def _refusal(self, column: str, read: Read, values: Iterable[tuple[bytes, Raw]]) -> ChainqError:
        """Return the error for the first value that cannot be written; each comes with its row."""
        for value, row in values:
            try:
                str(read(value)).encode()
            except UnicodeError:
                return not_unicode(column, value)
            except ValueError as reason:
                height = integer_of(Picker([self._spec.height])(row)[0]) if self._spec.height else None
                place = "" if height is None else f"height {height}: "
                shown = excerpt(value.decode(errors="replace"), 80)
                digits = value.strip(b'"').lstrip(b"-")
                length = f" of {len(digits)} digits" if digits.isdigit() else ""
                error = ResponseError(f"{place}invalid {printable(column)} {shown}{length}: {reason}", _UNFIT)
                return refused(error)
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
