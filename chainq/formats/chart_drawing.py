"""Draws the bins of a `chart`: title, axes, dots in braille, and the numbers in words.

plotille sets the dots; bins, scales and axes are ours. Rejected: plotext 6, which has no types, loads a C++ library,
its own demos and tests (170 ms; plotille 20), and keeps its figure in a global variable; plotille's Figure, which puts
a number of ten digits beside each line of its axis.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from chainq.formats.chart_bins import Bins, Summary
from chainq.formats.protocol import OutputSpec
from chainq.text.humanize import counted
from chainq.text.style import BOLD, DIM, paint
from chainq.text.width import truncate, wrap

NARROWEST = 20  # character cells; below it a picture has no room for its axis
_LINES = 16  # of dots
_TOP = 4 * _LINES - 1  # the highest dot
_MARKS = 5  # on the vertical axis, about
_DAY = 86_400
_TIME_STEPS = (1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 43_200, _DAY)
_TIME_END = 253_402_300_800  # the year 10000, which datetime does not have


@dataclass(frozen=True, slots=True)
class Scale:
    """The vertical axis: from `low` to `high`, with a mark every `step`."""

    low: float
    high: float
    step: float
    times: bool = False

    def dot(self, value: float) -> int:
        """Return the vertical position of a value in dots; 0 is the lowest line, _TOP the highest."""
        return round((value - self.low) / (self.high - self.low) * _TOP)

    def marks(self) -> dict[int, str]:
        """Return the labels by the line that each belongs to, counted from below."""
        count = round((self.high - self.low) / self.step)
        values = [self.low + self.step * number for number in range(count + 1)]
        return {self.dot(value) // 4: self.text(value, self.step) for value in values}

    def text(self, value: float, step: float) -> str:
        """Return a value with the digits that distinguish it from one a `step` away; large ones as powers of ten."""
        if self.times and 0 <= value < _TIME_END:
            form = "%Y-%m-%d" if step >= _DAY else "%m-%d %H:%M" if step >= 60 else "%m-%d %H:%M:%S"
            return datetime.fromtimestamp(value, UTC).strftime(form)
        exponent = math.floor(math.log10(step) + 1e-9)
        if abs(value) < 1e12 and exponent > -7:
            return f"{value:,.{0 if value == round(value) and exponent >= -1 else max(0, -exponent)}f}"
        digits = math.floor(math.log10(max(abs(value), step))) - exponent
        mantissa, power = f"{value:.{min(max(digits, 0), 15)}e}".split("e")
        return f"{mantissa}e{int(power)}"


def scale_of(low: float, high: float, times: bool = False) -> Scale:
    """Return the axis for values from `low` to `high`: from 0 unless that would cost more than half of the picture."""
    if low == high or high - low <= 1e-12 * max(abs(low), abs(high)):  # or too close for floats to distinguish them
        low, high = (low - 60, high + 60) if times else (min(low, 0), max(high, 0) or 1)
    elif 0 < low <= high / 2 and not times:
        low = 0
    step = _time_step((high - low) / _MARKS) if times else _round_up((high - low) / _MARKS)
    if high - low >= 1:
        step = max(step, 1)
    bottom = math.floor(low / step + 1e-9) * step
    return Scale(bottom, max(math.ceil(high / step - 1e-9) * step, bottom + step), step, times)


def _time_step(least: float) -> float:
    return next((step for step in _TIME_STEPS if step >= least), 0) or _round_up(least / _DAY) * _DAY


def _round_up(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20… that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-9))


def number_of(count: float, noun: str = "block") -> str:
    """Return how many there are on average, in words: `1 block`, `7.5 blocks`."""
    text = f"{count:,.1f}".removesuffix(".0")
    return f"1 {noun}" if text == "1" else f"{text} {noun}s"


class Axis(NamedTuple):
    """The horizontal axis: its label, how a mark on it reads, and how so many of its places do, in words."""

    label: str = "block height"
    mark: Callable[[int], str] = str
    words: Callable[[float], str] = number_of


HEIGHTS = Axis()


def draw(
    bins: Bins, spec: OutputSpec, title: str, unit: str, *, times: bool = False, axis: Axis = HEIGHTS
) -> Iterator[str]:
    """Yield the lines of the picture: title, unit, dots between axes, and the numbers in words.

    `bins` has values; `times`: they are seconds since 1970; `axis`: what they are over.
    """
    room = max(spec.width, NARROWEST)
    summary = bins.summary()
    scale = scale_of(summary.low, summary.high, times)
    marks = scale.marks()
    margin = max(map(len, marks.values()))
    width = max(room - margin - 2, *(len(axis.mark(place)) for place in (bins.first, bins.last)))
    groups = bins.groups(2 * width)

    def dim(text: str) -> str:
        return paint(text.rstrip(), DIM, spec.color)

    yield paint(truncate(title, room), BOLD, spec.color)
    if unit:
        yield dim(unit)
    for line, dots in zip(range(_LINES - 1, -1, -1), _dots(groups, scale, width), strict=True):
        mark = marks.get(line, "")
        yield dim(f"{mark:>{margin}} {'┤' if mark else '│'}") + dots
    for text in _below(bins, width, axis):
        yield dim(" " * (margin + 1) + text)
    low, mean, high = (scale.text(value, scale.step / 10) for value in (summary.low, summary.mean, summary.high))
    peak = f"block {bins.peak}" if axis is HEIGHTS else axis.mark(bins.peak)
    yield from wrap(f"lowest {low}, mean {mean}, highest {high} at {peak}", room)
    if max(group.values for group in groups) > 1:
        extremes = "the highest" if scale.low == 0 else "the lowest and the highest"
        rows = "the rows of " if summary.values > bins.size else ""
        places = axis.words(bins.size / len(groups))
        yield from wrap(f"each column is the mean of {rows}{places}, dots are {extremes}", room)


def without(rows: int, lack: str) -> list[str]:
    """Return the line below a picture that counts the rows which it leaves out; none if there are none."""
    return [f"left out: {counted(rows, 'row')} without {lack}"] if rows else []


def _dots(groups: Sequence[Summary], scale: Scale, width: int) -> list[str]:
    """Return lines of braille: means as filled columns where the axis begins at 0, else as a line; extremes as dots."""
    from plotille import Canvas

    columns = 2 * width
    canvas = Canvas(width, _LINES, xmax=columns, ymax=_TOP + 1)  # so that a unit is a dot
    wide = columns >= 3 * len(groups)
    before: int | None = None
    for column in range(columns):
        number = column * len(groups) // columns
        group = groups[number]
        if not group.values:
            before = None
            continue
        mean = scale.dot(group.mean)
        if scale.low != 0:
            canvas.line(column, mean if before is None else before, column, mean)
            before = mean
        elif group.mean > 0 and not (wide and (column + 1) * len(groups) // columns > number):  # gaps between wide ones
            canvas.line(column, 0, column, mean)
        for extreme in (scale.dot(group.low), scale.dot(group.high)):
            if abs(extreme - mean) > 1 and extreme > 0:
                canvas.point(column, extreme)
    lines: list[str] = canvas.plot("\n").replace("\u2800", " ").split("\n")
    return lines


def _below(bins: Bins, width: int, line: Axis) -> Iterator[str]:
    """Yield the horizontal axis, both ends and round heights below it, and its label."""
    longest = len(line.mark(bins.last)) + 4
    step = max(1, round(_round_up(bins.size * longest / width)))
    axis, below = ["─"] * width, ""
    rounds = range(-(-bins.first // step) * step, bins.last + 1, step)
    end = width - len(line.mark(bins.last))  # where the last label begins
    for height in dict.fromkeys((bins.first, *rounds, bins.last)):
        middle = (2 * (height - bins.first) + 1) * width // (2 * bins.size)
        text = line.mark(height)
        start = min(max(middle - len(text) // 2, 0), width - len(text))
        between = start > len(below) and (height == bins.last or start + len(text) < end)
        if between or not below:
            axis[middle] = "┬"
            below = below.ljust(start) + text
    yield "└" + "".join(axis)
    yield " " + below
    yield " " + f"{truncate(line.label, width):^{width}}"
