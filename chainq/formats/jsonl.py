"""`jsonl`: one row per line, byte for byte as the server sent it."""

from collections.abc import Callable, Sequence

from msgspec import Raw

from chainq.formats.protocol import Output, OutputSpec
from chainq.rows.fields import Flattener, Unfolder
from chainq.text.sanitize import printable_json

# Bytes written at a time, judged by the first row. Not less, though less would fit in the processor's cache: during
# each write another thread begins to compute, and this one then waits for its turn.
WRITE_BYTES = 8 * 2**20


class Jsonl:
    """Writes rows as lines; with selected columns each row as a flat object of those (`"b.c"`), null if it has none.

    With `spec.flatten` each row as a flat object of all columns and of what else it has.

    Takes `out` and `spec` as every format does.
    """

    append = endless = verbatim = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out = out
        self._sanitize = printable_json if spec.terminal else bytes
        paths = [column.path for column in spec.columns]
        self._flatten: Callable[[Raw], bytes] | None = None
        if spec.selected or spec.flatten:
            self._flatten = Flattener(paths) if spec.selected else Unfolder(paths)

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
