"""`chart`: one numeric column over block height, drawn in the terminal after the last row.

Written against the public protocol only, as any package can (`chainq.formats.protocol`). Rows are measured here, their
values go into the bins of `chart_bins`, and `chart_drawing` makes the picture of those.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Column, Kind
from chainq.errors import UsageError, needed
from chainq.formats.chart_bins import Bins
from chainq.formats.chart_drawing import draw, without
from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Picker, count_of, integer_of, text_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_DRAWABLE = (Kind.NUMBER, Kind.HEIGHT, Kind.TIME, Kind.DATA)
_COUNTED = {"owned": "owned rows", "verify": "findings"}  # rows that are not named as their command


class ValueMeter:
    """Measures rows and puts the values into bins: here the number in a column, or how many items it has."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins

    def take(self, height: int, value: Raw | None) -> None:
        """Measure a row, given its height and its value in the column; a row without a number is left out."""
        if value is not None:
            count = count_of(value)
            text = text_of(value) if count is None else str(count)
            number = float(text) if _NUMBER.fullmatch(text) else math.nan
            if abs(number) < 1e300:  # so that a sum of them is not infinite, and a fifth of one not 0
                self.bins.add(height, number if abs(number) > 1e-200 else 0.0)

    def end(self) -> None:
        """Do nothing: each row has been measured."""


class RowMeter(ValueMeter):
    """Counts the rows of each height; rows of one height come one after the other."""

    _height: int | None = None
    _rows = 0

    def take(self, height: int, _: Raw | None) -> None:
        """Count a row."""
        if height != self._height:
            self.end()
            self._height, self._rows = height, 0
        self._rows += 1

    def end(self) -> None:
        """Add the count of the last height."""
        if self._height is not None:
            self.bins.add(self._height, self._rows)


class BlockTimeMeter(ValueMeter):
    """Measures seconds from each block's predecessor; blocks ascend or descend, and after a gap nothing is known."""

    _last = (-2, 0)  # height, seconds since 1970

    def take(self, height: int, value: Raw | None) -> None:
        """Measure a block, given its height and time."""
        time = integer_of(value)
        before, then = self._last
        if time is None:
            return
        if abs(height - before) == 1:
            self.bins.add(max(height, before), float((time - then) * (height - before)))
        self._last = (height, time)


class Subject(NamedTuple):
    """What is drawn: its title, the unit of its axis, its path in a row, what measures it, whether values are times."""

    title: str
    unit: str
    path: str
    meter: Callable[[Bins], ValueMeter] = ValueMeter
    times: bool = False


def subject_of(spec: OutputSpec) -> Subject:
    """Return what is drawn of a command's rows. Raises UsageError unless the selected columns are one of numbers."""
    selected = [column for column in spec.columns if column.path != spec.height] if spec.selected else []
    if len(selected) > 1:
        names = ", ".join(printable(column.path) for column in selected)
        raise UsageError(f"chart draws one column, but --columns selects {len(selected)}: {names}")
    if selected:
        return _column(selected[0], spec)
    if spec.command in ("blocks", "block", "latest"):
        return Subject("block time", "seconds", "timestamp", BlockTimeMeter)
    if spec.command == "full-blocks":
        return Subject("transactions per block", "transactions", "transactions")
    rows = _COUNTED.get(spec.command, spec.command)
    return Subject(f"{rows} per block", rows, "", RowMeter)


def drawable(columns: Sequence[Column], height: str | None) -> list[Column]:
    """Return the columns of a command that a chart can draw over the column of the height."""
    return [column for column in columns if column.kind in _DRAWABLE and column.path != height]


def _column(column: Column, spec: OutputSpec) -> Subject:
    """Return a column as what is drawn. Raises UsageError if it holds no numbers."""
    name = printable(column.path)
    if column.kind is Kind.DATA:
        return Subject(f"{name} per block", "items", column.path)
    if column.kind in _DRAWABLE or column.type in ("number", "unknown"):
        times = column.kind is Kind.TIME
        return Subject(name, "UTC" if times else column.unit, column.path, times=times)
    known = BY_COMMAND[spec.command].columns if spec.command in BY_COMMAND else ()
    numbers = [other.path for other in drawable(known, spec.height)]
    hint = f"it can draw {', '.join(numbers)}" if numbers else ""
    raise UsageError(f"chart cannot draw {name}: it holds no numbers", hint)


class Chart:
    """Draws one column over height: the selected one, or the most interesting one of the command.

    Numbers become floats: a picture shows no sixteenth digit. Takes `out` and `spec` as every format does. Raises
    UsageError for columns that cannot be drawn, and without plotille.
    """

    needs_heights = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        with needed("chart needs the plotille package", "chart"):
            import plotille  # noqa: F401  # to fail before the first request, not after the last row
        self._out, self._spec = out, spec
        self._subject = subject_of(spec)
        self._pick = Picker([spec.height or "", self._subject.path])
        self._bins = Bins(default_zero=self._subject.meter is RowMeter)
        self._meter = self._subject.meter(self._bins)
        self._rows = self._without_height = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Put rows into bins."""
        for row in rows:
            sent, value = self._pick(row)
            height = integer_of(sent)
            if height is None:
                self._without_height += 1
            else:
                self._meter.take(height, value)
        self._rows += len(rows)

    def close(self) -> None:
        """Draw the chart."""
        self._meter.end()
        subject = self._subject
        if self._bins:
            if (read := self._spec.read()) is not None:
                self._bins.span(read[0], read[1] - 1)
            lines = list(draw(self._bins, self._spec, subject.title, subject.unit, times=subject.times))
        elif self._rows:
            hint = "; it needs two blocks in a row" if subject.meter is BlockTimeMeter else ""
            lines = [f"nothing to draw: no {subject.title} in {counted(self._rows, 'row')}{hint}"]
        else:
            lines = [f"nothing to draw: no {_COUNTED.get(self._spec.command, 'rows')}"]
        lines += without(self._without_height, "a height")
        self._out.write("".join(f"{line.rstrip()}\n" for line in lines).encode())
