"""Rows of the Python API: decoded one by one as they arrive, or all at once for data tools."""

import json
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from inspect import GEN_CLOSED, getgeneratorstate
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Kind, Schema
from chainq.client.arguments import integer
from chainq.client.progress import log, while_open
from chainq.errors import ResponseError, UsageError, needed
from chainq.heights.bounds import HIGHEST
from chainq.planning.exchange import Proof
from chainq.query import Batch
from chainq.text.sanitize import excerpt

Row = dict[str, Any]
_AT_ONCE = 10_000  # rows that wait to become Arrow
_READ_AGAIN = "call the method again, or keep the rows in a list; for parts, read one iterator"
_DECODER = msgspec.json.Decoder(float_hook=Decimal)


class ProvedRows(NamedTuple):
    """Rows of `heights` (start included, end excluded), complete, and how that was proved (docs/completeness.md)."""

    rows: list[Row]
    heights: tuple[int, int]
    proof: Proof


class TokenBalance(NamedTuple):
    """What an address has of a program, and of a token of it; amounts in the smallest unit, such as microcredits.

    `owner`: the address. `token_id`: None for a program without tokens. `received`, `unspent`: None if records have
    no amount.
    """

    owner: str
    program_id: str
    token_id: str | None
    records: int
    received: int | None
    unspent_records: int
    unspent: int | None


class Balance(NamedTuple):
    """The private balance as of a block: its height, its hash, and its time.

    `timestamp`: seconds since 1970, a datetime in UTC with `Client(typed=True)`; None if it is not readable.
    """

    height: int
    block_hash: str
    timestamp: int | datetime | None
    totals: list[TokenBalance]


