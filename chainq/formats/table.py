"""`table`: for reading. A list as columns that fit the terminal, written as rows arrive; one object as lines of fields.

The first rows and the catalogue settle which columns are shown and how wide each is. Later rows keep them, until a
value outgrows its column: then the widths are settled again. What a value looks like is in `cells`, what is nested in
`tree`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.formats.cells import ID_WIDTH, RIGHT, Cell, cell_of, headers
from chainq.formats.drawing import ENDLESS, Lane, beside, encoded, total
from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Picker
from chainq.text.humanize import counted
from chainq.text.style import DIM, paint
from chainq.text.width import NARROWEST, width_of, wrap

HEADER_EVERY = 40  # rows
_BATCH = 512  # rows that are drawn at a time, however many come
_WIDEST = 500  # cells of a column, if values are not abbreviated; a longer one moves the rest of its line


@dataclass(slots=True, kw_only=True)
class Candidate(Lane):
    """A column that may be shown, and the widths that its short and its whole values need."""

    field: Column
    short: int = 0
    whole: int = 0

    def measure(self, cells: Sequence[Cell], widest: int) -> None:
        """Take the widths of the header and of these values into account, up to `widest`."""
        spare = self.field.kind is Kind.HEIGHT  # for the next power of ten
        least = ID_WIDTH if self.field.kind is Kind.ID else 0  # an ID may follow where the first rows have none
        short = max(width_of(cell.short) for cell in cells)
        self.short = min(max(self.short, width_of(self.header), least, spare + short), widest)
        whole = max(width_of(cell.whole) for cell in cells)
        self.whole = min(max(self.whole, self.short, spare + whole), widest)

    @property
    def turn(self) -> tuple[bool, bool, int]:
        """Return when it gets the room that is left: IDs that other commands take, other IDs, the short ones first."""
        is_id = self.field.kind is Kind.ID
        return not is_id, is_id and self.header not in ("transaction_id", "transaction.id"), self.whole


def settle(columns: Sequence[Candidate], room: int, *, keep: bool) -> list[Candidate]:
    """Return the columns that fit `room` cells, and set their widths; the last ones are left out, none with `keep`.

    Room that is left goes to columns that can then show their values whole. IDs of one length are all whole or all
    abbreviated, so that equal ones look equal; an array shows as many items as there is room for.
    """
    shown = list(columns)
    for column in shown:
        column.width = column.short
    while not keep and total(shown) > room and len(shown) > 1:
        shown.pop()
    spare = room - total(shown)
    for _, alike in groupby(sorted(shown, key=lambda column: column.turn), key=lambda column: column.turn):
        group = list(alike)
        if (more := sum(column.whole - column.short for column in group)) <= spare:
            for column in group:
                column.width = column.whole
            spare -= more
        elif "[]" in group[0].field.path and spare > 0:
            group[0].width += spare
            spare = 0
    return shown


class Table:
    """Draws rows for a person. Takes `out` and `spec` as every format does."""

    endless = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out = out
        self._spec = spec
        room = max(spec.width, NARROWEST)
        self._width = room if spec.abbreviate else ENDLESS  # of a line
        self._room = room if spec.abbreviate or spec.terminal else ENDLESS  # of a row in one line, else it is upright
        brief = sorted((column for column in spec.columns if column.brief), key=lambda column: column.brief)
        fields = list(spec.columns) if spec.selected or not brief else brief
        names = headers(fields, spec.columns)
        self._columns = [
            Candidate(name, right=field.kind in RIGHT, field=field) for name, field in zip(names, fields, strict=True)
        ]
        self._shown = self._columns
        self._pick = Picker([field.path for field in fields])
        self._settled = False
        self._view = spec if spec.single else None  # of rows as lines of fields; None for rows as lines
        self._rows = 0
        self._counted: dict[str, None] = {}  # columns of which only a number is shown

    def write(self, rows: Sequence[Raw]) -> None:
        """Draw the rows at once."""
        start = 0
        while start < len(rows):
            size = HEADER_EVERY - self._rows % HEADER_EVERY if self._spec.terminal else _BATCH
            some = rows[start : start + size]
            self._write_upright(some) if self._view else self._write_lines(some)
            self._rows += len(some)
            start += size

    def close(self) -> None:
        """Write the number of rows, which columns are hidden or only counted, and the totals."""
        spec = self._spec
        if spec.single and self._rows:
            return
        notes = [counted(self._rows, "row") if self._rows else "no rows"] if spec.counted else []
        hidden = [column.header for column in self._columns[len(self._shown) :]]
        others = len(spec.columns) - len(self._columns) if hidden or (spec.terminal and self._rows) else 0
        if hidden:
            more = f" and {others:,} more" if others else ""
            option = "--columns (--columns help lists them)" if others else "--columns"
            room = "a wider terminal" if spec.terminal else "a larger COLUMNS"
            notes.append(f"not shown: {', '.join(hidden)}{more}; use {option}, or {room}")
        elif others:
            notes = ["; ".join([*notes, f"{counted(others, 'more column')}: --columns help"])]
        if self._counted:
            option = "--no-trunc" if spec.selected else "--columns"
            notes.append(f"only counted: {', '.join(self._counted)}; use {option}")
        width = spec.width or NARROWEST
        lines = [paint(line, DIM, spec.color) for note in notes for line in wrap(note, width)]
        self._out.write(encoded([*lines, *(line for one in spec.totals() for line in wrap(one, width))]))

    def _cells(self, rows: Sequence[Raw]) -> list[list[Cell]]:
        """Return the cells of rows; without abbreviation they are whole."""
        whole = not self._spec.abbreviate
        make = partial(cell_of, json=self._spec.selected and whole, whole=whole)
        fields = [column.field for column in self._shown]
        cells = [[make(*pair) for pair in zip(self._pick(row), fields, strict=True)] for row in rows]
        return [[Cell(cell.whole, cell.whole, cell.style) for cell in line] for line in cells] if whole else cells

    def _write_lines(self, rows: Sequence[Raw]) -> None:
        cells = self._cells(rows)
        before = [column.width for column in self._shown]
        for column, values in zip(self._shown, zip(*cells, strict=True), strict=True):
            column.measure(values, ENDLESS if self._spec.abbreviate else _WIDEST)
        if not self._settled or any(column.short > column.width for column in self._shown):
            shown = settle(self._shown, self._width, keep=self._spec.selected)
            if total(shown) > self._room or any(column.field.folds for column in self._shown[len(shown) :]):
                self._view = self._spec._replace(columns=tuple(column.field for column in self._shown), selected=True)
                self._shown = self._columns
                self._write_upright(rows)
                return
            self._settled, self._shown = True, shown
            self._pick = Picker([column.field.path for column in shown])
            cells = [line[: len(shown)] for line in cells]
        after = [column.width for column in self._shown]
        # Of a last column that is aligned to the left, no header moves.
        moved = len(before) != len(after) or before[:-1] != after[:-1] or (self._shown[-1].right and before != after)
        if self._spec.selected == self._spec.abbreviate:  # not of default columns; whole with both options
            for column, values in zip(self._shown, zip(*cells, strict=True), strict=True):
                texts = (cell.short for cell in values if column.field.kind is Kind.DATA)
                if any(text.isdecimal() and text != "0" for text in texts):
                    self._counted[column.header] = None
        header = moved or not self._rows or (self._spec.terminal and self._rows % HEADER_EVERY == 0)
        self._out.write(encoded(beside(self._shown, cells, self._spec.color, header=header)))

    def _write_upright(self, rows: Sequence[Raw]) -> None:
        from chainq.formats.tree import view_of

        lines: list[str] = []
        for number, row in enumerate(rows, self._rows):
            lines += ["", *view_of(row, self._view or self._spec)] if number else view_of(row, self._view or self._spec)
        self._out.write(encoded(lines))
