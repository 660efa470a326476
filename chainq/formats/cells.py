"""Values as a person reads them: a `Cell` is a value on one line, short and whole; `beside` draws cells in columns, and
a `Node` draws names with their values and what is nested in them.

Everything that a table or a tree shows of a row comes through here, and so through `chainq.text.sanitize.printable`.
Rejected: rich, whose tables take a hundred times as long for each row, and load for a tenth of a second before the
first one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.rows.block import Transition
from chainq.rows.fields import Key, array_of, count_of, text_of
from chainq.rows.transaction import CREDITS, program_of
from chainq.text.humanize import counted, in_credits, utc
from chainq.text.sanitize import printable
from chainq.text.style import DIM, RED, YELLOW, paint
from chainq.text.width import ELLIPSIS, GAP, truncate, width_of, wrap

RIGHT = {Kind.NUMBER, Kind.HEIGHT, Kind.DATA}
"""The kinds that are aligned to the right."""
ID_WIDTH = 15  # of an abbreviated ID: the same text for the same ID, wherever it is shown
_WORD = 36  # the longest program name (`31 bytes.aleo`): a shorter word is never abbreviated
_NUMBER = 100  # digits; a longer value is abbreviated, as IDs are
_TEXT = 240  # characters of a text of several words
_NARROW = 12  # cells that a nested value has at least
# What an ID looks like, of which both ends are enough: bech32, or a field element. All else may be a name or an amount.
_ID = re.compile(r"(?<!\w)(?:[a-z]{2,10}1[a-z0-9]{20,}|[0-9]{25,}(?:field|group|scalar))(?!\w)")


class Cell(NamedTuple):
    """A value without control characters: `short` as a narrow column shows it, `whole` where there is room for it.

    `style`: as in `text.style`.
    """

    short: str
    whole: str
    style: str = ""

    def text(self, room: int) -> str:
        """Return the whole text if it fits in `room` character cells, else the short one."""
        return self.whole if self.whole == self.short or width_of(self.whole) <= room else self.short


BLANK = Cell("", "")
NULL = Cell("-", "-", DIM)


def plain(text: str, style: str = "") -> Cell:
    """Return a text that is shown whole, whatever the room."""
    return Cell(text, text, style)


def id_cell(text: str, style: str = "", width: int = ID_WIDTH) -> Cell:
    """Return an ID, or another text that is recognized by its ends: abbreviated in the middle, always alike."""
    shown = printable(text)
    return Cell(truncate(shown, width, middle=True), shown, style)


def items_cell(value: Raw | None) -> Cell:
    """Return the items of an array, each abbreviated by itself."""
    items = [printable(text_of(item)) or "-" for item in array_of(value)]
    short = ", ".join(item if width_of(item) <= _WORD else truncate(item, ID_WIDTH, middle=True) for item in items)
    return Cell(short, ", ".join(items))


def number_cell(text: str) -> Cell:
    """Return a whole number with its digits in groups of three; any other text as it is."""
    grouped = re.fullmatch(rf"-?(?:0|[1-9][0-9]{{0,{_NUMBER}}})", text)
    return plain(f"{int(text):,}") if grouped else id_cell(text, width=_NUMBER)


def time_cell(text: str) -> Cell:
    """Return seconds since 1970 as UTC; as they were sent unless that is a time."""
    return plain(utc(int(text))) if re.fullmatch(r"[1-9][0-9]{0,10}", text) else id_cell(text, width=_WORD)


def status_cell(text: str) -> Cell:
    """Return a transaction's status; all but `accepted` have a sign and a color."""
    sign, style = {"accepted": ("", ""), "": ("", ""), "rejected": ("✗ ", RED)}.get(text.lower(), ("! ", YELLOW))
    return id_cell(sign + text, style, _WORD)


def text_cell(text: str) -> Cell:
    """Return the name of a program, given its source; of another text its first line, with the number of others."""
    if program := program_of(text):
        return id_cell(program, width=_WORD)
    lines = text.splitlines() or [""]
    first = next(filter(str.strip, lines), "").rstrip()
    note = f"  +{counted(len(lines) - 1, 'line')}" if len(lines) > 1 else ""
    return Cell(id_cell(first, width=_WORD).short + note, printable(first) + note)


def unknown_cell(text: str) -> Cell:
    """Return a text of unknown meaning on one line, its IDs abbreviated.

    What is left out at the end are whole words: a part of a number reads as another number.
    """
    whole = printable(" ".join(text.split()))
    short = short_ids(whole)
    if width_of(short) > _TEXT:
        cut = truncate(short, _TEXT, middle=" " not in short)
        short = f"{cut.rpartition(' ')[0]} {ELLIPSIS}" if " " in short else cut
    return Cell(short, whole)


