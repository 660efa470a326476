"""One value as a person reads it (`Cell`), and the column of a table that such values are in (`TableColumn`).

Everything that a table or a tree shows of a row comes through here, and so through `chainq.text.sanitize.printable`.
Nothing here knows of rows or writes anything.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.rows.fields import count_of, text_of
from chainq.text.humanize import age
from chainq.text.sanitize import printable
from chainq.text.style import DIM, RED, YELLOW
from chainq.text.width import BOTH_ENDS, GAP, truncate, width_of

_RIGHT = {Kind.NUMBER, Kind.HEIGHT, Kind.DATA}
NEVER_TRUNCATED = {*_RIGHT, Kind.TIME}  # with a digit less it would be another number
_TIME, _AGE = 19, 2 + 8
_ID, _ID_LEAST = 15, 11
_TEXT_LEAST = 26
_PLAIN, _PLAIN_LEAST = 32, 12
_SKEW = 300  # seconds that a server's clock may be ahead of ours before its time counts as invalid
_DIGITS = 4000  # Python refuses to turn more than 4,300 into a number
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")


class Cell(NamedTuple):
    """A value's text (no control characters), its style, and how it is truncated.

    `keep`: characters at the end that stay when it is truncated, BOTH_ENDS for an ID. `more`: what follows where there
    is room for all of it.
    """

    text: str
    style: str = ""
    keep: int = 0
    more: str = ""


BLANK = Cell("")
NULL = Cell("-", DIM)


def fit(cell: Cell, room: int) -> str:
    """Return the cell's text in at most `room` cells, followed by `more` if that fits too."""
    text = cell.text
    size = width_of(text)
    if size > room:
        return truncate(text, room, cell.keep)
    if cell.more and size + 2 + width_of(cell.more) <= room:
        return f"{text}  {cell.more}"
    return text


def time_cell(text: str, now: float) -> Cell:
    """Return seconds since 1970 as UTC, and their age; as they were sent unless that is a time in the past."""
    if not re.fullmatch(r"[1-9][0-9]{0,11}", text) or (seconds := int(text)) > now + _SKEW:
        return Cell(printable(text))
    return Cell(datetime.fromtimestamp(seconds, UTC).isoformat(" ")[:19], more=age(int(now) - seconds))


def grouped(text: str) -> str:
    """Return a whole number with its digits in groups of three; any other text as it is."""
    return f"{int(text):,}" if len(text) < _DIGITS and _INTEGER.fullmatch(text) else printable(text)


def status_cell(text: str) -> Cell:
    """Return a transaction's status; all but `accepted` have a sign and a colour."""
    if text.lower() == "accepted" or not text:
        return Cell(text)
    return Cell(f"✗ {text}", RED) if text.lower() == "rejected" else Cell(f"! {printable(text)}", YELLOW)


def id_cell(text: str) -> Cell:
    """Return an ID, or another text that is recognised by its ends; it is abbreviated in the middle."""
    return Cell(printable(text), keep=BOTH_ENDS)


def text_cell(text: str) -> Cell:
    """Return the line of a long text that says what it is, and the number of its other lines."""
    lines = text.splitlines()
    if len(lines) < 2:
        return Cell(printable(text))
    # Of a program's source the line with its name, which comes after the imports; else the first line with any text.
    first = next((line for line in lines if line.startswith("program ")), "") or next(filter(str.strip, lines), "")
    note = f"  +{len(lines) - 1} lines" if len(lines) > 2 else "  +1 line"
    return Cell(printable(first.rstrip()) + note, keep=len(note))


def cell_of(value: Raw | None, column: Column, now: float) -> Cell:
    """Return a value of that column on one line; blank where the row has none."""
    if value is None:
        return BLANK
    text = text_of(value)
    if not text:
        return NULL if bytes(value) == b"null" else BLANK
    kind = column.kind
    if kind is Kind.ID:
        return id_cell(text)
    if kind is Kind.NUMBER:
        return Cell(grouped(text))
    if kind is Kind.TIME:
        return time_cell(text, now)
    if kind is Kind.TEXT:
        return text_cell(text)
    if kind is Kind.DATA:
        return Cell(str(count) if (count := count_of(value)) is not None else printable(text))
    return status_cell(text) if column.path == "status" else Cell(printable(text))


