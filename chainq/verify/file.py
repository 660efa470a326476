"""A file that chainq wrote with `-o`, as a Parquet file: rows of text are converted into a temporary one."""

import csv
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Raw
from pyarrow import parquet

from chainq.catalog.methods import BY_COMMAND, Kind, Method
from chainq.errors import IncompleteError, OutputError, UsageError
from chainq.formats.arrow_rows import EXTRA, ArrowRows
from chainq.formats.parquet import HEIGHTS_KEY, footer_size, is_damaged
from chainq.heights.range import HeightRange
from chainq.lake.files import METADATA_KEY
from chainq.rows.raw_json import is_valid, members
from chainq.text.sanitize import excerpt
from chainq.verify import rules
from chainq.verify.findings import FINDINGS, Finding, Window
from chainq.verify.service_rows import COMMANDS
from chainq.verify.sheets import UNREADABLE, Sheet, reason, windows

_AT_ONCE = 1024  # rows that are converted together
Damaged = Callable[[str], None]
Fields = dict[str, str | bytes]
"""A row by the paths of its columns: cells as text, JSON as bytes."""


class RowsFile:
    """The rows of a file. `damages`: what cannot be read, in words. `ranged`: whether its first and last heights are
    known. `heights`: those that it has, or should have."""

    def __init__(self, sheet: Sheet, damages: list[str], *, ranged: bool) -> None:
        self._sheet, self._damages, self._ranged = sheet, damages, ranged
        self.heights = sheet.heights

    def spans(self) -> dict[str, list[HeightRange]]:
        """Return its heights, by its command. Raises UsageError if they are not known, or no column identifies rows."""
        if not len(self.heights):
            raise UsageError("the heights of the rows of this file are not known", "pass --start and --end")
        command, names = self._sheet.command, rules.identity(self._sheet.command)
        if not {*names} <= {*self._sheet.names}:
            raise UsageError(f"comparing {command} needs the columns {', '.join(names)}")
        return {command: [self.heights]}

    def columns(self) -> dict[str, list[str]]:
        """Return the columns that it has, by its command."""
        return {self._sheet.command: self._sheet.names}

    def derived(self) -> frozenset[str]:
        """Return the tables that were read off full blocks: none."""
        return frozenset()

    def windows(self) -> Iterator[Window]:
        """Yield its rows; first, what cannot be read."""
        due, command = "a readable row, in a file as it was written", self._sheet.command
        wrong = [Finding(None, command, "invalid", due, one) for one in self._damages]
        yield Window(self.heights, {}, {}, wrong=wrong)
        yield from windows([self._sheet])

    def opens(self, *, compared: bool) -> list[str]:
        """Return what stays open, in words: its row ids, and its ends. `compared`: with a service."""
        own = [name for name in rules.OWN if name in self._sheet.names and compared]
        columns = [f"row ids, each database's own: {', '.join(own)}"] if own else []
        order = [] if self._sheet.placed else ["the order of rows, which have no heights"]
        return [*columns, *order, *([] if self._ranged else ["lost first or last heights (--start and --end)"])]


def open_rows(path: Path, command: str | None, heights: HeightRange | None, opened: ExitStack) -> RowsFile:
    """Return a file by its extension. `command`: whose rows it has, None for the one of its columns; `heights`: those
    that it should have. Raises UsageError for a file that cannot be verified, OutputError if it cannot be read,
    IncompleteError if not even its columns can."""
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            return _parquet(path, command, heights, opened)
        if kind in (".csv", ".tsv", ".json") and not path.stat().st_size:  # one without rows has a header or brackets
            raise IncompleteError(f"{path} is empty", "run the command that wrote it again")
        damages: list[str] = []
        if kind in (".csv", ".tsv"):
            rows = _cells(path, "," if kind == ".csv" else "\t", damages.append)
        elif kind in (".jsonl", ".ndjson", ".json"):
            rows = _lines(path, kind == ".json", damages.append)
        else:
            raise UsageError(f"cannot verify {path}: its extension names no format that has columns")
        first = next(rows, {})
        method = _method_of(path, first, command)
        copy = opened.enter_context(TemporaryFile())  # noqa: SIM115  # it is closed
        there = _convert(method, chain([first] if first else [], rows), copy)
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror or error}") from None
    sheet = Sheet(parquet.ParquetFile(copy), method.command, heights)
    if first:
        own = {*first, *there} - ({EXTRA} if kind in (".csv", ".tsv") else set())  # which lack unknown fields
        sheet.names = [name for name in sheet.names if name in own]
    return RowsFile(sheet, damages, ranged=heights is not None)


