"""The receipt of a partition, with its contents and its proof: in its Parquet metadata, and abridged in a file name.

A receipt is written twice: as JSON in the metadata of the file (key `chainq`), to stay with the data, and as a separate
object with the same JSON and the hash of the file. The object's name contains everything that a later run needs:

    _chainq/receipts/records/000120000-000130000-000130042-61234-2345678-9-1f0c2a7be0d14c55-9b04c66e1a7f3d20.json
                     command start     end       tip       rows  bytes   calls previous hash  last hash

One listing of the data set therefore shows, without reading any object, which partitions are complete (the file has the
size in the name), their heights, whether they are settled, and whether they link to each other. Hashes are the first 16
digits of their SHA-256, because a hash from the service may contain any character.

Rejected: one file for all partitions, because the tasks of a cluster would overwrite each other's entries; and object
metadata, because a listing does not return it.
"""

import hashlib
import re
import sys
from typing import Literal, NamedTuple

import msgspec

from chainq.catalog.tables import TABLES, is_linked
from chainq.defaults import SETTLE
from chainq.heights.grid import PartitionSpec
from chainq.planning.exchange import Grade
from chainq.stored.narrow import HIGHEST, Count, Dialect, End, Height, Sha256, Table

METADATA_KEY = "chainq"  # in the metadata of a Parquet file
FOLDER = "_chainq/receipts"  # readers skip what begins with an underscore
VERSION = 1  # of the receipt's fields
UNKNOWN = "0"  # in place of the digest of a hash
_NAME = re.compile(
    FOLDER
    + rf"/({'|'.join(TABLES)})/([0-9]{{9,10}})-([0-9]{{9,10}})-([0-9]{{9,10}})"
    + r"-([0-9]{1,19})-([0-9]{1,19})-([0-9]{1,19})-([0-9a-f]{16}|0)-([0-9a-f]{16}|0)\.json"
)


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The contents of a partition, and how it was proved complete.

    `start` and `end`: its heights, the end excluded. `first_hash`, `last_hash`: of its first and last block;
    `previous_hash`: of the block before. `sha256`: of its rows in order as `--jsonl` prints them. `content`: hash of
    the rows as stored in the file (`lake/content.py`), which can be recomputed from it. `proof`: how many chunks were
    proved in which way (docs/completeness.md). `calls`: requests of its read, which may have filled other tables too.
    `tip`: the tip height then. `version`: of chainq. `source`: the command whose rows it was extracted from, if
    different (`lake/reads.py`). `hashes`: what block hashes were recomputed from, `summary` or `full`, empty if they
    were not; `unhashed`: what could not be checked, counted. `file`: the SHA-256 of all bytes of the file, including
    its footer; only in the receipt beside it, and empty in receipts of older versions.
    """

    receipt: int
    command: Table
    start: Height
    end: End
    rows: Count
    first_hash: str
    last_hash: str
    previous_hash: str
    sha256: Sha256
    content: Sha256
    proof: dict[Grade, Count]
    calls: Count
    tip: Height
    dialect: Dialect
    version: str
    source: Table | Literal[""] = ""
    hashes: str = ""
    unhashed: dict[str, Count] = {}
    file: Sha256 = ""

    def encode(self) -> bytes:
        """Return the receipt as JSON."""
        return msgspec.json.encode(self)


class Entry(NamedTuple):
    """The essentials of a receipt, from its name. `tip`: the tip height when it was written; `size`: bytes of the
    partition's file."""

    spec: PartitionSpec
    tip: int
    rows: int
    size: int
    calls: int
    previous: str
    last: str

    @property
    def name(self) -> str:
        """The name of the receipt's object."""
        command, start, end = self.spec
        heights = f"{start:09d}-{end:09d}-{self.tip:09d}"
        return f"{FOLDER}/{command}/{heights}-{self.rows}-{self.size}-{self.calls}-{self.previous}-{self.last}.json"

    @property
    def settled(self) -> bool:
        """Whether its last block was so far below the tip that no row could be missing yet. Blocks are never late."""
        return is_linked(self.spec.command) or is_settled(self.spec, self.tip)


def is_settled(spec: PartitionSpec, tip: int) -> bool:
    """Return whether a service with that tip height has written all rows of a partition (docs/export.md)."""
    return tip - (spec.end - 1) >= SETTLE


def entry_of(receipt: Receipt, size: int) -> Entry:
    """Return the essentials of a receipt whose file has `size` bytes."""
    return Entry(
        PartitionSpec(receipt.command, receipt.start, receipt.end),
        receipt.tip,
        receipt.rows,
        size,
        receipt.calls,
        digest(receipt.previous_hash),
        digest(receipt.last_hash),
    )


def parse_entry(name: str) -> Entry | None:
    """Return the essentials in the name of a receipt's object; None for another name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    start, end, tip, rows, size, calls = map(int, match.groups()[1:7])
    if not start < end <= HIGHEST + 1 or tip > HIGHEST:
        return None
    spec = PartitionSpec(sys.intern(match[1]), start, end)  # one text for all names
    return Entry(spec, tip, rows, size, calls, match[8], match[9])


def digest(block_hash: str) -> str:
    """Return a block hash in 16 hexadecimal digits, `UNKNOWN` without one."""
    return hashlib.sha256(block_hash.encode()).hexdigest()[:16] if block_hash else UNKNOWN
