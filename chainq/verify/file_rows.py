"""Files that chainq wrote with `-o`, read back as Arrow tables, whatever their format.

Tables have the columns that are asked for, in the types of a Parquet file, else as texts. What cannot be read is left
out and told to `damaged`, so that the rest is still verified.
"""

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Column, Method
from chainq.errors import IncompleteError, OutputError, UsageError
from chainq.formats.arrow_rows import EXTRA, ArrowRows
from chainq.formats.parquet_footer import HEIGHTS_KEY, footer_size, is_damaged
from chainq.heights.range import HeightRange
from chainq.rows.fields import Key as Undivided
from chainq.rows.fields import Picker, text_of
from chainq.rows.full_block import IDENTITY, Key, Texts
from chainq.rows.raw_json import members
from chainq.text.sanitize import excerpt
from chainq.verify.compare import OWN
from chainq.verify.compare import number as whole_number
from chainq.verify.findings import Contradiction, Finding

BATCH = 4096  # rows that are read at a time
Damaged = Callable[[str], None]
"""Takes where something cannot be read, and why."""


class RowsFile:
    """A file of rows: of text here, if all columns are texts. `names`: its columns by their dotted paths.

    `heights`: the height range that it says it completes, None if it does not say.
    """

    names: list[str]
    heights: HeightRange | None = None
    path: Path
    typed = False  # whether columns have types of their own

    def length(self) -> int:
        """Return about how many rows there are: as many as lines."""
        with self.path.open("rb") as file:
            return sum(piece.count(b"\n") for piece in iter(partial(file.read, 2**20), b""))

    def tables(self, names: Sequence[str], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as Arrow tables of these columns. May be called again."""
        rows = self._values(names, damaged)
        while batch := list(islice(rows, BATCH)):
            yield _table(names, batch)

    def table(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Any:
        """Return rows of a service as `tables` yields those of the file that they are written to."""
        names = [column.path for column in columns]
        return _table(names, map(Picker(names), sent))

    def fields(self, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[tuple[Key, Texts]]:
        """Yield the values of `keys` in each row, and its fields; no null, and nothing of what cannot be read."""
        for table in self.tables([column.path for column in columns], nothing):
            yield from _texts(table, keys)

    def as_fields(
        self, columns: Sequence[Column], keys: Sequence[str], sent: Sequence[Raw]
    ) -> Iterator[tuple[Key, Texts]]:
        """Yield the same of rows of a service, as `fields` yields those of the file that they are written to."""
        return _texts(self.table(columns, sent), keys)

    def _values(self, names: Sequence[str], damaged: Damaged) -> Iterator[Sequence[Raw | str | None]]:
        """Yield the values of each row."""
        raise NotImplementedError


class Row(NamedTuple):
    """A row that is compared: what identifies it, its height, None if that is not known, and its fields."""

    key: Key
    height: int | None
    fields: Texts

    @property
    def digest(self) -> int:
        """A hash of the fields, in any order."""
        return hash(frozenset(self.fields.items()))


class FileRows(NamedTuple):
    """The rows of one command in a file. `heights`: what the rows are of. `finding` makes a finding about them of a
    height, None if that is not known, and what is wrong. `derived`: they were read off full blocks."""

    file: RowsFile
    method: Method
    heights: HeightRange
    finding: Callable[[int | None, Contradiction], Finding]
    derived: bool = False

    @property
    def identity(self) -> Sequence[str]:
        """The columns that identify a row."""
        return IDENTITY.get(self.method.command) or self.method.identity or (self.method.height or "",)

    @property
    def columns(self) -> list[Column]:
        """The columns that are compared with a service, in the order of the file."""
        known = {column.path: column for column in self.method.columns}
        return [known.get(name, Column(name, "string")) for name in self.file.names if name not in self.uncompared]

    @property
    def uncompared(self) -> list[str]:
        """The columns that are not compared with a service: row ids, and of Parquet files what the catalogue lacks."""
        own, known = () if self.derived else OWN, {EXTRA, *(column.path for column in self.method.columns)}
        return [name for name in self.file.names if name in own or (self.file.typed and name not in known)]

    def rows(self) -> Iterator[Row]:
        """Yield what is compared; nothing of what cannot be read, which was a finding before. May be called again."""
        return self._keyed(self.file.fields(self.columns, self._keys))

    def as_rows(self, sent: Sequence[Raw]) -> Iterator[Row]:
        """Yield rows of a service as they would be in the file, after `rows`."""
        lacking = {column.path for column in self.method.columns if self.file.typed} - {*self.file.names}
        for row in self._keyed(self.file.as_fields(self.columns, self._keys, sent)):
            for name in lacking & row.fields.keys():  # it went to EXTRA
                del row.fields[name]
            yield row

    @property
    def _keys(self) -> list[str]:
        return [self.method.height or "", *self.identity]

    def _keyed(self, rows: Iterable[tuple[Key, Texts]]) -> Iterator[Row]:
        return (Row(tuple(key), whole_number(height, 19), fields) for (height, *key), fields in rows)


class ParquetRows(RowsFile):
    """A Parquet file. `source` returns its path, or an open file; `name` is for messages. `footer`: to be checked."""

    typed = True

    def __init__(self, source: Callable[[], Any], name: str, footer: bytes = b"") -> None:
        import pyarrow
        from pyarrow import parquet

        self._arrow, self._parquet, self._source, self._name, self._footer = pyarrow, parquet, source, name, footer
        try:
            self.names = list(parquet.read_schema(source()).names)
            self.metadata: Mapping[bytes, bytes] = parquet.read_metadata(source()).metadata or {}
            self.heights = _heights_in(self.metadata)
        except unreadable() as error:
            if isinstance(error, OSError) and error.errno:  # the file system's, and no damage
                raise
            raise IncompleteError(f"{name} is not a whole Parquet file: {reason(error)}") from None

    def length(self) -> int:
        """Return how many rows there are, by the footer."""
        return int(self._parquet.read_metadata(self._source()).num_rows)

    def tables(self, names: Sequence[str], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as tables. All columns are read, so that damage in any of them is noticed."""
        try:
            with self._parquet.ParquetFile(self._source()) as file:
                for table in tables_of(file):
                    yield table.select(names)
        except unreadable() as error:
            damaged(f"{self._name}: {reason(error)}")
            return
        if is_damaged(self._footer):
            damaged(f"{self._name}: its footer is not the one that was written")

    def table(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Any:
        """Return rows of a service as a table."""
        made = ArrowRows([column for column in columns if column.path != EXTRA], self._arrow)
        return self._arrow.Table.from_batches(made.batches(sent), made.schema).select([one.path for one in columns])


def _heights_in(metadata: Mapping[bytes, bytes]) -> HeightRange | None:
    """Return the height range that the metadata of a file has, None without one."""
    found = re.fullmatch(rb"([0-9]{1,16}):([0-9]{1,16})", metadata.get(HEIGHTS_KEY.encode(), b""))
    return HeightRange(int(found[1]), int(found[2])) if found and int(found[1]) < int(found[2]) else None


class CsvRows(RowsFile):
    """A file with a header, and cells between `delimiter`."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path, self._delimiter = path, delimiter
        self.names = next(self._cells(), [])

    def _cells(self) -> Iterator[list[str]]:
        csv.field_size_limit(sys.maxsize)  # a full block is a large row
        with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            yield from csv.reader(file, delimiter=self._delimiter)

    def _values(self, names: Sequence[str], damaged: Damaged) -> Iterator[Sequence[Raw | str | None]]:
        places = [self.names.index(name) for name in names]
        for number, row in enumerate(self._cells(), 1):
            if number == 1 or not row:
                continue
            if len(row) != len(self.names):
                damaged(f"row {number}: {len(row)} columns, expected {len(self.names)}")
            elif not _is_text("".join(row)):
                damaged(f"row {number}: not UTF-8")
            else:
                yield [row[place] for place in places]
        with self.path.open("rb") as file:
            if file.seek(0, 2) and file.seek(-1, 2) and file.read(1) != b"\n":
                damaged("the last line has no end")


class JsonlRows(RowsFile):
    """A file with one JSON object a line: rows as a service sent them, or flat ones that `--columns` made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        number, first = next(self._lines(nothing), (0, b"{}"))
        try:
            self.names = list(_paths(first, ""))
        except ValueError:
            raise IncompleteError(f"{path}: line {number} is not a JSON object") from None
        self._flat = any("." in key for key in members(first))
        self._seen: set[str] = set()  # names of all rows that `fields` has read

    def fields(self, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[tuple[Key, Texts]]:
        """Yield the fields of each row as JSON, so that no change of a type is lost."""
        del columns  # other rows may have fields that the first one lacks
        pick = Picker([Undivided(key) for key in keys] if self._flat else keys)
        for _, line in self._lines(nothing):
            with suppress(ValueError):
                line.decode()
                fields = _json(members(line))
                self._seen.update(fields)
                yield tuple(map(text_of, pick(line))), fields

    def as_fields(
        self, columns: Sequence[Column], keys: Sequence[str], sent: Sequence[Raw]
    ) -> Iterator[tuple[Key, Texts]]:
        """Yield those fields of each row that the file has in any row."""
        del columns
        names = sorted(self._seen)
        picked, values = Picker(keys), Picker(names if self._flat else [Undivided(name) for name in names])
        for row in sent:
            yield tuple(map(text_of, picked(row))), _json(dict(zip(names, values(row), strict=True)))

    def _values(self, names: Sequence[str], damaged: Damaged) -> Iterator[Sequence[Raw | str | None]]:
        pick = Picker(names)
        for number, line in self._lines(damaged):
            try:
                line.decode()  # msgspec does not check what it only passes on
                fields = members(line)
                yield [fields.get(name) for name in names] if self._flat else pick(line)
            except ValueError:
                damaged(f"line {number}: {excerpt(line.decode(errors='replace').strip(), 60)}")

    def _lines(self, damaged: Damaged) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with rows, and their numbers."""
        line = b"\n"
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, line
        if not line.endswith(b"\n"):
            damaged("the last line has no end")


class JsonRows(JsonlRows):
    """A file with one JSON array, a row on each line as chainq writes it; any other would have to be read at once."""

    def _lines(self, damaged: Damaged) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with rows, without the commas between them, and their numbers."""
        with self.path.open("rb") as file:
            start = file.read(2)
            if start == b"[]":
                return
            if start != b"[\n":
                hint = "expected a JSON array with one row a line, as chainq writes it"
                raise UsageError(f"cannot verify {self.path}", hint)
            line, whole, comma = b"", True, True  # the bracket does as a comma: a row may follow
            for number, line in enumerate(file, 2):
                if line.rstrip() == b"]":
                    break
                row = line.removesuffix(b",\n")
                whole, comma = whole and comma, row != line
                yield number, row
            if comma or not whole or line.rstrip() != b"]" or file.read(1):
                damaged("not a whole JSON array")


def open_file(path: Path) -> RowsFile:
    """Return a file by its extension. Raises UsageError for another format, and ChainqError if it cannot be read."""
    kinds: dict[str, Callable[[Path], RowsFile]] = {
        ".parquet": lambda path: ParquetRows(lambda: path, str(path), _footer(path)),
        ".jsonl": JsonlRows,
        ".ndjson": JsonlRows,
        ".json": JsonRows,
        ".csv": lambda path: CsvRows(path, ","),
        ".tsv": lambda path: CsvRows(path, "\t"),
    }
    make = kinds.get(path.suffix.lower())
    if make is None:
        raise UsageError(f"cannot verify {path}", f"expected a file that ends in {', '.join(kinds)}")
    try:
        return make(path)
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror or error}") from None


def _footer(path: Path) -> bytes:
    """Return the footer of a Parquet file."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        file.seek(max(0, size - footer_size(file.read())))
        return file.read()


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


def reason(error: Exception) -> str:
    """Return the first line of an error, or its type if it has none."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def nothing(_: str) -> None:
    """Ignore what cannot be read: it was a finding before."""


def _table(names: Sequence[str], rows: Iterable[Sequence[Raw | str | None]]) -> Any:
    """Return rows of JSON values or cells as a table of texts; null for null and for an empty text."""
    import pyarrow

    arrays = []
    for cells in list(zip(*rows, strict=True)) or [()] * len(names):
        texts = [(cell if isinstance(cell, str) else text_of(cell)) or None for cell in cells]
        if not all(text is None or text.isascii() or _is_text(text) for text in texts):
            texts = [text and text.encode(errors="backslashreplace").decode() for text in texts]
        arrays.append(pyarrow.array(texts, pyarrow.string()))
    return pyarrow.table(arrays, names=list(names))


def _is_text(text: str) -> bool:
    """Return whether a text is valid Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(table: Any, keys: Sequence[str]) -> Iterator[tuple[Key, Texts]]:
    """Yield the values of `keys` in each row, and its fields as texts; those in EXTRA as fields of their own."""
    for row in table.to_pylist():
        fields: Texts = {name: str(value) for name, value in row.items() if value is not None}
        with suppress(ValueError):
            fields |= _json(members((fields.get(EXTRA) or "{}").encode()))
            fields.pop(EXTRA, None)
        yield tuple(fields.get(name) or "" for name in keys), fields


def _json(fields: Mapping[str, Raw | None]) -> Texts:
    """Return fields as JSON, without row ids and nulls."""
    sent = ((name, bytes(value)) for name, value in fields.items() if value is not None and name not in OWN)
    return {name: value.decode() for name, value in sent if value != b"null"}


def _paths(row: bytes, outer: str) -> Iterator[str]:
    """Yield the dotted paths of a row, of objects and of what is in them. Raises ValueError for no object."""
    for name, value in members(row).items():
        yield outer + name
        if bytes(value)[:1] == b"{":
            yield from _paths(bytes(value), f"{outer}{name}.")
