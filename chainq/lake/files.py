"""Writes the file of a partition, and reads it: its row groups, the receipt in its metadata, and its sealed footer.

A reader checks it for damage. Pages have checksums, and the footer has a seal (`formats/parquet`), so readers
may believe its statistics.

The memory of rows is bounded. A column keeps each of its texts once, in a dictionary, and rows refer to it: 45 KB may
stand for gigabytes. So columns are read with their dictionaries, and texts are counted before each is repeated. What is
taken on trust are the sizes of pages in the footer (docs/completeness.md).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from io import SEEK_END
from typing import Any, Literal, cast

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Schema
from chainq.catalog.tables import TABLES
from chainq.errors import IncompleteError, needed
from chainq.formats.arrow_rows import ArrowRows
from chainq.formats.parquet import SealedFile, footer_size, is_damaged
from chainq.heights.range import HeightRange
from chainq.lake.data_set import UNFIT, Count, Dialect, Entry, Table, damaged, writing
from chainq.lake.store import Store
from chainq.planning.exchange import Grade
from chainq.text.humanize import in_bytes
from chainq.text.sanitize import excerpt

METADATA_KEY = "chainq"  # in the metadata of a Parquet file
GROUP_ROWS = 20_000  # in a row group: a search by height skips other groups by their statistics
GROUP_BYTES = 32 << 20  # before compression
LOOKED_UP = {"blocks": 1 << 20, "full-blocks": 8 << 20}
"""The same for tables of which single heights are read: a block takes less than 1 MB of a file of any size."""
_THREADS = 1 << 20  # bytes of a row group that several threads decode
_FIXED = 16  # bytes of a number at most
_TAIL, _FOOTER = 64 << 10, 64 << 20  # bytes of the end of a file that are read at once, and of a footer at most


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The contents of a partition, and how it was proved complete, in the metadata of its file.

    `name`: that of the file. `first_hash`, `last_hash`: of its first and last block; `previous_hash`: of the block
    before. `sha256`: of its rows in order as `--jsonl` prints them. `proof`: how many chunks were proved in which way
    (docs/completeness.md). `calls`: requests of its read, which may have filled other tables too. `version`: of chainq.
    `source`: the command whose rows it was extracted from, if different (`lake/plan.py`). `hashes`: what block hashes
    were recomputed from, `summary` or `full`, empty if they were not; `unhashed`: what could not be checked, counted.
    """

    name: str
    first_hash: str
    last_hash: str
    previous_hash: str
    sha256: str
    proof: dict[Grade, Count]
    calls: Count
    dialect: Dialect
    version: str
    source: Table | Literal[""] = ""
    hashes: str = ""
    unhashed: dict[str, Count] = {}


class PartitionFile:
    """A Parquet file in progress.

    `out`: writes bytes. `sha256`: the hash of the rows so far, as jsonl. `warn` is called with warnings for readers of
    the file, except about paths that are `unlisted`.

    Raises UsageError without pyarrow.
    """

    def __init__(self, method: Schema, out: Callable[[bytes], object], warn: Callable[[str], None]) -> None:
        with needed("export needs the pyarrow package", "parquet"):
            import pyarrow
        expected = {column.path for column in method.unlisted}
        rows = ArrowRows(method.columns, pyarrow, lambda text: warn(f"{method.command}: {text}"), expected)
        most = GROUP_ROWS, LOOKED_UP.get(method.command, GROUP_BYTES)
        self._file = SealedFile(rows, out, most, write_page_checksum=True)  # readers notice bits that changed
        self.sha256 = hashlib.sha256()
        self.rows = 0

    def write(self, rows: Sequence[Raw]) -> None:
        """Add rows."""
        for row in rows:
            self.sha256.update(row)
            self.sha256.update(b"\n")
        self.rows += len(rows)
        self._file.write(rows)

    def finish(self, receipt: Receipt) -> None:
        """Write the last row group, and the footer with the receipt and a seal."""
        self._file.finish({METADATA_KEY: msgspec.json.encode(receipt)})


