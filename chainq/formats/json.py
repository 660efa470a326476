"""`json`: one array of all rows, or the one object where a command returns one; bytes as the server sent them."""

from collections.abc import Sequence

from msgspec import Raw

from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Flattener
from chainq.text.sanitize import printable_json


class Json:
    """Writes an array that opens before the first row and closes after the last, so that rows need not fit in memory.

    Takes `out` and `spec` as every format does.
    """

    verbatim = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out = out
        self._sanitize = printable_json if spec.terminal else bytes
        self._flatten = Flattener([column.path for column in spec.columns]) if spec.selected else None
        self._single = spec.single
        self._before = b"" if spec.single else b"[\n"  # what comes before the next row

    def write(self, rows: Sequence[Raw]) -> None:
        """Write rows, with a comma after those before."""
        if rows:
            values: Sequence[Raw | bytes] = rows if self._flatten is None else list(map(self._flatten, rows))
            self._out.write(self._before + self._sanitize(b",\n".join(values)))
            self._before = b",\n"

    def close(self) -> None:
        """Close the array."""
        if self._single:
            self._out.write(b"\n" if self._before == b",\n" else b"")
        else:
            self._out.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")
