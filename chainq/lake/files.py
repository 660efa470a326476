"""Reads the file of a partition, and checks it for damage: its footer, its pages, its rows and its receipt.

Pages have checksums, and the footer has a seal (`formats/parquet_footer`), so readers may believe its statistics.

Before rows are decoded, their memory is bounded. A column keeps each of its texts once, in a dictionary, and rows refer
to it: 45 KB may stand for gigabytes. The number of values and the longest text tell the most that a column can take;
only if that is too much are its texts counted. What is taken on trust are the sizes of pages in the footer
(docs/completeness.md).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import SEEK_END
from typing import Any, Literal, cast

import msgspec

from chainq.catalog.tables import TABLES
from chainq.errors import IncompleteError
from chainq.formats.arrow_rows import ArrowRows
from chainq.formats.parquet_footer import footer_size, is_damaged
from chainq.heights.range import HeightRange
from chainq.lake.data_set import export_command
from chainq.lake.names import UNFIT, Count, Dialect, End, Entry, Height, Table, damaged, digest
from chainq.lake.store import Store
from chainq.planning.exchange import Grade
from chainq.text.humanize import in_bytes
from chainq.text.sanitize import excerpt

METADATA_KEY = "chainq"  # in the metadata of a Parquet file
VERSION = 2  # of the receipt's fields
OPENED = 8  # files that a run has open at a time
_FIXED = 16  # bytes of a number at most
_TAIL, _FOOTER = 64 << 10, 64 << 20  # bytes of the end of a file that are read at once, and of a footer at most


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The contents of a partition, and how it was proved complete, in the metadata of its file.

    `start` and `end`: its heights, the end excluded. `first_hash`, `last_hash`: of its first and last block;
    `previous_hash`: of the block before. `sha256`: of its rows in order as `--jsonl` prints them. `proof`: how many
    chunks were proved in which way (docs/completeness.md). `calls`: requests of its read, which may have filled other
    tables too. `tip`: the tip height then. `version`: of chainq. `source`: the command whose rows it was extracted
    from, if different (`lake/plan.py`). `hashes`: what block hashes were recomputed from, `summary` or `full`, empty
    if they were not; `unhashed`: what could not be checked, counted.
    """

    receipt: int
    command: Table
    start: Height
    end: End
    rows: Count
    first_hash: str
    last_hash: str
    previous_hash: str
    sha256: str
    proof: dict[Grade, Count]
    calls: Count
    tip: Height
    dialect: Dialect
    version: str
    source: Table | Literal[""] = ""
    hashes: str = ""
    unhashed: dict[str, Count] = {}

    def encode(self) -> bytes:
        """Return the receipt as JSON."""
        return msgspec.json.encode(self)

    @property
    def facts(self) -> tuple[object, ...]:
        """What the name of the file says, too."""
        heights = (self.command, self.start, self.end)
        return (heights, self.tip, self.rows, digest(self.previous_hash), digest(self.last_hash))


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
            self.receipt = msgspec.json.decode((found.metadata or {}).get(METADATA_KEY.encode(), b""), type=Receipt)
            if self.receipt.facts != entry[:5]:
                raise self.damaged("its receipt does not say what its name says")

    def damaged(self, why: str, hint: str = "") -> IncompleteError:
        """Return the error of this file."""
        label, spec = self._store.label, self.entry.spec
        writes = export_command([spec.command], spec.heights, label)
        return damaged(label, self.entry.name, why, hint or f"remove it, and {writes} writes it again")

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

    def groups(self) -> Iterator[tuple[int, HeightRange]]:
        """Yield the row groups that have rows, each with its heights by the statistics in the footer; rows without
        heights have those of the partition."""
        name = TABLES[self.entry.spec.command].height
        for number in range(self.parquet.num_row_groups):
            group = self.parquet.metadata.row_group(number)
            if group.num_rows:
                yield number, self.entry.spec.heights if name is None else self._heights(group, name)

    def _heights(self, group: Any, name: str) -> HeightRange:
        columns = map(group.column, range(group.num_columns))
        known = next(column.statistics for column in columns if column.path_in_schema == name)
        whole = known is not None and known.has_min_max and not known.null_count
        lowest, highest = self.within([known.min, known.max] if whole else [None, None], self.entry.spec.heights)
        return HeightRange(lowest, highest + 1)

    def within(self, found: list[int | None], heights: HeightRange) -> list[int]:
        """Return the heights of rows, which must be some of these."""
        for height in found:
            if height is None or height not in heights:
                raise self.damaged(f"a row of height {height}")
        return cast("list[int]", found)

    def read(self, group: int, columns: Sequence[str]) -> Any:
        """Return columns of a row group as a table."""
        with self.checked():
            need = self._memory(group, columns)
            if need <= self._store.memory:
                return self.parquet.read_row_group(group, columns=[*columns])
        hint = "raise --max-memory, if you trust whoever made it"
        raise self.damaged(f"row group {group} takes {in_bytes(need)} of memory", hint)

    def _memory(self, group: int, names: Sequence[str]) -> int:
        """Return the bytes that columns of a row group take at most, or take if that may be more than is allowed."""
        found, need = self.parquet.metadata.row_group(group), 0
        for column in map(found.column, range(found.num_columns)):
            path, size, values = column.path_in_schema, column.total_uncompressed_size, column.num_values
            if any(path == name or path.startswith(f"{name}.") for name in names):
                texts = column.physical_type == "BYTE_ARRAY"
                need += size + (0 if texts else values * _FIXED)
                if texts and values * size > self._store.memory:
                    need += self._texts(group, path, values)
        return need

    def _texts(self, group: int, path: str, values: int) -> int:
        """Return the bytes that the texts of a column take; the most that they can take if that is allowed."""
        from pyarrow import compute, parquet, types

        total, metadata = 0, self.parquet.metadata
        file = parquet.ParquetFile(self._source, metadata=metadata, read_dictionary=[path], buffer_size=1 << 16)
        for rows in (1, 1 << 16):  # the first row has the dictionary of the others
            for batch in file.iter_batches(rows, [group], [path], use_threads=False):
                array = batch.column(0)
                while not types.is_dictionary(array.type):
                    array = array.flatten() if types.is_list(array.type) else array.flatten()[0]
                sizes = compute.binary_length(array.dictionary)
                if rows > 1:
                    total += compute.sum(sizes.take(array.indices)).as_py() or 0
                elif (most := values * (compute.max(sizes).as_py() or 0)) <= self._store.memory:
                    return most
                else:
                    break
        return total

    def _footer(self) -> bytes:
        """Return the footer."""
        size = self._source.seek(0, SEEK_END)
        self._source.seek(max(0, size - _TAIL))
        tail: bytes = self._source.read(_TAIL)
        if (length := footer_size(tail)) > len(tail):
            self._source.seek(max(0, size - min(length, _FOOTER)))
            tail = self._source.read(min(length, _FOOTER))
        return tail[-length:]


@cache
def schema_of(table: str) -> Any:
    """Return the Arrow schema of the files of a table."""
    import pyarrow

    return ArrowRows(TABLES[table].columns, pyarrow).schema
