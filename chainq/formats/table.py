"""`table`: for reading. A list as columns that fit the terminal, written as rows arrive; one object as lines of fields.

The first rows and the catalogue determine the widths. Rejected: rich.table, which needs all rows before it draws the
first. What a value looks like is in `cells`, what is nested in a single object in `tree`.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.formats.cells import (
    NEVER_TRUNCATED,
    NULL,
    Cell,
    TableColumn,
    cell_of,
    fit,
    headers,
    set_widths,
    unknown_cell,
)
from chainq.formats.protocol import Output, OutputSpec
from chainq.formats.tree import Node, TreeBuilder, draw, fee_of
from chainq.rows.fields import Picker, count_of, object_of, text_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
from chainq.text.style import BOLD, DIM, paint
from chainq.text.width import BOTH_ENDS, GAP, width_of, wrap

HEADER_EVERY = 40  # rows
_BATCH = 512  # rows that are drawn at a time, however many come
_MARK = " *"  # after the name of an unknown field
_VALUES = 24  # cells that the names of fields leave to the values
_LINES = 12  # lines of a text, where long values may be abbreviated
# The fields of a row, and of its `transaction`, that the view of a transaction shows.
_OUTER = {"status", "type", "index", "transaction", "finalize", "finalizedAt", "rejected"}
_INNER = {"type", "id", "execution", "fee", "deployment", "owner", "finalize", "rejected"}
_NARROWEST = 40  # a narrower terminal is treated as this wide: below it no row can be read


def now() -> float:
    """Return seconds since 1970, for ages."""
    return time.time()


class Table:
    """Draws rows for a person. Takes `out` and `spec` as every format does."""

    endless = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out = out
        self._spec = spec
        self._room = max(spec.width, _NARROWEST)
        brief = [column for column in spec.columns if column.brief]
        fields = list(spec.columns) if spec.selected or not brief else brief
        self._columns = [TableColumn(*pair) for pair in zip(fields, headers(fields, spec.columns), strict=True)]
        self._pick = Picker([field.path for field in fields])
        self._rows = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Draw the rows at once."""
        if self._spec.single:
            for row in rows:
                self._put([*([""] if self._rows else []), *object_lines(row, self._spec, self._room, now())])
                self._rows += 1
            return
        for start in range(0, len(rows), _BATCH):
            self._put(self._draw(rows[start : start + _BATCH]))

    def close(self) -> None:
        """Write the number of rows, and which columns are hidden."""
        if self._spec.single and self._rows:
            return
        notes = [counted(self._rows, "row") if self._rows else "no rows"]
        if self._rows and (hidden := [column.header for column in self._columns if not column.width]):
            notes.append(
                f"{counted(len(hidden), 'column')} not shown: {', '.join(hidden)}; "
                f"select columns with --columns, or use a wider terminal"
            )
        self._put(self._paint(line, DIM) for note in notes for line in wrap(note, self._room))

    def _draw(self, rows: Sequence[Raw]) -> Iterable[str]:
        moment = now()
        first = not self._rows
        shown = [(number, column) for number, column in enumerate(self._columns) if first or column.width]
        cells: list[list[Cell]] = []
        for row in rows:
            values = self._pick(row)
            cells.append([cell_of(values[number], column.field, moment) for number, column in shown])
        columns = [column for _, column in shown]
        changed = self._set_widths(columns, cells, first)
        header = self._header([column for column in columns if column.width])
        for line in cells:
            if changed or (self._spec.terminal and self._rows and self._rows % HEADER_EVERY == 0):
                yield header
                changed = False
            yield self._line(columns, line)
            self._rows += 1

    def _set_widths(self, columns: Sequence[TableColumn], cells: Sequence[Sequence[Cell]], first: bool) -> bool:
        """Set the widths of the columns and return whether any changed. After the first rows only numbers widen one."""
        outgrown = first
        for number, column in enumerate(columns):
            if first or column.field.kind in NEVER_TRUNCATED:
                widest = max(width_of(line[number].text) for line in cells)
                outgrown = outgrown or widest > column.width
                column.widest = max(column.widest, widest)
        if not outgrown:
            return False
        before = [column.width for column in columns]
        if self._spec.abbreviate:
            set_widths(columns, self._room)
        else:
            for column in columns:
                column.width = column.most
        return before != [column.width for column in columns]

    def _line(self, columns: Sequence[TableColumn], cells: Sequence[Cell]) -> str:
        parts = []
        color, abbreviate = self._spec.color, self._spec.abbreviate
        blank = 0  # spaces before the next text, added with it, so that no line ends in spaces
        for column, cell in zip(columns, cells, strict=True):
            if not (width := column.width):
                continue
            text = fit(cell, width if abbreviate else max(width, width_of(cell.text)))
            spare = width - width_of(text)
            before, after = (spare, 0) if column.right else (0, spare)
            if text:
                parts.append(" " * (blank + before))
                parts.append(paint(text, cell.style, color))
                blank = 0
            else:
                after = width
            blank += max(after, 0) + GAP
        return "".join(parts)

    def _header(self, columns: Sequence[TableColumn]) -> str:
        parts = []
        for column in columns:
            text = fit(Cell(column.header), column.width)
            spare = " " * (column.width - width_of(text))
            parts.append(spare + text if column.right else text + spare)
        return self._paint((" " * GAP).join(parts).rstrip(), BOLD)

    def _paint(self, text: str, style: str) -> str:
        return paint(text, style, self._spec.color)

    def _put(self, lines: Iterable[str]) -> None:
        if text := "".join(f"{line}\n" for line in lines):
            self._out.write(text.encode())


