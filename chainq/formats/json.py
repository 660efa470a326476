"""`json`: one array of all rows, or the one object where a command returns one; bytes as the server sent them.

On a terminal it is indented, and colored by rich; the digits of its numbers stay as they were sent.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Flattener
from chainq.text.sanitize import printable_json

_LINES = 400  # that rich colors at a time


class Json:
    """Writes an array that opens before the first row and closes after the last, so that rows need not fit in memory.

    Takes `out` and `spec` as every format does.
    """

    verbatim = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out = out
        self._terminal, self._color, self._single = spec.terminal, spec.color, spec.single
        self._flatten = Flattener([column.path for column in spec.columns]) if spec.selected else None
        self._before = b"" if spec.single else b"[\n"  # what comes before the next row

    def write(self, rows: Sequence[Raw]) -> None:
        """Write rows, with a comma after those before."""
        if rows:
            values: Sequence[Raw | bytes] = rows if self._flatten is None else list(map(self._flatten, rows))
            if self._terminal:
                values = [indented(bytes(value), self._color, 0 if self._single else 1) for value in values]
            self._out.write(self._before + b",\n".join(values))
            self._before = b",\n"

    def close(self) -> None:
        """Close the array."""
        if self._single:
            self._out.write(b"\n" if self._before == b",\n" else b"")
        else:
            self._out.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")


def indented(value: bytes, color: bool, depth: int = 0) -> bytes:
    """Return a JSON value for a terminal: sanitized, on lines that are indented by two blanks a level."""
    try:
        text = msgspec.json.format(value, indent=2)
    except msgspec.DecodeError:  # a lone surrogate
        text = value
    text = printable_json(text)
    if color:
        text = _colored(text)
    return b"  " * depth + text.replace(b"\n", b"\n" + b"  " * depth)


def _colored(text: bytes) -> bytes:
    # Rejected: rich.json.JSON, which decodes the text: 1.10 would become 1.1. The colors are the same.
    from rich.highlighter import JSONHighlighter
    from rich.text import Text

    from chainq.formats.drawing import ENDLESS, render

    lines = text.decode(errors="replace").split("\n")
    blocks = (Text("\n".join(lines[start : start + _LINES])) for start in range(0, len(lines), _LINES))
    highlighter = JSONHighlighter()
    return render((highlighter(block) for block in blocks), ENDLESS, color=True)[:-1]
