"""Writes one partition as a Parquet file: its schema, its row groups, the receipt in its metadata, a sealed footer."""

import hashlib
import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.errors import OutputError, needed
from chainq.formats.arrow_rows import ArrowRows
from chainq.formats.parquet import RowGroups
from chainq.formats.parquet_footer import UNSEALED, sealed
from chainq.lake.files import METADATA_KEY, Receipt

GROUP_ROWS = 20_000  # in a row group: a search by height skips other groups by their statistics
GROUP_BYTES = 32 << 20  # before compression
LOOKED_UP = {"blocks": 1 << 20, "full-blocks": 8 << 20}
"""The same for tables of which single heights are read: a block takes less than 1 MB of a file of any size."""
SCHEMAS = {
    "blocks": "804da8455a0a4e0a",
    "full-blocks": "002d14ed0a8b4448",
    "records": "4275bbecf01dcfc3",
    "ownership": "77e663b9981e94a9",
    "transitions": "abf9edb49a5c3047",
    "transactions": "22a4631e19676c0a",
    "calls": "89d422f0bb5de869",
    "inputs": "1f77fea3ebf5ccf1",
    "outputs": "9649e5bdacb63a86",
    "finalize": "e1aebc6e91561802",
    "ratifications": "e1acdc80f65acbdd",
}
"""By table, what the columns of its files depend on: a digest of their Arrow schema. Not computed, since pyarrow takes
0.2 s and 40 MB, which a run with nothing to write does without."""


def load() -> None:
    """Import what a `PartitionFile` needs, if installed; `PartitionFile` itself reports missing packages."""
    with suppress(ImportError):
        from pyarrow import compute, json, parquet  # noqa: F401


class PartitionFile:
    """A Parquet file in progress; memory holds no more than about one row group.

    `warn` is called with warnings for readers of the file, except about paths that are `unlisted`. `label`: what the
    error calls a file that cannot be written. Raises UsageError without pyarrow; OutputError.
    """

    def __init__(self, file: BinaryIO, method: Method, warn: Callable[[str], None], *, label: str) -> None:
        with needed("export needs the pyarrow package", "parquet"):
            import pyarrow
            from pyarrow import parquet
        self._file, self._label, self._buffer = file, label, io.BytesIO()
        expected = {column.path for column in method.unlisted}
        self._rows = ArrowRows(method.columns, pyarrow, lambda text: warn(f"{method.command}: {text}"), expected)
        height = self._rows.schema.get_field_index(method.height) if method.height else -1
        self._writer: Any = parquet.ParquetWriter(
            self._buffer,
            self._rows.schema,
            compression="zstd",
            write_page_checksum=True,  # readers notice bits that changed
            sorting_columns=None if height < 0 else [parquet.SortingColumn(height)],
        )
        self._hash = hashlib.sha256()
        most = LOOKED_UP.get(method.command, GROUP_BYTES)
        self._groups = RowGroups(self._rows.schema, self._write_group, GROUP_ROWS, most)
        self.rows = 0

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the rows so far, as jsonl."""
        return self._hash.hexdigest()

    def write(self, rows: Sequence[Raw]) -> None:
        """Add rows."""
        for row in rows:
            self._hash.update(row)
            self._hash.update(b"\n")
        self.rows += len(rows)
        for batch in self._rows.batches(rows):
            self._groups.add(batch)

    def finish(self, receipt: Receipt) -> None:
        """Write the last row group, and the footer with the receipt and a seal."""
        self._groups.end()
        self._writer.add_key_value_metadata({METADATA_KEY: receipt.encode(), **UNSEALED})
        self._writer.close()
        self._send(sealed(self._buffer.getvalue()))

    def _write_group(self, table: Any) -> None:
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self._send(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()

    def _send(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise OutputError(f"cannot write {self._label}: {error.strerror or error}") from None
