"""Draws text for a terminal: values in columns (`Lane`), names with their values and what is nested in them (`Node`).

What comes here is sanitized. Rejected: rich, whose tables take a hundred times as long for each row, and load for a
tenth of a second before the first one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from chainq.formats.cells import BLANK, Cell, plain
from chainq.text.style import BOLD, DIM, paint
from chainq.text.width import GAP, width_of, wrap

ENDLESS = 1 << 24  # character cells of a line that has no end (--no-trunc)
_NARROW = 12  # cells that a nested value has at least


@dataclass(slots=True)
class Lane:
    """A column as it is drawn: its header, its width in character cells, whether it is aligned to the right."""

    header: str
    width: int = 0
    right: bool = False


def total(lanes: Sequence[Lane]) -> int:
    """Return the cells that lanes take beside each other."""
    return sum(lane.width + GAP for lane in lanes) - GAP


def beside(lanes: Sequence[Lane], rows: Iterable[Sequence[Cell]], color: bool, *, header: bool) -> Iterator[str]:
    """Yield rows as lines; a value that is wider than its lane moves the rest of its line to the right."""
    heading = [[plain(lane.header, BOLD) for lane in lanes]] if header else []
    columns = []
    for lane, cells in zip(lanes, zip(*heading, *rows, strict=True), strict=True):
        column = []
        for cell in cells:
            text = cell.text(lane.width)
            spare = " " * (lane.width - width_of(text))
            text = paint(text, cell.style, color)
            column.append(spare + text if lane.right else text + spare)
        columns.append(column)
    return ((" " * GAP).join(texts) for texts in zip(*columns, strict=True))


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
        name, width = self.name, width_of(self.name)
        indent = max(self.indent, width)
        indent += GAP if indent else 0
        if indent and width_of(self.value.text(room - indent)) > room - indent:
            indent = min(indent, room // 2)
            if width > (indent - GAP if self.indent else room // 4):  # not broken, for it is copied: the value is below
                yield from (paint(piece, self.style, color) for line in name.split("\n") for piece in wrap(line, room))
                name, width, indent = "", 0, GAP
                if not self.value.whole:
                    return
        for line in self.value.text(room - max(indent, GAP)).split("\n"):
            for piece in wrap(line, room - indent):
                spare = " " * (indent - width) if piece else ""
                yield paint(name, self.style, color) + spare + paint(piece, self.value.style, color)
                name, width = "", 0


def texts_width(columns: Iterable[Sequence[str]]) -> int:
    """Return the cells that columns of texts take beside each other."""
    return sum(max(map(width_of, texts)) + GAP for texts in columns) - GAP


def draw_texts(columns: Sequence[tuple[Sequence[str], bool]], room: int) -> list[str]:
    """Return columns as lines of a table; each row as lines of fields, before an empty line, if that is too wide.

    Each column has its header first, and whether it is aligned to the right. A field of one long word, such as a URL,
    may be wider than `room`: the terminal wraps it, so that it can be copied.
    """
    lanes = [Lane(texts[0], max(map(width_of, texts)), right) for texts, right in columns]
    rows = list(zip(*(map(plain, texts[1:]) for texts, _ in columns), strict=True))
    if total(lanes) <= room:
        return [line.rstrip() for line in beside(lanes, rows, color=False, header=True)]
    indent = max(width_of(lane.header) for lane in lanes)
    lines: list[str] = []
    for row in rows:
        for lane, cell in zip(lanes, row, strict=True):
            lines += Node(lane.header, cell, indent=indent).lines(room if " " in cell.whole else ENDLESS, color=False)
        lines.append("")
    return lines[:-1]


def encoded(lines: Iterable[str]) -> bytes:
    """Return lines as bytes; none ends in spaces."""
    return "".join(f"{line.rstrip()}\n" for line in lines).encode()
