"""`chart`: one numeric column over block height, drawn in the terminal when the last row has come.

Rows go into bins of neighbouring heights that merge in pairs when there are too many, so memory stays flat. plotille
sets the dots; bins, scales and axes are here. Rejected: plotext 6, which has no types, loads a C++ library and its own
demos and tests (170 ms; plotille 20), and keeps its figure in a global; plotille's Figure, whose axis has a number of
ten digits at every line.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, METHODS, Column, Kind, Method
from chainq.errors import UsageError
from chainq.formats.cells import BOLD, DIM, Cell, count_of, fit, paint
from chainq.formats.protocol import Out, Sheet
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
from chainq.text.width import wrap

BINS = 4096  # a terminal of 200 columns has 400 dots in a line: five bins or more to each
_LINES = 16  # of the picture without what stands around it
_TOP = 4 * _LINES - 1  # the highest dot
_MARKS = 5  # on the upright axis, about
_NARROWEST = 40
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_DAY = 86_400
_TIME_STEPS = (1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 43_200, _DAY)
_TIME_END = 253_402_300_800  # the year 10000, which datetime does not have
_DRAWABLE = (Kind.NUMBER, Kind.HEIGHT, Kind.TIME, Kind.DATA)


class HeightRange(NamedTuple):
    """What neighbouring heights have: how many values, their sum, the lowest and the highest."""

    values: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def __or__(self, other: "HeightRange") -> "HeightRange":
        """Both together."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return HeightRange(self.values + other.values, self.total + other.total, low, high)

    def filled(self, heights: int) -> "HeightRange":
        """The same with a 0 for every height that has no value."""
        return self | HeightRange(heights - self.values, 0.0, 0.0, 0.0) if heights > self.values else self

    @property
    def mean(self) -> float:
        """The mean of the values, of which there must be some."""
        return self.total / self.values


NOTHING = HeightRange()


