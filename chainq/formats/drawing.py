"""Draws text for a terminal: values in columns (`beside`), names with their values and what is nested in them (`Node`).

What comes here is sanitized. Rejected: rich, whose tables take a hundred times as long for each row, and load for a
tenth of a second before the first one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from chainq.formats.cells import BLANK, Cell
from chainq.text.style import DIM, paint
from chainq.text.width import GAP, width_of, wrap

_NARROW = 12  # cells that a nested value has at least


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
