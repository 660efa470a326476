"""Reads the file of a partition, and checks it for damage: its footer, its pages, its rows and its receipt.

Pages have checksums, and the footer has a seal (`formats/parquet_footer`), so readers may believe its statistics.

Before rows are decoded, their memory is bounded. A column keeps each of its texts once, in a dictionary, and rows refer
to it: 45 KB may stand for gigabytes. The number of values and the longest text tell the most that a column can take;
only if that is too much are its texts counted. What is taken on trust are the sizes of pages in the footer
(docs/completeness.md).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from chainq.catalog.tables import TABLES
from chainq.formats.arrow_rows import ArrowRows
from chainq.formats.parquet_footer import footer_size, is_damaged
from chainq.heights.range import HeightRange
from chainq.lake.names import HIGHEST, UNFIT, Count, Dialect, End, Entry, Height, Table, damaged, digest
from chainq.lake.store import Store
from chainq.planning.exchange import Grade
from chainq.text.humanize import in_bytes
from chainq.text.sanitize import excerpt

METADATA_KEY = "chainq"  # in the metadata of a Parquet file
VERSION = 2  # of the receipt's fields
_FIXED = 16  # bytes of a number at most
_TAIL, _FOOTER = 64 << 10, 64 << 20  # bytes of the end of a file that are read at once, and of a footer at most


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The contents of a partition, and how it was proved complete, in the metadata of its file.

    `start` and `end`: its heights, the end excluded. `first_hash`, `last_hash`: of its first and last block;
    `previous_hash`: of the block before. `sha256`: of its rows in order as `--jsonl` prints them. `proof`: how many
    chunks were proved in which way (docs/completeness.md). `calls`: requests of its read, which may have filled other
    tables too. `tip`: the tip height then. `version`: of chainq. `source`: the command whose rows it was extracted
    from, if different (`lake/reads.py`). `hashes`: what block hashes were recomputed from, `summary` or `full`, empty
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


@contextmanager
def opened(store: Store, entry: Entry) -> Iterator[tuple[Any, Receipt]]:
    """Yield the Parquet file of a partition and the receipt in it. Raises IncompleteError if it is damaged, also for
    what Arrow finds while it is read."""
    import pyarrow
    from pyarrow import parquet

    source = store.source(entry.name, entry.size)
    with checked(store, entry.name), ExitStack() as stack:
        footer = _footer(source)
        if is_damaged(footer):
            raise damaged(store.label, entry.name, "its footer was changed after it was written")
        found = parquet.read_metadata(pyarrow.BufferReader(b"PAR1" + footer))
        file = parquet.ParquetFile(source, metadata=found, page_checksum_verification=True)
        stack.enter_context(file)
        if file.metadata.num_rows != entry.rows:
            raise damaged(store.label, entry.name, f"{file.metadata.num_rows} rows, its name says {entry.rows}")
        if not file.schema_arrow.equals(_schema(entry.spec.command)):  # of the footer itself it would keep the footer
            raise damaged(store.label, entry.name, f"its columns are not those of {entry.spec.command}")
        receipt = msgspec.json.decode((file.metadata.metadata or {}).get(METADATA_KEY.encode(), b""), type=Receipt)
        if receipt.facts != entry[:5]:
            raise damaged(store.label, entry.name, "its receipt does not say what its name says")
        yield file, receipt


def _footer(source: Any) -> bytes:
    """Return the footer of a Parquet file, by its path or as an open file."""
    if isinstance(source, str):
        with Path(source).open("rb") as file:
            return _footer(file)
    size = source.seek(0, 2)
    source.seek(max(0, size - _TAIL))
    tail: bytes = source.read(_TAIL)
    if (length := footer_size(tail)) > len(tail):
        source.seek(max(0, size - min(length, _FOOTER)))
        tail = source.read(min(length, _FOOTER))
    return tail[-length:]


def read_group(store: Store, entry: Entry, file: Any, group: int, columns: Sequence[str]) -> Any:
    """Return columns of a row group of an open file as a table. Raises IncompleteError if they take more memory than
    `store.memory`."""
    check_decoded(store, entry, file, group, columns)
    return file.read_row_group(group, columns=[*columns])


def heights_of(file: Any, group: int, column: str) -> HeightRange | None:
    """Return from which height up to which one a column of a row group is, by the statistics in the footer; None if
    they do not say it."""
    found = file.metadata.row_group(group)
    columns = map(found.column, range(found.num_columns))
    known = next((one.statistics for one in columns if one.path_in_schema == column), None)
    if known is None or not known.has_min_max or known.null_count or not 0 <= known.min <= known.max <= HIGHEST:
        return None
    return HeightRange(known.min, known.max + 1)


def heights_in(store: Store, entry: Entry, table: Any, column: str) -> list[int]:
    """Return the heights of rows of a partition. Raises IncompleteError if one is null or outside of the partition."""
    found: list[int] = table.column(column).to_pylist()
    for height in found:
        if height is None or not entry.spec.start <= height < entry.spec.end:
            raise damaged(store.label, entry.name, f"a row of height {height}")
    return found


@cache
def _schema(table: str) -> Any:
    import pyarrow

    return ArrowRows(TABLES[table].columns, pyarrow).schema


@contextmanager
def checked(store: Store, name: str) -> Iterator[None]:
    """Convert the errors of a damaged file to IncompleteError. `name`: of the file, or of several."""
    import pyarrow

    try:
        yield
    except FileNotFoundError:
        raise damaged(store.label, name, "it is gone", "if an export has replaced it, run the command again") from None
    except (pyarrow.ArrowException, OSError, KeyError, ValueError, *UNFIT) as error:
        raise damaged(store.label, name, excerpt(" ".join(str(error).split()), 200)) from None


def check_decoded(store: Store, entry: Entry, file: Any, number: int, columns: Sequence[str]) -> None:
    """Raise IncompleteError if columns of a row group take more than `store.memory` bytes. Raises errors of Arrow."""
    group, need = file.metadata.row_group(number), 0
    for at in range(group.num_columns):
        column = group.column(at)
        path = column.path_in_schema
        if any(path == name or path.startswith(f"{name}.") for name in columns):
            texts = column.physical_type == "BYTE_ARRAY"
            need += column.total_uncompressed_size + (0 if texts else column.num_values * _FIXED)
            if texts and column.num_values * column.total_uncompressed_size > store.memory:
                need += _texts(store, entry, file, number, path, column.num_values)
    if need > store.memory:
        raise damaged(
            store.label,
            entry.name,
            f"row group {number} takes {in_bytes(need)} of memory",
            "raise --max-memory, if you trust whoever made it",
        )


def _texts(store: Store, entry: Entry, file: Any, group: int, path: str, values: int) -> int:
    """Return the bytes that the texts of a column in a row group take; the most that they can take if that fits."""
    from pyarrow import compute

    first = _sizes(store, entry, file, group, path, 1)
    most = values * max((compute.max(sizes).as_py() or 0 for sizes, _ in first), default=0)
    if most <= store.memory:
        return most
    every = _sizes(store, entry, file, group, path, 0)
    return sum(compute.sum(sizes.take(indices)).as_py() or 0 for sizes, indices in every)


def _sizes(store: Store, entry: Entry, file: Any, group: int, path: str, rows: int) -> Iterator[tuple[Any, Any]]:
    """Yield the sizes of the texts in a dictionary, and which of them the values are, of so many rows or all (0)."""
    from pyarrow import compute, parquet, types

    source = store.source(entry.name, entry.size)
    with parquet.ParquetFile(source, metadata=file.metadata, read_dictionary=[path], buffer_size=1 << 16) as opened:
        for batch in opened.iter_batches(rows or 1 << 16, [group], [path], use_threads=False):
            array = batch.column(0)
            while not types.is_dictionary(array.type):
                array = array.flatten() if types.is_list(array.type) else array.flatten()[0]
            yield compute.binary_length(array.dictionary), array.indices
            if rows:
                return
