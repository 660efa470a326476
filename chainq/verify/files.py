"""The rows of files, as windows of the heights of a row group.

Parquet files are read as they are. The rows of other files that chainq wrote with `-o` are converted into a temporary
one.
"""

import csv
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice, pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Raw
from pyarrow import compute, parquet

from chainq.catalog.methods import BY_COMMAND, Kind, Schema, height_of
from chainq.catalog.tables import SOURCE
from chainq.errors import IncompleteError, OutputError, UsageError
from chainq.formats.arrow_rows import EXTRA, ArrowRows
from chainq.formats.parquet import HEIGHTS_KEY, footer_size, is_damaged
from chainq.heights.range import HeightRange
from chainq.lake.files import METADATA_KEY
from chainq.rows.fields import tree_of
from chainq.rows.raw_json import is_valid, members
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt
from chainq.verify import rules
from chainq.verify.explain import beside, explain
from chainq.verify.findings import Finding, Window
from chainq.verify.service_rows import COMMANDS

_AT_ONCE = 1024  # rows that are converted together
UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError, IncompleteError)
"""What is raised for damage in a Parquet file."""
Read = Callable[[int, list[str]], Any]
Damaged = Callable[[str], None]
Fields = dict[str, str | bytes]
"""A row by the paths of its columns: cells as text, JSON as bytes."""


class Sheet:
    """The rows of a method or a table in an open Parquet file. `heights`: those it should have, None for those of its
    rows.

    `damage`: why its rows cannot be read, once that is known. `names`: the columns of its table that it has. `placed`:
    whether rows have a height. `wrong`: what is wrong with their heights. `read` returns columns of a row group. Raises
    what UNREADABLE names.
    """

    def __init__(self, file: Any, method: Schema, heights: HeightRange | None, read: Read | None = None) -> None:
        self.damage: str | None = None
        self.command = command = method.command
        self._read = read or (lambda group, names: file.read_row_group(group, columns=names, use_threads=False))
        self._schema = ArrowRows(method.columns, pa).schema
        self._every = list(file.schema_arrow.names)
        self.names = [name for name in self._schema.names if name in self._every]
        height = height_of(method) or ""
        groups = range(file.metadata.num_row_groups)
        self._group = np.repeat(groups, [file.metadata.row_group(group).num_rows for group in groups])
        named = [height] if height in self.names else []
        none = file.schema_arrow.empty_table().select(named)
        column = pa.concat_tables([none, *(self._read(group, named) for group in groups if named)])
        self.placed = bool(named) and not column[height].null_count == column.num_rows > 0
        self._at = rules.heights_of(command, column) if self.placed else np.empty(0, dtype=np.int64)
        self.wrong: list[Finding] = [*rules.order(command, column)] if self.placed else []
        known = self._at[self._at >= 0]
        edges = HeightRange(int(known.min()), int(known.max()) + 1) if len(known) else HeightRange(0, 0)
        self.heights, self.rows = heights or edges, file.metadata.num_rows
        for at in known[(known < self.heights.start) | (known >= self.heights.end)].tolist():
            self.wrong.append(Finding(at, command, "misplaced", str(self.heights), f"height {at}"))
        if lacking := len(self._at) - len(known):
            found = f"{counted(lacking, 'row')} without a valid height"
            self.wrong.append(Finding(None, command, "invalid", "a height", found))
        self._held: dict[int, Any] = {}  # the last row group

    def cuts(self) -> list[int]:
        """Return heights that divide the rows into parts that fit into memory, as row groups do."""
        last = np.flatnonzero(np.diff(self._group)) if self.placed else ()
        return sorted({self.heights.start, self.heights.end, *(int(self._at[row]) + 1 for row in last)})

    def read(self, heights: HeightRange) -> Any:
        """Return the rows of some heights; all rows if they have no height. Raises what UNREADABLE names."""
        chosen = (
            (self._at >= heights.start) & (self._at < heights.end) if self.placed else np.ones(self.rows, dtype=bool)
        )
        tables = [self._schema.empty_table().select(self.names)]
        for group in np.unique(self._group[chosen]).tolist():
            if group not in self._held:
                self._held = {group: self._whole(group)}
            tables.append(self._held[group].filter(pa.array(chosen[self._group == group])))
        return pa.concat_tables(tables).combine_chunks()

    def _whole(self, group: int) -> Any:
        """Return a row group. All columns are read, so that damage in any is noticed; pyarrow accepts texts that are
        not UTF-8."""
        table = self._read(group, self._every)
        table.validate(full=True)
        return pa.table({name: table[name].cast(self._schema.field(name).type) for name in self.names})


