"""Warns of columns that no row had, if nothing but the rows shows whether their names are right."""

from collections.abc import Callable, Sequence

from msgspec import Raw

from chainq.formats.protocol import Writer
from chainq.rows.fields import Picker, object_of, read_path
from chainq.text.alike import alike
from chainq.text.sanitize import quoted


class NotingAbsent:
    """Writes rows, and at their end warns of each of the columns `paths` that none of them had."""

    def __init__(self, writer: Writer, paths: Sequence[str], warn: Callable[[str], None]) -> None:
        self._writer, self._warn = writer, warn
        self._besides: dict[str, set[str]] = {path: set() for path in paths}  # what rows have in the place of each

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
                else:
                    self._besides[path].update(object_of(Picker([outer])(row)[0] if outer else row))

    def close(self) -> None:
        """Write what follows the last row, and warn."""
        self._writer.close()
        for path, names in self._besides.items():
            outer, dot, name = path.rpartition(".")
            near = alike(name, sorted(names))
            meant = f" (did you mean {outer}{dot}{near[0]}?)" if near else ""
            listed = f"; {outer or 'a row'} has {', '.join(sorted(names))}" if names and not near else ""
            if names:
                self._warn(f"no row has the column {quoted(path)}{meant}{listed}")
