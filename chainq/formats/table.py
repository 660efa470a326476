"""`table`: for reading. A list as columns that fit the terminal, written as rows arrive; one object as lines of fields.

The first rows and the catalogue settle which columns are shown and how wide each is. Later rows keep them, until a
value outgrows its column: then the widths are settled again, under a new header. What a value looks like is in `cells`,
what is nested in `tree`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.formats.cells import ID_WIDTH, RIGHT, Cell, beside, cell_of, encoded, headers, plain, total
from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Picker
from chainq.text.humanize import counted
from chainq.text.style import BOLD, DIM, paint
from chainq.text.width import ENDLESS, NARROWEST, width_of, wrap

_BATCH = 512  # rows that are drawn at a time, however many come
_WIDEST = 500  # cells of a column; a longer value moves the rest of its line


@dataclass(slots=True)
class Lane:
    """A column that may be shown, its width, and the widths that its short and its whole values need."""

    header: str
    field: Column
    width: int = 0
    short: int = 0
    whole: int = 0

    def measure(self, cells: Sequence[Cell]) -> None:
        """Take the widths of the header and of these values into account."""
        spare = self.field.kind is Kind.HEIGHT  # for the next power of ten
        least = ID_WIDTH if self.field.kind is Kind.ID else 0  # an ID may follow where the first rows have none
        short, whole = (max(map(width_of, texts)) + spare for texts in list(zip(*cells, strict=True))[:2])
        self.short = min(max(self.short, width_of(self.header), least, short), _WIDEST)
        self.whole = min(max(self.whole, self.short, whole), _WIDEST)


def settle(lanes: Sequence[Lane], room: int, *, keep: bool) -> list[Lane]:
    """Return the columns that fit `room` cells, and set their widths; the last ones are left out, none with `keep`.

    Room that is left goes to columns that can then show their values whole, IDs and short ones first. IDs of one length
    are all whole or all abbreviated, so that equal ones look equal.
    """
    shown = list(lanes)
    while not keep and total(lane.short for lane in shown) > room and len(shown) > 1:
        shown.pop()
    spare = room - total(lane.short for lane in shown)

    def turn(lane: Lane) -> tuple[bool, int]:
        return lane.field.kind is not Kind.ID, lane.whole

    for _, group in groupby(sorted(shown, key=turn), turn):
        alike = list(group)
        fits = sum(lane.whole - lane.short for lane in alike) <= spare
        for lane in alike:
            lane.width = lane.whole if fits else lane.short
            spare -= lane.width - lane.short
    return shown


class Table:
    """Draws rows for a person. Takes `out` and `spec` as every format does."""

    endless = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out, self._spec = out, spec
        self._room = max(spec.width, NARROWEST) if spec.abbreviate or spec.terminal else ENDLESS
        brief = sorted((column for column in spec.columns if column.brief), key=lambda column: column.brief)
        fields = list(spec.columns) if spec.selected or not brief else brief
        self._lanes = [Lane(*pair) for pair in zip(headers(fields, spec.columns), fields, strict=True)]
        self._shown: list[Lane] = []  # of rows as lines
        self._upright = spec if spec.single else None  # how rows are shown as lines of fields
        self._pick = Picker([field.path for field in fields])
        self._rows = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Draw the rows at once."""
        for start in range(0, len(rows), _BATCH):
            some = rows[start : start + _BATCH]
            lines = [] if self._upright else self._in_columns(some)
            if self._upright:
                from chainq.formats.tree import view_of

                for number, row in enumerate(some, self._rows):
                    lines += [""] * bool(number) + [*view_of(row, self._upright)]
            self._out.write(encoded(lines))
            self._rows += len(some)

    def close(self) -> None:
        """Write the number of rows, and which columns are not shown."""
        spec = self._spec
        if spec.single and self._rows:
            return
        notes = [counted(self._rows, "row") if self._rows else "no rows"] if spec.counted else []
        hidden = [lane.header for lane in self._lanes[len(self._shown) :] if self._shown]
        more = len(spec.columns) - len(self._lanes) if self._rows and spec.terminal else 0
        if hidden or more:
            words = ", ".join(hidden) + (f"{' and ' if hidden else ''}{counted(more, 'more column')}" if more else "")
            notes.append(f"not shown: {words}; --columns selects columns, --columns help lists them")
        width = spec.width or NARROWEST
        self._out.write(encoded(paint(line, DIM, spec.color) for note in notes for line in wrap(note, width)))

    def _in_columns(self, rows: Sequence[Raw]) -> list[str]:
        """Return each row as a line, after a header if widths changed; none if they do not fit, and must be upright."""
        lanes = self._shown or self._lanes
        values = zip(*map(self._pick, rows), strict=True)
        columns = [[self._cell(one, lane.field) for one in some] for lane, some in zip(lanes, values, strict=False)]
        for lane, cells in zip(lanes, columns, strict=True):
            lane.measure(cells)
        before = [lane.width for lane in self._shown]
        if not before or any(lane.short > lane.width for lane in lanes):
            self._settle(lanes)
        if not before or before[:-1] != [lane.width for lane in self._shown[:-1]]:  # below the last one nothing moves
            columns = [[plain(lane.header, BOLD), *cells] for lane, cells in zip(lanes, columns, strict=True)]
        drawn = zip(self._shown, columns, strict=False)
        return [*beside([(cells, lane.width, lane.field.kind in RIGHT) for lane, cells in drawn], self._spec.color)]

    def _cell(self, value: Raw | None, field: Column) -> Cell:
        """Return the cell of a value; without abbreviation it is whole."""
        if self._spec.abbreviate:
            return cell_of(value, field)
        cell = cell_of(value, field, json=self._spec.selected)
        return plain(cell.whole, cell.style)

    def _settle(self, lanes: Sequence[Lane]) -> None:
        """Decide which columns are shown and how wide, or that rows are shown as lines of fields."""
        self._shown = settle(lanes, self._room, keep=self._spec.selected or not self._spec.abbreviate)
        wide = total(lane.short for lane in self._shown) > self._room
        if wide or any(lane.field.folds for lane in lanes[len(self._shown) :]):
            self._upright = self._spec._replace(columns=tuple(lane.field for lane in lanes), selected=True)
            self._shown = []
