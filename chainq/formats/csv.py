"""`csv`: RFC 4180 with a header, one column for each path; nested arrays and objects as compact JSON, null empty."""

import csv
import io
from collections.abc import Iterable, Sequence

from msgspec import Raw

from chainq.formats import Out, Sheet
from chainq.rows import Picker, text_of
from chainq.safe import printable


class Csv:
    """Lines end in CR LF and quotes are doubled, as RFC 4180 has it; numbers keep every digit.

    What UTF-8 cannot carry (a lone surrogate) becomes `?`.
    """

    def __init__(self, out: Out, sheet: Sheet) -> None:
        self._out = out
        paths = [column.path for column in sheet.columns]
        self._shown = printable if sheet.terminal else str
        # Who picked columns knows that the others are left out.
        self._pick = Picker(paths, None if sheet.chosen else self._stray)
        self._warn = sheet.warn
        if not sheet.continued:
            self._lines([paths])

    def write(self, rows: Sequence[Raw]) -> None:
        """Write each row as a record."""
        if rows:
            self._lines([self._shown(text_of(value)) for value in self._pick(row)] for row in rows)

    def close(self) -> None:
        """Nothing stands after the last row."""

    def _stray(self, path: str) -> None:
        self._warn(f"the field {path} has no column in csv; --columns with --no-check, or jsonl, shows it")

    def _lines(self, cells: Iterable[Sequence[str]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(cells)
        self._out.write(text.getvalue().encode(errors="replace"))
