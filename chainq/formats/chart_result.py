"""The `chart` of a query's result: bars for a text and a number, a line for a time and a number."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.errors import UsageError
from chainq.formats.chart_bins import Bins
from chainq.formats.chart_drawing import NARROWEST, Axis, draw, number, without
from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Picker, text_of
from chainq.text.humanize import duration, utc
from chainq.text.sanitize import printable
from chainq.text.style import BOLD, paint
from chainq.text.width import BOTH_ENDS, truncate, width_of

TIME = "time"
"""The type of a column of dates or times; they are written by ISO 8601."""
MOST_ROWS = 10_000
MOST_BARS = 500  # one a line
DRAWS = "a text or number and a number (bars in the order of the rows), a time and a number, or height and a number"
_DAY = 86_400


class ResultChart:
    """Draws two columns of a result, the last number in them over the other one.

    Takes `out` and `spec` as every format does. Raises UsageError for other columns, and for too many rows or bars.
    """

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        numbers = [column for column in spec.columns if column.kind in (Kind.HEIGHT, Kind.NUMBER)]
        if len(spec.columns) != 2 or not numbers:
            names = ", ".join(printable(column.path) for column in spec.columns)
            raise UsageError(
                f"chart cannot draw the columns {names}",
                f"it draws {DRAWS}",
            )
        self._out, self._spec = out, spec
        self._value = numbers[-1]
        self._label: Column = next(column for column in spec.columns if column is not self._value)
        self._pick = Picker([self._label.path, self._value.path])
        self._found: list[tuple[str, float]] = []
        self._digits: list[str] = []  # of the numbers, as a bar shows them
        self._rows = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Take in rows; one without a number has no place in the picture."""
        for row in rows:
            self._rows += 1
            label, value = map(text_of, self._pick(row))
            try:
                size = float(value)
            except ValueError:
                continue
            if math.isfinite(size):
                self._found.append((label, size))
                self._digits.append(_shortened(value, size))
        if len(self._found) > MOST_ROWS:
            raise UsageError(f"chart draws at most {MOST_ROWS:,} rows of a result", "group them, or add LIMIT")

    def close(self) -> None:
        """Draw the chart."""
        if not self._found:
            lines: Iterable[str] = ["nothing to draw: no rows with a number"]
        elif self._label.type == TIME:
            lines = self._line()
        else:
            self._check_labels()
            if len(self._found) > MOST_BARS:
                raise UsageError(f"chart draws at most {MOST_BARS} bars, not {len(self._found):,}", "add LIMIT")
            lines = [*self._bars(), *without(self._rows - len(self._found), "a number")]
        self._out.write("".join(f"{line.rstrip()}\n" for line in lines).encode())

    def _check_labels(self) -> None:
        """Raise UsageError unless each label has one bar."""
        label, times = Counter(label for label, _ in self._found).most_common(1)[0]
        if times > 1:
            name = printable(self._label.path)
            kind = " (not a number)" if self._label is self._spec.columns[1] else ""
            raise UsageError(
                f"chart draws one bar for each {name}{kind}, but {times:,} rows have {printable(label)!r}",
                f"group by {name}",
            )

    def _bars(self) -> Iterator[str]:
        room = max(self._spec.width, NARROWEST)
        labels = _apart([printable(label) or "-" for label, _ in self._found], room // 3)
        margin, digits = max(map(width_of, labels)), max(map(len, self._digits))
        width = max(room - margin - digits - 3, 1)
        most = max(abs(number) for _, number in self._found) or 1
        yield paint(truncate(self._title, room), BOLD, self._spec.color)
        for label, text, (_, value) in zip(labels, self._digits, self._found, strict=True):
            bar = ("█" if value >= 0 else "░") * round(abs(value) / most * width)
            yield f"{label}{' ' * (margin - width_of(label))}  {text:>{digits}} {bar}"

    def _line(self) -> Iterator[str]:
        times = [(_seconds(label), number) for label, number in self._found]
        known = sorted((second, number) for second, number in times if second is not None)
        if not known:
            yield "nothing to draw: no times"
            return
        steps = [after - before for (before, _), (after, _) in pairwise(known) if after > before]
        step = min(steps, default=_DAY)
        first, bins = known[0][0], Bins()
        for second, value in known:
            bins.add((second - first) // step, value)
        end = 10 if step % _DAY == 0 and first % _DAY == 0 else 16  # the characters of a date, or of a minute
        axis = Axis(
            "UTC",
            lambda place: utc(first + place * step)[:end],
            lambda places: duration(places * step) if steps else "one time",
        )
        yield from draw(bins, self._spec, self._title, "", axis=axis)
        yield from without(self._rows - len(known), "a time and a number")

    @property
    def _title(self) -> str:
        return f"{printable(self._value.path)} by {printable(self._label.path)}"


def _apart(labels: Sequence[str], room: int) -> list[str]:
    """Return labels in at most `room` cells: truncated in the middle, at the front or at the end, in the first way that
    keeps most of them apart.

    >>> _apart(["a.aleo/transfer_private", "a.aleo/transfer_public_to_private"], 14)
    ['a…sfer_private', 'a…c_to_private']
    """
    return max(
        ([truncate(label, room, keep) for label in labels] for keep in (BOTH_ENDS, room, 0)),
        key=lambda some: len({*some}),
    )


def _shortened(text: str, value: float) -> str:
    """Return a whole number with every digit, another one as `number` shows it."""
    return f"{int(text):,}" if text.removeprefix("-").isdigit() else number(value)


def _seconds(text: str) -> int | None:
    """Return a date or time by ISO 8601 in seconds since 1970, as UTC unless it names a zone; None for another text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
