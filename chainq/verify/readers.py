"""Files that chainq wrote with `-o`, read back as Arrow tables: parquet, csv and tsv here, JSON in `json_readers`.

Tables have the columns that are asked for: whole numbers for heights, row ids and times, text for all else. What cannot
be read is left out and told to `damaged`, so that the rest of the file is still verified.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Raw

from chainq.catalog.methods import Column
from chainq.errors import IncompleteError
from chainq.formats.arrow_rows import ArrowRows
from chainq.formats.parquet_types import integer, milliseconds, type_of
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.verify.blocks import Texts

BATCH = 4096  # rows that are read at a time
_CSV_BLOCK, _CSV_LARGE = 4 << 20, 64 << 20  # bytes that are read at a time; a row must fit, full blocks are large
Damaged = Callable[[str], None]
"""Takes where something cannot be read, and why."""


class RowsFile(Protocol):
    """A file of rows. `names`: its columns by their dotted paths."""

    names: list[str]

    def tables(self, columns: Sequence[Column], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as Arrow tables of these columns. May be called again."""

    def rows(self, columns: Sequence[Column]) -> Iterator[Texts]:
        """Yield the rows with these columns as text; what cannot be read is left out. May be called again."""

    def as_rows(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Iterator[Texts]:
        """Yield rows of a service as `rows` yields those of the file that they are written to."""


class ParquetRows:
    """A Parquet file. `source` returns its path, or an open file; `name` is for messages."""

    def __init__(self, source: Callable[[], Any], name: str) -> None:
        import pyarrow
        from pyarrow import parquet

        self._arrow, self._parquet, self._source, self._name = pyarrow, parquet, source, name
        try:
            self.names = list(parquet.read_schema(source()).names)
        except unreadable() as error:
            if isinstance(error, OSError) and error.errno:  # the file system's, and no damage
                raise
            raise IncompleteError(f"{name} is not a whole Parquet file: {reason(error)}") from None

    def tables(self, columns: Sequence[Column], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as tables. All columns are read, so that damage in any of them is noticed."""
        whole = whole_numbers(columns)
        try:
            with self._parquet.ParquetFile(self._source()) as file:
                for table in tables_of(file):
                    yield _typed(table.select([column.path for column in columns]), whole)
        except unreadable() as error:
            damaged(f"{self._name}: {reason(error)}")

    def rows(self, columns: Sequence[Column]) -> Iterator[Texts]:
        """Yield the rows as text."""
        for table in self.tables(columns, nothing):
            yield from map(_as_texts, table.to_pylist())

    def as_rows(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Iterator[Texts]:
        """Yield rows of a service as typed columns hold them, as text."""
        names = [column.path for column in columns]
        for batch in ArrowRows(columns, self._arrow).batches(sent):
            yield from map(_as_texts, batch.select(names).to_pylist())


class CsvRows:
    """A file with a header, and cells between `delimiter`."""

    def __init__(self, path: Path, delimiter: str) -> None:
        import csv

        import pyarrow

        self._arrow, self._path, self._delimiter = pyarrow, path, delimiter
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            self.names = next(csv.reader(file, delimiter=delimiter), [])

    def tables(self, columns: Sequence[Column], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as tables."""
        from pyarrow import csv

        names = [column.path for column in columns]

        def skip(row: Any) -> str:
            damaged(f"row {row.number}: {row.actual_columns} columns, expected {row.expected_columns}")
            return "skip"

        block = _CSV_LARGE if "transactions" in self.names else _CSV_BLOCK
        whole = whole_numbers(columns)
        try:
            with csv.open_csv(
                self._path,
                csv.ReadOptions(block_size=block, use_threads=False),
                csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=True,
                    # pyarrow prints a traceback for a row that it cannot hand over as text.
                    invalid_row_handler=skip if _is_text(self._path) else None,
                ),
                csv.ConvertOptions(
                    include_columns=names,
                    column_types=dict.fromkeys(names, self._arrow.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            ) as reader:
                for batch in reader:
                    yield _typed(self._arrow.Table.from_batches([batch]), whole)
        except (self._arrow.ArrowException, OSError) as error:
            damaged(reason(error))
        _check_end(self._path, damaged)

    def rows(self, columns: Sequence[Column]) -> Iterator[Texts]:
        """Yield the rows as text."""
        import csv

        names = [column.path for column in columns]
        csv.field_size_limit(sys.maxsize)
        with self._path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            for row in csv.DictReader(file, delimiter=self._delimiter):
                yield {name: row.get(name) or None for name in names}

    def as_rows(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Iterator[Texts]:
        """Yield rows of a service as text."""
        return texts_of(columns, sent)


def tables_of(file: Any, names: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield the rows of an open Parquet file, a few at a time, with some of its columns or all.

    Raises what `unreadable` returns. pyarrow takes bytes that are not UTF-8 for text, so texts are validated here.
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
    """Return what pyarrow raises for a damaged Parquet file: in its texts, its pages and its metadata."""
    import pyarrow

    return pyarrow.ArrowException, OSError, UnicodeDecodeError


def texts_of(columns: Sequence[Column], sent: Sequence[Raw]) -> Iterator[Texts]:
    """Yield rows of a service with these columns as csv and jsonl have them, as text; None for null and for empty."""
    names = [column.path for column in columns]
    pick = Picker(names)
    for row in sent:
        yield {name: text_of(value) or None for name, value in zip(names, pick(row), strict=True)}


def _as_texts(row: dict[str, Any]) -> Texts:
    return {name: None if value is None else str(value) for name, value in row.items()}


def nothing(_: str) -> None:
    """Ignore what cannot be read: it was a finding before."""


def _is_text(path: Path) -> bool:
    """Return whether a file is UTF-8."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            while file.read(_CSV_BLOCK):
                pass
    except UnicodeDecodeError:
        return False
    return True


def _check_end(path: Path, damaged: Damaged) -> None:
    """Call `damaged` for a text file that ends within a line: it was cut."""
    with path.open("rb") as file:
        if file.seek(0, 2) and file.seek(-1, 2) and file.read(1) != b"\n":
            damaged("the last line has no end")


def whole_numbers(columns: Sequence[Column]) -> frozenset[str]:
    """Return the columns that hold heights, row ids and times."""
    import pyarrow

    return frozenset(column.path for column in columns if type_of(column, pyarrow).read in (integer, milliseconds))


def _typed(table: Any, whole: frozenset[str]) -> Any:
    """Return a table with whole numbers as such; null where a text is none."""
    import pyarrow

    for place, name in enumerate(table.column_names):
        if name in whole and pyarrow.types.is_string(table.schema.types[place]):
            try:
                column = table[name].cast(pyarrow.int64())
            except pyarrow.ArrowInvalid:
                texts = table[name].to_pylist()
                column = pyarrow.array([whole_number(text and text.encode()) for text in texts], pyarrow.int64())
            table = table.set_column(place, name, column)
    return table


def whole_number(value: bytes | Raw | None) -> int | None:
    """Return the number that a JSON value or a cell holds; None for another value, and beyond 63 bits."""
    number = integer_of(value)
    return number if number is not None and abs(number) < 1 << 63 else None


def reason(error: Exception) -> str:
    """Return the first line of an error, or its type where it has none."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
