"""`jsonl`: one row per line, byte for byte as the server sent it; `json`: one array of all rows, or the one object if a
command returns one.

On a terminal json is indented and colored; the digits of its numbers stay as they were sent.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Raw

from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Flattener
from chainq.text.sanitize import printable_json

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"(:?)|-?[0-9][-+.eE0-9]*|true|false|null')
# Bytes written at a time, judged by the first row. Not less, though less would fit in the processor's cache: during
# each write another thread begins to compute, and this one then waits for its turn.
WRITE_BYTES = 8 * 2**20


class Jsonl:
    """Writes rows as lines; with selected columns each row as a flat object of those (`"b.c"`), null if it has none.

    With `spec.flatten` each row as a flat object of all columns and of what else it has.

    Takes `out` and `spec` as every format does.
    """

    append = endless = verbatim = flatten = typed = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out = out
        self._sanitize = printable_json if spec.terminal else bytes
        paths = [column.path for column in spec.columns]
        self._flatten = Flattener(paths, rest=not spec.selected) if spec.selected or spec.flatten else None

    def write(self, rows: Sequence[Raw]) -> None:
        """Write each row as a line."""
        if not rows:
            return
        step = max(1, WRITE_BYTES // len(bytes(rows[0])))
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            lines: Sequence[Raw | bytes] = some if self._flatten is None else list(map(self._flatten, some))
            self._out.write(self._sanitize(b"\n".join((*lines, b""))))

    def close(self) -> None:
        """Do nothing: every row is a line of its own."""


class Json:
    """Writes an array that opens before the first row and closes after the last, so that rows need not fit in memory.

    Takes `out` and `spec` as every format does.
    """

    verbatim = typed = True

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
    """Return a JSON value for a terminal: sanitized, on lines that are indented by two blanks a level.

    Rejected: rich.json.JSON, which decodes the text: 1.10 would become 1.1.
    """
    try:
        text = msgspec.json.format(value, indent=2)
    except msgspec.DecodeError:  # a lone surrogate
        text = value
    text = printable_json(text)
    if color:
        text = _TOKEN.sub(_painted, text)
    return b"  " * depth + text.replace(b"\n", b"\n" + b"  " * depth)


def _painted(token: re.Match[bytes]) -> bytes:
    style = b"1;34" if token[1] else b"32" if token[0][:1] == b'"' else b"1;36"
    colon = token[1] or b""
    return b"\x1b[%bm%b\x1b[0m%b" % (style, token[0].removesuffix(colon), colon)