def short_ids(text: str) -> str:
    """Return a text with its IDs abbreviated; names and amounts are whole, with or without their type.

    >>> short_ids("{ function_name: transfer_public_to_private, amount: 1000000000000000000000000u128.private }")
    '{ function_name: transfer_public_to_private, amount: 1000000000000000000000000u128.private }'
    """
    return _ID.sub(lambda word: truncate(word[0], ID_WIDTH, middle=True), text)


def cell_of(value: Raw | None, column: Column, *, json: bool = False) -> Cell:
    """Return a value of that column on one line; blank if the row has none.

    `json`: an array or object is whole as JSON, not only as the number of its items.
    """
    text = text_of(value)
    if value is None or not text:
        return NULL if value is not None and bytes(value) == b"null" else BLANK
    if column.kind in _BY_KIND:
        return _BY_KIND[column.kind](text)
    if column.kind is Kind.DATA and (count := count_of(value)) is not None:
        # What a query computed has no tree to be seen in, unlike the nested columns of the catalogue.
        json = json or column.type == "unknown"
        return Cell(counted(count, "item"), printable(text)) if json else plain(str(count))
    if "[]" in column.path:
        return items_cell(value)
    return plain(printable(text)) if column.folds else id_cell(text, width=_WORD)  # two that fold may differ anywhere


_BY_KIND: dict[Kind, Callable[[str], Cell]] = {
    Kind.ID: id_cell,
    Kind.NUMBER: number_cell,
    Kind.STATUS: status_cell,
    Kind.HEIGHT: partial(id_cell, width=_NUMBER),
    Kind.TEXT: text_cell,
    Kind.TIME: time_cell,
}
"""What makes a cell of a text, if the kind of its column alone decides."""


def fee_text(fee: Transition | None) -> str:
    """Return the amount of the call that pays a fee: in credits, if it is known to be in them."""
    if fee is None or not fee.amounts:
        return ""
    return f"{in_credits(sum(fee.amounts))} credits" if fee.program == CREDITS else f"{sum(fee.amounts):,}"


def headers(columns: Sequence[Column], among: Sequence[Column]) -> list[str]:
    """Return the last part of each column's path, or all of it if that is in `among` too, or says nothing alone."""
    names = Counter(path.rpartition(".")[2] for path in {column.path for column in (*columns, *among)})
    found = []
    for column in columns:
        name = column.path if isinstance(column.path, Key) else column.path.rpartition(".")[2]
        alone = re.fullmatch(r"[\w.]+", column.path) and names[name] == 1 and name not in ("id", "type")
        found.append(printable(name if alone else column.path))
    return found


def total(widths: Iterable[int]) -> int:
    """Return the cells that columns of these widths take beside each other."""
    return sum(width + GAP for width in widths) - GAP


def beside(columns: Iterable[tuple[Iterable[Cell], int, bool]], color: bool) -> Iterator[str]:
    """Yield columns as lines; a value that is wider than its column moves the rest of its line to the right.

    Each column is its cells, its width, and whether it is aligned to the right.
    """
    drawn = []
    for cells, width, right in columns:
        texts = []
        for cell in cells:
            text = cell.text(width)
            spare = " " * (width - width_of(text))
            text = paint(text, cell.style, color)
            texts.append(spare + text if right else text + spare)
        drawn.append(texts)
    return map((" " * GAP).join, zip(*drawn, strict=True))


@dataclass(slots=True)
class Node:
    """A name, its value, and what is nested in it; values that are nested together begin `indent` cells to the right.

    `style`: of the name.
    """

    name: str
    value: Cell = BLANK
    children: list["Node"] = field(default_factory=list)
    style: str = ""
    indent: int = 0

    def lines(self, room: int, color: bool) -> Iterator[str]:
        """Yield the lines of the tree, each in `room` cells if that is not too few."""
        yield from self._own(room, color)
        for number, child in enumerate(self.children, 1):
            first, others = ("└── ", "    ") if number == len(self.children) else ("├── ", "│   ")
            for line in child.lines(max(room - len(first), _NARROW), color):
                yield paint(first, DIM, color) + line
                first = others

    def _own(self, room: int, color: bool) -> Iterator[str]:
        width = max(self.indent, width_of(self.name))
        indent = width + GAP if width else 0
        lead = paint(self.name, self.style, color) + " " * (indent - width_of(self.name))
        if indent > room // 2 and width_of(self.value.text(room - indent)) > room - indent:  # the value is below
            yield from (paint(piece, self.style, color) for piece in wrap(self.name, room))
            lead, indent = " " * GAP, GAP
            if not self.value.whole:
                return
        for line in self.value.text(room - indent).split("\n"):
            for piece in wrap(line, room - indent):
                yield lead + paint(piece, self.value.style, color)
                lead = " " * indent


def encoded(lines: Iterable[str]) -> bytes:
    """Return lines as bytes; none ends in spaces."""
    return "".join(f"{line.rstrip()}\n" for line in lines).encode()
