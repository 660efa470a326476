"""The number of rows of a Parquet file, by the first bytes of its footer."""

from pathlib import Path

import pyarrow as pa
import pytest
from msgspec import Raw

from chainq.catalog.tables import TABLES
from chainq.formats.arrow_rows import ArrowRows
from chainq.lake.footer import RowCount
from chainq.lake.table import PartitionFile

RECORDS = TABLES["records"]


def _written(path: Path, rows: int, command: str = "records") -> str:
    with path.open("w+b") as file:
        part = PartitionFile(file, TABLES[command], lambda _: None, label="a partition")
        part.write([Raw(b'{"id":%d,"height":5}' % number) for number in range(rows)])
        part._end_group()
        part._writer.close()
    return str(path)


@pytest.fixture(scope="module")
def count() -> RowCount:
    """Of files of records."""
    return RowCount(ArrowRows(RECORDS.columns, pa).schema)


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 8191, 8192, 25_000])
def test_the_number_of_rows(tmp_path: Path, count: RowCount, rows: int) -> None:
    """Numbers of one byte and of several; row groups, too, have a number of rows."""
    assert count.of(_written(tmp_path / "data.parquet", rows)) == rows


def test_another_schema(tmp_path: Path, count: RowCount) -> None:
    """Its footer begins in another way."""
    assert count.of(_written(tmp_path / "data.parquet", 5, "blocks")) is None


def test_damaged_files(tmp_path: Path, count: RowCount) -> None:
    """Files that end early, and bits that changed in the length, the schema and the number: never the true number."""
    path = tmp_path / "data.parquet"
    whole = Path(_written(path, 200)).read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    end = footer + len(count._before) + 2
    for size in (0, 3, 8, 11, 12, footer, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert count.of(str(path)) is None
    for at in (*range(footer, end), *range(len(whole) - 8, len(whole))):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        assert count.of(str(path)) != 200, at
