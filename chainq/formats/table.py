"""`table`: for reading. A list as columns that fit the terminal, written as rows arrive; one object as lines of fields.

The first rows and the catalogue settle which columns are shown and how wide each is; later rows are drawn by rich in
the same columns, so that a list streams. What a value looks like is in `cells`, what is nested in `tree`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Raw
from rich.console import RenderableType
from rich.text import Text

from chainq.catalog.methods import Column, Kind
from chainq.formats.cells import ID_WIDTH, RIGHT, Cell, cell_of, headers
from chainq.formats.drawing import ENDLESS, Lane, grid, render
from chainq.formats.protocol import Output, OutputSpec
from chainq.formats.tree import view_of
from chainq.rows.fields import Picker
from chainq.text.humanize import counted
from chainq.text.width import GAP, NARROWEST, width_of

HEADER_EVERY = 40  # rows
_SHORT = 11  # cells that a column that does not fold may need for later rows
FOLDED = 16  # cells of a column that folds, at least: a narrower one needs too many lines
_BATCH = 512  # rows that are drawn at a time, however many come
_WIDEST = 500  # cells of a column, if values are not abbreviated; a longer one moves the rest of its line


@dataclass(slots=True)
class Candidate:
    """A column that may be shown: its header, and the widths that its short and its whole values need.

    `items`: the width of the longest array with all of its items abbreviated.
    """

    field: Column
    header: str
    short: int = 0
    whole: int = 0
    items: int = 0

    def measure(self, cells: Sequence[Cell]) -> None:
        """Take the widths of the header and of these values into account."""
        spare = self.field.kind is Kind.HEIGHT  # for the next power of ten
        least = ID_WIDTH if self.field.kind is Kind.ID else 0  # an ID may follow where the first rows have none
        widest = max(width_of(cell.short) for cell in cells)
        self.short = max(self.short, width_of(self.header), least, spare + widest)
        self.whole = max(self.whole, self.short, spare + max(width_of(cell.whole) for cell in cells))
        self.items = max(self.items, *(width_of(", ".join(cell.items)) for cell in cells))

    @property
    def turn(self) -> tuple[int, int]:
        """Return when it gets the room that is left: IDs that other commands take, other IDs, the short ones first,
        others, the short ones first, and last arrays."""
        if self.field.kind is Kind.ID:
            return 0 if self.header in ("transaction_id", "transaction.id") else 1, self.whole
        return (4, 0) if self.items else (3, self.whole)


def settle(columns: Sequence[Candidate], room: int, *, keep: bool) -> list[Lane]:
    """Return how columns are drawn in `room` cells; those that do not fit are left out from the end, none with `keep`.

    Before one is left out, columns that fold share what the others leave, if that is enough for each. Room that is left
    goes to columns that can then show their values whole, then to arrays for more items. IDs of one length are all
    whole or all abbreviated, so that equal ones look equal.
    """
    shown = list(columns)
    widths = [column.short for column in shown]
    if not keep and sum(widths) + GAP * (len(widths) - 1) > room:
        while sum(widths := _folded(shown, room)) + GAP * (len(widths) - 1) > room and len(shown) > 1:
            shown.pop()
    spare = room + GAP - sum(width + GAP for width in widths)
    for turn in sorted({column.turn for column in shown}):
        grown = [column.whole if column.turn == turn else width for column, width in zip(shown, widths, strict=True)]
        if (more := sum(grown) - sum(widths)) <= spare:
            widths, spare = grown, spare - more
    for at, column in enumerate(shown):
        more = min(max(0, column.items - widths[at]), max(0, spare))
        widths[at], spare = widths[at] + more, spare - more
    return [
        Lane(column.header, min(width, room), column.field.kind in RIGHT)
        for column, width in zip(shown, widths, strict=True)
    ]


def _folded(columns: Sequence[Candidate], room: int) -> list[int]:
    """Return the widths of columns if those that fold are narrowed to fit `room`, but not below FOLDED cells."""
    widths = [column.short for column in columns]
    spare = room + GAP - sum(column.short * (not column.field.folds) + GAP for column in columns)
    folding = sorted((at for at, column in enumerate(columns) if column.field.folds), key=widths.__getitem__)
    for done, at in enumerate(folding):
        widths[at] = min(widths[at], max(FOLDED, spare // (len(folding) - done)))
        spare -= widths[at]
    return widths


def _total(lanes: Sequence[Lane]) -> int:
    return sum(lane.width + GAP for lane in lanes) - GAP


class Table:
    """Draws rows for a person. Takes `out` and `spec` as every format does."""

    endless = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out = out
        self._spec = spec
        self._room = max(spec.width, NARROWEST)
        self._width = self._room if spec.abbreviate else ENDLESS  # of a line
        self._widest = self._room if spec.terminal else self._width  # of a row in one line, else it is upright
        brief = sorted((column for column in spec.columns if column.brief), key=lambda column: column.brief)
        self._fields = list(spec.columns) if spec.selected or not brief else brief
        self._columns = [Candidate(*p) for p in zip(self._fields, headers(self._fields, spec.columns), strict=True)]
        self._lanes: list[Lane] = []
        self._pick = Picker([field.path for field in self._fields])
        self._upright = spec.single  # each row as lines of fields
        self._view = spec  # of an upright row
        self._rows = 0
        self._counted: dict[str, None] = {}  # columns of which only a number is shown

    def write(self, rows: Sequence[Raw]) -> None:
        """Draw the rows at once."""
        start = 0
        while start < len(rows):
            if not self._lanes and not self._upright:
                self._settle(self._cells(rows[:_BATCH]))
            size = HEADER_EVERY - self._rows % HEADER_EVERY if self._spec.terminal else _BATCH
            some = rows[start : start + size]
            self._write_upright(some) if self._upright else self._write_lines(some)
            self._rows += len(some)
            start += size

    def close(self) -> None:
        """Write the number of rows, which columns are hidden or only counted, and the totals."""
        if self._spec.single and self._rows:
            return
        notes = [counted(self._rows, "row") if self._rows else "no rows"] if self._spec.counted else []
        hidden = [column.header for column in self._columns[len(self._lanes) :]] if self._lanes else []
        drawn = self._spec.terminal and (self._lanes or self._view is not self._spec)
        others = len(self._spec.columns) - len(self._columns) if drawn or hidden else 0
        if hidden:
            option = "--no-trunc" if self._spec.detailed else "--columns"
            option = f"{option} (--columns help lists them)" if others else option
            more = f" and {others:,} more" if others else ""
            room = "a wider terminal" if self._spec.terminal else "a larger COLUMNS"
            notes.append(f"not shown: {', '.join(hidden)}{more}; use {option}, or {room}")
        elif others:
            more = f"{counted(others, 'more column')}: --columns help"
            notes = ["; ".join([*notes, more])]
        if self._counted:
            option = "--no-trunc" if self._spec.selected else "--columns"
            notes.append(f"only counted: {', '.join(self._counted)}; use {option}")
        self._put(
            [*(Text(note, "dim") for note in notes), *map(Text, self._spec.totals())], self._spec.width or self._room
        )

    def _cells(self, rows: Sequence[Raw]) -> list[list[Cell]]:
        json = self._spec.selected and not self._spec.abbreviate
        cells = [
            [cell_of(value, field, json=json) for value, field in zip(self._pick(row), self._fields, strict=True)]
            for row in rows
        ]
        return cells if self._spec.abbreviate else [[Cell(c.whole, c.whole, c.style) for c in line] for line in cells]

    def _settle(self, cells: Sequence[Sequence[Cell]]) -> None:
        for column, values in zip(self._columns, zip(*cells, strict=True), strict=True):
            column.measure(values)
        # What --columns names is never left out, and no part of a value with --no-trunc.
        self._lanes = settle(self._columns, self._width, keep=self._spec.selected)
        if self._crowded(self._lanes) or (len(self._lanes) > 1 and _total(self._lanes) > self._widest):
            self._turn_upright()
            return
        if not self._spec.abbreviate:
            self._lanes = [lane._replace(width=min(lane.width, _WIDEST)) for lane in self._lanes]
        self._fields = self._fields[: len(self._lanes)]
        self._pick = Picker([field.path for field in self._fields])

    def _crowded(self, lanes: Sequence[Lane]) -> bool:
        """Return whether a column that folds is left out. On a terminal, several that fold must leave room for what
        later rows need in the other columns."""
        folding = [column.field.folds for column in self._columns]
        least = sum((FOLDED if folds else _SHORT) + GAP for folds in folding) - GAP
        return any(folding[len(lanes) :]) or (self._spec.terminal and sum(folding) > 1 and least > self._width)

    def _turn_upright(self) -> None:
        """Draw each row from now on as lines of fields, of the columns of the table."""
        self._lanes, self._upright = [], True
        self._view = self._spec._replace(columns=tuple(self._fields), selected=True)

    def _write_lines(self, rows: Sequence[Raw]) -> None:
        cells = self._cells(rows)
        widest = [max(width_of(cell.short) for cell in values) for values in zip(*cells, strict=True)]
        lanes = [
            lane._replace(width=max(lane.width, width if self._spec.abbreviate else min(width, _WIDEST)))
            for lane, width in zip(self._lanes, widest, strict=True)
        ]
        if not self._spec.abbreviate and _total(lanes) > self._widest and len(lanes) > 1:
            self._turn_upright()
            self._write_upright(rows)
            return
        # A value that has outgrown its column widens it, under a new header if that moves any header. If there is no
        # room, other columns are narrowed or the last ones left out; it is folded only where --columns keeps them.
        moved = False
        if _total(lanes) > self._width:
            shown = self._columns[: len(self._lanes)]
            for column, values in zip(shown, zip(*cells, strict=True), strict=True):
                column.measure(values)
            lanes = settle(shown, self._width, keep=self._spec.selected)
            if self._crowded(lanes):
                self._turn_upright()
                self._write_upright(rows)
                return
            if len(lanes) < len(self._lanes):
                self._fields = self._fields[: len(lanes)]
                self._pick = Picker([field.path for field in self._fields])
                cells = [line[: len(lanes)] for line in cells]
        if lanes != self._lanes and _total(lanes) <= self._width:
            moved = lanes[:-1] != self._lanes[:-1] or lanes[-1].right or len(lanes) < len(self._lanes)
            self._lanes = lanes
        if self._spec.selected == self._spec.abbreviate:  # not of default columns; whole with both options
            data = [at for at, field in enumerate(self._fields) if field.kind is Kind.DATA]
            self._counted |= {
                self._lanes[at].header: None
                for at in data
                if any(line[at].short.isdecimal() and line[at].short != "0" for line in cells)
            }
        header = moved or not self._rows or (self._spec.terminal and self._rows % HEADER_EVERY == 0)
        self._put([grid(self._lanes, cells, header=header, fold=self._spec.abbreviate)], ENDLESS)

    def _write_upright(self, rows: Sequence[Raw]) -> None:
        for number, row in enumerate(rows):
            blank = [Text()] if self._rows + number else []
            self._put([*blank, *view_of(row, self._view)], self._width)

    def _put(self, shown: Sequence[RenderableType], width: int) -> None:
        self._out.write(render(shown, width, self._spec.color))
