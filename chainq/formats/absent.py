"""Warns of columns that no row had: of those that are null everywhere, only the rows show whether they exist."""

from collections.abc import Callable, Sequence

from msgspec import Raw

from chainq.formats.protocol import Writer
from chainq.rows.fields import Picker
from chainq.text.sanitize import quoted


class NotingAbsent:
    """Writes rows, and at their end warns of each of the columns, given by their paths, that none of them had."""

    def __init__(self, writer: Writer, paths: Sequence[str], warn: Callable[[str], None]) -> None:
        self._writer, self._warn = writer, warn
        self._absent, self._rows = list(paths), 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Write the next rows."""
        self._writer.write(rows)
        self._rows += len(rows)
        for row in rows:
            if not self._absent:
                return
            found = zip(self._absent, Picker(self._absent)(row), strict=True)
            self._absent = [path for path, value in found if value is None]

    def close(self) -> None:
        """Write what follows the last row, and warn."""
        self._writer.close()
        for path in self._absent if self._rows else ():
            self._warn(no_row_has(path))


def no_row_has(path: str) -> str:
    """Return the warning of a column that no row had."""
    return f"no row has the column {quoted(path)}"