@dataclass(slots=True)
class Bins:
    """Values by height, in at most BINS bins of 1, 2, 4, 8… heights each.

    `every`: a height of which nothing is said has the value 0.
    """

    every: bool = False
    first: int = 0
    last: int = -1
    peak: int = 0  # the height of the highest value
    _whole: HeightRange = NOTHING
    _shift: int = 0
    _bins: dict[int, HeightRange] = field(default_factory=dict)

    def add(self, height: int, value: float) -> None:
        """Take a value of a height; heights may come in any order."""
        self.first = min(height, self.first) if self else height
        self.last = max(height, self.last) if self else height
        while (self.last >> self._shift) - (self.first >> self._shift) >= BINS:
            merged: dict[int, HeightRange] = {}
            for place, span in self._bins.items():
                merged[place >> 1] = merged.get(place >> 1, NOTHING) | span
            self._bins, self._shift = merged, self._shift + 1
        if value > self._whole.high:
            self.peak = height
        one, place = HeightRange(1, value, value, value), height >> self._shift
        self._whole |= one
        self._bins[place] = self._bins.get(place, NOTHING) | one

    def __bool__(self) -> bool:
        return self._whole.values > 0

    @property
    def size(self) -> int:
        """How many heights there are from the first to the last."""
        return self.last - self.first + 1

    def whole(self) -> HeightRange:
        """All values together."""
        return self._whole.filled(self.size) if self.every else self._whole

    def groups(self, most: int) -> list[HeightRange]:
        """The heights from the first to the last in at most `most` equal groups; one may have no value."""
        groups = [NOTHING] * min(self.size, most)
        for place in range(self.first >> self._shift, (self.last >> self._shift) + 1):
            start = max(place << self._shift, self.first)
            span = self._bins.get(place, NOTHING)
            if self.every:
                span = span.filled(min((place + 1) << self._shift, self.last + 1) - start)
            groups[(start - self.first) * len(groups) // self.size] |= span
        return groups


class Meter:
    """Makes values of rows and puts them into bins. This one: the number a row holds, or how many items."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins

    def take(self, height: int, value: Raw | None) -> None:
        """Take a row, by its height and what it has in the column; one that has no number is left out."""
        if value is not None:
            count = count_of(value)
            text = text_of(value) if count is None else str(count)
            number = float(text) if _NUMBER.fullmatch(text) else math.nan
            if abs(number) < 1e300:  # so that a sum of them is no infinity, and a fifth of one no 0
                self.bins.add(height, number if abs(number) > 1e-200 else 0.0)

    def end(self) -> None:
        """Take in that there is no further row."""


class Counter(Meter):
    """How many rows a height has; they come one after the other."""

    _height: int | None = None
    _rows = 0

    def take(self, height: int, _: Raw | None) -> None:
        """Count a row."""
        if height != self._height:
            self.end()
            self._height, self._rows = height, 0
        self._rows += 1

    def end(self) -> None:
        """Close the last height."""
        if self._height is not None:
            self.bins.add(self._height, self._rows)


class Stopwatch(Meter):
    """Seconds from the block below to this one; blocks come up or down, and where one is missing nothing is known."""

    _last = (-2, 0)  # height, seconds since 1970

    def take(self, height: int, value: Raw | None) -> None:
        """Take a block's time."""
        time = integer_of(value)
        before, then = self._last
        if time is None:
            return
        if abs(height - before) == 1:
            self.bins.add(max(height, before), float((time - then) * (height - before)))
        self._last = (height, time)


class Subject(NamedTuple):
    """What is drawn: its title, the unit of its axis, its path in a row, who measures it, whether it is a time."""

    title: str
    unit: str
    path: str
    meter: Callable[[Bins], Meter] = Meter
    times: bool = False


def subject_of(method: Method, sheet: Sheet) -> Subject:
    """What is drawn of a command's rows. Raises UsageError where the columns chosen are not one of numbers."""
    chosen = [column for column in sheet.columns if column.path != method.height] if sheet.chosen else []
    if len(chosen) > 1:
        names = ", ".join(printable(column.path) for column in chosen)
        raise UsageError(f"a chart draws one column over height, not {len(chosen)} ({names})", "choose one of them")
    if chosen:
        return _column(chosen[0], method)
    if method.command == "blocks":
        return Subject("block time", "seconds", "timestamp", Stopwatch)
    if method.command == "full-blocks":
        return Subject("transactions a block", "transactions", "transactions")
    return Subject(f"{method.command} a block", method.command, "", Counter)


def _column(column: Column, method: Method) -> Subject:
    name = printable(column.path)
    if column.kind is Kind.DATA:
        return Subject(f"{name} a block", "items", column.path)
    if column.kind in _DRAWABLE or column.type in ("number", "unknown"):
        times = column.kind is Kind.TIME
        return Subject(name, "UTC" if times else "", column.path, times=times)
    numbers = [other.path for other in method.columns if other.kind in _DRAWABLE and other.path != method.height]
    raise UsageError(f"{name} is no number, so there is nothing to draw", f"these can be drawn: {', '.join(numbers)}")


class Chart:
    """Draws one column over height: the one chosen, or what a person wants to see of that command.

    Numbers become floats: a picture shows no sixteenth digit. Raises UsageError for commands whose rows have no height,
    for columns that cannot be drawn, and without plotille.
    """

    def __init__(self, out: Out, sheet: Sheet) -> None:
        try:
            import plotille  # noqa: F401  # said before the first call, not after the last row
        except ImportError:
            raise UsageError("charts need the package plotille", "pip install 'chainq[chart]'") from None
        method = BY_COMMAND.get(sheet.command)
        if method is None or method.height is None:
            names = ", ".join(other.command for other in METHODS if other.height)
            raise UsageError(f"rows of {sheet.command} have no height to draw them over", f"charts are for {names}")
        self._out, self._sheet = out, sheet
        self._subject = subject_of(method, sheet)
        self._pick = Picker([method.height, self._subject.path])
        self._bins = Bins(every=self._subject.meter is Counter)
        self._meter = self._subject.meter(self._bins)
        self._rows = self._lost = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Take rows into the bins."""
        for row in rows:
            at, value = self._pick(row)
            height = integer_of(at)
            if height is None:
                self._lost += 1
            else:
                self._meter.take(height, value)
        self._rows += len(rows)

    def close(self) -> None:
        """Draw."""
        self._meter.end()
        lines = list(picture(self._bins, self._subject, self._sheet)) if self._bins else []
        if not lines:
            rows = counted(self._rows, "row")
            lines = [f"nothing to draw: no {self._subject.title} in {rows}" if self._rows else "no rows"]
        if self._lost:
            lines.append(f"left out: {counted(self._lost, 'row')} without a height")
        self._out.write("".join(f"{line.rstrip()}\n" for line in lines).encode())


@dataclass(frozen=True, slots=True)
class Scale:
    """The upright axis: from `low` to `high`, with a mark every `step`."""

    low: float
    high: float
    step: float
    times: bool = False

    def place(self, value: float) -> int:
        """The dot that stands for the value; 0 is the lowest of the picture, _TOP the highest."""
        return round((value - self.low) / (self.high - self.low) * _TOP)

    def marks(self) -> dict[int, str]:
        """The labels, by the line of the picture, from below, that each stands at."""
        count = round((self.high - self.low) / self.step)
        values = [self.low + self.step * at for at in range(count + 1)]
        return {self.place(value) // 4: self.text(value, self.step) for value in values}

    def text(self, value: float, step: float) -> str:
        """A value with the digits that tell it from one that is a `step` away; large ones as powers of ten."""
        if self.times and 0 <= value < _TIME_END:
            shape = "%Y-%m-%d" if step >= _DAY else "%m-%d %H:%M" if step >= 60 else "%m-%d %H:%M:%S"
            return datetime.fromtimestamp(value, UTC).strftime(shape)
        exponent = math.floor(math.log10(step) + 1e-9)
        if abs(value) < 1e12 and exponent > -7:
            return f"{value:,.{0 if value == round(value) and exponent >= -1 else max(0, -exponent)}f}"
        digits = math.floor(math.log10(max(abs(value), step))) - exponent
        mantissa, power = f"{value:.{min(max(digits, 0), 15)}e}".split("e")
        return f"{mantissa}e{int(power)}"


def scale_of(low: float, high: float, times: bool = False) -> Scale:
    """The axis for values from `low` to `high`: from 0 unless that would cost more than half of the picture."""
    if low == high or high - low <= 1e-12 * max(abs(low), abs(high)):  # or too near for floats to tell them apart
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
    """The smallest of 1, 2, 5, 10, 20… that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-9))