def unknown_cell(text: str) -> Cell:
    """Return a text of unknown meaning on one line; abbreviated in the middle when it is one long word."""
    text = " ".join(text.split())
    return Cell(printable(text)) if " " in text else id_cell(text)


@dataclass(slots=True)
class TableColumn:
    """A column of a table: its header, the width of its widest value so far, and the width it is given (0: hidden)."""

    field: Column
    header: str
    widest: int = 0
    width: int = 0

    @property
    def right(self) -> bool:
        """Return whether its values are aligned to the right."""
        return self.field.kind in _RIGHT

    @property
    def usual(self) -> int:
        """Return the width that it is given where nothing has to be hidden, and nothing is left over."""
        kind = self.field.kind
        if kind is Kind.TIME:
            size = max(_TIME, self.widest)
        elif kind is Kind.HEIGHT:
            size = self.widest + 1  # room for the next power of ten
        elif kind in _RIGHT:
            size = self.widest
        else:
            size = min(_ID if kind is Kind.ID else _PLAIN, self.widest)
        return max(size, width_of(self.header))

    @property
    def least(self) -> int:
        """Return the width below which its values say nothing."""
        kind = self.field.kind
        if kind in NEVER_TRUNCATED:
            return self.usual
        size = {Kind.ID: _ID_LEAST, Kind.TEXT: _TEXT_LEAST}.get(kind, _PLAIN_LEAST)
        return min(self.usual, max(size, width_of(self.header)))

    @property
    def most(self) -> int:
        """Return the width at which its values are shown in full."""
        return self.usual + _AGE if self.field.kind is Kind.TIME else max(self.usual, self.widest)


def set_widths(columns: Sequence[TableColumn], room: int) -> None:
    """Set the widths of the columns so that a line fits into `room` cells.

    Where they do not all fit at their usual widths, the last ones become narrower, then some are hidden: long texts
    first, then the last ones, height and time at the very end. Room that is left goes to times, which then show their
    age, and to IDs, which are then shown in full: those of transactions first, because other commands take them.
    """
    gap = GAP
    shown = list(columns)
    while len(shown) > 1 and sum(column.least + gap for column in shown) > room + gap:
        shown.remove(max(reversed(shown), key=_hiding_priority))
    spare = room + gap - sum(column.usual + gap for column in shown)
    for column in columns:
        column.width = 0
    for column in reversed(shown):
        column.width = max(column.least, column.usual + min(spare, 0))
        spare += column.usual - column.width
    if spare < 0:  # one column is left, and even that is too wide
        shown[0].width = room
    for column in sorted(shown, key=_widening_order):
        if column.most - column.width <= spare:
            spare -= column.most - column.width
            column.width = column.most


def _hiding_priority(column: TableColumn) -> int:
    """Return a number, greater for columns that are hidden earlier."""
    if column.field.kind is Kind.TEXT:
        return 2
    # Rejected: hiding strictly from the end, which would cost `blocks` its time on a terminal of 80 columns.
    return 0 if column.field.kind is Kind.TIME or column.header == "height" else 1


def _widening_order(column: TableColumn) -> int:
    """Return a number, greater for columns that are widened later."""
    if column.field.kind is Kind.TIME:
        return 0
    return 1 if column.header in ("transaction_id", "transaction.id") else 2


def headers(columns: Sequence[Column], among: Sequence[Column]) -> list[str]:
    """Return the last part of each column's path, with as many parts before it as distinguish it in `among`.

    `id` and `type` say nothing alone, so that they always come with the part before.
    """
    paths = {column.path for column in (*columns, *among)}
    found = []
    for column in columns:
        steps = column.path.split(".")
        size = 2 if steps[-1] in ("id", "type") else 1
        while size < len(steps) and sum(f".{path}".endswith("." + ".".join(steps[-size:])) for path in paths) > 1:
            size += 1
        found.append(printable(".".join(steps[-size:])))
    return found