Field = tuple[str, Sequence[Cell]]


def object_lines(row: Raw, spec: OutputSpec, room: int, now: float) -> Iterator[str]:
    """Yield the lines of one object in `room` cells: every column, every unknown field, and nested data as trees."""
    outer = object_of(row)
    builder = TreeBuilder(spec.abbreviate)
    unknown: list[tuple[str, Raw]] = []
    if bytes(row)[:1] != b"{":
        fields: list[Field] = [("value", [unknown_cell(text_of(row))])]
        trees: list[Node] = []
    elif object_of(outer.get("transaction")) and not spec.selected:
        fields, trees = _transaction(outer, spec, now), builder.branches(outer)
        inner = object_of(outer["transaction"])
        unknown = [(name, value) for name, value in outer.items() if name not in _OUTER]
        unknown += [(f"transaction.{name}", value) for name, value in inner.items() if name not in _INNER]
    else:
        fields, trees = _fields(row, spec, builder, now)
        if not spec.selected:
            unknown = list(_unknown(outer, {column.path for column in spec.columns}))
    for path, value in unknown:
        name = printable(path) + _MARK
        if count_of(value):
            trees = [*trees, builder.generic(name, value)]
        else:
            fields = [*fields, (name, [NULL if bytes(value) == b"null" else unknown_cell(text_of(value))])]
    yield from _field_lines(fields, spec, room)
    for tree in trees:
        yield ""
        yield from draw(tree, spec, room)
    if unknown:
        yield ""
        yield paint(
            f"{_MARK.strip()} not in the published interface",
            DIM,
            spec.color,
        )


def _field_lines(fields: Sequence[Field], spec: OutputSpec, room: int) -> Iterator[str]:
    size = min(room - _VALUES, max((width_of(name) for name, _ in fields), default=0))
    for name, cells in fields:
        short = fit(Cell(name, keep=BOTH_ENDS), size)
        head = paint(short, BOLD, spec.color) + " " * (size - width_of(short))
        for cell in cells:
            for text in _lines_of(cell, room - size - 2, spec.abbreviate):
                yield f"{head}  {paint(text, cell.style, spec.color)}".rstrip()
                head = " " * size


def _lines_of(cell: Cell, room: int, abbreviate: bool) -> list[str]:
    """Return a cell's text as lines: a long number is wrapped, so that it loses no digit."""
    if not abbreviate:
        return ["  ".join(filter(None, (cell.text, cell.more)))]
    return wrap(cell.text, room) if re.fullmatch(r"-?[0-9,]+", cell.text) else [fit(cell, room)]


def _fields(row: Raw, spec: OutputSpec, builder: TreeBuilder, now: float) -> tuple[list[Field], list[Node]]:
    """Return the fields of the catalogue, and trees of their values; of a full block without its certificates."""
    fields: list[Field] = []
    trees: list[Node] = []
    for column, value in zip(spec.columns, Picker([c.path for c in spec.columns])(row), strict=True):
        name = printable(column.path)
        fields.append((name, _value(value, column, spec.abbreviate, now)))
        if value is not None and count_of(value) and (spec.selected or "." not in column.path):
            trees.append(builder.transactions(value) if name == "transactions" else builder.generic(name, value))
    return fields, trees


def _transaction(outer: Mapping[str, Raw], spec: OutputSpec, now: float) -> list[Field]:
    """Return the main fields of a transaction; the rest of it is in its trees."""
    inner = object_of(outer["transaction"])
    values = {**outer, "transaction.id": inner.get("id"), "transaction.type": inner.get("type")}
    fields: list[Field] = []
    for column in spec.columns:
        same = column.path == "transaction.type" and text_of(inner.get("type")) == text_of(outer.get("type"))
        if column.path in values and column.path != "finalize" and not same:
            fields.append((column.path, [cell_of(values[column.path], column, now)]))
    if amount := fee_of(inner.get("fee")):
        fields.append(("fee", [amount]))
    return fields


def _value(value: Raw | None, column: Column, abbreviate: bool, now: float) -> Sequence[Cell]:
    """Return a value as cells, one per line: only a text has several."""
    text = text_of(value)
    if column.kind is not Kind.TEXT or "\n" not in text:
        return [cell_of(value, column, now)]
    lines = text.splitlines()
    shown = lines[:_LINES] if abbreviate and len(lines) > _LINES + 1 else lines
    rest = [Cell(f"… {len(lines) - len(shown):,} more lines", DIM)] if len(shown) < len(lines) else []
    return [*(Cell(printable(line)) for line in shown), *rest]


def _unknown(members: Mapping[str, Raw], known: set[str], prefix: str = "") -> Iterator[tuple[str, Raw]]:
    """Yield the fields of an object, with their paths, that no known path leads to."""
    for name, value in members.items():
        path = prefix + name
        inner = object_of(value) if any(other.startswith(f"{path}.") for other in known) else {}
        if inner:
            yield from _unknown(inner, known, f"{path}.")
        elif path not in known:
            yield path, value
