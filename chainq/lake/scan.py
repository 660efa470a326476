"""Presents the partitions of one command as a table to DuckDB, opening only the files that a query's heights need.

A gap between the partitions fails a query only if its filter does not exclude the heights of the gap.

DuckDB passes columns and a filter to `scanner` of an Arrow dataset. An export proved that a file contains only the
heights in its name, so other files are not opened. Files are opened when their rows are needed and then released, so
memory does not grow with their number. Files are checked for damage: pages against their checksums, the number of rows
against the receipt. The filter is applied to the rows themselves, whatever the names of files say.

Rejected: one Arrow dataset of all files. For 100,000 files it takes 7 GB, and opening them takes three times as long.
To read the number of rows alone from the first bytes of a footer, which only a count of all rows used.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from chainq.catalog.methods import Method
from chainq.errors import ChainqError, IncompleteError
from chainq.formats.arrow_rows import EXTRA, ArrowRows
from chainq.heights.grid import PARTITION_COLUMN
from chainq.heights.range import HeightRange
from chainq.process.threads import in_order
from chainq.rows.raw_json import members
from chainq.stored.decoded import check_decoded
from chainq.stored.opened import check_footer, checked
from chainq.stored.receipt import Entry
from chainq.stored.store import Listed, Store
from chainq.text.sanitize import excerpt

T = TypeVar("T")
GROUP = 64  # files that are skipped together
TOGETHER = 4 << 20  # bytes of rows that are filtered together
OPENED = 8  # files opened concurrently
_HIGHEST = 2**53  # above all heights: a filter that may be true here has no upper bound


class MissingHeightsError(IncompleteError):
    """A query needs heights that no file has."""


class _Scanner(NamedTuple):
    """The part of an Arrow scanner that DuckDB uses."""

    reader: Any

    def to_reader(self) -> Any:
        return self.reader


class Files:
    """The files of one command.

    `gaps`: heights that no file has, between files. `unwritten`: those that an unfinished export left out around the
    files, which matter only to a query that needs a gap. `partial`: a query that needs them gets the rest. `partition`:
    the blocks of a partition. `failure`: the error that ended a scan; DuckDB keeps only its text. `needed`: the gaps
    that a query needs; None before its first scan. `beyond`: heights that only other tables of the query have;
    `needs_beyond`: it needs some of them. `asks_beyond`: a filter has a bound outside the files. `unfit`: by column of
    the query, in words, that values of it do not fit its type and are in `extra` instead.
    """

    def __init__(
        self,
        method: Method,
        entries: Iterable[Entry],
        store: Store,
        gaps: Sequence[HeightRange] = (),
        *,
        partial: bool = False,
        partition: int = 1,
    ) -> None:
        import pyarrow
        from pyarrow import dataset, fs, parquet

        self._arrow, self._dataset, self._parquet, self._local = pyarrow, dataset, parquet, fs.LocalFileSystem()
        self._format = dataset.ParquetFileFormat(
            default_fragment_scan_options=dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
        )
        self._height, self._store = method.height, store
        self._remote = "://" in store.address("")
        self._entries = sorted(entries, key=lambda entry: entry.spec)
        start, stored = pyarrow.field(PARTITION_COLUMN, pyarrow.int64()), ArrowRows(method.columns, pyarrow).schema
        # First, because DuckDB counts rows with the first column, and this one is in no file, so no page is read.
        self._schema = stored.insert(0, start)
        self.command, self.gaps = method.command, gaps
        self.unwritten: Sequence[HeightRange] = ()
        self.beyond: Sequence[HeightRange] = ()
        self._partial, self._partition = partial, partition
        self.failure: ChainqError | None = None
        self.needed: list[HeightRange] | None = None
        self.needs_beyond = False
        self.asks_beyond = False
        self.unfit: dict[str, str] = {}

    def table(self) -> Any:
        """Return an Arrow dataset whose scanners read these files."""
        files = self

        class Table(self._dataset.FileSystemDataset):  # type: ignore[misc, name-defined]
            def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> _Scanner:  # noqa: A002
                return files.scan(columns, filter)

        return Table([], self._schema, self._format)

    def scan(self, columns: Sequence[str] | None, where: Any) -> _Scanner:
        """Return a scanner for these columns (None: all) of the rows for which an Arrow expression is true."""
        names = self._schema.names if columns is None else list(columns)
        if crossed := self._crossed(where, self.gaps):
            crossed += self._crossed(where, self.unwritten)
        self.needs_beyond |= bool(self._crossed(where, self.beyond))
        self.asks_beyond |= self._beyond_files(where)
        self.needed = sorted({*crossed, *(self.needed or ())}, key=lambda gap: gap.start)
        batches = self._rows(names, where)
        if crossed and not self._partial:
            batches = self._incomplete()
        schema = self._arrow.schema([self._schema.field(name) for name in names])
        return _Scanner(self._arrow.RecordBatchReader.from_batches(schema, self._kept(batches)))

    def _crossed(self, where: Any, gaps: Sequence[HeightRange]) -> list[HeightRange]:
        """Return the gaps whose rows an expression might be true for."""
        if where is None or not gaps:
            return list(gaps)
        field = self._dataset.field
        start = field(PARTITION_COLUMN)
        fragments = []
        for number, gap in enumerate(gaps):  # its first rows may belong to a partition that begins below it
            held = (start > gap.start - self._partition) & (start < gap.end)
            if self._height:
                held = held & (field(self._height) >= gap.start) & (field(self._height) < gap.end)
            fragments.append(self._format.make_fragment(str(number), self._local, held))
        return [gaps[int(one.path)] for one in self._made(fragments).get_fragments(where)]

    def _beyond_files(self, where: Any) -> bool:
        """Return whether a filter has a bound on height that asks for heights outside the files.

        With one bound it asks for what there is on that side, which is a reason for words only if that is nothing.
        """
        if where is None or not self._height or not self._entries:
            return False
        first, end = self._entries[0].spec.start, max(entry.spec.end for entry in self._entries)
        has_low, has_high = not self._may_hold(where, -2, -1), not self._may_hold(where, _HIGHEST, _HIGHEST + 1)
        if has_low and not has_high and self._may_hold(where, 0, 0):
            return False  # of all blocks
        below = has_low and self._may_hold(where, 0, first - 1)
        above = has_high and self._may_hold(where, end, _HIGHEST)
        one_sided = has_low != has_high and self._may_hold(where, 0, _HIGHEST)
        return below or above or (one_sided and not self._may_hold(where, first, end - 1))

    def _may_hold(self, where: Any, first: int, last: int) -> bool:
        """Return whether an expression might be true for rows of these heights."""
        height = self._dataset.field(self._height)
        held = (height >= first) & (height <= last)
        fragment = self._format.make_fragment("", self._local, held)
        return first <= last and bool(list(self._made([fragment]).get_fragments(where)))

    def _incomplete(self) -> Iterator[Any]:
        raise MissingHeightsError(f"{self.command} has gaps")
        yield  # makes it a generator: the error reaches DuckDB when it reads

    def _kept(self, batches: Iterator[T]) -> Iterator[T]:
        try:
            yield from batches
        except ChainqError as error:
            self.failure = error
            raise

    def _rows(self, columns: list[str], where: Any) -> Iterator[Any]:
        """Yield the rows for which an expression is true, all without one, in batches of about `TOGETHER`: DuckDB takes
        50 KB for each batch, and keeps them."""
        known = {*columns, *_named(where)}
        schema = self._arrow.schema([field for field in self._schema if field.name in known])
        held: list[Any] = []
        size = 0
        for table in chain(self._tables(schema, where), [None]):
            if table is not None:
                held.append(table)
                size += table.nbytes
            if held and (table is None or size >= TOGETHER):
                some = self._arrow.concat_tables(held)
                some = some if where is None else some.filter(where)
                yield from some.select(columns).combine_chunks().to_batches()
                held, size = [], 0

    def _tables(self, schema: Any, where: Any) -> Iterator[Any]:
        """Yield columns of each row group in which an expression may be true."""
        stored = [name for name in schema.names if name != PARTITION_COLUMN]
        jobs = (partial(self._opened, entry) for entry in self._hit(where))
        for entry, file in in_order(OPENED, jobs, OPENED) if self._remote else (job() for job in jobs):
            with checked(self._store, entry.spec.name), file:
                groups = self._groups(file, where)
                if stored:
                    place = Listed(entry.spec.name, entry.size)
                    check_decoded(self._store, place, file.metadata, [*stored, EXTRA], groups)
                    self._note_unfit(file, stored, where)
                for number in groups:
                    columns = {}
                    if stored:
                        table = file.read_row_group(number, stored)
                        columns = dict(zip(stored, table.columns, strict=True))
                    if len(stored) < len(schema):
                        columns[PARTITION_COLUMN] = self._starts(entry, file.metadata.row_group(number).num_rows)
                    yield self._arrow.table([columns[name] for name in schema.names], schema=schema)

    def _opened(self, entry: Entry) -> tuple[Entry, Any]:
        """Return a file, open, and its entry."""
        with checked(self._store, entry.spec.name):
            source = self._store.source(Listed(entry.spec.name, entry.size))
            file = self._parquet.ParquetFile(source, page_checksum_verification=True)
            check_footer(self._store, entry, file)
        return entry, file

    def _groups(self, file: Any, where: Any) -> Sequence[int]:
        """Return the row groups of a file in which an expression may be true, by their heights, whose pages have
        checksums; the statistics in the footer have none."""
        every = range(file.num_row_groups)
        if where is None or not self._height or len(every) < 2:
            return every
        return [number for number in every if self._may_hold_in(file.read_row_group(number, [self._height]), where)]

    def _note_unfit(self, file: Any, columns: Sequence[str], where: Any) -> None:
        """Note the columns of a query whose values are in `extra`, in rows that its filter on height may leave.

        The footer tells which row groups have anything there; most files have nothing, and are not read for it.
        """
        groups = [number for number in range(file.num_row_groups) if _has_extra(file.metadata.row_group(number))]
        wanted = sorted({*columns} - {EXTRA, *self.unfit})
        if not groups or not wanted:
            return
        stored = [name for name in (EXTRA, self._height) if name]
        for number in groups:
            rows = file.read_row_group(number, columns=stored)
            for name in wanted:
                if name not in self.unfit and self._has_unfit(rows, name, where):
                    kind = excerpt(str(self._schema.field(name).type), 40)
                    left = f"values of {name!r} that do not fit {kind} are NULL here"
                    self.unfit[name] = f"{left}; the column {EXTRA} has them as sent"

    def _has_unfit(self, rows: Any, column: str, where: Any) -> bool:
        """Return whether a column has values in `extra`, in rows of heights that an expression may be true for."""
        from pyarrow import compute

        member = f'"{column}":'
        rows = rows.filter(compute.match_substring(rows[EXTRA], member))
        held = [column in members(text.encode()) for text in rows[EXTRA].to_pylist()]
        rows = rows.filter(self._arrow.array(held, self._arrow.bool_()))
        return bool(rows.num_rows) and (where is None or not self._height or self._may_hold_in(rows, where))

    def _may_hold_in(self, rows: Any, where: Any) -> bool:
        """Return whether an expression might be true at the heights of these rows."""
        from pyarrow import compute

        low, high = compute.min_max(rows[self._height]).as_py().values()
        return low is None or self._may_hold(where, low, high)

    def _starts(self, entry: Entry, rows: int) -> Any:
        """Return so many times the start of a file. `pyarrow.repeat` looks for pandas each time."""
        data = entry.spec.start.to_bytes(8, sys.byteorder) * rows
        return self._arrow.Array.from_buffers(self._arrow.int64(), rows, [None, self._arrow.py_buffer(data)])

    def _hit(self, where: Any) -> Iterator[Entry]:
        """Yield the files that may have rows for which an expression is true."""
        if where is None:
            yield from self._entries
            return
        groups = [self._entries[at : at + GROUP] for at in range(0, len(self._entries), GROUP)]
        for group in self._that_hold(groups, where):
            for (entry,) in self._that_hold([[entry] for entry in group], where):
                yield entry

    def _that_hold(self, groups: list[list[Entry]], where: Any) -> list[list[Entry]]:
        """Return the groups of files that may have rows for which an expression is true."""
        fragments = [
            self._format.make_fragment(str(number), self._local, self._held(group))
            for number, group in enumerate(groups)
        ]
        return [groups[int(one.path)] for one in self._made(fragments).get_fragments(where)]

    def _held(self, group: Sequence[Entry]) -> Any:
        """Return an expression that is true for all rows of some files."""
        field, first, last = self._dataset.field, group[0].spec, group[-1].spec
        start = field(PARTITION_COLUMN)
        held = start == first.start if first == last else (start >= first.start) & (start <= last.start)
        return held & (field(self._height) >= first.start) & (field(self._height) < last.end) if self._height else held

    def _made(self, fragments: list[Any]) -> Any:
        return self._dataset.FileSystemDataset(fragments, self._schema, self._format)


def _named(where: Any) -> list[str]:
    """Return the columns that an Arrow expression names, and perhaps other words in it."""
    return re.findall(r"[\w.]+", str(where))


def _has_extra(group: Any) -> bool:
    """Return whether a row group has a value in `extra`, its last column."""
    column = group.column(group.num_columns - 1)
    nulls = None if column.statistics is None else column.statistics.null_count
    return nulls is None or bool(nulls < column.num_values)
