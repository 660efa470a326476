"""Rows of the Python API: decoded one by one as they arrive, or all at once for data tools."""

import json
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from inspect import GEN_CLOSED, getgeneratorstate
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Kind, Method
from chainq.client.arguments import integer
from chainq.client.notes import warn
from chainq.errors import ChainqError, IncompleteError, ResponseError, UsageError, needed
from chainq.heights.bounds import HIGHEST
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Proof
from chainq.query import Batch
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt
from chainq.transport.base import Stopped

Row = dict[str, Any]
R = TypeVar("R")  # the type of a row, of those in `row_types`
_AT_ONCE = 10_000  # rows that wait to become Arrow
_READ_AGAIN = "call the method again, or keep the rows in a list; for parts, read one iterator"
_DECODER = msgspec.json.Decoder(float_hook=Decimal)


class ProvedRows(NamedTuple):
    """Rows of `heights` (start included, end excluded), complete, and how that was proved (docs/completeness.md)."""

    rows: list[Row]
    heights: tuple[int, int]
    proof: Proof

    def __repr__(self) -> str:
        """Return how many rows of which heights, and the grade of their proof: not the rows, which may be many."""
        rows, heights = counted(len(self.rows), "row"), HeightRange(*self.heights)
        return f"<ProvedRows: {rows} of {heights}, {self.proof.grade}>"


class Rows(Iterator[R], Generic[R]):
    """The rows of one method, an iterator that requests ahead while it is read; what was read is not kept.

    `chunks` cuts it into parts of a limited size; `to_arrow`, `to_pandas` and `to_polars` take all that is left, or all
    of a part. Raises ChainqError as it is read, after every row that was complete. One that was partly read goes on
    where it was; one that was read to its end gives nothing more to `next`, and whatever reads it anew raises
    UsageError. Take parts with `islice` from one iterator, `it = iter(rows)`. Not to be shared between threads.
    """

    def __init__(self, method: Method, batches: Iterable[Batch], *, typed: bool = False, of: str = "") -> None:
        """Make the rows of batches. `of`: their range and where they come from, as it may be shown."""
        self._method, self._typed, self._of = method, typed, of
        self._notes: set[str] = set()  # that were logged; each is, once
        self._failures: list[str] = []  # as text: an exception would keep the frames that it came through
        self._parts: Generator[list[Raw]] = (batch.rows for batch in _guarded(batches, self._failures))
        self._raws = chain.from_iterable(self._parts)
        self.decode: Callable[[Raw], R] = cast("Any", decoder(method, typed=typed))

    def __repr__(self) -> str:
        return f"<Rows: {' '.join(filter(None, (self._method.command, self._of)))}>"

    def __iter__(self) -> Iterator[R]:
        """Return an iterator over the rows that are left; at their end it stays empty, as other iterators do."""
        self._unread()
        return self._each()

    def _each(self) -> Iterator[R]:
        for raw in iter(self._next, None):
            yield self.decode(raw)

    def __next__(self) -> R:
        if (raw := self._next()) is None:
            raise StopIteration
        return self.decode(raw)

    def _next(self) -> Raw | None:
        """Return the next row, None at the end. Raises UsageError if another reader was told of a failure."""
        try:
            raw = next(self._raws, None)
        except ValueError as error:
            if "already executing" not in str(error):
                raise
            self._failures.append("several threads read them at the same time")
            raw = None
        if raw is None:
            self._check()
        return raw

    def _check(self) -> None:
        if self._failures:
            raise UsageError(f"reading these rows failed: {self._failures[0]}", "call the method again")

    def _unread(self) -> Iterator[Raw]:
        """Return the rows that are left. Raises UsageError if their end was reached, or an error was raised there."""
        if getgeneratorstate(self._parts) == GEN_CLOSED:
            self._check()
            raise UsageError("these rows have been read", _READ_AGAIN)
        return self._raws

    def chunks(self, rows: int) -> Iterator["Rows[R]"]:
        """Yield the rows in parts of `rows`, the last one of what is left; each part is in memory, as it was sent.

        Before an error, the rows that came are yielded.

        >>> from chainq import Client
        >>> with Client("demo:") as client:
        ...     [len(list(part)) for part in client.blocks(0, 25).chunks(10)]
        [10, 10, 5]
        """
        rows = integer("number of rows", rows, 1, HIGHEST)
        self._unread()
        part: list[Raw] = []
        failed: ChainqError | None = None
        try:
            for raw in iter(self._next, None):
                part.append(raw)
                if len(part) == rows:
                    yield self._chunk(part)
                    part = []
        except ChainqError as error:
            failed = error
        if part:
            yield self._chunk(part)
        if failed:
            raise failed

    def _chunk(self, part: list[Raw]) -> "Rows[R]":
        chunk = Rows[R](self._method, [Batch(part)], typed=self._typed, of=self._of)
        chunk._notes = self._notes
        return chunk

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

        unlisted = [column.path for column in self._method.unlisted]
        arrow = ArrowRows(self._method.columns, pyarrow, self._note, unlisted)
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
        if text not in self._notes:
            self._notes.add(text)
            warn(f"{self._method.command}: {text}")


def _imported(package: str, extra: str) -> Any:
    """Return a package that is an extra. Raises UsageError without it."""
    with needed(f"this needs the {package} package", extra):
        return import_module(package)


@contextmanager
def while_open() -> Iterator[None]:
    """Raise UsageError for what needs a request of a closed client."""
    try:
        yield
    except Stopped:
        raise UsageError("the client is closed") from None


def _guarded(batches: Iterable[Batch], failures: list[str]) -> Iterator[Batch]:
    """Yield batches, and add the text of an error to `failures`.

    Raises UsageError once the client is closed, and ChainqError.
    """
    try:
        with while_open():
            yield from batches
    except (Exception, KeyboardInterrupt) as error:
        failures.append(str(error) or type(error).__name__)
        raise


def proved(batch: Batch, decode: Callable[[Raw], Row]) -> ProvedRows:
    """Return a batch of a height range with its rows decoded."""
    if batch.heights is None or batch.proof is None:
        raise IncompleteError("a batch came without a proof", "this is a bug in chainq")
    return ProvedRows(list(map(decode, batch.rows)), batch.heights.edges, batch.proof)


def decoder(method: Method, *, typed: bool) -> Callable[[Raw], Row]:
    """Return what decodes a row of a method; `typed` also reads the strings of the catalogue's numbers and times.

    A value that is not of its column's kind stays as it was sent.
    """
    if not typed:
        return decode
    readers = {Kind.HEIGHT: _to_int, Kind.NUMBER: _to_int, Kind.TIME: to_datetime}
    columns = [(column.path.split("."), readers[column.kind]) for column in method.columns if column.kind in readers]

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


def _to_int(value: object) -> object:
    """Return a string of digits as an int; anything else as it is."""
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and value.isascii() and len(value) <= 4000:
        return int(value)
    return value


def to_datetime(value: object) -> object:
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
