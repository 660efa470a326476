"""Draws values over block height or time: title, a picture by plotille, and the numbers in words.

Values are kept in bins of neighboring places, which merge in pairs when there are too many: memory stays flat.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Raw

from chainq.formats.protocol import OutputSpec
from chainq.rows.fields import integer_of, text_of
from chainq.text.humanize import duration, utc
from chainq.text.style import BOLD, DIM, paint
from chainq.text.width import truncate, wrap

BINS = 4096  # a terminal of 200 columns has 400 dots in a line: five bins or more for each
NARROWEST = 20  # character cells; below it a picture has no room for its axis
_MARKS = 4  # parts of the vertical axis, with a number at each end of them
_MARGIN = 13  # cells of plotille's vertical axis


class Summary(NamedTuple):
    """The values of neighboring places: how many, their sum, the lowest and the highest."""

    values: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def __or__(self, other: "Summary") -> "Summary":
        """Return the summary of both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Summary(self.values + other.values, self.total + other.total, low, high)

    @property
    def mean(self) -> float:
        """Return the mean of the values, of which there must be some."""
        return self.total / self.values


EMPTY = Summary()


@dataclass(slots=True)
class Bins:
    """Values by place, which is a height or a second, in at most BINS bins of 1, 2, 4, 8… places each.

    `default_zero`: a place without a value counts as 0.
    """

    default_zero: bool = False
    first: int = 0
    last: int = -1
    peak: int = 0  # the place of the highest value
    _highest: float = -math.inf
    _shift: int = 0
    _bins: dict[int, Summary] = field(default_factory=dict)

    def add(self, place: int, value: float) -> None:
        """Add the value of a place; places may come in any order."""
        self.span(place, place)
        if value > self._highest:
            self._highest, self.peak = value, place
        number = place >> self._shift
        self._bins[number] = self._bins.get(number, EMPTY) | Summary(1, value, value, value)

    def span(self, first: int, last: int) -> None:
        """Make these places part of the picture, with or without values."""
        self.first, self.last = (min(first, self.first), max(last, self.last)) if self.size else (first, last)
        while (self.last >> self._shift) - (self.first >> self._shift) >= BINS:
            merged: dict[int, Summary] = {}
            for number, summary in self._bins.items():
                merged[number >> 1] = merged.get(number >> 1, EMPTY) | summary
            self._bins, self._shift = merged, self._shift + 1

    def __bool__(self) -> bool:
        return bool(self._bins)

    @property
    def size(self) -> int:
        """Return how many places there are from the first to the last."""
        return self.last - self.first + 1

    def groups(self, most: int) -> list[Summary]:
        """Return the places from the first to the last in at most `most` equal groups; some may have no value."""
        groups = [EMPTY] * min(self.size, most)
        for number in range(self.first >> self._shift, (self.last >> self._shift) + 1):
            start = max(number << self._shift, self.first)
            summary = self._bins.get(number, EMPTY)
            places = min((number + 1) << self._shift, self.last + 1) - start
            if self.default_zero and places > summary.values:
                summary |= Summary(places - summary.values, 0.0, 0.0, 0.0)
            groups[(start - self.first) * len(groups) // self.size] |= summary
        return groups


class Axis(NamedTuple):
    """The horizontal axis: its label, a place by the value of a row, how one reads, and how so many do, in words."""

    label: str
    place: Callable[[Raw | None], int | None]
    mark: Callable[[int], str]
    words: Callable[[float], str]
    one: str


def _seconds(value: Raw | None) -> int | None:
    """Return a date or time by ISO 8601 in seconds since 1970, as UTC unless it names a zone; None for another text."""
    try:
        time = datetime.fromisoformat(text_of(value))
    except ValueError:
        return None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())


def _blocks(count: float) -> str:
    return "1 block" if count == 1 else f"{count:,.4g} blocks"


HEIGHTS = Axis("block height", integer_of, str, _blocks, "a height")
TIMES = Axis("UTC", _seconds, lambda second: utc(second)[:16].removesuffix(" 00:00"), duration, "a time")


def number(value: float) -> str:
    """Return a value with its digits in groups: six of them, or all before its point if there are 7 to 15."""
    whole = value == round(value) or abs(value) >= 1e6
    return f"{value:,.0f}" if whole and abs(value) < 1e15 else f"{value:,.6g}"


def _round_up(least: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5, 10, 20… that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 2.5, 5, 10) if power * digit >= least * (1 - 1e-9))


def draw(bins: Bins, spec: OutputSpec, title: str, unit: str, axis: Axis) -> Iterator[str]:
    """Yield the lines of the picture: title, unit, dots between axes, and the numbers in words. `bins` has values."""
    from plotille import Figure

    room = max(spec.width, NARROWEST)
    (summary,) = bins.groups(1)
    low, high = summary.low, summary.high
    if 0 <= low <= high / 2 or high - low <= 1e-12 * max(abs(low), abs(high)):  # which floats hardly distinguish
        low, high = min(low, 0), max(high, 0) or 1
    step = _round_up((high - low) / _MARKS)
    if math.floor(low / step) * step + _MARKS * step < high:
        step = _round_up(1.01 * step)
    low = math.floor(low / step) * step
    figure = Figure()
    figure.width, figure.height, figure.linesep = room - _MARGIN, 4 * _MARKS, "\n"
    figure.with_colors = figure.with_x_axis = figure.origin = False
    groups = bins.groups(2 * figure.width)
    figure.set_x_limits(0, len(groups))
    figure.set_y_limits(low, low + _MARKS * step * (1 + 1 / 64))  # by a dot: plotille leaves out the limit

    def mark(value: float, _: float) -> str:
        line = round((value - low) / step * 4)
        return "" if line % 4 else number(low + line / 4 * step)

    figure.y_ticks_fkt = mark
    drawn = [(place + 0.5, group) for place, group in enumerate(groups) if group.values]
    places = [place for place, _ in drawn]
    figure.plot(places, [group.mean for _, group in drawn])
    figure.scatter(places * 2, [*(group.high for _, group in drawn), *(group.low for _, group in drawn)])
    yield paint(truncate(title, room), BOLD, spec.color)
    if unit:
        yield paint(unit, DIM, spec.color)
    for line in figure.show().replace("\u2800", " ").split("\n")[1:]:
        yield paint(line[:_MARGIN], DIM, spec.color) + line[_MARGIN:].rstrip()
    first, last = axis.mark(bins.first), axis.mark(bins.last)
    ends = f"{first} {last:>{max(figure.width - len(first) - 1, 0)}}" if bins.size > 1 else first
    yield paint(f"{ends[-room:]:>{room}}", DIM, spec.color)
    yield paint(f"{axis.label:^{room}}".rstrip(), DIM, spec.color)
    peak = f"{'block ' * (axis is HEIGHTS)}{axis.mark(bins.peak)}"
    values = f"lowest {number(summary.low)}, mean {number(summary.mean)}, highest {number(summary.high)}"
    yield from wrap(f"{values} at {peak}", room)
    if max(group.values for group in groups) > 1:
        rows = "the rows of " if summary.values > bins.size else ""
        each = axis.words(bins.size / len(groups))
        yield from wrap(f"the line is the mean of {rows}{each}, dots are the lowest and the highest", room)
