"""`parquet`: a file for duckdb, pandas and their like, by way of pyarrow; its schema follows the catalogue alone.

- Heights, row ids, times (seconds since 1970) and what else the service document calls a number: int64, whether sent
  as a number or as a string of digits.
- Targets, weights and amounts: strings, every digit as sent. decimal128 ends at 38 digits, and 2^128-1 has 39;
  decimal256 holds it, but duckdb reads that as a double (3.402823669209385e+38).
- All else that is a string: a string. Arrays, objects and fields that the catalogue lacks: their JSON text, as sent; a
  struct would refuse the fields in which servers differ, and float their numbers.
- null, and what a row lacks: null.
"""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.errors import AnswerError, ChainqError, OutputError, UsageError
from chainq.formats.protocol import Out, Sheet, unknown_field_warner
from chainq.rows.fields import Picker, text_of
from chainq.rows.raw_json import members
from chainq.text.sanitize import excerpt, printable

GROUP_ROWS = 50_000  # in a row group, or a few more
GROUP_BYTES = 64 << 20
_MOST_AT_ONCE = 10_000  # rows that pyarrow reads
_BATCH = 512  # rows that are Python objects at a time
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]{0,18})")
_INTEGERS = re.compile(rb'(?:(?:"-?[0-9]+"|-?[0-9]+|null)(?:,|$))+')
_LIMIT = 1 << 63
_WAY_OUT = "jsonl writes it as it was sent; --columns can leave the column out"


