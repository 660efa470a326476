"""Verifies one file that chainq wrote with `-o`, offline: its rows are compared with each other.

Rows lost after a file was written leave no trace, except blocks, because every height must have one. A Parquet file
records the height range of the command that wrote it, so its first and last heights are known even if their rows are
lost. For other formats, the caller may pass the range. A receipt beside the file (`--receipt`) contains its range, its
number of rows and its hash. A file whose recorded range ends before the range that the caller passes lacks heights.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import DecodeError

from chainq.catalog.methods import BY_COMMAND, Method, height_of
from chainq.catalog.tables import TABLES
from chainq.errors import IncompleteError, OutputError, Phrase, UsageError
from chainq.heights.range import HeightRange
from chainq.process.progress import UNSEEN, Progress
from chainq.sinks.open import receipt_path
from chainq.sinks.receipt import FileReceipt, read_receipt
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt, printable
from chainq.verify.file_rows import FileRows, RowsFile, nothing
from chainq.verify.findings import FINDINGS, Contradiction, Finding, Located, Repair, Step
from chainq.verify.parquet_rows import ParquetRows, footer_of
from chainq.verify.service_rows import COMMANDS
from chainq.verify.text_rows import CsvRows, JsonlRows, JsonRows

if TYPE_CHECKING:
    from chainq.stored.receipt import Receipt
    from chainq.verify.tables import TableCheck

_NOWHERE = HeightRange(0, 0)
_WITHOUT_FULL = Phrase("without {full}, its bytes and the number of its rows are compared with its receipt", full=True)


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
        self._recorded: HeightRange | None = None  # the heights that its receipt or metadata names
        self._limited = False  # a limit may have left out rows of these
        self._rows: FileRows | None = None
        self._uncompared = ""
        self._said: FileReceipt | None = None  # the receipt beside it, None if missing or damaged
        self._sealed: Receipt | None = None  # the receipt in the metadata of a partition
        self.differs = False  # its bytes, or those of its rows, are not those of its receipt
        self._alone: UsageError | None = None  # why the rows cannot be verified, if only the receipt can

    @property
    def counted(self) -> bool:
        """Whether a receipt, beside the file or in it, shows which rows it should have; known after `steps`."""
        return self._said is not None or self._sealed is not None

    def steps(self) -> Iterator[Step]:
        """Yield findings as the file is read; the last step contains findings about the whole file.

        Raises UsageError for a file that cannot be verified, and OutputError if the file system cannot read it.
        """
        yield Step(_NOWHERE, list(self._of_receipt()), {})
        said = self._said
        if said is None:
            yield from self._of_rows()
            return
        if self._command not in (None, said.command):
            raise UsageError(f"{self._path} has rows of {said.command} by its receipt, not of {self._command}")
        self._command = said.command if said.command in COMMANDS else None
        if said.start is not None and said.end is not None and said.start < said.end:
            self._recorded = HeightRange(said.start, said.end)
            self._limited = not said.left_out.keys() <= said.where.keys()
            if not self._limited:
                self._due = self._due or self._recorded
        try:
            if said.command not in COMMANDS:
                raise UsageError(f"{self._path}: its rows are not all rows of a range", _WITHOUT_FULL)
            yield from self._of_rows()
        except UsageError as error:
            self._alone = error
            self.heights = self.reached = self._due or self.heights
            yield from self._counted(said)
        if self.differs and self._rows is not None and len(self.heights) and not said.left_out:
            self.unseen = Phrase("{full} shows which rows are wrong", full=True)
        elif self.differs and not self._uncompared:
            self.unseen = "; ".join(filter(None, (self.unseen, "write the file again")))

    def compared(self, _url: str) -> str:
        """Return that rows that cannot be read were not compared, as the end of a sentence; no full blocks are beside
        the file. Call it after `steps`."""
        return self._uncompared

    def _of_receipt(self) -> Iterator[Finding]:
        """Yield differences between the bytes of the file and its receipt. Raises OutputError if it cannot be read."""
        try:
            self._said = said = read_receipt(self._path)
            if said is None:
                return
            size = self._path.stat().st_size
            with self._path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except (DecodeError, ValueError, RecursionError) as error:
            damage = f"{receipt_path(self._path).name}: {excerpt(str(error), 80)}"
            yield Finding(None, None, "receipt", "a receipt", damage, None)
            return
        except OSError as error:
            raise OutputError(f"cannot read {printable(str(self._path))} or its receipt: {error.strerror}") from None
        self.differs = (size, digest) != (said.bytes, said.sha256)
        if not self.differs:
            self.unseen = f"the file is as its receipt says (SHA-256, {counted(said.rows, 'row')})"
        if size != said.bytes:
            yield Finding(None, said.command, "receipt", f"{said.bytes} bytes", f"{size} bytes", None)
        if digest != said.sha256:
            yield Finding(None, said.command, "receipt", f"SHA-256 {said.sha256}", f"SHA-256 {digest}", None)

    def _of_rows(self) -> Iterator[Step]:
        """Yield what is wrong with the rows."""
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
        self._recorded = self._recorded or file.heights
        due, filtered = self._due or file.heights, self._said is not None and bool(self._said.where)
        check = TableCheck(method, names, due, filtered=filtered)
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
                raise UsageError(f"{self._path} begins with the highest height", Phrase("write it without {reverse}"))
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
        if filtered or not method.linked:  # else the blocks of these heights are missing
            yield from self._beyond(method.command)
        if self._said is not None:
            yield from _difference(self._said, check.rows)
        self._rows = FileRows(file, method, check.heights, finding, file.derived)
        self._say(method, check, placed=placed)

    def _checked(self, method: Method, file: RowsFile) -> list[str]:
        """Return the columns to check. Raises UsageError if there are none."""
        from chainq.verify.tables import checked_columns

        names = checked_columns(method, file.names)
        if self._said is not None and self._said.start is None:  # heights that were given one by one, in any order
            names = [name for name in names if name != height_of(method)]
        if not names:
            raise UsageError(f"{self._path} has none of the columns that can be verified")
        return names

    def _of_seal(self, file: RowsFile, sealed: "Receipt") -> list[Located]:
        """Return what is wrong by the receipt in a partition."""
        found: list[Located] = [(None, one) for one in file.altered()]
        self.differs = self.differs or bool(found)
        whole = f"the rows are as the receipt in the file says (content hash, {counted(sealed.rows, 'row')})"
        self.unseen = Phrase("{full} shows which rows are wrong", full=True) if found else whole
        return found

    def _say(self, method: Method, check: "TableCheck", *, placed: bool) -> None:
        """Set the heights and what the rows do not show. `placed`: whether they have a height."""
        heights, edges = check.heights, check.edges
        known = method.linked or (self._recorded is not None and not self._limited)
        self.heights, self.reached = heights, heights if known else edges
        if self.counted:  # a hash detects every change
            return
        self.range_known = self._due is not None or self._recorded is not None or not len(heights)
        self.unordered = "" if placed else "; not checked: the order of rows, which have no heights"

    def _counted(self, said: FileReceipt) -> Iterator[Step]:
        """Count the rows, if they cannot be verified otherwise, and compare their number with the receipt's."""
        damages: list[str] = []
        rows = 0
        try:
            file = _open_file(self._path)
            rows = sum(table.num_rows for table in file.tables(file.names[:1], damages.append))
        except UsageError:  # a format whose rows only people read
            self.unseen = "; ".join(filter(None, (self.unseen, "its rows were not counted")))
            yield from self._beyond(said.command)
            return
        except IncompleteError as error:
            damages.append(error.message)
        found = [Finding(None, said.command, "invalid", "a readable row", damage, None) for damage in damages]
        yield Step(self.heights, found, {"rows": rows})
        yield from self._beyond(said.command)
        yield from _difference(said, rows)
        if self.differs:
            self.unseen = "its rows were only counted"

    def _beyond(self, command: str) -> Iterator[Step]:
        """Yield the expected heights that are not in the range that the receipt or the metadata of the file names."""
        if self._due is None or self._recorded is None:
            return
        start, last = self._recorded.start, self._recorded.end - 1
        source = "receipt" if self.counted else "metadata"
        for gap in _outside(self._due, self._recorded):
            edge = f"starts at height {start}" if gap.start < start else f"ends at height {last}"
            said = Contradiction("missing", f"rows of {gap}", f"the file {edge} by its {source}", len(gap))
            known = command in COMMANDS
            found = self._repair.finding(gap.start, command, said) if known else Finding(None, command, *said[:3], None)
            yield Step(self.heights, [found], {})

    def parts(self) -> Iterator[FileRows]:
        """Yield the rows in the form that `against` compares, after `steps`. Raises UsageError without heights."""
        if self._alone is not None:
            raise self._alone
        if self._said is not None and (left_out := self._said.left_out):
            names = Phrase(", ".join(f"{{{name}}}" for name in left_out), **left_out)
            raise UsageError(
                Phrase("{}: its rows are not all rows of a range: {} left rows out", self._path, names), _WITHOUT_FULL
            )
        if self._rows is None:
            return
        if not len(self.heights):
            raise UsageError(f"{self._path}: the heights of its rows are not known", Phrase("pass {start} and {end}"))
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


def _difference(said: FileReceipt, rows: int) -> Iterator[Step]:
    """Yield the finding that a file does not have as many rows as its receipt says."""
    if rows != said.rows:
        expected, found = (counted(number, "row") for number in (said.rows, rows))
        yield Step(_NOWHERE, [Finding(None, said.command, "receipt", expected, found, None)], {})


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
        raise UsageError(
            f"{path} has no rows, which would show their command", Phrase("name it: {commands}", commands="COMMAND")
        )
    if {*names} == {column.path for column in FINDINGS.columns}:
        raise UsageError(f"{path} contains findings of chainq verify, not rows to verify")
    if not most:
        hint = "a header is needed in csv and tsv" if path.suffix.lower() in (".csv", ".tsv") else ""
        raise UsageError(f"{path} has no column of {', '.join(COMMANDS)}", hint)
    theirs = f"the columns of {path} are those of {' and '.join(best)}"
    if command is not None and command not in best:
        raise UsageError(f"{theirs}, not of {command}")
    if command is None and len(best) > 1:
        raise UsageError(theirs, Phrase("name one: {commands}", commands=best[0]))
    return BY_COMMAND[command or best[0]]
