"""Presents the partitions of one command as a table to DuckDB, opening only the files that a query's heights need.

A gap between the partitions fails a query only if its filter does not exclude the heights of the gap.

DuckDB passes columns and a filter to `scanner` of an Arrow dataset. An export proved that a file contains only the
heights in its name, so other files are not opened. Files are opened when their rows are needed and then released, so
memory does not grow with their number. Files are checked for damage (`files.opened`). The filter is applied to the rows
themselves, whatever the names of files say.

Rejected: one Arrow dataset of all files. For 100,000 files it takes 7 GB, and opening them takes three times as long.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from chainq.catalog.methods import Method
from chainq.errors import ChainqError, IncompleteError
from chainq.formats.arrow_rows import EXTRA, ArrowRows
from chainq.heights.range import HeightRange
from chainq.lake.files import check_decoded, heights_of, opened
from chainq.lake.names import PARTITION_COLUMN, Entry
from chainq.lake.store import Store
from chainq.process.threads import in_order
from chainq.rows.raw_json import members
from chainq.text.sanitize import excerpt

T = TypeVar("T")
GROUP = 64  # files that are skipped together
TOGETHER = 4 << 20  # bytes of rows that are filtered together
OPENED = 8  # files opened concurrently


class MissingHeightsError(IncompleteError):
    """A query needs heights that no file has."""


class _Scanner(NamedTuple):
    """The part of an Arrow scanner that DuckDB uses."""

    reader: Any

    def to_reader(self) -> Any:
        return self.reader


class Files:
    """The files of one command.

    `gaps`: heights that no file has, between files. `partial`: a query that needs them gets the rest. `partition`: the
    blocks of a partition. `failure`: the error that ended a scan; DuckDB keeps only its text. `needed`: the gaps that a
    query needs; None before its first scan. `unfit`: by column of the query, in words, that values of it do not fit its
    type and are in `extra` instead.
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
        from pyarrow import dataset, fs

        self._arrow, self._dataset, self._local = pyarrow, dataset, fs.LocalFileSystem()
        self._format = dataset.ParquetFileFormat()
        self._height, self._store = method.height, store
        self._remote = "://" in store.address("")
        self._entries = sorted(entries)
        start, stored = pyarrow.field(PARTITION_COLUMN, pyarrow.int64()), ArrowRows(method.columns, pyarrow).schema
        # First, because DuckDB counts rows with the first column, and this one is in no file, so no page is read.
        self._schema = stored.insert(0, start)
        self.command, self.gaps = method.command, gaps
        self._partial, self._partition = partial, partition
        self.failure: ChainqError | None = None
        self.needed: list[HeightRange] | None = None
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
        crossed = self._that_hold([(gap, self._held_in(gap)) for gap in self.gaps], where)
        self.needed = sorted({*crossed, *(self.needed or ())}, key=lambda gap: gap.start)
        batches = self._incomplete() if crossed and not self._partial else self._rows(names, where)
        schema = self._arrow.schema([self._schema.field(name) for name in names])
        return _Scanner(self._arrow.RecordBatchReader.from_batches(schema, self._kept(batches)))

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
        for entry, file, stack in in_order(OPENED, jobs, OPENED) if self._remote else (job() for job in jobs):
            with stack:
                for number in self._groups(file, where):
                    columns = {PARTITION_COLUMN: self._starts(entry, file.metadata.row_group(number).num_rows)}
                    if stored:
                        check_decoded(self._store, entry, file, number, [*stored, EXTRA])
                        self._note_unfit(file, number, stored)
                        table = file.read_row_group(number, stored)
                        columns |= dict(zip(stored, table.columns, strict=True))
                    yield self._arrow.table([columns[name] for name in schema.names], schema=schema)

    def _opened(self, entry: Entry) -> tuple[Entry, Any, ExitStack]:
        """Return an entry, its file, open, and what closes it."""
        stack = ExitStack()
        return entry, stack.enter_context(opened(self._store, entry))[0], stack

    def _groups(self, file: Any, where: Any) -> Sequence[int]:
        """Return the row groups of a file in which an expression may be true."""
        every = range(file.num_row_groups)
        if where is None or not self._height:
            return every
        known = [(group, heights_of(file, group, self._height)) for group in every]
        held = [(group, self._true if heights is None else self._at(heights)) for group, heights in known]
        return self._that_hold(held, where)

    def _note_unfit(self, file: Any, group: int, columns: Sequence[str]) -> None:
        """Note the columns of a query of which values are in `extra`. The footer tells if a row group has anything
        there; most have nothing."""
        found = file.metadata.row_group(group).column(file.metadata.num_columns - 1)  # `extra` is the last one
        wanted = {*columns} - {EXTRA, *self.unfit}
        if not wanted or (found.statistics is not None and found.statistics.null_count == found.num_values):
            return
        extra = file.read_row_group(group, columns=[EXTRA]).column(0).drop_null().to_pylist()
        held = {path for text in extra for path in members(text.encode())}
        for name in sorted(wanted & held):
            kind = excerpt(str(self._schema.field(name).type), 40)
            left = f"values of {name!r} that do not fit {kind} are NULL here"
            self.unfit[name] = f"{left}; the column {EXTRA} has them as sent"

    def _starts(self, entry: Entry, rows: int) -> Any:
        """Return so many times the start of a file. `pyarrow.repeat` looks for pandas each time."""
        data = entry.spec.start.to_bytes(8, sys.byteorder) * rows
        return self._arrow.Array.from_buffers(self._arrow.int64(), rows, [None, self._arrow.py_buffer(data)])

    def _hit(self, where: Any) -> Iterator[Entry]:
        """Yield the files that may have rows for which an expression is true."""
        groups = [self._entries[at : at + GROUP] for at in range(0, len(self._entries), GROUP)]
        for group in self._that_hold([(group, self._held(group)) for group in groups], where):
            yield from self._that_hold([(entry, self._held([entry])) for entry in group], where)

    def _that_hold(self, held: Iterable[tuple[T, Any]], where: Any) -> list[T]:
        """Return the items in which an expression might be true, each given with what is true for all its rows."""
        items = list(held)
        if where is None:
            return [item for item, _ in items]
        fragments = [
            self._format.make_fragment(str(number), self._local, expression)
            for number, (_, expression) in enumerate(items)
        ]
        made = self._dataset.FileSystemDataset(fragments, self._schema, self._format)
        return [items[int(one.path)][0] for one in made.get_fragments(where)]

    def _held(self, group: Sequence[Entry]) -> Any:
        """Return an expression that is true for all rows of some files."""
        field, first, last = self._dataset.field, group[0].spec, group[-1].spec
        start = field(PARTITION_COLUMN)
        held = start == first.start if first == last else (start >= first.start) & (start <= last.start)
        return held & self._at(HeightRange(first.start, last.end))

    def _held_in(self, gap: HeightRange) -> Any:
        """Return an expression that is true for all rows of a gap."""
        start = self._dataset.field(PARTITION_COLUMN)  # its first rows may belong to a partition that begins below it
        return (start > gap.start - self._partition) & (start < gap.end) & self._at(gap)

    def _at(self, heights: HeightRange) -> Any:
        """Return an expression that is true for rows of some heights."""
        if not self._height:
            return self._true
        height = self._dataset.field(self._height)
        return (height >= heights.start) & (height < heights.end)

    @property
    def _true(self) -> Any:
        return self._dataset.scalar(True)


def _named(where: Any) -> list[str]:
    """Return the columns that an Arrow expression names, and perhaps other words in it."""
    return re.findall(r"[\w.]+", str(where))