class Rows(Iterator[Row]):
    """The rows of one method, an iterator that requests ahead while it is read; what was read is not kept.

    `chunks` cuts it into parts of a limited size; `to_arrow`, `to_pandas` and `to_polars` take all that is left, or all
    of a part. Raises ChainqError as it is read, after every row that was complete. One that was partly read goes on
    where it was; one that was read to its end gives nothing more to `next`, and whatever reads it anew raises
    UsageError. Take parts with `islice` from one iterator, `it = iter(rows)`. Not to be shared between threads.
    """

    def __init__(
        self, schema: Schema, batches: Iterable[Batch], *, typed: bool = False, noted: set[str] | None = None
    ) -> None:
        self._schema, self._typed = schema, typed
        self._noted = set() if noted is None else noted  # what was logged: each once
        self._raws = _raws(batches)
        self.decode = decoder(schema, typed=typed)

    def __repr__(self) -> str:
        return f"<Rows of {self._schema.command}>"

    def __iter__(self) -> Iterator[Row]:
        """Return an iterator over the rows that are left; at their end it stays empty, as other iterators do."""
        return map(self.decode, self._unread())

    def __next__(self) -> Row:
        return self.decode(next(self._raws))

    def _unread(self) -> Iterator[Raw]:
        """Return the rows that are left. Raises UsageError if their end was reached, or an error was raised there."""
        if getgeneratorstate(self._raws) == GEN_CLOSED:
            raise UsageError("these rows have been read, to their end or to an error", _READ_AGAIN)
        return self._raws

    def chunks(self, rows: int) -> Iterator["Rows"]:
        """Yield the rows in parts of `rows`, the last one of what is left; each part is in memory, as it was sent.

        >>> from chainq import Client
        >>> with Client("demo:") as client:
        ...     [len(list(part)) for part in client.blocks(0, 25).chunks(10)]
        [10, 10, 5]
        """
        rows = integer("number of rows", rows, 1, HIGHEST)
        raws = self._unread()
        while part := list(islice(raws, rows)):
            yield Rows(self._schema, [Batch(part)], typed=self._typed, noted=self._noted)

    def to_arrow(self) -> Any:
        """Return the rows that are left as a `pyarrow.Table` of the columns that Parquet files have.

        Numbers are int64 or decimal128, times timestamps in UTC, lists and objects of known shape nested; the last
        column, `extra`, is a JSON object of what has no place in them, as it was sent, which a warning names. Raises
        UsageError without pyarrow.

        >>> from chainq import Client
        >>> with Client("demo:") as client:
        ...     table = client.blocks(0, 5).to_arrow()
        >>> table["height"].to_pylist(), str(table["timestamp"].type)
        ([0, 1, 2, 3, 4], 'timestamp[ms, tz=UTC]')
        """
        return self._table(_imported("pyarrow", "parquet"))

    def _table(self, pyarrow: Any) -> Any:
        from chainq.formats.arrow_rows import ArrowRows

        unlisted = [column.path for column in self._schema.unlisted]
        arrow = ArrowRows(self._schema.columns, pyarrow, self._note, unlisted)
        batches: list[Any] = []
        raws = self._unread()
        while part := list(islice(raws, _AT_ONCE)):
            batches += arrow.batches(part)
        return pyarrow.Table.from_batches(batches, arrow.schema)

    def to_pandas(self) -> Any:
        """Return the rows that are left as a `pandas.DataFrame`; integers stay integers beside nulls, by `Int64`.

        Columns whose numbers may not fit in 64 bits, such as `coinbase_target`, hold Decimal objects, of up to 38
        digits. Raises UsageError without pandas or pyarrow.

        >>> from chainq import Client
        >>> with Client("demo:") as client:
        ...     frame = client.blocks(0, 5).to_pandas()
        >>> int(frame.height.max())
        4
        """
        pandas = _imported("pandas", "pandas")
        pyarrow = _imported("pyarrow", "pandas")
        table = self._table(pyarrow)
        return table.to_pandas(types_mapper={pyarrow.int64(): pandas.Int64Dtype()}.get)

    def to_polars(self) -> Any:
        """Return the rows that are left as a `polars.DataFrame`. Raises UsageError without polars or pyarrow."""
        polars = _imported("polars", "polars")
        return polars.from_arrow(self.to_arrow())

    def _note(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            log(f"{self._schema.command}: {text}")


def _imported(package: str, extra: str) -> Any:
    """Return a package that is an extra. Raises UsageError without it."""
    with needed(f"this needs the {package} package", extra):
        return import_module(package)


def _raws(batches: Iterable[Batch]) -> Generator[Raw]:
    """Yield each row as it was sent. Raises UsageError once the client is closed, and ChainqError."""
    with while_open():
        for batch in batches:
            yield from batch.rows


def decoder(schema: Schema, *, typed: bool) -> Callable[[Raw], Row]:
    """Return what decodes a row of a method; `typed` also reads the strings of the catalogue's numbers and times.

    A value that is not of its column's kind stays as it was sent.
    """
    if not typed:
        return decode
    readers = {Kind.HEIGHT: _to_int, Kind.NUMBER: _to_int, Kind.TIME: to_datetime}
    columns = [(column.path.split("."), readers[column.kind]) for column in schema.columns if column.kind in readers]

    def decode_typed(raw: Raw) -> Row:
        row = decode(raw)
        for (*outer, name), read in columns:
            inner: Any = row
            for step in outer:
                inner = inner.get(step) if isinstance(inner, dict) else None
            if isinstance(inner, dict) and name in inner:
                inner[name] = read(inner[name])
        return row

    return decode_typed


def _to_int(value: Any) -> Any:
    """Return a string of digits as an int; anything else as it is."""
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and value.isascii() and len(value) <= 4000:
        return int(value)
    return value


def to_datetime(value: Any) -> Any:
    """Return whole seconds since 1970 as a datetime in UTC; anything else, or what lies beyond year 9999, as it is."""
    seconds = _to_int(value)
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return value
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return value


def decode(row: Raw) -> Row:
    """Return a value of the service with every digit. Raises ResponseError for a number that Python refuses:
    over 4,300 digits, or an exponent beyond Decimal's.
    """
    try:
        try:
            decoded: Row = _DECODER.decode(row)
        except msgspec.DecodeError:  # lone surrogates
            decoded = json.loads(bytes(row), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ResponseError(f"cannot decode a row: {excerpt(str(error) or type(error).__name__)}") from None
    return decoded
