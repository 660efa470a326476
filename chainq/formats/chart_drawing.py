"""Draws the bins of a `chart`: title, a picture by plotille, and the numbers in words."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from chainq.formats.chart_bins import Bins
from chainq.formats.protocol import OutputSpec
from chainq.text.humanize import counted, utc
from chainq.text.style import BOLD, DIM, paint
from chainq.text.width import truncate, wrap

NARROWEST = 20  # character cells; below it a picture has no room for its axis
_MARKS = 4  # parts of the vertical axis, with a number at each end of them
_MARGIN = 13  # cells of plotille's vertical axis


def blocks(count: float) -> str:
    """Return how many blocks there are on average, in words: `1 block`, `7.5 blocks`."""
    return "1 block" if count == 1 else f"{count:,.4g} blocks"


class Axis(NamedTuple):
    """The horizontal axis: its label, how a place on it reads, and how so many of its places do, in words."""

    label: str = "block height"
    mark: Callable[[int], str] = str
    words: Callable[[float], str] = blocks


HEIGHTS = Axis()


def number(value: float) -> str:
    """Return a value with its digits in groups: six of them, or all before its point if there are 7 to 15."""
    whole = value == round(value) or abs(value) >= 1e6
    return f"{value:,.0f}" if whole and abs(value) < 1e15 else f"{value:,.6g}"


def _round_up(least: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5, 10, 20… that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 2.5, 5, 10) if power * digit >= least * (1 - 1e-9))


def draw(
    bins: Bins, spec: OutputSpec, title: str, unit: str, *, times: bool = False, axis: Axis = HEIGHTS
) -> Iterator[str]:
    """Yield the lines of the picture: title, unit, dots between axes, and the numbers in words.

    `bins` has values; `times`: they are seconds since 1970; `axis`: what they are over.
    """
    from plotille import Figure

    room = max(spec.width, NARROWEST)
    summary = bins.summary()
    text = utc if times else number
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
    shown = slice(0, 10) if not times or step > 86_400 else slice(11, 19)  # dates, or the time of the day

    def mark(value: float, _: float) -> str:
        line = (value - low) / step * 4
        return "" if round(line) % 4 else text(low + round(line) / 4 * step)[shown]

    figure.y_ticks_fkt = mark
    drawn = [(place + 0.5, group) for place, group in enumerate(groups) if group.values]
    places = [place for place, _ in drawn]
    figure.plot(places, [group.mean for _, group in drawn])
    for extremes in ([group.high for _, group in drawn], [group.low for _, group in drawn]):
        figure.scatter(places, extremes)
    yield paint(truncate(title, room), BOLD, spec.color)
    if unit:
        yield paint(unit, DIM, spec.color)
    for line in figure.show().replace("\u2800", " ").split("\n")[1:]:
        yield paint(line[:_MARGIN], DIM, spec.color) + line[_MARGIN:].rstrip()
    first, last = axis.mark(bins.first), axis.mark(bins.last)
    ends = f"{first} {last:>{max(figure.width - len(first) - 1, 0)}}" if bins.size > 1 else first
    yield paint(f"{ends[-room:]:>{room}}", DIM, spec.color)
    yield paint(f"{axis.label:^{room}}".rstrip(), DIM, spec.color)
    peak = f"block {bins.peak}" if axis is HEIGHTS else axis.mark(bins.peak)
    yield from wrap(
        f"lowest {text(summary.low)}, mean {text(summary.mean)}, highest {text(summary.high)} at {peak}", room
    )
    if max(group.values for group in groups) > 1:
        rows = "the rows of " if summary.values > bins.size else ""
        places_each = axis.words(bins.size / len(groups))
        yield from wrap(f"the line is the mean of {rows}{places_each}, dots are the lowest and the highest", room)


def without(rows: int, lack: str) -> list[str]:
    """Return the line below a picture that counts the rows which it leaves out; none if there are none."""
    return [f"left out: {counted(rows, 'row')} without {lack}"] if rows else []
