"""`table`: for people. A list as lines of columns that fit the terminal, written as rows arrive; one object upright.

Widths are settled by the first rows and by what the catalogue says of a column; rich.table is not used, for it wants
all rows before it draws the first. What a value looks like is in `cells`, what is nested in a single object in `tree`.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.formats.cells import (
    BOLD,
    DIM,
    NULL,
    WHOLE,
    Cell,
    Lane,
    cell_of,
    count_of,
    fit,
    headers,
    leaf,
    open_object,
    paint,
    settle,
)
from chainq.formats.protocol import Out, Sheet
from chainq.formats.tree import Node, Planter, draw, fee_of
from chainq.rows.fields import Picker, text_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
from chainq.text.width import BOTH_ENDS, GAP, width_of, wrap

SCREENFUL = 40
_BATCH = 512  # rows that are drawn at once, however many come
_MARK = " *"  # on the name of a field that the catalogue lacks
_VALUES = 24  # cells that the names of fields leave to the values
_LINES = 12  # of a text, while long values may be shortened
# What the page of a transaction shows, of the row and of its `transaction`.
_OUTER = {"status", "type", "index", "transaction", "finalize", "finalizedAt", "rejected"}
_INNER = {"type", "id", "execution", "fee", "deployment", "owner", "finalize", "rejected"}
_NARROWEST = 40  # a terminal that says less is taken for this wide: below it no row can be read


def now() -> float:
    """Seconds since 1970, to tell ages by."""
    return time.time()


class Table:
    """Draws rows for a person. Takes `out` and `sheet` as every format does."""

    def __init__(self, out: Out, sheet: Sheet) -> None:
        self._out = out
        self._sheet = sheet
        self._room = max(sheet.width, _NARROWEST)
        brief = [column for column in sheet.columns if column.brief]
        columns = list(sheet.columns) if sheet.chosen or not brief else brief
        self._lanes = [Lane(*pair) for pair in zip(columns, headers(columns, sheet.columns), strict=True)]
        self._pick = Picker([column.path for column in columns])
        self._rows = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Draw the rows at once."""
        if self._sheet.single:
            for row in rows:
                self._put([*([""] if self._rows else []), *upright(row, self._sheet, self._room, now())])
                self._rows += 1
            return
        for start in range(0, len(rows), _BATCH):
            self._put(self._draw(rows[start : start + _BATCH]))

    def close(self) -> None:
        """Say how many rows there were, and which columns found no room."""
        if self._sheet.single and self._rows:
            return
        notes = [counted(self._rows, "row") if self._rows else "no rows"]
        if self._rows and (unseen := [lane.header for lane in self._lanes if not lane.width]):
            notes.append(
                f"{counted(len(unseen), 'column')} not shown: {', '.join(unseen)}; "
                f"pick some with --columns, or use a wider terminal"
            )
        self._put(self._paint(line, DIM) for note in notes for line in wrap(note, self._room))

    def _draw(self, rows: Sequence[Raw]) -> Iterable[str]:
        moment = now()
        first = not self._rows
        shown = [(at, lane) for at, lane in enumerate(self._lanes) if first or lane.width]
        cells: list[list[Cell]] = []
        for row in rows:
            values = self._pick(row)
            cells.append([cell_of(values[at], lane.column, moment) for at, lane in shown])
        lanes = [lane for _, lane in shown]
        fresh = self._settle(lanes, cells, first)
        heading = self._heading([lane for lane in lanes if lane.width])
        for line in cells:
            if fresh or (self._sheet.terminal and self._rows and self._rows % SCREENFUL == 0):
                yield heading
                fresh = False
            yield self._line(lanes, line)
            self._rows += 1

    def _settle(self, lanes: Sequence[Lane], cells: Sequence[Sequence[Cell]], first: bool) -> bool:
        """Give the lanes their widths; whether any changed. After the first rows only numbers can claim more."""
        outgrown = first
        for at, lane in enumerate(lanes):
            if first or lane.column.kind in WHOLE:
                widest = max(width_of(line[at].text) for line in cells)
                outgrown = outgrown or widest > lane.width
                lane.natural = max(lane.natural, widest)
        if not outgrown:
            return False
        before = [lane.width for lane in lanes]
        if self._sheet.trunc:
            settle(lanes, self._room)
        else:
            for lane in lanes:
                lane.width = lane.most
        return before != [lane.width for lane in lanes]

    def _line(self, lanes: Sequence[Lane], cells: Sequence[Cell]) -> str:
        parts = []
        color, trunc = self._sheet.color, self._sheet.trunc
        blank = 0  # spaces due before the next text, so that none stand at the end of a line
        for lane, cell in zip(lanes, cells, strict=True):
            if not (width := lane.width):
                continue
            text = fit(cell, width if trunc else max(width, width_of(cell.text)))
            spare = width - width_of(text)
            before, after = (spare, 0) if lane.right else (0, spare)
            if text:
                parts.append(" " * (blank + before))
                parts.append(paint(text, cell.style, color))
                blank = 0
            else:
                after = width
            blank += max(after, 0) + GAP
        return "".join(parts)

    def _heading(self, lanes: Sequence[Lane]) -> str:
        parts = []
        for lane in lanes:
            text = fit(Cell(lane.header), lane.width)
            spare = " " * (lane.width - width_of(text))
            parts.append(spare + text if lane.right else text + spare)
        return self._paint((" " * GAP).join(parts).rstrip(), BOLD)

    def _paint(self, text: str, style: str) -> str:
        return paint(text, style, self._sheet.color)

    def _put(self, lines: Iterable[str]) -> None:
        if text := "".join(f"{line}\n" for line in lines):
            self._out.write(text.encode())


