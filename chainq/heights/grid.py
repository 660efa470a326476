"""Names of partitions: a fixed grid of heights, so the name of a file depends only on its heights.

    >>> partition_name("records", 120_000)
    'records/start=000120000/data.parquet'

A partition starts at a multiple of the grid and ends at the next one, or before: at the tip or the end of the range.
The form `start=…` is what DuckDB, Spark, Polars and pandas read as a column (hive partitioning).
"""

import re
import sys
from typing import NamedTuple

from chainq.heights.range import HeightRange

PARTITION_COLUMN = "start"
"""The column that readers make of the folder's name."""
_NAME = re.compile(rf"([a-z-]+)/{PARTITION_COLUMN}=([0-9]{{9,16}})/data\.parquet")


class PartitionSpec(NamedTuple):
    """A partition to fetch and prove: its table, its first height, and the end of its heights (excluded).

    `command`: the table, which most often has the name of the command with its rows (`catalog/tables.py`).
    """

    command: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The name of its file below the folder of the data set."""
        return partition_name(self.command, self.start)

    @property
    def heights(self) -> HeightRange:
        """Its heights."""
        return HeightRange(self.start, self.end)

    def __str__(self) -> str:
        return f"{self.command} {self.heights}"


def partition_name(command: str, start: int) -> str:
    """Return the name of a partition's file; nine digits sort as numbers up to a billion blocks."""
    return f"{command}/{PARTITION_COLUMN}={start:09d}/data.parquet"


def parse_name(name: str) -> tuple[str, int] | None:
    """Return the command and the first height in the name of a partition's file; None for another name."""
    match = _NAME.fullmatch(name)
    if match is None or partition_name(match[1], int(match[2])) != name:
        return None
    return sys.intern(match[1]), int(match[2])  # one text for all names


def file_in(folder: str) -> str | None:
    """Return the name of the file in the folder of a partition; None for another folder.

    >>> file_in("records/start=000120000")
    'records/start=000120000/data.parquet'
    """
    name = f"{folder}/data.parquet"
    return name if _NAME.fullmatch(name) else None


def on_grid(spec: PartitionSpec, size: int) -> bool:
    """Return whether a partition can be one of `size` heights.

    >>> [on_grid(PartitionSpec("blocks", *edges), 100) for edges in [(300, 320), (300, 450), (350, 400)]]
    [True, False, False]
    """
    return spec.start % size == 0 and 0 < len(spec.heights) <= size


def partitions(command: str, heights: HeightRange, size: int) -> list[PartitionSpec]:
    """Return the partitions of a range, each of `size` heights; the first one starts at or below the range.

    >>> [str(part) for part in partitions("blocks", HeightRange(150, 320), 100)]
    ['blocks heights 100-199', 'blocks heights 200-299', 'blocks heights 300-319']
    """
    first = heights.start - heights.start % size
    return [
        PartitionSpec(command, start, min(start + size, heights.end))
        for start in (range(first, heights.end, size) if len(heights) else ())
    ]
