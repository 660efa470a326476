"""`chart`: one numeric column over block height, drawn in the terminal after the last row; of a query, two columns.

Written against the public protocol only, as any package can (`chainq.formats.protocol`). Rows are measured here, their
values go into the bins of `chart_picture`, which draws them.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Column, Kind
from chainq.errors import UsageError, needed
from chainq.formats.chart_picture import HEIGHTS, NARROWEST, TIMES, Axis, Bins, draw, number
from chainq.formats.protocol import Output, OutputSpec, Writer
from chainq.rows.fields import Picker, count_of, integer_of, text_of
from chainq.text.humanize import counted
from chainq.text.sanitize import printable
from chainq.text.style import BOLD, paint
from chainq.text.width import BOTH_ENDS, truncate, width_of

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_DRAWABLE = (Kind.NUMBER, Kind.HEIGHT, Kind.DATA)
_COUNTED = {"owned": "owned rows", "verify": "findings"}  # rows that are not named as their command
MOST_BARS = 500  # one a line
_DRAWS = "a text or number and a number (bars in the order of the rows), a time and a number, or height and a number"


def measure_values(bins: Bins) -> Callable[[int, Raw | None], None]:
    """Return what takes the number in a column, or how many items it has; a row without a number is left out."""

    def take(place: int, value: Raw | None) -> None:
        if value is not None:
            count = count_of(value)
            text = text_of(value) if count is None else str(count)
            size = float(text) if _NUMBER.fullmatch(text) else math.nan
            if abs(size) < 1e300:  # so that a sum of them is not infinite, and a fifth of one not 0
                bins.add(place, size if abs(size) > 1e-200 else 0.0)

    return take


def measure_rows(bins: Bins) -> Callable[[int, Raw | None], None]:
    """Return what counts the rows of each place; rows of one place come one after the other, and -1 ends them."""
    before, rows = -1, 0

    def take(place: int, _: Raw | None) -> None:
        nonlocal before, rows
        if place != before:
            if rows:
                bins.add(before, rows)
            before, rows = place, 0
        rows += 1

    return take


def measure_block_times(bins: Bins) -> Callable[[int, Raw | None], None]:
    """Return what takes seconds from each block's predecessor; blocks ascend or descend, after a gap none is known."""
    before, then = -2, 0

    def take(height: int, value: Raw | None) -> None:
        nonlocal before, then
        if (time := integer_of(value)) is not None:
            if abs(height - before) == 1:
                bins.add(max(height, before), float((time - then) * (height - before)))
            before, then = height, time

    return take


class Subject(NamedTuple):
    """What is drawn: its title, the unit of its axis, its path in a row, what measures it."""

    title: str
    unit: str
    path: str
    measure: Callable[[Bins], Callable[[int, Raw | None], None]] = measure_values


def subject_of(spec: OutputSpec) -> Subject:
    """Return what is drawn of a command's rows. Raises UsageError unless the selected columns are one of numbers."""
    selected = [column for column in spec.columns if column.path != spec.height] if spec.selected else []
    if len(selected) > 1:
        names = ", ".join(printable(column.path) for column in selected)
        raise UsageError(f"chart draws one column, but --columns selects {len(selected)}: {names}")
    if selected:
        return _column(selected[0], spec)
    if spec.command in ("blocks", "block", "latest"):
        return Subject("block time", "seconds", "timestamp", measure_block_times)
    if spec.command == "full-blocks":
        return Subject("transactions per block", "transactions", "transactions")
    rows = _COUNTED.get(spec.command, spec.command)
    return Subject(f"{rows} per block", rows, "", measure_rows)


def _column(column: Column, spec: OutputSpec) -> Subject:
    """Return a column as what is drawn. Raises UsageError if it holds no numbers."""
    name = printable(column.path)
    if column.kind is Kind.DATA:
        return Subject(f"{name} per block", "items", column.path)
    if column.kind in _DRAWABLE or column.type in ("number", "unknown"):
        return Subject(name, column.unit, column.path)
    known = BY_COMMAND[spec.command].columns if spec.command in BY_COMMAND else ()
    numbers = [other.path for other in known if other.kind in _DRAWABLE and other.path != spec.height]
    hint = f"it can draw {', '.join(numbers)}" if numbers else ""
    raise UsageError(f"chart cannot draw {name}: it holds no numbers", hint)