def _parquet(path: Path, command: str | None, heights: HeightRange | None, opened: ExitStack) -> RowsFile:
    try:
        file = opened.enter_context(parquet.ParquetFile(path, page_checksum_verification=True))
        with path.open("rb") as end:
            end.seek(max(0, path.stat().st_size - 8))
            end.seek(max(0, path.stat().st_size - footer_size(end.read())))
            changed = ["its footer was changed after it was written"] if is_damaged(end.read()) else []
        metadata = file.metadata.metadata or {}
        if METADATA_KEY.encode() in metadata:
            raise UsageError(f"{path} is a partition of an export", "name the folder of the export")
        found = re.fullmatch(rb"([0-9]{1,16}):([0-9]{1,16})", metadata.get(HEIGHTS_KEY.encode(), b""))
        recorded = HeightRange(int(found[1]), int(found[2])) if found and int(found[1]) < int(found[2]) else None
        method = _method_of(path, file.schema_arrow.names, command)
        sheet = Sheet(file, method.command, heights or recorded)
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno:  # from the file system: not damage
            raise
        raise IncompleteError(f"{path} is not a whole Parquet file: {reason(error)}") from None
    return RowsFile(sheet, changed, ranged=bool(heights or recorded))


def _convert(method: Method, rows: Iterator[Fields], file: Any) -> set[str]:
    """Write rows into a Parquet file; return the columns that have values."""
    made, there = ArrowRows(method.columns, pa), set[str]()
    texts = {column.path for column in method.columns if column.kind is not Kind.DATA and column.type != "unknown"}
    with parquet.ParquetWriter(file, made.schema) as writer:
        while some := list(islice(rows, 64 if method.command == "full-blocks" else _AT_ONCE)):
            table = pa.Table.from_batches(made.batches([_nested(row, texts) for row in some]), made.schema)
            there.update(name for name in table.column_names if table[name].null_count < table.num_rows)
            writer.write_table(table)
    return there


def _nested(row: Fields, texts: Collection[str]) -> Raw:
    """Return a row as a service sends it. `texts`: the columns whose cells are texts; others are JSON."""
    tree: dict[str, Any] = {}
    for path, value in row.items():
        if not value:  # an empty cell
            continue
        *outer, name = path.split(".")
        inner = tree
        for step in outer:
            inner = inner.setdefault(step, {})
        if isinstance(value, str):
            value = value.encode() if path not in texts and is_valid(value.encode()) else msgspec.json.encode(value)
        inner[name] = Raw(value)
    return Raw(msgspec.json.encode(tree))


def _cells(path: Path, delimiter: str, damaged: Damaged) -> Iterator[Fields]:
    """Yield the rows of a file with a header."""
    csv.field_size_limit(sys.maxsize)  # a full block is a large row
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        names = next(reader, [])
        for number, row in enumerate(reader, 2):
            try:
                "".join(row).encode()
            except UnicodeEncodeError:
                damaged(f"row {number}: not UTF-8")
                continue
            if row == names:
                damaged(f"row {number}: the header again; another file may have been appended")
            elif len(row) != len(names):
                damaged(f"row {number}: {len(row)} columns, expected {len(names)}")
            else:
                yield dict(zip(names, row, strict=True))


def _lines(path: Path, array: bool, damaged: Damaged) -> Iterator[Fields]:
    """Yield the rows of a file with one JSON object a line; `array`: they are the items of an array."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            sent = line.strip().removesuffix(b",") if array else line
            if array and sent in (b"[", b"]", b"[]"):
                continue
            try:
                sent.decode()  # msgspec does not check what it only passes on
                yield {name: bytes(value) for name, value in members(sent).items()}
            except ValueError:
                damaged(f"line {number} is not a JSON object: {excerpt(line.decode(errors='replace').strip(), 60)}")


def _method_of(path: Path, names: Iterable[str], command: str | None) -> Method:
    """Return the method of most of the columns of a file; `command` selects one of several. Raises UsageError."""
    shared = {one: len({column.path for column in BY_COMMAND[one].columns} & {*names}) for one in COMMANDS}
    most = max(shared.values())
    best = [one for one, number in shared.items() if number == most]
    if not names:
        if command is None:
            raise UsageError(f"{path} has no rows, which would show their command", "name it: --commands COMMAND")
        return BY_COMMAND[command]
    if not most or {*names} == {column.path for column in FINDINGS.columns}:
        raise UsageError(f"{path} has no column of {', '.join(COMMANDS)}")
    theirs = f"the columns of {path} are those of {' and '.join(best)}"
    if command is not None and command not in best:
        raise UsageError(f"{theirs}, not of {command}")
    if command is None and len(best) > 1:
        raise UsageError(theirs, f"name one: --commands {best[0]}")
    return BY_COMMAND[command or best[0]]