def picture(bins: Bins, subject: Subject, sheet: Sheet) -> Iterator[str]:
    """The lines of the picture: title, unit, dots between axes, and what they say in words; `bins` is not empty."""
    room = max(sheet.width, _NARROWEST)
    whole = bins.whole()
    scale = _scale(bins, whole, 2 * room, subject.times)
    marks = scale.marks()
    margin = max(map(len, marks.values()))
    width = room - margin - 2
    groups = bins.groups(2 * width)

    def dim(text: str) -> str:
        return paint(text.rstrip(), DIM, sheet.color)

    yield paint(fit(Cell(subject.title), room), BOLD, sheet.color)
    if subject.unit:
        yield dim(subject.unit)
    for line, dots in zip(range(_LINES - 1, -1, -1), _dots(groups, scale, width), strict=True):
        mark = marks.get(line, "")
        yield dim(f"{mark:>{margin}} {'┤' if mark else '│'}") + dots
    for text in _ground(bins, width):
        yield dim(" " * (margin + 1) + text)
    low, mean, high = (scale.text(value, scale.step / 10) for value in (whole.low, whole.mean, whole.high))
    beyond = ", beyond the picture" if whole.high > scale.high else ""
    yield from wrap(f"lowest {low}, mean {mean}, highest {high} at block {bins.peak}{beyond}", room)
    if max(group.values for group in groups) > 1:
        ends = "the highest" if scale.low == 0 else "the lowest and the highest"
        heights = f"{bins.size / len(groups):,.1f}".removesuffix(".0")
        blocks = "1 block" if heights == "1" else f"{heights} blocks"
        yield from wrap(f"a column is the mean over {blocks}, dots are {ends}", room)


def _scale(bins: Bins, whole: HeightRange, dots: int, times: bool) -> Scale:
    """The upright axis, up to the highest value unless a few so high would press all others flat."""
    means = sorted(group.mean for group in bins.groups(dots) if group.values)
    usual = means[len(means) * 95 // 100]
    cut = whole.low >= 0 and usual > 0 and not times
    return scale_of(whole.low, min(whole.high, 3 * usual) if cut else whole.high, times)


def _dots(groups: Sequence[HeightRange], scale: Scale, width: int) -> list[str]:
    """Lines of braille: means as filled columns where the axis begins at 0, else as a line; extremes as single dots."""
    from plotille import Canvas

    columns = 2 * width
    canvas = Canvas(width, _LINES, xmax=columns, ymax=_TOP + 1)  # so that a unit is a dot
    wide = columns >= 3 * len(groups)
    before: int | None = None
    for column in range(columns):
        at = column * len(groups) // columns
        group = groups[at]
        if not group.values:
            before = None
            continue
        mean = scale.place(group.mean)
        if scale.low != 0:
            canvas.line(column, mean if before is None else before, column, mean)
            before = mean
        elif group.mean > 0 and not (wide and (column + 1) * len(groups) // columns > at):  # gaps between wide columns
            canvas.line(column, 0, column, min(mean, _TOP))
        for extreme in (scale.place(group.low), scale.place(group.high)):
            if abs(extreme - mean) > 1 and 0 < extreme <= _TOP:
                canvas.point(column, extreme)
    lines: list[str] = canvas.plot("\n").replace("\u2800", " ").split("\n")
    return lines


def _ground(bins: Bins, width: int) -> Iterator[str]:
    """The level axis, round heights below it, and its label."""
    longest = len(str(bins.last)) + 4
    step = max(1, round(_round_up(bins.size * longest / width)))
    axis, below = ["─"] * width, ""
    for height in range(-(-bins.first // step) * step, bins.last + 1, step):
        at = (2 * (height - bins.first) + 1) * width // (2 * bins.size)
        text = str(height)
        start = min(max(at - len(text) // 2, 0), width - len(text))
        if start > len(below) or not below:
            axis[at] = "┬"
            below = below.ljust(start) + text
    yield "└" + "".join(axis)
    yield " " + below
    yield " " + f"{'block height':^{width}}"
