"""Rows of text files: csv, tsv, and JSON with one row per line."""

import csv
import sys
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import Column
from chainq.errors import IncompleteError, UsageError
from chainq.rows.fields import Key as Undivided
from chainq.rows.fields import Picker, text_of
from chainq.rows.full_block import Key, Texts
from chainq.rows.raw_json import members
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt
from chainq.verify.file_rows import BATCH, Damaged, RowsFile, json_texts, nothing

_NO_END = "the last line has no end"
WIDE = 256  # rows of full blocks converted together; the transactions of one may take megabytes


class TextRows(RowsFile):
    """A file of text, in which all columns are texts."""

    path: Path

    def length(self) -> int:
        """Return how many lines there are."""
        with self.path.open("rb") as file:
            return sum(piece.count(b"\n") for piece in iter(partial(file.read, 2**20), b""))

    def tables(self, names: Sequence[str], damaged: Damaged) -> Iterator[Any]:
        """Yield the rows as Arrow tables of texts."""
        rows, most = self._values(names, damaged), WIDE if "transactions" in names else BATCH
        while batch := list(islice(rows, most)):
            yield _table(names, batch)

    def table(self, columns: Sequence[Column], sent: Sequence[Raw]) -> Any:
        """Return rows of a service as a table of texts."""
        names = [column.path for column in columns]
        return _table(names, map(Picker(names), sent))

    @abstractmethod
    def _values(self, names: Sequence[str], damaged: Damaged) -> Iterator[Sequence[Raw | str | None]]:
        """Yield the values of each row."""


class CsvRows(TextRows):
    """A file with a header, and cells between `delimiter`."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path, self._delimiter = path, delimiter
        self.names = next(self._cells(), [])
        if not self.names:
            raise IncompleteError(f"{path} has no header")

    def _cells(self) -> Iterator[list[str]]:
        csv.field_size_limit(sys.maxsize)  # a full block is a large row
        with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            yield from csv.reader(file, delimiter=self._delimiter)

    def _values(self, names: Sequence[str], damaged: Damaged) -> Iterator[Sequence[Raw | str | None]]:
        places, wrong = [self.names.index(name) for name in names], ""
        for number, row in enumerate(self._cells(), 1):
            if wrong:
                damaged(wrong)
            wrong = ""
            if number == 1 or not row:
                continue
            if len(row) != len(self.names):
                wrong = f"row {number}: {counted(len(row), 'column')}, expected {len(self.names)}"
            elif not _is_text("".join(row)):
                wrong = f"row {number}: not UTF-8"
            elif row == self.names:
                wrong = f"row {number}: the header again; another file may have been appended"
            else:
                yield [row[place] for place in places]
        with self.path.open("rb") as file:
            cut = bool(file.seek(0, 2) and file.seek(-1, 2) and file.read(1) != b"\n")
        if wrong or cut:
            damaged(_with_end(wrong, _NO_END if cut else ""))


class JsonlRows(TextRows):
    """A file with one JSON object per line: rows as a service sent them, or flat rows written with `--columns`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        number, first = next(self._lines(nothing), (0, b"{}"))
        try:
            self.names = list(_paths(first, ""))
        except ValueError:
            raise IncompleteError(f"{path}: line {number} is not a JSON object") from None
        self._flat = any("." in key for key in members(first))
        self._seen: set[str] = set()  # names of all rows that `fields` has read

    @property
    def present(self) -> Collection[str]:
        """The fields of the first row, and of all rows that `fields` has read."""
        return {*self.names, *self._seen}

    def fields(self, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[tuple[Key, Texts]]:
        """Yield the fields of each row as JSON, to preserve changes of type."""
        del columns  # other rows may have fields that the first one lacks
        pick = Picker([Undivided(key) for key in keys] if self._flat else keys)
        for _, line in self._lines(nothing):
            with suppress(ValueError):
                line.decode()
                fields = json_texts(members(line))
                self._seen.update(fields)
                yield tuple(map(text_of, pick(line))), fields

    def as_fields(
        self, columns: Sequence[Column], keys: Sequence[str], sent: Sequence[Raw]
    ) -> Iterator[tuple[Key, Texts]]:
        """Yield the fields of each row that occur in the file."""
        del columns
        names = sorted(self._seen)
        picked, values = Picker(keys), Picker(names if self._flat else [Undivided(name) for name in names])
        for row in sent:
            yield tuple(map(text_of, picked(row))), json_texts(dict(zip(names, values(row), strict=True)))

    def _values(self, names: Sequence[str], damaged: Damaged) -> Iterator[Sequence[Raw | str | None]]:
        pick, wrong = Picker(names), ""
        ends: list[str] = []
        for number, line in self._lines(ends.append):
            if wrong:
                damaged(wrong)
            wrong = ""
            try:
                line.decode()  # msgspec does not check what it only passes on
                fields = members(line)
                yield [fields.get(name) for name in names] if self._flat else pick(line)
            except ValueError:
                text = excerpt(line.decode(errors="replace").strip(), 60)
                wrong = f"line {number}: {text}" if text else f"line {number} is empty"
        if wrong or ends:
            damaged(_with_end(wrong, *ends))

    def _lines(self, damaged: Damaged) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with rows, and their numbers."""
        line = b"\n"
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, line
        if not line.endswith(b"\n"):
            damaged(_NO_END)


class JsonRows(JsonlRows):
    """A file with one JSON array, one row per line as chainq writes it; other layouts would need the whole file."""

    def _lines(self, damaged: Damaged) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with rows, without the commas between them, and their numbers."""
        with self.path.open("rb") as file:
            start = file.read(2)
            if start == b"[]":
                return
            if not start:
                raise IncompleteError(f"{self.path} is empty: a file without rows is []")
            if start != b"[\n":
                hint = "expected a JSON array with one row a line, as chainq writes it"
                raise UsageError(f"cannot verify {self.path}", hint)
            line, whole, comma = b"", True, True  # a bracket counts as a comma: a row may follow
            for number, line in enumerate(file, 2):
                if line.rstrip() == b"]":
                    break
                row = line.removesuffix(b",\n")
                whole, comma = whole and comma, row != line
                yield number, row
            if comma or not whole or line.rstrip() != b"]" or file.read(1):
                damaged("not a whole JSON array")


def _with_end(wrong: str, end: str = "") -> str:
    """Return what is wrong with the last row and with the end of a file as one damage: a cut does both."""
    return "; ".join(filter(None, (wrong, end)))


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


def _paths(row: bytes, outer: str) -> Iterator[str]:
    """Yield the dotted paths of a row's objects and of their members. Raises ValueError if it is not an object."""
    for name, value in members(row).items():
        yield outer + name
        if bytes(value)[:1] == b"{":
            yield from _paths(bytes(value), f"{outer}{name}.")
