"""Names of partitions: all that a run must know of a file is in its name, so that one listing is the catalog.

    >>> spec = PartitionSpec("records", 120_000, 130_000)
    >>> entry = Entry(spec, 130_042, 61_234, "1f0c2a7be0d14c55", "9b04c66e1a7f3d20")
    >>> entry.name
    'records/start=0000120000/0000130000-0000130042-61234-1f0c2a7be0d14c55-9b04c66e1a7f3d20.parquet'
    >>> parse_entry(entry.name) == entry
    True

A partition starts at a multiple of the partition size and ends at the next one, or before: at the tip or the end of the
range. The form `start=…` is what DuckDB, Spark, Polars and pandas read as a column (hive partitioning). Then come the
end, the tip height when it was read, the number of rows, and the hashes of the block before and of the last block: the
first 16 digits of their SHA-256, because a hash from the service may contain any character.

Anybody may host an export, so all of it is foreign: paths and messages are made of the types here only, and a name that
does not fit is of no partition.
"""

import hashlib
import re
import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.tables import TABLES, is_linked
from chainq.defaults import SETTLE
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange

PARTITION_COLUMN = "start"
"""The column that readers make of the folder's name."""
HIGHEST = 2**32 - 1  # a height is a u32 (snarkVM, `Header::height`)
if TYPE_CHECKING:
    Table = str
    Dialect = str
else:
    Table = Literal[tuple(TABLES)]
    Dialect = Literal[tuple(DIALECTS)]
Height = Annotated[int, Meta(ge=0, le=HIGHEST)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A number of rows, bytes or requests."""
UNFIT = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for JSON that is invalid, does not fit a type or is nested too deeply."""
UNKNOWN = "0"
"""In place of the digest of a hash."""
_NAME = re.compile(
    rf"({'|'.join(TABLES)})/{PARTITION_COLUMN}=([0-9]{{10}})"
    r"/([0-9]{10})-([0-9]{10})-(0|[1-9][0-9]{0,17})-([0-9a-f]{16}|0)-([0-9a-f]{16}|0)\.parquet"
)


class PartitionSpec(NamedTuple):
    """A partition to fetch and prove: its table, its first height, and the end of its heights (excluded).

    `command`: the table, which most often has the name of the command with its rows (`catalog/tables.py`).
    """

    command: str
    start: int
    end: int

    @property
    def folder(self) -> str:
        """The folder of its file, below that of the data set."""
        return f"{self.command}/{PARTITION_COLUMN}={self.start:010d}"

    @property
    def heights(self) -> HeightRange:
        """Its heights."""
        return HeightRange(self.start, self.end)

    def __str__(self) -> str:
        return f"{self.command} {self.heights}"


class Entry(NamedTuple):
    """A file of a partition by its name. `tip`: the tip height when it was read; `previous`, `last`: digests of the
    hash of the block before and of its last block. `size`, `modified`: bytes and time of writing, if listed.

    Of several files of one partition the greatest counts: the one with most heights, then with the highest tip.
    """

    spec: PartitionSpec
    tip: int
    rows: int
    previous: str
    last: str
    size: int = 0
    modified: float = 0.0

    @property
    def name(self) -> str:
        """The name of the file below the folder of the data set."""
        facts = f"{self.spec.end:010d}-{self.tip:010d}-{self.rows}-{self.previous}-{self.last}"
        return f"{self.spec.folder}/{facts}.parquet"

    @property
    def settled(self) -> bool:
        """Whether its last block was so far below the tip that no row could be missing yet. Blocks are never late."""
        return is_linked(self.spec.command) or is_settled(self.spec, self.tip)


def parse_entry(name: str, size: int = 0, modified: float = 0.0) -> Entry | None:
    """Return a file of a partition by its name; None for another name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    start, end, tip, rows = map(int, match.groups()[1:5])
    if not start < end <= HIGHEST + 1 or tip > HIGHEST:
        return None
    spec = PartitionSpec(sys.intern(match[1]), start, end)  # one text for all names
    return Entry(spec, tip, rows, match[6], match[7], size, modified)


def digest(block_hash: str) -> str:
    """Return a block hash as names have it, `UNKNOWN` without one."""
    return hashlib.sha256(block_hash.encode()).hexdigest()[:16] if block_hash else UNKNOWN


def is_settled(spec: PartitionSpec, tip: int) -> bool:
    """Return whether a service with that tip height has written all rows of a partition (docs/export.md)."""
    return tip - (spec.end - 1) >= SETTLE


def on_grid(spec: PartitionSpec, size: int) -> bool:
    """Return whether a partition can be one of `size` heights.

    >>> [on_grid(PartitionSpec("blocks", *edges), 100) for edges in [(300, 320), (300, 450), (350, 400)]]
    [True, False, False]
    """
    return spec.start % size == 0 and len(spec.heights) <= size


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


def damaged(label: str, name: str, why: str, hint: str = "") -> IncompleteError:
    """Return the error of a file of the data set with that label. `hint`: what to do instead of `chainq verify`."""
    return lacking(f"{name} of {label} is damaged: {why}", hint or f"see chainq verify {shlex.quote(label)}")


def check_size(label: str, name: str, size: int, most: int) -> None:
    """Raise IncompleteError for a file of the data set with that label that has too many bytes to be read whole."""
    if size > most:
        raise damaged(label, name, f"{size} bytes, expected {most} at most")


def lacking(message: str, hint: str) -> IncompleteError:
    """Return the error of a data set that lacks data: until what the hint says is done, no rest can be read."""
    error = IncompleteError(message, hint)
    error.again = False
    return error