class Line:
    """Draws a subject over an axis, whose places are at `path` in a row.

    Numbers become floats: a picture shows no sixteenth digit.
    """

    def __init__(self, out: Output, spec: OutputSpec, subject: Subject, axis: Axis, path: str) -> None:
        with needed("chart needs the plotille package", "chart"):
            import plotille  # noqa: F401  # to fail before the first request, not after the last row
        self._out, self._spec, self._subject, self._axis = out, spec, subject, axis
        self._pick = Picker([path, subject.path])
        self._bins = Bins(default_zero=subject.measure is measure_rows)
        self._take = subject.measure(self._bins)
        self._rows = self._without = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Put rows into bins."""
        for row in rows:
            sent, value = self._pick(row)
            place = self._axis.place(sent)
            if place is None:
                self._without += 1
            else:
                self._take(place, value)
        self._rows += len(rows)

    def close(self) -> None:
        """Draw the chart."""
        self._take(-1, None)
        subject = self._subject
        if self._bins:
            if (read := self._spec.read()) is not None:
                self._bins.span(read[0], read[1] - 1)
            lines = list(draw(self._bins, self._spec, subject.title, subject.unit, self._axis))
        elif self._rows:
            hint = "; it needs two blocks in a row" if subject.measure is measure_block_times else ""
            lines = [f"nothing to draw: no {subject.title} in {counted(self._rows, 'row')}{hint}"]
        else:
            lines = [f"nothing to draw: no {_COUNTED.get(self._spec.command, 'rows')}"]
        _write(self._out, [*lines, *_without(self._without, self._axis.one)])


class Chart(Line):
    """Draws one column over height: the selected one, or the most interesting one of the command.

    Takes `out` and `spec` as every format does. Raises UsageError for columns that cannot be drawn, and without
    plotille.
    """

    needs_heights = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        super().__init__(out, spec, subject_of(spec), HEIGHTS, spec.height or "")


class Bars:
    """Draws a bar for each row of a result, of the number in one column, with the text in another one before it.

    Raises UsageError for two rows with the same text, and for too many rows.
    """

    def __init__(self, out: Output, spec: OutputSpec, label: str, value: str) -> None:
        self._out, self._spec = out, spec
        self._label, self._value = printable(label), printable(value)
        self._pick = Picker([label, value])
        self._sizes: dict[str, tuple[str, float]] = {}  # the number as it is shown, and its value, by the text
        self._without = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Take in rows; one without a number has no place in the picture."""
        for label, text in (map(text_of, self._pick(row)) for row in rows):
            size = float(text) if _NUMBER.fullmatch(text) else math.inf
            if math.isinf(size):
                self._without += 1
                continue
            if label in self._sizes:
                one = f"chart draws one bar for each {self._label}, but several rows have {printable(label)!r}"
                raise UsageError(one, f"group by {self._label}")
            self._sizes[label] = f"{int(text):,}" if text.lstrip("-").isdigit() else number(size), size
        if len(self._sizes) > MOST_BARS:
            raise UsageError(f"chart draws at most {MOST_BARS} bars", "add LIMIT")

    def close(self) -> None:
        """Draw the chart."""
        _write(self._out, [*self._lines(), *_without(self._without, "a number")])

    def _lines(self) -> Iterator[str]:
        if not self._sizes:
            yield "nothing to draw: no rows with a number"
            return
        room = max(self._spec.width, NARROWEST)
        yield paint(truncate(f"{self._value} by {self._label}", room), BOLD, self._spec.color)
        labels = [truncate(printable(label) or "-", room // 3, BOTH_ENDS) for label in self._sizes]
        margin, digits = max(map(width_of, labels)), max(len(text) for text, _ in self._sizes.values())
        width = max(room - margin - digits - 3, 1)
        most = max(abs(size) for _, size in self._sizes.values()) or 1
        for label, (text, size) in zip(labels, self._sizes.values(), strict=True):
            bar = ("█" if size >= 0 else "░") * round(abs(size) / most * width)
            yield f"{label}{' ' * (margin - width_of(label))}  {text:>{digits}} {bar}"


def result_chart(out: Output, spec: OutputSpec) -> Writer:
    """Return the chart of two columns of a query's result, of the last number in them over the other column.

    Raises UsageError for other columns.
    """
    numbers = [column for column in spec.columns if column.kind in (Kind.HEIGHT, Kind.NUMBER)]
    if len(spec.columns) != 2 or not numbers:
        names = ", ".join(printable(column.path) for column in spec.columns)
        raise UsageError(f"chart cannot draw the columns {names}", f"it draws {_DRAWS}")
    value = numbers[-1]
    label = next(column for column in spec.columns if column is not value)
    if label.type != "time":
        return Bars(out, spec, label.path, value.path)
    title = f"{printable(value.path)} by {printable(label.path)}"
    return Line(out, spec, Subject(title, "", value.path), TIMES, label.path)


def _without(rows: int, lack: str) -> list[str]:
    """Return the line below a picture that counts the rows which it leaves out; none if there are none."""
    return [f"left out: {counted(rows, 'row')} without {lack}"] if rows else []


def _write(out: Output, lines: Sequence[str]) -> None:
    out.write("".join(f"{line.rstrip()}\n" for line in lines).encode())
