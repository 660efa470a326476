"""`text`: values only, for shell variables and tools such as cut and awk: tabs between them, one row per line.

No header and no quotes. Tabs, line ends and backslashes inside a value are written as escapes with a backslash, as by
jq's @tsv, so that every row is one line with all its columns.
"""

from collections.abc import Iterable, Sequence

from chainq.formats.csv import Csv
from chainq.formats.protocol import Output, OutputSpec

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Text(Csv):
    """Writes the values of each row; nested arrays and objects as compact JSON, null as nothing.

    Takes `out` and `spec` as every format does.
    """

    name = "text"

    def __init__(self, out: Output, spec: OutputSpec) -> None:
        super().__init__(out, spec._replace(header=False))
        self._flat, sanitize = False, self._sanitize
        self._sanitize = lambda text: sanitize(text.translate(_ESCAPES))

    def _write_records(self, records: Iterable[Sequence[str]]) -> None:
        self._out.write("".join("\t".join(record) + "\n" for record in records).encode())
