"""Warns of columns that no row had: of those that are null everywhere, only the rows show whether they exist."""

from collections.abc import Callable, Sequence

from msgspec import Raw

from chainq.catalog.methods import Column
from chainq.formats.protocol import Writer
from chainq.rows.fields import Picker, object_of, read_path
from chainq.text.sanitize import quoted


class NotingAbsent:
    """Writes rows, and at their end warns of each of the columns that none of them had."""

    def __init__(self, writer: Writer, columns: Sequence[Column], warn: Callable[[str], None]) -> None:
        self._writer, self._warn = writer, warn
        self._besides: dict[str, set[str]] = {column.path: set() for column in columns}  # what rows have in its place
        self._known = {column.path for column in columns if column.type != "unknown"}  # so it is no mistyped name

    def write(self, rows: Sequence[Raw]) -> None:
        """Write the next rows."""
        self._writer.write(rows)
        for row in rows:
            if not self._besides:
                return
            for path, value in zip(list(self._besides), Picker([*self._besides])(row), strict=True):
                outer = read_path(path).rpartition(".")[0]
                if value is not None:
                    del self._besides[path]
                elif path not in self._known or not self._besides[path]:
                    self._besides[path].update(object_of(Picker([outer])(row)[0] if outer else row))

    def close(self) -> None:
        """Write what follows the last row, and warn."""
        self._writer.close()
        for path, names in self._besides.items():
            if names:
                self._warn(no_row_has(path) + ("" if path in self._known else _instead(path, names)))


def _instead(path: str, names: set[str]) -> str:
    """Return the names in the place of a column."""
    outer = path.rpartition(".")[0]
    return f"; {outer or 'a row'} has {', '.join(sorted(names))}"


def no_row_has(path: str) -> str:
    """Return the warning of a column that no row had."""
    return f"no row has the column {quoted(path)}"
