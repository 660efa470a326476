"""`json`: one array of all rows, or the one object where the answer is one by nature; bytes as the server sent them."""

from collections.abc import Sequence

from msgspec import Raw

from chainq.formats.jsonl import Flat
from chainq.formats.protocol import Out, Sheet
from chainq.text.sanitize import printable_json


class Json:
    """An array that opens with the first rows and closes at the end, so that it need not fit in memory."""

    def __init__(self, out: Out, sheet: Sheet) -> None:
        self._out = out
        self._shown = printable_json if sheet.terminal else bytes
        self._flat = Flat([column.path for column in sheet.columns]) if sheet.chosen else None
        self._single = sheet.single
        self._before = b"" if sheet.single else b"[\n"

    def write(self, rows: Sequence[Raw]) -> None:
        """Write rows, separated from those before."""
        if rows:
            values: Sequence[Raw | bytes] = rows if self._flat is None else [self._flat(row) for row in rows]
            self._out.write(self._before + self._shown(b",\n".join(values)))
            self._before = b",\n"

    def close(self) -> None:
        """Close the array."""
        if self._single:
            self._out.write(b"\n" if self._before == b",\n" else b"")
        else:
            self._out.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")
