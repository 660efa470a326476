"""Verifies one file that chainq wrote with `-o`, offline: its rows are compared with each other.

Rows lost after a file was written leave no trace, except blocks, because every height must have one. A Parquet file
records the height range of the command that wrote it, so its first and last heights are known even if their rows are
lost. For other formats, the caller may pass the range. A file whose recorded range ends before that one lacks heights.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from chainq.catalog.methods import BY_COMMAND, Method, height_of
from chainq.catalog.tables import TABLES
from chainq.errors import IncompleteError, OutputError, UsageError
from chainq.heights.range import HeightRange
from chainq.process.progress import UNSEEN, Progress
from chainq.text.humanize import counted
from chainq.verify.file_rows import FileRows, RowsFile, nothing
from chainq.verify.findings import FINDINGS, Contradiction, Finding, Located, Repair, Step
from chainq.verify.parquet_rows import ParquetRows, footer_of
from chainq.verify.service_rows import COMMANDS
from chainq.verify.text_rows import CsvRows, JsonlRows, JsonRows

if TYPE_CHECKING:
    from chainq.lake.files import Receipt
    from chainq.verify.tables import TableCheck


class RowsCheck:
    """A file to verify. `command`: whose rows it has, None to infer it from the columns. `heights`: the expected ones.

    `progress` counts its rows as they are read.
    """

    hint = hashed = ""  # it does not record whether hashes were recomputed
    unseen = ""
    """What the file does not show by itself, in words; known after `steps`, as `heights` is."""

    unordered = ""
    """That the order of the rows was not checked, as the end of a sentence; empty if it was. Known after `steps`."""

    range_known = True
    """Whether the expected heights are known, after `steps`. Else the heights are those of the rows."""

    def __init__(
        self,
        path: Path,
        repair: Repair,
        command: str | None = None,
        heights: HeightRange | None = None,
        *,
        progress: Progress = UNSEEN,
    ) -> None:
        self._path, self._repair, self._command, self._due = path, repair, command, heights
        self._progress = progress
        self.heights = self.reached = heights or HeightRange(0, 0)
        self._recorded: HeightRange | None = None  # the heights that its metadata names
        self._rows: FileRows | None = None
        self._uncompared = ""
        self._sealed: Receipt | None = None  # the receipt in the metadata of a partition
        self.differs = False  # its rows are not those of that receipt

    @property
    def counted(self) -> bool:
        """Whether a receipt in the file shows which rows it should have; known after `steps`."""
        return self._sealed is not None

    def steps(self) -> Iterator[Step]:
        """Yield findings as the file is read; the last step contains findings about the whole file.

        Raises UsageError for a file that cannot be verified, and OutputError if the file system cannot read it.
        """
        from chainq.verify.tables import TableCheck, is_reversed

        try:
            file = _open_file(self._path)
        except IncompleteError as error:  # even its columns are unreadable
            self.heights = self.reached = HeightRange(0, 0)
            yield Step(
                self.heights, [Finding(None, None, "invalid", "a file of rows", error.message, None)], {"rows": 0}
            )
            return
        sealed = self._sealed = file.receipt
        method = _method_of(self._path, file, self._command)
        file.names = file.names or [column.path for column in method.columns]  # JSON without rows names none
        names, height = self._checked(method, file), height_of(method)
        self._recorded = file.heights
        check = TableCheck(method, names, self._due or file.heights, texts=method.text in file.names)
        placed, damages = height in names, list[str]()

        def finding(height: int | None, contradiction: Contradiction) -> Finding:
            return self._repair.finding(height, method.command, contradiction)

        def step(found: Iterable[Located], rows: int) -> Step:
            findings = [finding(height, one) for height, one in found]
            findings += [
                finding(None, Contradiction("invalid", "a readable row, in a file as it was written", damage))
                for damage in damages
            ]
            damages.clear()
            return Step(check.heights, findings, {method.command: rows})

        self._progress.begin(file.length() if self._progress.shown else None, "rows")
        for table in file.tables(names, damages.append):
            if placed and not (check.rows or method.listed) and is_reversed(table[height]):
                raise UsageError(f"{self._path} begins with the highest height", "write it without --reverse")
            self._progress.wrote(0, table.num_rows)
            yield step(check.take(table), table.num_rows)
        if file.unreadable:  # each row after the damage would be a missing one
            self.heights = self.reached = check.heights
            self._uncompared = f"; not compared: {method.command} of {self.heights}" if len(self.heights) else ""
            yield step((), 0)
            return
        yield step(check.finish(lambda names: file.tables(names, nothing)), 0)
        if sealed is not None:
            yield step(self._of_seal(file, sealed), 0)
        if not method.linked:  # else the blocks of these heights are missing
            yield from self._beyond(method.command)
        self._rows = FileRows(file, method, check.heights, finding, file.derived)
        self._say(method, check, placed=placed)

    def compared(self, _url: str) -> str:
        """Return that rows that cannot be read were not compared, as the end of a sentence; no full blocks are beside
        the file. Call it after `steps`."""
        return self._uncompared

    def _checked(self, method: Method, file: RowsFile) -> list[str]:
        """Return the columns to check. Raises UsageError if there are none."""
        from chainq.verify.tables import checked_columns

        names = checked_columns(method, file.names)
        if not names:
            raise UsageError(f"{self._path} has none of the columns that can be verified")
        return names

    def _of_seal(self, file: RowsFile, sealed: "Receipt") -> list[Located]:
        """Return what is wrong by the receipt in a partition."""
        due, rows = sealed.rows, file.length()
        self.unseen = f"the file has the {counted(due, 'row')} of its receipt"
        return [] if rows == due else [(None, Contradiction("receipt", f"rows: {due}", f"rows: {rows}"))]

    def _say(self, method: Method, check: "TableCheck", *, placed: bool) -> None:
        """Set the heights and what the rows do not show. `placed`: whether they have a height."""
        heights, edges = check.heights, check.edges
        known = method.linked or self._recorded is not None
        self.heights, self.reached = heights, heights if known else edges
        if self.counted:  # a hash detects every change
            return
        self.range_known = self._due is not None or self._recorded is not None or not len(heights)
        self.unordered = "" if placed else "; not checked: the order of rows, which have no heights"

    def _beyond(self, command: str) -> Iterator[Step]:
        """Yield the expected heights that are not in the range that the metadata of the file names."""
        if self._due is None or self._recorded is None:
            return
        start, last = self._recorded.start, self._recorded.end - 1
        for gap in _outside(self._due, self._recorded):
            edge = f"starts at height {start}" if gap.start < start else f"ends at height {last}"
            said = Contradiction("missing", f"rows of {gap}", f"the file {edge} by its metadata", len(gap))
            known = command in COMMANDS
            found = self._repair.finding(gap.start, command, said) if known else Finding(None, command, *said[:3], None)
            yield Step(self.heights, [found], {})

    def parts(self) -> Iterator[FileRows]:
        """Yield the rows in the form that `against` compares, after `steps`. Raises UsageError without heights."""
        if self._rows is None:
            return
        if not len(self.heights):
            raise UsageError(f"{self._path}: the heights of its rows are not known", "pass --start and --end")
        yield self._rows

    def spans(self) -> list[HeightRange]:
        """Return the heights of what `parts` yields."""
        return [self.heights] if self._rows is not None else []


def _outside(due: HeightRange, there: HeightRange) -> list[HeightRange]:
    """Return the heights of `due` below and above another range; all of them if that is empty."""
    if not len(there):
        return [due]
    edges = (due.start, min(due.end, there.start)), (max(due.start, there.end), due.end)
    return [HeightRange(*edge) for edge in edges if edge[0] < edge[1]]


def _open_file(path: Path) -> RowsFile:
    """Return a file by its extension. Raises UsageError for another format, and ChainqError if it cannot be read."""
    kinds: dict[str, Callable[[Path], RowsFile]] = {
        ".parquet": lambda path: ParquetRows(lambda: path, str(path), footer_of(path)),
        ".jsonl": JsonlRows,
        ".ndjson": JsonlRows,
        ".json": JsonRows,
        ".csv": lambda path: CsvRows(path, ","),
        ".tsv": lambda path: CsvRows(path, "\t"),
    }
    make = kinds.get(path.suffix.lower())
    if make is None:
        raise UsageError(
            f"cannot verify {path}: its extension names no format that has columns",
            f"expected a file that ends in {', '.join(kinds)}",
        )
    try:
        return make(path)
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror or error}") from None


def _method_of(path: Path, file: RowsFile, command: str | None) -> Method:
    """Return the method of a file's rows: by its receipt, or the one of most of its columns.

    `command` selects one of several, and is that of a file without columns. Raises UsageError unless it is exactly one.
    """
    if file.receipt is not None:
        return TABLES[file.receipt.command]
    names = file.names
    if not names and command is not None:
        return BY_COMMAND[command]
    shared = {command: len({column.path for column in BY_COMMAND[command].columns} & {*names}) for command in COMMANDS}
    most = max(shared.values())
    best = [command for command, number in shared.items() if number == most]
    if not names:
        raise UsageError(f"{path} has no rows, which would show their command", "name it: --commands COMMAND")
    if {*names} == {column.path for column in FINDINGS.columns}:
        raise UsageError(f"{path} contains findings of chainq verify, not rows to verify")
    if not most:
        hint = "a header is needed in csv and tsv" if path.suffix.lower() in (".csv", ".tsv") else ""
        raise UsageError(f"{path} has no column of {', '.join(COMMANDS)}", hint)
    theirs = f"the columns of {path} are those of {' and '.join(best)}"
    if command is not None and command not in best:
        raise UsageError(f"{theirs}, not of {command}")
    if command is None and len(best) > 1:
        raise UsageError(theirs, f"name one: --commands {best[0]}")
    return BY_COMMAND[command or best[0]]