class StoredFile:
    """The file of a partition, open. `parquet`: the file as Arrow has it; `receipt`: what it says of itself.

    Raises IncompleteError if it is damaged, as every method does.
    """

    def __init__(self, store: Store, entry: Entry) -> None:
        import pyarrow
        from pyarrow import parquet

        self.entry, self._store = entry, store
        with self.checked():
            source = store.source(entry.name, entry.size)
            self._source: Any = pyarrow.OSFile(source) if isinstance(source, str) else source
            footer = self._footer()
            if is_damaged(footer):
                raise self.damaged("its footer was changed after it was written")
            found = parquet.read_metadata(pyarrow.BufferReader(b"PAR1" + footer))
            self.parquet = parquet.ParquetFile(self._source, metadata=found, page_checksum_verification=True)
            if found.num_rows != entry.rows:
                raise self.damaged(f"{found.num_rows} rows, its name says {entry.rows}")
            if not self.parquet.schema_arrow.equals(schema_of(entry.spec.command)):  # that of `found` would keep it
                raise self.damaged(f"its columns are not those of {entry.spec.command}")
            self.receipt = msgspec.json.decode((found.metadata or {}).get(METADATA_KEY.encode(), b"{}"), type=Receipt)
            if self.receipt.name != entry.name:
                raise self.damaged("its receipt does not say what its name says")

    def damaged(self, why: str, hint: str = "") -> IncompleteError:
        """Return the error of this file."""
        label, spec = self._store.label, self.entry.spec
        writes = writing([spec.command], spec.heights, label)
        return damaged(label, self.entry.name, why, hint or f"remove it, and {writes} again")

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Convert the errors of a damaged file to IncompleteError."""
        import pyarrow

        try:
            yield
        except FileNotFoundError:
            raise self.damaged("it is gone", "if an export has replaced it, run the command again") from None
        except (pyarrow.ArrowException, OSError, KeyError, ValueError, *UNFIT) as error:
            raise self.damaged(excerpt(" ".join(str(error).split()), 200)) from None

    def groups(self, texts: Mapping[str, str] = {}) -> Iterator[tuple[int, HeightRange]]:
        """Yield the row groups that have rows, each with its heights by the statistics in the footer; rows without
        heights have those of the partition. `texts`: by column, what a row must have; groups without it are left out.
        """
        name = TABLES[self.entry.spec.command].height
        for number in range(self.parquet.num_row_groups):
            group = self.parquet.metadata.row_group(number)
            columns = {one.path_in_schema: one for one in map(group.column, range(group.num_columns))}
            edges = [(text, *_edges(columns[path])) for path, text in texts.items()]
            if group.num_rows and all(low is None or low <= text <= high for text, low, high in edges):
                heights = self.entry.spec.heights
                if name is not None:
                    lowest, highest = self.within(_edges(columns[name]), heights)
                    heights = HeightRange(lowest, highest + 1)
                yield number, heights

    def within(self, found: Sequence[int | None], heights: HeightRange) -> list[int]:
        """Return the heights of rows, which must be some of these."""
        for height in found:
            if height is None or height not in heights:
                raise self.damaged(f"a row of height {height}")
        return cast("list[int]", found)

    def read(self, group: int, columns: Sequence[str]) -> Any:
        """Return columns of a row group as a table."""
        import pyarrow
        from pyarrow import parquet

        file, most, paths = self.parquet, self._store.memory, tuple(f"{name}." for name in columns)
        found = file.metadata.row_group(group)
        every = map(found.column, range(found.num_columns))
        chunks = [one for one in every if f"{one.path_in_schema}.".startswith(paths)]
        size = sum(max(one.total_uncompressed_size, one.num_values * _FIXED) for one in chunks)
        long = [one for one in chunks if one.num_values * one.total_uncompressed_size > most]
        with self.checked():
            if texts := [one.path_in_schema for one in long if one.physical_type == "BYTE_ARRAY"]:
                options = {"read_dictionary": texts, "page_checksum_verification": True}
                file = parquet.ParquetFile(self._source, metadata=file.metadata, **options)
            if size <= most:
                table = file.read_row_group(group, columns=[*columns], use_threads=size > _THREADS)
                size = sum(_size(part) for column in table.columns for part in column.chunks)
            if size <= most:
                plain = map(schema_of(self.entry.spec.command).field, table.column_names)
                return table.cast(pyarrow.schema(plain)) if texts else table
        hint = "raise --max-memory, if you trust whoever made it"
        raise self.damaged(f"row group {group} takes {in_bytes(size)} of memory", hint)

    def _footer(self) -> bytes:
        """Return the footer."""
        size = self._source.seek(0, SEEK_END)
        self._source.seek(max(0, size - _TAIL))
        tail: bytes = self._source.read(_TAIL)
        if (length := footer_size(tail)) > len(tail):
            self._source.seek(max(0, size - min(length, _FOOTER)))
            tail = self._source.read(min(length, _FOOTER))
        return tail[-length:]


def _edges(column: Any) -> tuple[Any, Any]:
    """Return the lowest and the highest value of a column of a row group by its statistics, None if they are not known
    or if there are nulls."""
    known = column.statistics
    return (known.min, known.max) if known is not None and known.has_min_max and not known.null_count else (None, None)


def _size(array: Any) -> int:
    """Return the bytes that an array takes once each value has its text."""
    from pyarrow import compute, types

    if types.is_dictionary(array.type):
        return compute.sum(compute.binary_length(array.dictionary).take(array.indices)).as_py() or 0
    if types.is_list(array.type):
        return _size(array.flatten())
    return sum(map(_size, array.flatten())) if types.is_struct(array.type) else int(array.nbytes)


@cache
def schema_of(table: str) -> Any:
    """Return the Arrow schema of the files of a table."""
    import pyarrow

    return ArrowRows(TABLES[table].columns, pyarrow).schema
