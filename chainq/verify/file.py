"""Verifies one file that chainq wrote with `-o`, by itself: what its rows say of each other, without a network.

A file has no receipt. So rows that were lost before or after it was written leave no trace in it, except blocks: of
these there must be one for each height.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.errors import UsageError
from chainq.heights.range import HeightRange
from chainq.verify.against import compared_columns
from chainq.verify.file_rows import Damaged, FileRows, nothing, open_file
from chainq.verify.findings import Contradiction, Finding, Repair, Step
from chainq.verify.service_rows import COMMANDS


class UnreadableFile:
    """A file of which not even the columns can be read: one finding. `found`: which file, and why."""

    heights = HeightRange(0, 0)
    unseen = ""

    def __init__(self, found: str) -> None:
        self._found = found

    def steps(self) -> Iterator[Step]:
        """Yield the finding."""
        yield Step(self.heights, [Finding(None, None, "invalid", "a file of rows", self._found, None)], {})

    def parts(self) -> Iterator[FileRows]:
        """Yield nothing: no row can be compared."""
        return iter(())


class RowsCheck:
    """A file to verify. `command`: whose rows it has, None to tell by its columns. `heights`: those it should have.

    Raises UsageError for a file that cannot be verified, IncompleteError for one whose columns cannot be read, and
    OutputError where the file system does not give it.
    """

    def __init__(
        self, path: Path, repair: Repair, command: str | None = None, heights: HeightRange | None = None
    ) -> None:
        self._path, self._repair, self._due = path, repair, heights
        self._file = open_file(path)
        self.method = BY_COMMAND[command] if command else _method_of(path, self._file.names)
        self.heights = heights or HeightRange(0, 0)

    def steps(self) -> Iterator[Step]:
        """Yield what is wrong, as the file is read; the last step is what only the whole file shows."""
        from chainq.verify.tables import TableCheck, checked_columns

        names = checked_columns(self.method, self._file.names)
        if not names:
            raise UsageError(f"{self._path} has none of the columns that can be verified")
        check = TableCheck(self.method, names, self._due)
        known = {column.path: column for column in self.method.columns}
        damages: list[str] = []

        def read(wanted: Sequence[str], damaged: Damaged = nothing) -> Iterator[Any]:
            return self._file.tables([known[name] for name in wanted], damaged)

        def step(found: Iterable[tuple[int | None, Contradiction]], rows: int) -> Step:
            findings = [self._finding(height, one) for height, one in found]
            findings += [self._finding(None, Contradiction("invalid", "a row", damage)) for damage in damages]
            damages.clear()
            return Step(check.heights, findings, {self.method.command: rows})

        for table in read(names, damages.append):
            if not check.rows:
                self._refuse_reverse(table)
            yield step(check.take(table), table.num_rows)
        yield step(check.finish(read), 0)
        self.heights = check.heights

    def parts(self) -> Iterator[FileRows]:
        """Yield the rows in the form that `against` compares, after `steps`. Raises UsageError without heights."""
        if not self.method.ranged:
            raise UsageError(f"{self.method.command} of a file cannot be compared with a service")
        if not len(self.heights):
            raise UsageError(f"{self._path}: the heights of its rows are not known", "pass --start and --end")
        columns = compared_columns(self.method, self._file.names)
        yield FileRows(self._file, self.method, columns, self.heights, self._finding)

    @property
    def unseen(self) -> str:
        """What the file does not show by itself, in words."""
        rows = "" if self.method.linked else "rows that are missing and "
        hint = ", --full compares them with the service" if self.method.ranged else ""
        return f"{rows}changes in fields without a checksum leave no trace in a file{hint}"

    def _finding(self, height: int | None, contradiction: Contradiction) -> Finding:
        return self._repair.finding(height, self.method.command, contradiction)

    def _refuse_reverse(self, table: Any) -> None:
        from chainq.verify.tables import integers

        name = self.method.height
        heights = integers(table[name].drop_null(), -1).tolist() if name in table.column_names else []
        if heights and heights[0] > heights[-1] and heights == sorted(heights, reverse=True):
            raise UsageError(f"{self._path} begins with the highest height", "write it without --reverse")


def _method_of(path: Path, names: Sequence[str]) -> Method:
    """Return the method that has the most of these columns. Raises UsageError where that is not one."""
    shared = {command: len({column.path for column in BY_COMMAND[command].columns} & {*names}) for command in COMMANDS}
    most = max(shared.values())
    best = [command for command, number in shared.items() if number == most]
    if not names:
        raise UsageError(f"{path} is empty")
    if not most:
        raise UsageError(f"{path} has no column of {', '.join(COMMANDS)}", "a header is needed in csv and tsv")
    if len(best) > 1:
        raise UsageError(f"the columns of {path} are those of {' and '.join(best)}", f"name one: --commands {best[0]}")
    return BY_COMMAND[best[0]]