class Parquet:
    """Rows as a Parquet file in row groups, compressed with zstd; no more than about one group is in memory.

    Raises UsageError on a terminal and without pyarrow; later AnswerError for a value that is not of its column's type,
    OutputError for text that is no Unicode.
    """

    def __init__(self, out: Out, sheet: Sheet) -> None:
        if sheet.terminal:
            raise UsageError("Parquet is nothing to read on a terminal", "write it to a file with -o FILE")
        try:
            import pyarrow
            from pyarrow.parquet import ParquetWriter
        except ImportError:
            raise UsageError("Parquet needs the package pyarrow", "pip install 'chainq[parquet]'") from None
        names = [column.path for column in sheet.columns]
        self._out, self._command = out, sheet.command
        self._arrow = pyarrow
        self._stray = unknown_field_warner(sheet, "parquet")
        self._pick = Picker(names, self._stray)
        self._lanes = [_lane(column, pyarrow) for column in sheet.columns]
        pairs = [(name, kind) for name, (_, kind) in zip(names, self._lanes, strict=True)]
        self._flat = not any("." in name or read is _json for name, (read, _) in zip(names, self._lanes, strict=True))
        self._schema = pyarrow.schema(pairs, metadata={"pandas": _for_pandas(pairs)})
        # pyarrow writes here and not to `out`: a writer dropped after a failure still adds its footer, which would
        # make half a file in a pipe look like a whole one.
        self._made = io.BytesIO()
        self._file = ParquetWriter(self._made, self._schema, compression="zstd")
        self._group: list[Any] = []
        self._rows = self._bytes = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Take rows, and write the group that they fill."""
        for start in range(0, len(rows), _MOST_AT_ONCE):
            some = rows[start : start + _MOST_AT_ONCE]
            for batch in self._all_at_once(some) or self._batches(some):
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
        self._out.write(self._made.getvalue())

    def _batches(self, rows: Sequence[Raw]) -> Iterator[Any]:
        for start in range(0, len(rows), _BATCH):
            columns = zip(*map(self._pick, rows[start : start + _BATCH]), strict=True)
            arrays = [self._array(at, values) for at, values in enumerate(columns)]
            yield self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _all_at_once(self, rows: Sequence[Raw]) -> list[Any] | None:
        """The rows read by pyarrow's own JSON reader (ten times as fast); None where it must be done value by value.

        It refuses a value that is not of its column's type, and so leaves it to the other way to say what is wrong.
        """
        if not self._flat:
            return None
        from pyarrow import compute, json

        first = members(bytes(rows[0]))
        # Whole numbers that were sent as strings are read as such, and held against the pattern of such numbers.
        quoted = {name for name, value in first.items() if bytes(value)[:1] == b'"'}
        schema = self._arrow.schema(
            [(lane.name, self._arrow.string() if lane.name in quoted else lane.type) for lane in self._schema]
        )
        lines = b"\n".join(rows)
        try:
            table = json.read_json(
                self._arrow.BufferReader(lines),
                read_options=json.ReadOptions(block_size=max(len(lines), 1)),
                parse_options=json.ParseOptions(
                    explicit_schema=schema, unexpected_field_behavior="infer" if self._stray else "ignore"
                ),
            )
            table.validate(full=True)  # that all text is UTF-8
            if table.num_rows != len(rows):
                return None
            for name in table.column_names if self._stray else ():
                if self._stray and name not in self._schema.names:
                    self._stray(name)
            for lane in self._schema:
                if lane.name in quoted and not self._arrow.types.is_string(lane.type):
                    whole = compute.match_substring_regex(table[lane.name], f"^{_INTEGER.pattern.decode()}$")
                    if not compute.all(whole).as_py():
                        return None
            batches: list[Any] = table.select(self._schema.names).cast(self._schema).to_batches()
        except (self._arrow.ArrowException, KeyError):
            return None
        return batches

    def _end_group(self) -> None:
        self._file.write_table(self._arrow.Table.from_batches(self._group, self._schema), row_group_size=self._rows)
        self._group.clear()
        self._rows = self._bytes = 0
        self._out.write(self._made.getvalue())
        self._made.seek(0)
        self._made.truncate()

    def _array(self, at: int, values: Sequence[Raw | None]) -> Any:
        """The values of a column. Raises for the first that has no place in it."""
        read, kind = self._lanes[at]
        sent: list[Raw | bytes] = [b"null" if value is None else value for value in values]
        try:
            return self._arrow.array(_at_once(read, b",".join(sent)) or [read(bytes(value)) for value in sent], kind)
        except (ValueError, OverflowError):
            raise self._refusal(self._schema.names[at], read, map(bytes, sent)) from None

    def _refusal(self, column: str, read: "Reader", values: Iterable[bytes]) -> ChainqError:
        """What is wrong with the first value that cannot be written."""
        for value in values:
            where = f"{self._command}: {printable(column)} of a row is {excerpt(value.decode(errors='replace'), 80)}"
            try:
                str(read(value)).encode()
            except UnicodeError:
                return OutputError(f"{where}, and Parquet holds no such characters", _WAY_OUT)
            except ValueError as reason:
                return AnswerError(f"{where}, {reason}", _WAY_OUT)
        raise AssertionError("pyarrow refuses what has been read well")


Reader = Callable[[bytes], int | str | None]


def _lane(column: Column, pyarrow: Any) -> tuple[Reader, Any]:
    """How a column's values are read, and the type they have in the file."""
    if column.type == "unknown" or column.kind is Kind.DATA:
        return _json, pyarrow.string()
    if column.type == "number" or column.kind in (Kind.HEIGHT, Kind.TIME):
        return _integer, pyarrow.int64()
    return _text, pyarrow.string()


def _at_once(read: Reader, values: bytes) -> list[Any] | None:
    """What `read` makes of each of the values, here joined by commas; None where it must see each (half as fast)."""
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
        raise ValueError("not a whole number of 64 bits")
    return number


def _text(value: bytes) -> str | None:
    if value == b"null":
        return None
    if value[:1] in (b"{", b"[", b"t", b"f"):
        raise ValueError("not a string or a number")
    return text_of(value)


def _json(value: bytes) -> str | None:
    return None if value == b"null" else value.decode()


def _for_pandas(pairs: Sequence[tuple[str, Any]]) -> str:
    """Tells pandas to read integers as such: a null would otherwise make floats of the whole column."""
    columns = [
        {"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "Int64", "metadata": None}
        for name, kind in pairs
        if str(kind) == "int64"
    ]
    return json.dumps({"columns": columns, "index_columns": [], "column_indexes": []})
