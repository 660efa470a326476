"""`chart`: one column of numbers over block height, or the number of rows, drawn by plotille after the last row.

Values are kept in bins of neighboring heights, which merge in pairs when there are too many: memory stays flat.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.errors import UsageError, needed
from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Picker, count_of, integer_of, text_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
from chainq.text.style import BOLD, DIM, paint
from chainq.text.width import truncate, wrap

BINS = 4096  # a terminal of 200 columns has 400 dots in a line
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_DRAWABLE = (Kind.NUMBER, Kind.HEIGHT, Kind.DATA)
_LINES = 16
_ROUND = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
_MARGIN = 13  # cells of plotille's vertical axis


class Bin(NamedTuple):
    """The values of neighboring heights: how many, their sum, the lowest and the highest."""

    values: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def __or__(self, other: "Bin") -> "Bin":
        """Return the values of both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Bin(self.values + other.values, self.total + other.total, low, high)


class Chart:
    """Draws the selected column, or the number of rows, over height. Numbers become floats.

    Takes `out` and `spec` as every format does. Raises UsageError for columns that cannot be drawn, and without
    plotille.
    """

    needs_heights = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        with needed("chart needs the plotille package", "chart"):
            import plotille  # noqa: F401  # to fail before the first request, not after the last row
        self._out, self._spec, self._column = out, spec, _column(spec)
        height = spec.height or ""
        self._pick = Picker([height, self._column.path if self._column else height])
        self._first, self._last, self._size = 0, -1, 1
        self._bins: dict[int, Bin] = {}  # of `_size` heights each
        self._rows = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Put rows into bins; a row without a number has no place in the picture."""
        for row in rows:
            sent, value = self._pick(row)
            height, size = integer_of(sent), _size(value) if self._column else 1.0
            if height is not None and size is not None:
                self._span(height, height)
                place = height // self._size
                self._bins[place] = self._bins.get(place, Bin()) | Bin(1, size, size, size)
        self._rows += len(rows)

    def close(self) -> None:
        """Draw the chart."""
        if not self._column and (read := self._spec.read()) is not None:
            self._span(read[0], read[1] - 1)
        lines = self._drawn() if self._bins else [f"nothing to draw in {counted(self._rows, 'row')}"]
        self._out.write("".join(f"{line.rstrip()}\n" for line in lines).encode())

    def _span(self, first: int, last: int) -> None:
        """Make these heights part of the picture, with or without values."""
        seen = self._first <= self._last
        self._first, self._last = (min(first, self._first), max(last, self._last)) if seen else (first, last)
        while self._last // self._size - self._first // self._size >= BINS:
            merged: dict[int, Bin] = {}
            for place, one in self._bins.items():
                merged[place // 2] = merged.get(place // 2, Bin()) | one
            self._bins, self._size = merged, self._size * 2

    def _points(self) -> Iterator[tuple[float, float, float, float]]:
        """Yield bins in their order: the place of the middle, the mean, the lowest and the highest value.

        Rows are counted for each height; a height without rows has 0 of them.
        """
        size, first = self._size, self._first
        for place in range(first // size, self._last // size + 1):
            one, middle = self._bins.get(place, Bin()), (place + 0.5) * size - first
            if not self._column:
                count = one.values / (min((place + 1) * size, self._last + 1) - max(place * size, first))
                yield middle, count, count, count
            elif one.values:
                yield middle, one.total / one.values, one.low, one.high

    def _drawn(self) -> Iterator[str]:
        """Yield the lines of the picture: title, dots between axes, and the numbers in words."""
        from plotille import Figure

        room, color = max(self._spec.width, _MARGIN + 7), self._spec.color
        places, means, lows, highs = zip(*self._points(), strict=True)
        low, high = min(lows), max(highs)
        bottom, top = low, high
        if 0 <= low <= high / 2 or high - low <= 1e-12 * max(abs(low), abs(high)):  # which floats hardly distinguish
            bottom, top = min(low, 0.0), max(high, 0.0)
        least = 1.1 * (top - bottom) / _LINES or 1.0
        power = 10.0 ** math.floor(math.log10(least))
        step = next(power * digit for digit in _ROUND if power * digit >= least * (1 - 1e-9))
        bottom = math.floor(bottom / step) * step
        figure = Figure()
        figure.width, figure.height, figure.linesep = room - _MARGIN, _LINES, "\n"
        figure.with_colors = figure.with_x_axis = figure.origin = False
        figure.set_x_limits(0, self._last - self._first + 1)
        figure.set_y_limits(bottom, bottom + _LINES * step)
        figure.y_ticks_fkt = lambda value, _: f"{value:.{10 if abs(value) < 1e10 else 4}g}"
        figure.plot(places, means)
        figure.scatter(places * 2, highs + lows)
        title = printable(self._column.path) if self._column else "rows per block"
        yield paint(truncate(title, room), BOLD, color)
        for line in figure.show().replace("\u2800", " ").split("\n")[1:]:
            yield paint(line[:_MARGIN], DIM, color) + line[_MARGIN:].rstrip()
        yield from wrap(f"blocks {self._first} to {self._last}: lowest {_number(low)}, highest {_number(high)}", room)


def _column(spec: OutputSpec) -> Column | None:
    """Return the column that is drawn, None to count rows. Raises UsageError unless it is one of numbers."""
    selected = [column for column in spec.columns if column.path != spec.height] if spec.selected else []
    if len(selected) > 1:
        names = ", ".join(printable(column.path) for column in selected)
        raise UsageError(f"chart draws one column over height, not {names}")
    for column in selected:
        if column.kind not in _DRAWABLE and column.type not in ("number", "unknown"):
            raise UsageError(f"chart cannot draw {printable(column.path)}: it holds no numbers")
    return selected[0] if selected else None


def _size(value: Raw | None) -> float | None:
    """Return the number in a value, or how many items it has; None for others, and for what no picture can hold."""
    count = None if value is None else count_of(value)
    text = text_of(value) if count is None else str(count)
    size = float(text) if _NUMBER.fullmatch(text) else math.inf
    if abs(size) >= 1e300:  # a sum of such numbers may be infinite
        return None
    return size if abs(size) > 1e-200 else 0.0


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:,.6g}"
