"""Files of JSON that chainq wrote with `-o`, read back as Arrow tables: jsonl, and json with a row on each line."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Raw

from chainq.catalog.methods import Column
from chainq.errors import IncompleteError, UsageError
from chainq.formats.arrow_json import FLAT, read_columns
from chainq.formats.parquet_types import type_of
from chainq.rows.fields import Picker, text_of
from chainq.rows.raw_json import members
from chainq.text.sanitize import excerpt
from chainq.verify.blocks import Texts
from chainq.verify.readers import BATCH, Damaged, nothing, texts_of, whole_number, whole_numbers


class JsonlRows:
    """A file with one JSON object a line: rows as a service sent them, or flat ones that `--columns` made."""

    _first_line = 1  # that holds a row

    def __init__(self, path: Path) -> None:
        import pyarrow

        self._arrow, self._path = pyarrow, path
        with path.open("rb") as file:
            first = next(self._lines(file, nothing), b"")
        try:
            self.names = list(_paths(first, ""))
        except ValueError:
            raise IncompleteError(f"{path}: line {self._first_line} is not a JSON object") from None
        self._keys = any("." in key for key in members(first)) if first else False

    def tables(self, columns: Sequence[Column], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as tables."""
        with self._path.open("rb") as file:
            at, lines = self._first_line, self._lines(file, damaged)
            while rows := [Raw(line) for line in islice(lines, BATCH)]:
                whole = all(map(_is_text, rows))
                yield (self._fast(columns, rows) if whole else None) or self._each(columns, rows, at, damaged)
                at += len(rows)

    def rows(self, columns: Sequence[Column]) -> Iterator[Texts]:
        """Yield the rows as text."""
        names = [column.path for column in columns]
        with self._path.open("rb") as file:
            for line in self._lines(file, nothing):
                with suppress(ValueError):
                    if self._keys:
                        fields = members(line)
                        yield {name: text_of(fields.get(name)) or None for name in names}
                    else:
                        yield from texts_of(columns, [Raw(line)])

    def as_rows(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Iterator[Texts]:
        """Yield rows of a service as text."""
        return texts_of(columns, sent)

    def _lines(self, file: BinaryIO, damaged: Damaged) -> Iterator[bytes]:
        """Yield the lines with rows."""
        line = b"\n"
        for line in file:
            yield line
        if not line.endswith(b"\n"):
            damaged("the last line has no end")

    def _fast(self, columns: Sequence[Column], rows: Sequence[Raw]) -> Any | None:
        """Return rows as pyarrow's own reader reads them; None where it cannot."""
        types = [type_of(column, self._arrow) for column in columns]
        if any("." in column.path for column in columns) or not all(kind.read in FLAT for kind in types):
            return None
        names = [column.path for column in columns]
        found = read_columns(rows, names, types, self._arrow, unexpected="ignore")
        return None if found is None else self._arrow.table(found.arrays, names=names)

    def _each(self, columns: Sequence[Column], rows: Sequence[Raw], at: int, damaged: Damaged) -> Any:
        """Return rows that are read one by one."""
        names = [column.path for column in columns]
        pick = Picker(names)
        found: list[list[Raw | None]] = []
        for number, row in enumerate(rows, at):
            try:
                if not _is_text(row):
                    raise ValueError("not UTF-8")
                fields = members(bytes(row))
                found.append([fields.get(name) for name in names] if self._keys else pick(row))
            except ValueError:
                damaged(f"line {number}: {excerpt(bytes(row).decode(errors='replace').strip(), 60)}")
        whole = whole_numbers(columns)
        arrays = []
        for place, name in enumerate(names):
            values = [row[place] for row in found]
            arrays.append(
                self._arrow.array(map(whole_number, values), self._arrow.int64())
                if name in whole
                else self._arrow.array([None if value is None else text_of(value) for value in values], "string")
            )
        return self._arrow.table(arrays, names=names)


class JsonRows(JsonlRows):
    """A file with one JSON array, a row on each line as chainq writes it; any other would have to be read at once."""

    _first_line = 2

    def _lines(self, file: BinaryIO, damaged: Damaged) -> Iterator[bytes]:
        """Yield the lines with rows, without the commas between them."""
        start = file.read(2)
        if start == b"[]":
            return
        if start != b"[\n":
            hint = "expected a JSON array with one row a line, as chainq writes it"
            raise UsageError(f"cannot verify {self._path}", hint)
        line, whole, comma = b"", True, True  # the bracket does as a comma: a row may follow
        for line in file:
            if line.rstrip() == b"]":
                break
            row = line.removesuffix(b",\n")
            whole, comma = whole and comma, row != line
            yield row
        if comma or not whole or line.rstrip() != b"]" or file.read(1):
            damaged("not a whole JSON array")


def _is_text(row: Raw) -> bool:
    """Return whether a row is UTF-8: pyarrow and msgspec do not check what they only pass on."""
    try:
        bytes(row).decode()
    except UnicodeDecodeError:
        return False
    return True


def _paths(row: bytes, outer: str) -> Iterator[str]:
    """Yield the dotted paths of a row, of objects and of what is in them. Raises ValueError for no object."""
    for name, value in members(row).items() if row else ():
        yield outer + name
        if bytes(value)[:1] == b"{":
            yield from _paths(bytes(value), f"{outer}{name}.")
