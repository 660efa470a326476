"""Presents the partitions of a table to DuckDB, opening only the files that a query's heights need.

A gap between the partitions fails a query only if its filter does not exclude the heights of the gap.

DuckDB passes columns and a filter to `scanner` of an Arrow dataset. An export proved that a file contains only the
heights in its name, so other files are not opened. Files are opened when their rows are needed and then released, so
memory does not grow with their number. The filter is applied to the rows themselves, whatever the names of files say.

Rejected: the scanner of Arrow's own dataset of all files. For 100,000 files it takes 7 GB, it looks at no seal and no
receipt, and what it says of damage names no file.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

from chainq.catalog.tables import TABLES
from chainq.errors import ChainqError, IncompleteError
from chainq.formats.arrow_rows import EXTRA
from chainq.heights.range import HeightRange, in_words
from chainq.lake.data_set import PARTITION_COLUMN, Contents, PartitionSpec, gaps, writing
from chainq.lake.files import StoredFile, schema_of
from chainq.lake.store import Store
from chainq.rows.raw_json import members
from chainq.text.sanitize import excerpt

T = TypeVar("T")
GROUP = 64  # files that are skipped together
_HIGHEST = 2**53  # above all heights: a filter that may be true here has no upper bound


class Files:
    """The files of one table that has some. `partial`: a query that needs heights of gaps gets the rest.

    `heights`: of the data set; `gaps`: those that no file has. `failure`: the error that ended a scan, of which DuckDB
    keeps only the text. `needed`: the gaps that a query needs; None before its first scan. `asks_beyond`: a filter asks
    for others. `unfit`: by column of the query, in words, that values of it do not fit its type and are
    in `extra` instead.
    """

    def __init__(self, table: str, contents: Contents, store: Store, *, partial: bool) -> None:
        import pyarrow
        from pyarrow import dataset, fs

        self._arrow, self._dataset, self._disk = pyarrow, dataset, fs.LocalFileSystem()
        self._format = dataset.ParquetFileFormat()
        self.table, self._store, self._partial = table, store, partial
        self._partition, self._entries = contents.data_set.partition, {one.spec: one for one in contents.tables[table]}
        self.heights = contents.heights
        self.gaps = gaps(self._entries, self.heights)
        self._specs = sorted([*self._entries, *(PartitionSpec(table, *gap.edges) for gap in self.gaps)])
        # First, because DuckDB counts rows with the first column, and this one is in no file, so no page is read.
        self._schema = schema_of(table).insert(0, pyarrow.field(PARTITION_COLUMN, pyarrow.int64()))
        self.failure: ChainqError | None = None
        self.needed: list[HeightRange] | None = None
        self.asks_beyond = False
        self.unfit: dict[str, str] = {}

    def view(self) -> Any:
        """Return an Arrow dataset whose scanners read these files."""
        files = self

        class View(self._dataset.FileSystemDataset):  # type: ignore[misc, name-defined]
            def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> Any:  # noqa: A002
                reader = files.scan(columns or files._schema.names, filter)
                return SimpleNamespace(to_reader=lambda: reader)  # all that DuckDB uses of a scanner

        return View([], self._schema, self._format)

    def scan(self, columns: Sequence[str], where: Any) -> Any:
        """Return a reader of these columns of the rows for which an Arrow expression is true, all for None."""
        hit = self._hit(where)
        crossed = {spec.heights for spec in hit if spec not in self._entries}
        self.needed = sorted({*crossed, *(self.needed or ())}, key=lambda gap: gap.start)
        self.asks_beyond |= self._beyond(where)
        schema = self._arrow.schema([self._schema.field(name) for name in columns])
        return self._arrow.RecordBatchReader.from_batches(schema, self._batches(hit, columns, where))

    def _beyond(self, where: Any) -> bool:
        """Return whether a filter has a bound outside the table, or is true for none of its heights."""

        def may_hold(start: int, end: int) -> bool:
            return bool(self._possible([HeightRange(start, end)], self._at, where))

        first, end = self.heights.edges
        has_low, has_high = not may_hold(-1, 0), not may_hold(_HIGHEST, _HIGHEST + 1)
        below = bool(first) and has_low and may_hold(0, first) and (has_high or not may_hold(0, 1))  # not `>= 0`
        return below or (has_high and may_hold(end, _HIGHEST)) or not may_hold(first, end)

    def _batches(self, specs: list[PartitionSpec], columns: Sequence[str], where: Any) -> Iterator[Any]:
        """Yield the rows for which an expression is true."""
        try:
            if self.needed and not self._partial:
                otherwise = "--partial, or a filter on height, leaves them out"
                raise missing(self.table, self.needed, self._store.label, otherwise)
            for table in self._tables(specs, columns, where):
                yield from (table if where is None else table.filter(where)).select(columns).to_batches()
        except ChainqError as error:
            self.failure = error
            raise

    def _tables(self, specs: list[PartitionSpec], columns: Sequence[str], where: Any) -> Iterator[Any]:
        """Yield the columns, and those that an expression names, of each row group in which it may be true."""
        known = {*columns, *re.findall(r"[\w.]+", str(where))}
        schema = self._arrow.schema([one for one in self._schema if one.name in known | {PARTITION_COLUMN}])
        names = schema.names[1:]
        jobs = (partial(StoredFile, self._store, self._entries[spec]) for spec in specs if spec in self._entries)
        for file in self._store.results(jobs):
            for number, _ in self._possible(list(file.groups()), lambda found: self._at(found[1]), where):
                self._note_unfit(file, number, names)
                table, rows = file.read(number, names), file.parquet.metadata.row_group(number).num_rows
                starts = self._arrow.repeat(self._arrow.scalar(file.entry.spec.start, self._arrow.int64()), rows)
                yield self._arrow.table([starts, *table.columns], schema=schema)

    def _note_unfit(self, file: StoredFile, group: int, columns: Sequence[str]) -> None:
        """Note the columns of a query of which values are in `extra`. The footer tells if a row group has anything
        there; most have nothing."""
        metadata = file.parquet.metadata
        known = metadata.row_group(group).column(metadata.num_columns - 1)  # `extra` is the last one
        wanted = {*columns} - {EXTRA, *self.unfit}
        if not wanted or (known.statistics is not None and known.statistics.null_count == known.num_values):
            return
        with file.checked():
            extra = file.read(group, [EXTRA]).column(0).drop_null().to_pylist()
            held = {path for text in extra for path in members(text.encode())}
        for name in sorted(wanted & held):
            kind = excerpt(str(self._schema.field(name).type), 40)
            left = f"values of {name!r} that do not fit {kind} are NULL here"
            self.unfit[name] = f"{left}; the column {EXTRA} has them as sent"

    def _hit(self, where: Any) -> list[PartitionSpec]:
        """Return the partitions and gaps that may have rows for which an expression is true."""
        if where is None:
            return self._specs
        groups = [self._specs[at : at + GROUP] for at in range(0, len(self._specs), GROUP)]
        near = self._possible(groups, lambda group: self._held(group[0], group[-1]), where)
        return self._possible([spec for group in near for spec in group], lambda spec: self._held(spec, spec), where)

    def _possible(self, items: Sequence[T], held: Callable[[T], Any], where: Any) -> list[T]:
        """Return the items in which an expression may be true. `held`: what is true for all rows of an item."""
        fragments = [
            self._format.make_fragment(str(number), self._disk, held(item)) for number, item in enumerate(items)
        ]
        made = self._dataset.FileSystemDataset(fragments, self._schema, self._format)
        return [items[int(one.path)] for one in made.get_fragments(where)]

    def _held(self, first: PartitionSpec, last: PartitionSpec) -> Any:
        """Return an expression that is true for all rows from one partition, or gap, to another: the first rows of a
        gap may belong to a partition that begins below it."""
        start = self._dataset.field(PARTITION_COLUMN)
        inside = (start >= first.start - first.start % self._partition) & (start < last.end)
        return inside & self._at(HeightRange(first.start, last.end))

    def _at(self, heights: HeightRange) -> Any:
        """Return an expression that is true for rows of some heights."""
        name = TABLES[self.table].height
        height = self._dataset.field(name or PARTITION_COLUMN)
        return (height >= heights.start) & (height < heights.end) if name else self._dataset.scalar(True)


def missing(table: str, gaps: Sequence[HeightRange], label: str, otherwise: str) -> IncompleteError:
    """Return the error of heights that a table lacks. `otherwise`: what else than writing them helps."""
    writes = writing([table], HeightRange(gaps[0].start, gaps[-1].end), label)
    return IncompleteError(lacks(table, gaps), f"{writes}; {otherwise}")


def lacks(table: str, gaps: Sequence[HeightRange]) -> str:
    """Return in words that a table lacks heights."""
    return f"{view_name(table)} lacks {in_words(gaps)}: the data set has no whole partition of them"


def view_name(table: str) -> str:
    """Return the name of a table in SQL."""
    return table.replace("-", "_")