Field = tuple[str, Sequence[Cell]]


def upright(row: Raw, sheet: Sheet, room: int, now: float) -> Iterator[str]:
    """The lines that show one object in `room` cells: every column, every further field, and nested data as trees."""
    whole = open_object(row)
    planter = Planter(sheet.trunc)
    further: list[tuple[str, Raw]] = []
    if bytes(row)[:1] != b"{":
        fields: list[Field] = [("value", [leaf(text_of(row))])]
        trees: list[Node] = []
    elif open_object(whole.get("transaction")) and not sheet.chosen:
        fields, trees = _transaction(whole, sheet, now), planter.branches(whole)
        inner = open_object(whole["transaction"])
        further = [(name, value) for name, value in whole.items() if name not in _OUTER]
        further += [(f"transaction.{name}", value) for name, value in inner.items() if name not in _INNER]
    else:
        fields, trees = _columns(row, sheet, planter, now)
        if not sheet.chosen:
            further = list(_further(whole, {column.path for column in sheet.columns}))
    for path, value in further:
        name = printable(path) + _MARK
        if count_of(value):
            trees = [*trees, planter.generic(name, value)]
        else:
            fields = [*fields, (name, [NULL if bytes(value) == b"null" else leaf(text_of(value))])]
    yield from _lines(fields, sheet, room)
    for tree in trees:
        yield ""
        yield from draw(tree, sheet, room)
    if further:
        yield ""
        yield paint(f"{_MARK.strip()} not in the service document", DIM, sheet.color)


def _lines(fields: Sequence[Field], sheet: Sheet, room: int) -> Iterator[str]:
    size = min(room - _VALUES, max((width_of(name) for name, _ in fields), default=0))
    for name, cells in fields:
        short = fit(Cell(name, keep=BOTH_ENDS), size)
        head = paint(short, BOLD, sheet.color) + " " * (size - width_of(short))
        for cell in cells:
            for text in _pieces(cell, room - size - 2, sheet.trunc):
                yield f"{head}  {paint(text, cell.style, sheet.color)}".rstrip()
                head = " " * size


def _pieces(cell: Cell, room: int, trunc: bool) -> list[str]:
    """A cell's text as lines: a number loses no digit, so it goes on below."""
    if not trunc:
        return ["  ".join(filter(None, (cell.text, cell.more)))]
    return wrap(cell.text, room) if re.fullmatch(r"-?[0-9,]+", cell.text) else [fit(cell, room)]


def _columns(row: Raw, sheet: Sheet, planter: Planter, now: float) -> tuple[list[Field], list[Node]]:
    """The catalogue's fields, and trees of what they hold; of a whole block without its certificates."""
    fields: list[Field] = []
    trees: list[Node] = []
    for column, value in zip(sheet.columns, Picker([c.path for c in sheet.columns])(row), strict=True):
        name = printable(column.path)
        fields.append((name, _value(value, column, sheet.trunc, now)))
        if value is not None and count_of(value) and (sheet.chosen or "." not in column.path):
            trees.append(planter.transactions(value) if name == "transactions" else planter.generic(name, value))
    return fields, trees


def _transaction(whole: Mapping[str, Raw], sheet: Sheet, now: float) -> list[Field]:
    """What a person asks first of a transaction; the rest of it stands in its branches."""
    inner = open_object(whole["transaction"])
    places = {**whole, "transaction.id": inner.get("id"), "transaction.type": inner.get("type")}
    fields: list[Field] = []
    for column in sheet.columns:
        same = column.path == "transaction.type" and text_of(inner.get("type")) == text_of(whole.get("type"))
        if column.path in places and column.path != "finalize" and not same:
            fields.append((column.path, [cell_of(places[column.path], column, now)]))
    if amount := fee_of(inner.get("fee")):
        fields.append(("fee", [amount]))
    return fields


def _value(value: Raw | None, column: Column, trunc: bool, now: float) -> Sequence[Cell]:
    """A value in its lines: only a text has several."""
    text = text_of(value)
    if column.kind is not Kind.TEXT or "\n" not in text:
        return [cell_of(value, column, now)]
    lines = text.splitlines()
    shown = lines[:_LINES] if trunc and len(lines) > _LINES + 1 else lines
    rest = [Cell(f"… {len(lines) - len(shown):,} more lines", DIM)] if len(shown) < len(lines) else []
    return [*(Cell(printable(line)) for line in shown), *rest]


def _further(members: Mapping[str, Raw], known: set[str], above: str = "") -> Iterator[tuple[str, Raw]]:
    """The fields of an object, with their paths, that no known path leads to."""
    for name, value in members.items():
        path = above + name
        inner = open_object(value) if any(other.startswith(f"{path}.") for other in known) else {}
        if inner:
            yield from _further(inner, known, f"{path}.")
        elif path not in known:
            yield path, value
