"""`parquet`: a file for duckdb, pandas and their like, written by pyarrow; its schema depends on the catalogue alone.

- Heights, row ids, times (seconds since 1970) and other columns that the catalogue types as numbers: int64, whether
  sent as a number or as a string of digits.
- Targets, weights and amounts: strings, every digit as sent. decimal128 ends at 38 digits, and 2^128-1 has 39;
  decimal256 holds it, but duckdb reads that as a double (3.402823669209385e+38).
- Other strings: strings. Arrays, objects and unknown fields: their JSON text, as sent; a struct would refuse the fields
  in which servers differ, and turn their numbers into floats.
- null, and fields that a row does not have: null.
"""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.errors import ChainqError, OutputError, ResponseError, UsageError
from chainq.formats.protocol import Output, OutputSpec, unknown_field_warner
from chainq.rows.fields import Picker, text_of
from chainq.rows.raw_json import members
from chainq.text.sanitize import excerpt, printable

GROUP_ROWS = 50_000  # in a row group, or a few more
GROUP_BYTES = 64 << 20
_READ_AT_ONCE = 10_000  # rows that pyarrow reads at a time
_BATCH = 512  # rows that are Python objects at a time
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]{0,18})")
_INTEGERS = re.compile(rb'(?:(?:"-?[0-9]+"|-?[0-9]+|null)(?:,|$))+')
_LIMIT = 1 << 63
_HINT = "use jsonl, which writes it as it was sent, or leave the column out with --columns"


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
            raise UsageError("parquet needs the package pyarrow", "pip install 'chainq[parquet]'") from None
        names = [column.path for column in spec.columns]
        self._out, self._command = out, spec.command
        self._arrow = pyarrow
        self._warn_unknown = unknown_field_warner(spec, "parquet")
        self._pick = Picker(names, self._warn_unknown)
        types = [_type_of(column, pyarrow) for column in spec.columns]
        self._readers = [read for read, _ in types]
        pairs = [(name, arrow_type) for name, (_, arrow_type) in zip(names, types, strict=True)]
        self._flat = not any(
            "." in name or "[" in name or read is _json for name, read in zip(names, self._readers, strict=True)
        )
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
        """Write the last group and the footer."""
        if self._rows:
            self._end_group()
        self._file.close()
        self._out.write(self._buffer.getvalue())

    def _batches(self, rows: Sequence[Raw]) -> Iterator[Any]:
        for start in range(0, len(rows), _BATCH):
            columns = zip(*map(self._pick, rows[start : start + _BATCH]), strict=True)
            arrays = [self._array(at, values) for at, values in enumerate(columns)]
            yield self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _read_json(self, rows: Sequence[Raw]) -> list[Any] | None:
        """Return the rows as pyarrow's own JSON reader reads them, ten times as fast; None where it cannot.

        It refuses a value that does not fit the type of its column; `_batches` then says which one.
        """
        if not self._flat:
            return None
        from pyarrow import compute, json

        first = members(bytes(rows[0]))
        # Whole numbers that were sent as strings are read as strings, then matched with the pattern of whole numbers.
        quoted = {name for name, value in first.items() if bytes(value)[:1] == b'"'}
        schema = self._arrow.schema(
            [(field.name, self._arrow.string() if field.name in quoted else field.type) for field in self._schema]
        )
        lines = b"\n".join(rows)
        try:
            table = json.read_json(
                self._arrow.BufferReader(lines),
                read_options=json.ReadOptions(block_size=max(len(lines), 1)),
                parse_options=json.ParseOptions(
                    explicit_schema=schema, unexpected_field_behavior="infer" if self._warn_unknown else "ignore"
                ),
            )
            table.validate(full=True)  # raises where text is not UTF-8
            if table.num_rows != len(rows):
                return None
            if self._warn_unknown:
                known = set(self._schema.names)
                for name in table.column_names:
                    if name not in known:
                        self._warn_unknown(name)
            for field in self._schema:
                if field.name in quoted and not self._arrow.types.is_string(field.type):
                    integers = compute.match_substring_regex(table[field.name], f"^{_INTEGER.pattern.decode()}$")
                    if not compute.all(integers).as_py():
                        return None
            batches: list[Any] = table.select(self._schema.names).cast(self._schema).to_batches()
        except (self._arrow.ArrowException, KeyError):
            return None
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
        read = self._readers[number]
        sent: list[Raw | bytes] = [b"null" if value is None else value for value in values]
        try:
            return self._arrow.array(
                _read_all(read, b",".join(sent)) or [read(bytes(value)) for value in sent],
                self._schema.types[number],
            )
        except (ValueError, OverflowError):
            raise self._refusal(self._schema.names[number], read, map(bytes, sent)) from None

    def _refusal(self, column: str, read: "Reader", values: Iterable[bytes]) -> ChainqError:
        """Return the error for the first value that cannot be written."""
        for value in values:
            shown = excerpt(value.decode(errors="replace"), 80)
            try:
                str(read(value)).encode()
            except UnicodeError:
                return OutputError(f"{self._command}: {printable(column)} {shown} is not valid Unicode", _HINT)
            except ValueError as reason:
                return ResponseError(f"{self._command}: invalid {printable(column)} {shown}: {reason}", _HINT)
        raise AssertionError("pyarrow refused values that are valid")


Reader = Callable[[bytes], int | str | None]


def _type_of(column: Column, pyarrow: Any) -> tuple[Reader, Any]:
    """Return how a column's values are read, and the type they have in the file."""
    if column.type == "unknown" or column.kind is Kind.DATA:
        return _json, pyarrow.string()
    if column.type == "number" or column.kind in (Kind.HEIGHT, Kind.TIME):
        return _integer, pyarrow.int64()
    return _text, pyarrow.string()


def _read_all(read: Reader, values: bytes) -> list[Any] | None:
    """Return what `read` returns for each of the values, joined by commas; None where it must read one by one.

    Twice as fast as that.
    """
    if read is _json or (read is _integer and not _INTEGERS.fullmatch(values)):
        return None
    try:
        if read is _text:
            return msgspec.json.decode(b"[" + values + b"]", type=list[str | None])
        return msgspec.json.decode(b"[" + values.replace(b'"', b"") + b"]", type=list[int | None])
    except msgspec.DecodeError:
        return None


def _integer(value: bytes) -> int | None:
    if value == b"null":
        return None
    digits = value[1:-1] if value[:1] == b'"' else value
    if not _INTEGER.fullmatch(digits) or not -_LIMIT <= (number := int(digits)) < _LIMIT:
        raise ValueError("expected a whole number of 64 bits")
    return number


def _text(value: bytes) -> str | None:
    if value == b"null":
        return None
    if value[:1] in (b"{", b"[", b"t", b"f"):
        raise ValueError("expected a string or a number")
    return text_of(value)


def _json(value: bytes) -> str | None:
    return None if value == b"null" else value.decode()


def _for_pandas(pairs: Sequence[tuple[str, Any]]) -> str:
    """Return metadata that makes pandas read integers as such: a null would turn the whole column into floats."""
    columns = [
        {"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "Int64", "metadata": None}
        for name, arrow_type in pairs
        if str(arrow_type) == "int64"
    ]
    return json.dumps({"columns": columns, "index_columns": [], "column_indexes": []})
