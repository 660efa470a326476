"""What a data set has: `chainq.json`, which its first export writes once, and the names of files in one listing.

All that a run must know of a file is in its name:

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
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.tables import CHAIN, TABLES
from chainq.defaults import SETTLE
from chainq.errors import IncompleteError, UsageError
from chainq.heights.range import HeightRange
from chainq.text.sanitize import excerpt

if TYPE_CHECKING:
    from chainq.lake.store import Store

    Table = str
    Dialect = str
else:
    Table = Literal[tuple(TABLES)]
    Dialect = Literal[tuple(DIALECTS)]
FILE = "chainq.json"
VERSION = 2
"""Of this layout. It rises when the columns or types of any table change: a data set has files of one kind only."""
PARTITION = 10_000  # heights
PARTITION_COLUMN = "start"
"""The column that readers make of the folder's name."""
HIGHEST = 2**32 - 1  # a height is a u32 (snarkVM, `Header::height`)
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
        return self.spec.command in CHAIN or is_settled(self.spec, self.tip)


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


def lacking(message: str, hint: str) -> IncompleteError:
    """Return the error of a data set that lacks data: until what the hint says is done, no rest can be read."""
    error = IncompleteError(message, hint)
    error.again = False
    return error


class Origin(msgspec.Struct, frozen=True):
    """A block that identifies the chain: block 0, or the first block of the first export if the service lacks it."""

    height: Height
    hash: str


class DataSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a data set. `partition`: heights in each. `start`, `tables`: of the first export."""

    chainq: int
    chain: Origin
    partition: Annotated[int, Meta(ge=1, le=HIGHEST + 1)]
    start: Height
    tables: list[Table]


class Contents(NamedTuple):
    """One listing. `tables`: the file that counts of each partition, in order; they do not overlap. `replaced`: files
    of which better ones are there. `others`: names of all that is no partition of this data set."""

    data_set: DataSet
    tables: dict[str, list[Entry]]
    replaced: list[Entry]
    others: list[str]

    @property
    def known(self) -> set[str]:
        """The tables that it has, or whose first partitions the first export has not written yet."""
        return {*self.data_set.tables, *self.tables}

    @property
    def heights(self) -> HeightRange:
        """The heights from the first to the last of all tables, which each table must have; from where the first export
        began, none without partitions."""
        size, ends = self.data_set.partition, [(some[0].spec.start, some[-1].spec.end) for some in self.tables.values()]
        begun = self.data_set.start - self.data_set.start % size
        return HeightRange(min([begun, *(start for start, _ in ends)]), max([begun, *(end for _, end in ends)]))


def look(store: "Store") -> Contents:
    """Return what a data set has. Raises UsageError if there is none, OutputError, and IncompleteError for damage."""
    found = find(store)
    if found is None:
        raise UsageError(f"no data set in {store.label}: no {FILE}", "chainq export writes one")
    return found


def find(store: "Store") -> Contents | None:
    """Return what a data set has, None if there is none. Raises as `look` does."""
    described = read(store)
    if described is None:
        return None
    best: dict[tuple[str, int], Entry] = {}
    found = Contents(described, {}, [], [])
    for one in store.listing():
        entry = parse_entry(*one)
        if entry is None or not on_grid(entry.spec, described.partition):
            found.others.append(one[0])
            continue
        key = (entry.spec.command, entry.spec.start)
        other = best.setdefault(key, entry)
        if other is not entry:
            best[key] = max(entry, other)
            found.replaced.append(min(entry, other))
    for entry in sorted(best.values()):
        found.tables.setdefault(entry.spec.command, []).append(entry)
    return found


def read(store: "Store") -> DataSet | None:
    """Return the description, None for a new data set.

    Raises IncompleteError if `chainq.json` is damaged, UsageError if it is of another version."""
    text = store.read(FILE)
    if text is None:
        return None
    try:
        version = msgspec.json.decode(text, type=dict[str, msgspec.Raw]).get("chainq", msgspec.Raw(b"null"))
        if bytes(version) != b"%d" % VERSION:
            raise UsageError(
                f"{store.label} has layout {excerpt(bytes(version).decode(), 20)}, this chainq writes layout {VERSION}",
                "make it anew: chainq export TABLES RANGE --to NEW_FOLDER",
            )
        return msgspec.json.decode(text, type=DataSet)
    except UNFIT as error:
        hint = f"restore {FILE}, or export to a new folder"
        raise damaged(store.label, FILE, excerpt(str(error), 80), hint) from None


def create(store: "Store", made: DataSet) -> DataSet:
    """Write the description of a new data set; return it, or that of another export that was earlier. Raises as `read`
    does."""
    store.create(FILE, msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    return read(store) or made


def check_partition(store: "Store", found: DataSet, partition: int | None) -> None:
    """Raise UsageError if an export asks for other partitions than those of the data set; None for its own."""
    if partition not in (None, found.partition):
        raise UsageError(
            f"{store.label} was exported with partition {found.partition}, not {partition}",
            f"pass --partition {found.partition}, or another --to",
        )


def check_chain(store: "Store", found: DataSet, block_hash: str | None) -> None:
    """Raise UsageError if the service has another chain. `block_hash`: of the block in `chainq.json`."""
    if found.chain.hash != (block_hash or ""):
        raise UsageError(
            f"{store.label} holds another chain: its block {found.chain.height} is {excerpt(found.chain.hash, 80)},"
            f" the service has {excerpt(block_hash or 'no such block', 80)}",
            "pass another --to, or the --url of that chain",
        )


def gaps(whole: Iterable[PartitionSpec], heights: HeightRange) -> list[HeightRange]:
    """Return the heights of a range that are missing from these partitions of a table.

    >>> specs = [PartitionSpec("records", 10, 20), PartitionSpec("records", 30, 35)]
    >>> [str(gap) for gap in gaps(specs, HeightRange(5, 40))]
    ['heights 5-9', 'heights 20-29', 'heights 35-39']
    """
    inside = ((max(spec.start, heights.start), min(spec.end, heights.end)) for spec in sorted(whole))
    edges = [heights.start, *(edge for part in inside if part[0] < part[1] for edge in part), heights.end]
    return [HeightRange(*gap) for gap in zip(edges[::2], edges[1::2], strict=True) if gap[0] < gap[1]]


def writing(tables: Iterable[str], heights: HeightRange | None, label: str) -> str:
    """Return the hint of an error about heights that tables of the data set with that label lack: what writes them.

    None, or none, for heights that nobody knows: without a range the command would write the whole chain.

    >>> writing(["blocks", "records"], HeightRange(5, 30), "my lake")
    "chainq export blocks records 5:30 --to 'my lake' writes them"
    >>> writing([*CHAIN, "records"], None, "lake")
    'chainq export chain records RANGE --to lake writes them'
    """
    bounds = f"{heights.start}:{heights.end}" if heights else "RANGE"
    what = " ".join(map(shlex.quote, export_words(tables)))
    return f"chainq export {what} {bounds} --to {shlex.quote(label)} writes them"


def export_words(tables: Iterable[str]) -> list[str]:
    """Return what `chainq export` calls some tables.

    >>> export_words([*CHAIN, "records"])
    ['chain', 'records']
    """
    named = [*tables]
    if {*CHAIN} <= {*named}:
        return ["chain", *(table for table in named if table not in CHAIN)]
    return named
