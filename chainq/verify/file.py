"""Verifies one file that chainq wrote with `-o`, by itself: what its rows say of each other, without a network.

A file has no receipt. So rows that were lost before or after it was written leave no trace in it, except blocks: of
these there must be one for each height.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.errors import OutputError, UsageError
from chainq.heights.range import HeightRange
from chainq.verify.against import columns_of, compared_names
from chainq.verify.audit import COMMANDS
from chainq.verify.blocks import Texts
from chainq.verify.compare import Contradiction
from chainq.verify.findings import FilesStep, Finding
from chainq.verify.json_readers import JsonlRows, JsonRows
from chainq.verify.readers import CsvRows, ParquetRows, RowsFile
from chainq.verify.repair import Repair


class FileRows:
    """The rows of a file in the form that `against` compares."""

    def __init__(self, file: RowsFile, method: Method, heights: HeightRange, repair: Repair) -> None:
        self.method, self.heights = method, heights
        self.names = compared_names(method.command, file.names)
        self._columns = columns_of(method, self.names)
        self._file, self._repair = file, repair

    def rows(self) -> Iterator[Texts]:
        """Yield the rows; none of what cannot be read, which was a finding before."""
        return self._file.rows(self._columns)

    def as_rows(self, sent: Sequence[Raw]) -> Iterator[Texts]:
        """Yield rows of a service as they would be in the file."""
        return self._file.as_rows(self._columns, sent)

    def finding(self, height: int | None, contradiction: Contradiction) -> Finding:
        """Return a finding about these rows."""
        command = self.method.command
        return Finding(height, command, *contradiction, None if height is None else self._repair(command, height))


class UnreadableFile:
    """A file of which not even the columns can be read: one finding. `found`: which file, and why."""

    heights = HeightRange(0, 0)
    unseen = ""

    def __init__(self, found: str) -> None:
        self._found = found

    def steps(self) -> Iterator[FilesStep]:
        """Yield the finding."""
        yield FilesStep(self.heights, [Finding(None, None, "invalid", "a file of rows", self._found, None)], {})

    def parts(self) -> "Iterator[FileRows]":
        """Yield nothing: no row can be compared."""
        return iter(())


class RowsCheck:
    """A file to verify. `command`: whose rows it has, None to tell by its columns. `heights`: those it should have.

    Raises UsageError for a file that cannot be verified, IncompleteError for one whose columns cannot be read, and
    OutputError where the file system does not give it.
    """

    def __init__(
        self,
        path: Path,
        repair: Repair,
        command: str | None = None,
        heights: HeightRange | None = None,
    ) -> None:
        self._path, self._repair = path, repair
        self._file = _open(path)
        self.method = BY_COMMAND[command] if command else _method_of(path, self._file.names)
        self._due = heights
        self.heights = heights or HeightRange(0, 0)

    def steps(self) -> Iterator[FilesStep]:
        """Yield what is wrong, as the file is read; the last step is what only the whole file shows."""
        from chainq.verify.tables import TableCheck, checked_columns

        names = checked_columns(self.method, self._file.names)
        if not names:
            raise UsageError(f"{self._path} has none of the columns that can be verified")
        check = TableCheck(self.method, names, self._due)
        damages: list[str] = []

        def read(wanted: Sequence[str]) -> Iterator[Any]:
            return self._file.tables(columns_of(self.method, wanted), lambda _: None)

        for table in self._file.tables(columns_of(self.method, names), damages.append):
            if not check.rows:
                self._refuse_reverse(table)
            yield self._step(check.heights, check.take(table), table.num_rows, damages)
        yield self._step(check.heights, check.finish(read), 0, damages)
        self.heights = check.heights

    def parts(self) -> "Iterator[FileRows]":
        """Yield the rows in the form that `against` compares, after `steps`. Raises UsageError without heights."""
        if not self.method.ranged:
            raise UsageError(f"{self.method.command} of a file cannot be compared with a service")
        if not len(self.heights):
            raise UsageError(f"{self._path}: the heights of its rows are not known", "pass --start and --end")
        yield FileRows(self._file, self.method, self.heights, self._repair)

    @property
    def unseen(self) -> str:
        """What the file does not show by itself, in words."""
        rows = "" if self.method.linked else "rows that are missing and "
        hint = ", --full compares them with the service" if self.method.ranged else ""
        return f"{rows}changes in fields without a checksum leave no trace in a file{hint}"

    def _refuse_reverse(self, table: Any) -> None:
        name = self.method.height
        heights = table[name].drop_null().to_pylist() if name in table.column_names else []
        if heights and heights[0] > heights[-1] and heights == sorted(heights, reverse=True):
            raise UsageError(f"{self._path} begins with the highest height", "write it without --reverse")

    def _step(
        self, heights: HeightRange, found: Iterator[tuple[int | None, Contradiction]], rows: int, damages: list[str]
    ) -> FilesStep:
        command = self.method.command
        findings = [
            Finding(at, command, *contradiction, None if at is None else self._repair(command, at))
            for at, contradiction in found
        ]
        findings += [Finding(None, command, "invalid", "a row", damage, None) for damage in damages]
        damages.clear()
        return FilesStep(heights, findings, {command: rows})


def _open(path: Path) -> RowsFile:
    """Return a file by its extension. Raises UsageError for another format, and ChainqError where it cannot be read."""
    kinds: dict[str, Callable[[Path], RowsFile]] = {
        ".parquet": lambda path: ParquetRows(lambda: path, str(path)),
        ".jsonl": JsonlRows,
        ".ndjson": JsonlRows,
        ".json": JsonRows,
        ".csv": lambda path: CsvRows(path, ","),
        ".tsv": lambda path: CsvRows(path, "\t"),
    }
    make = kinds.get(path.suffix.lower())
    if make is None:
        raise UsageError(f"cannot verify {path}", f"expected a file that ends in {', '.join(kinds)}")
    try:
        return make(path)
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror or error}") from None


def _method_of(path: Path, names: Sequence[str]) -> Method:
    """Return the method that has the most of these columns. Raises UsageError where that is not one."""
    methods = [BY_COMMAND[command] for command in COMMANDS]
    shared = {method.command: len({column.path for column in method.columns} & set(names)) for method in methods}
    most = max(shared.values())
    best = [command for command, number in shared.items() if number == most]
    if not names:
        raise UsageError(f"{path} is empty")
    if not most:
        raise UsageError(f"{path} has no column of {', '.join(COMMANDS)}", "a header is needed in csv and tsv")
    if len(best) > 1:
        raise UsageError(f"the columns of {path} are those of {' and '.join(best)}", f"name one: --commands {best[0]}")
    return BY_COMMAND[best[0]]
