"""`text`: values only, for shell variables and tools such as cut and awk: tabs between them, one row per line.

No header and no quotes. Tabs, line ends and backslashes inside a value are written as escapes with a backslash, as by
jq's @tsv, so that every row is one line with all its columns.
"""

from collections.abc import Sequence

from msgspec import Raw

from chainq.formats.protocol import Output, OutputSpec, check_text, unknown_field_warner
from chainq.rows.fields import Picker, text_of
from chainq.text.sanitize import printable

_BATCH = 512  # rows written at a time
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Text:
    """Writes the values of each row; nested arrays and objects as compact JSON, null as nothing.

    Takes `out` and `spec` as every format does.
    """

    append = endless = True

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        self._out, self._spec = out, spec
        self._pick = Picker([column.path for column in spec.columns], unknown_field_warner(spec, "text"))
        self._sanitize = printable if spec.terminal else str

    def write(self, rows: Sequence[Raw]) -> None:
        """Write each row as a line. Raises OutputError for text that is not valid Unicode, before any of them."""
        check_text(rows, self._spec)
        for start in range(0, len(rows), _BATCH):
            lines = ("\t".join(map(self._cell, self._pick(row))) + "\n" for row in rows[start : start + _BATCH])
            self._out.write("".join(lines).encode())

    def close(self) -> None:
        """Do nothing: every row is a line of its own."""

    def _cell(self, value: Raw | None) -> str:
        return self._sanitize(text_of(value).translate(_ESCAPES))
