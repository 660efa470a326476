"""Writes one partition as a Parquet file: its schema, its row groups, the receipt in its metadata, a sealed footer."""

import hashlib
from collections.abc import Callable, Sequence

from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.errors import needed
from chainq.formats.arrow_rows import ArrowRows
from chainq.formats.parquet import SealedFile
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


class PartitionFile:
    """A Parquet file in progress.

    `out`: writes bytes. `warn` is called with warnings for readers of the file, except about paths that are `unlisted`.
    Raises UsageError without pyarrow.
    """

    def __init__(self, method: Method, out: Callable[[bytes], object], warn: Callable[[str], None]) -> None:
        with needed("export needs the pyarrow package", "parquet"):
            import pyarrow
            from pyarrow.parquet import SortingColumn
        expected = {column.path for column in method.unlisted}
        rows = ArrowRows(method.columns, pyarrow, lambda text: warn(f"{method.command}: {text}"), expected)
        height = rows.schema.get_field_index(method.height) if method.height else -1
        most, sorting = LOOKED_UP.get(method.command, GROUP_BYTES), None if height < 0 else [SortingColumn(height)]
        # With checksums of pages readers notice bits that changed.
        options = {"write_page_checksum": True, "sorting_columns": sorting}
        self._file = SealedFile(rows, out, (GROUP_ROWS, most), **options)
        self._hash = hashlib.sha256()
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
        self._file.write(rows)

    def finish(self, receipt: Receipt) -> None:
        """Write the last row group, and the footer with the receipt and a seal."""
        self._file.finish({METADATA_KEY: receipt.encode()})
