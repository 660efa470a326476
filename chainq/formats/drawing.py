"""Draws with rich: a list as columns (`grid`), a name with its value (`Line`), and anything rich draws as bytes.

What comes here is sanitized; rich's markup and highlighting are off.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table
from rich.text import Text

from chainq.formats.cells import BLANK, ID_WIDTH, Cell, plain
from chainq.text.width import BOTH_ENDS, GAP, truncate, width_of

ENDLESS = 1 << 24  # character cells of a line that has no end (--no-trunc)


class Lane(NamedTuple):
    """A column as it is drawn: its header, its width in character cells, whether it is aligned to the right."""

    header: str
    width: int
    right: bool = False


class Line(NamedTuple):
    """A name and, beside it, its value, which hangs if it needs several lines; `indent`: cells of the name."""

    name: str
    value: Cell
    style: str = ""
    indent: int = 0

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        indent = max(self.indent, width_of(self.name))
        room = options.max_width - indent - GAP
        text = self.value.text(room)
        if ID_WIDTH <= room < width_of(text) < width_of(self.value.whole) and " " not in text:
            text = truncate(self.value.whole, room, BOTH_ENDS)  # rather than in two lines
        if width_of(text) <= room and "\n" not in text:
            yield Segment(self.name, Style.parse(self.style))
            yield Segment(" " * (indent + GAP - width_of(self.name)) if text and indent else "")
            yield Segment(text, Style.parse(self.value.style))
            yield Segment.line()
            return
        if not indent:
            yield Text(text, self.value.style, overflow="fold")
            return
        name = Text(self.name, self.style, overflow="fold")
        if width_of(self.name) > options.max_width // 2:  # not broken, for it is copied: the value comes below it
            yield name
            name, indent = Text(), 0
        table = Table.grid(padding=(0, GAP, 0, 0))  # rich's own way to fold, which takes ten times as long
        table.add_column(width=min(indent, options.max_width // 2))
        table.add_column(overflow="fold")
        table.add_row(name, Text(text, self.value.style))
        yield table


def grid(lanes: Sequence[Lane], rows: Sequence[Sequence[Cell]], *, header: bool, fold: bool = True) -> RenderableType:
    """Return rows as a table, each column followed by a gap.

    A value that is wider than its column is folded; without `fold` it moves the rest of its line to the right.
    """
    table = Table(box=None, padding=0, show_header=header, header_style="")
    for lane in lanes:
        side: JustifyMethod = "right" if lane.right else "left"
        table.add_column(_padded(lane.header, "bold"), width=lane.width + GAP, justify=side)
    columns = [
        [(cell.text(lane.width), cell.style) for cell in cells]
        for lane, cells in zip(lanes, zip(*rows, strict=True), strict=True)
    ]
    if all(width_of(text) <= lane.width for lane, cells in zip(lanes, columns, strict=True) for text, _ in cells):
        # One row of rich's table holds all of them, line by line: in a fifth of the time.
        table.add_row(*(Segments(_lines(lane, cells)) for lane, cells in zip(lanes, columns, strict=True)))
    elif not fold:
        heads = [[(lane.header, "bold") for lane in lanes]] if header else []
        return Segments(_straight(lanes, [*heads, *zip(*columns, strict=True)]))
    else:
        for row in zip(*columns, strict=True):
            table.add_row(*(_padded(text, style) for text, style in row))
    return table


def _padded(text: str, style: str) -> Padding:
    return Padding(Text(text, style, overflow="fold"), (0, GAP, 0, 0))


def _lines(lane: Lane, cells: Iterable[tuple[str, str]]) -> Iterator[Segment]:
    for style, alike in groupby(cells, key=itemgetter(1)):
        texts = [text for text, _ in alike]
        if lane.right:
            texts = [" " * (lane.width - width_of(text)) + text for text in texts]
        yield Segment("\n".join((*texts, "")), Style.parse(style) if style else None)


def _straight(lanes: Sequence[Lane], rows: Iterable[Sequence[tuple[str, str]]]) -> Iterator[Segment]:
    for row in rows:
        for lane, (text, style) in zip(lanes, row, strict=True):
            spare = " " * (lane.width - width_of(text))
            padded = spare + text if lane.right else text + spare
            yield Segment(padded + " " * GAP, Style.parse(style))
        yield Segment.line()


def render(shown: Iterable[RenderableType], width: int, color: bool) -> bytes:
    """Return what rich draws of these, in lines of `width` character cells; no line ends in spaces."""
    # Width, height and colors are given, and the environment is empty: rich is to find nothing out by itself.
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        height=25,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(Group(*shown))
    return re.sub(r"(?<! ) ++((?:\x1b\[0m)?+) *+\n", r"\1\n", file.getvalue()).encode()


def draw_texts(columns: Sequence[tuple[Sequence[str], bool]], room: int) -> bytes:
    """Return columns as a table; each row as lines of fields, before an empty line, if that is wider than `room`.

    There the terminal wraps one long word, such as a URL, so that it can be copied.
    Each column has its header first, and whether it is aligned to the right.
    """
    lanes = [Lane(texts[0], max(map(width_of, texts)), right) for texts, right in columns]
    rows = list(zip(*(map(plain, texts[1:]) for texts, _ in columns), strict=True))
    if sum(lane.width + GAP for lane in lanes) - GAP <= room:
        return render([grid(lanes, rows, header=True)], ENDLESS, color=False)
    indent = max(width_of(lane.header) for lane in lanes)
    lines = [
        line
        for row in rows
        for line in (
            *(Line(at.header, cell, indent=indent) for at, cell in zip(lanes, row, strict=True)),
            Line("", BLANK),
        )
    ]
    drawn = groupby(lines, key=lambda line: room if " " in line.value.whole else ENDLESS)
    return b"".join(render(some, width, color=False) for width, some in drawn)