def windows(sheets: Sequence[Sheet], wrong: Iterable[Finding]) -> Iterator[Window]:
    """Yield the rows of sheets of the same heights; last, those that have no height. A sheet with damage ends there.

    `wrong`: what else is wrong.
    """
    left = [sheet for sheet in sheets if sheet.placed]
    told = [*wrong, *(one for sheet in sheets for one in sheet.wrong)]
    edges = {edge for sheet in left for edge in sheet.heights.edges}
    most = max([sheet.cuts() for sheet in left], key=lambda some: len(some), default=[])
    owned: list[Any] = []
    for heights in (HeightRange(*pair) for pair in pairwise(sorted(edges.union(most)))):
        window = _window([sheet for sheet in left if sheet.heights.overlaps(heights)], heights, told)
        left = [sheet for sheet in left if sheet.damage is None]
        owned += [window.due["ownership"]] if "ownership" in window.due else []
        yield window
        told = []
    others = [sheet for sheet in sheets if not sheet.placed]
    whole = HeightRange(min(edges, default=0), max((one.heights.end for one in sheets), default=0))
    last = _window(others, whole, told)
    if others or last.wrong:
        source = next((one for name in (SOURCE.command, "records") for one in left if one.command == name), None)
        if owned and source and all(other.heights.common(source.heights) == other.heights for other in others):
            due = pa.concat_tables(owned)
            last.due["ownership"] = due.filter(compute.less(due["height"], others[0].heights.end))
        yield last


def _window(sheets: Sequence[Sheet], heights: HeightRange, wrong: list[Finding]) -> Window:
    """Return the rows of sheets at some heights, with findings about damage in them."""
    tables = {}
    for sheet in sheets:
        try:
            tables[sheet.command] = sheet.read(heights)
        except UNREADABLE as error:
            sheet.damage = reason(error)
            wrong.append(Finding(None, sheet.command, "invalid", "a Parquet file", sheet.damage))
    full = tables.get(SOURCE.command)
    return Window(heights, tables, beside(tables) if full is None else explain(full), wrong=wrong)


def reason(error: BaseException) -> str:
    """Return the first line of an error, or its type if it has none."""
    return str(error).split("\n", 1)[0] or type(error).__name__


class RowsFile:
    """The rows of a file. `damages`: what cannot be read, in words. `ranged`: whether its first and last heights are
    known. `heights`: those that it has, or should have."""

    derived = frozenset[str]()  # no table was read off full blocks

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

    def windows(self) -> Iterator[Window]:
        """Yield its rows; first, what cannot be read."""
        due, command = "a readable row, in a file as it was written", self._sheet.command
        wrong = [Finding(None, command, "invalid", due, one) for one in self._damages]
        yield from windows([self._sheet], wrong)

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
    sheet = Sheet(parquet.ParquetFile(copy), method, heights)
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
        sheet = Sheet(file, method, heights or recorded)
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno:  # from the file system: not damage
            raise
        raise IncompleteError(f"{path} is not a whole Parquet file: {reason(error)}") from None
    return RowsFile(sheet, changed, ranged=bool(heights or recorded))


def _convert(method: Schema, rows: Iterator[Fields], file: Any) -> set[str]:
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

    def sent(path: str, value: str | bytes) -> Raw:
        if isinstance(value, str):
            value = value.encode() if path not in texts and is_valid(value.encode()) else msgspec.json.encode(value)
        return Raw(value)

    there = ((path.split("."), sent(path, value)) for path, value in row.items() if value)  # without empty cells
    return Raw(msgspec.json.encode(tree_of(there)))


def _cells(path: Path, delimiter: str, damaged: Damaged) -> Iterator[Fields]:
    """Yield the rows of a file with a header."""
    csv.field_size_limit(sys.maxsize)  # a full block is a large row
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        names = next(reader, [])
        for number, row in enumerate(reader, 2):
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


def _method_of(path: Path, names: Iterable[str], command: str | None) -> Schema:
    """Return the method of most of the columns of a file; `command` selects one of several. Raises UsageError."""
    shared = {one: len({column.path for column in BY_COMMAND[one].columns} & {*names}) for one in COMMANDS}
    best = [one for one, number in shared.items() if number == max(shared.values())]
    if names and best == [*COMMANDS]:
        raise UsageError(f"{path} has no column of {', '.join(COMMANDS)}")
    if command is None and len(best) == 1:
        return BY_COMMAND[best[0]]
    if command in best:
        return BY_COMMAND[command]
    theirs = f"the columns of {path} are those of {' and '.join(best)}" if names else f"{path} has no rows"
    raise UsageError(theirs, f"name its command: --commands {best[0]}")
