"""What a data set has: `chainq.json`, which its first export writes once, and the partitions in one listing."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec

from chainq.catalog.tables import CHAIN
from chainq.errors import UsageError
from chainq.heights.range import HeightRange
from chainq.lake.names import (
    HIGHEST,
    UNFIT,
    Entry,
    Height,
    PartitionSpec,
    Table,
    damaged,
    on_grid,
    parse_entry,
)
from chainq.lake.store import Listed, Store
from chainq.text.humanize import counted
from chainq.text.sanitize import excerpt

NAME = "chainq.json"
VERSION = 2
"""Of this layout. It rises when the columns or types of any table change: a data set has files of one kind only."""
PARTITION = 10_000  # heights


class Origin(msgspec.Struct, frozen=True):
    """A block that identifies the chain: block 0, or the first block of the first export if the service lacks it."""

    height: Height
    hash: str


class DataSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a data set. `partition`: heights in each. `start`, `tables`: of the first export."""

    chainq: int
    chain: Origin
    partition: Annotated[int, msgspec.Meta(ge=1, le=HIGHEST + 1)]
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
    def span(self) -> HeightRange | None:
        """The heights from the first to the last of all tables, None for no partitions."""
        return span(entry.spec.heights for entries in self.tables.values() for entry in entries)

    def heights(self, table: str) -> HeightRange:
        """Return the heights of a table that has partitions: from its first one on, or where the first export began."""
        first, last = self.tables[table][0].spec, self.tables[table][-1].spec
        begun = self.data_set.start - self.data_set.start % self.data_set.partition
        start = min(first.start, begun) if table in self.data_set.tables else first.start
        return HeightRange(start, last.end)


def look(store: Store) -> Contents:
    """Return what a data set has. Raises UsageError if there is none, OutputError, and IncompleteError for damage."""
    found = find(store)
    if found is None:
        raise UsageError(f"no data set in {store.label}: no {NAME}", "chainq export writes one")
    return found


def find(store: Store) -> Contents | None:
    """Return what a data set has, None if there is none. Raises as `look` does."""
    described = read(store)
    return None if described is None else take(described, store.listing())


def take(described: DataSet, listing: Iterable[Listed]) -> Contents:
    """Return what a listing has."""
    best: dict[tuple[str, int], Entry] = {}
    found = Contents(described, {}, [], [])
    for one in listing:
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


def read(store: Store) -> DataSet | None:
    """Return the description, None for a new data set.

    Raises IncompleteError if `chainq.json` is damaged, UsageError if it is of another version."""
    text = store.read(NAME)
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
        hint = f"restore {NAME}, or export to a new folder"
        raise damaged(store.label, NAME, excerpt(str(error), 80), hint) from None


def create(store: Store, made: DataSet) -> DataSet:
    """Write the description of a new data set; return it, or that of another export that was earlier. Raises as `read`
    does."""
    store.create(NAME, msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    return read(store) or made


def check_partition(store: Store, found: DataSet, partition: int | None) -> None:
    """Raise UsageError if an export asks for other partitions than those of the data set; None for its own."""
    if partition not in (None, found.partition):
        raise UsageError(
            f"{store.label} was exported with partition {found.partition}, not {partition}",
            f"pass --partition {found.partition}, or another --to",
        )


def check_chain(store: Store, found: DataSet, block_hash: str | None) -> None:
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


def span(parts: Iterable[HeightRange]) -> HeightRange | None:
    """Return the heights from the first to the last of some ranges, None for no ranges."""
    edges = [part.edges for part in parts]
    return HeightRange(min(start for start, _ in edges), max(end for _, end in edges)) if edges else None


def shorter(spans: Mapping[str, HeightRange | None], whole: HeightRange) -> list[str]:
    """Return, in words, the tables that cover fewer heights than all of them; those with equal heights together.

    >>> shorter({"blocks": HeightRange(0, 9), "records": HeightRange(0, 5), "calls": None}, HeightRange(0, 9))
    ['records: heights 0-4 only', 'calls: no partitions']
    """
    alike: dict[HeightRange | None, list[str]] = {}
    for table, heights in spans.items():
        if heights != whole:
            alike.setdefault(heights, []).append(table)
    what = ((f"{heights} only" if heights else "no partitions", tables) for heights, tables in alike.items())
    return [f"{', '.join(tables)}: {words}" for words, tables in what]


def listed(found: Sequence[HeightRange], most: int = 3) -> str:
    """Return gaps in the form used in messages, at most that many.

    >>> listed([HeightRange(5, 10), HeightRange(20, 30)], 1)
    'heights 5-9 and 1 gap more'
    >>> listed([HeightRange(7, 8)])
    'height 7'
    """
    more = f" and {counted(len(found) - most, 'gap')} more" if len(found) > most else ""
    word = "height " if len(found) == 1 == len(found[0]) else "heights "
    return word + ", ".join(str(gap).split()[1] for gap in found[:most]) + more


def export_command(tables: Iterable[str], heights: HeightRange | None, label: str, *, needs_url: bool = False) -> str:
    """Return the command that writes these heights of tables into the data set with that label.

    None for heights that nobody knows: without a range the command would write the whole chain. `needs_url`: the URL
    of the run is that of the data set, so another one must be passed.

    >>> export_command(["blocks", "records"], HeightRange(5, 30), "my lake")
    "chainq export blocks records 5:30 --to 'my lake'"
    >>> export_command([*CHAIN, "records"], None, "lake")
    'chainq export chain records RANGE --to lake'
    """
    bounds = "RANGE" if heights is None else f"{heights.start}:{heights.end}"
    what, to = f"{' '.join(map(shlex.quote, export_words(tables)))} {bounds}", shlex.quote(label)
    return f"chainq export {what} --to {to}{' --url URL' * needs_url}"


def export_words(tables: Iterable[str]) -> list[str]:
    """Return what `chainq export` calls some tables.

    >>> export_words([*CHAIN, "records"])
    ['chain', 'records']
    """
    named = [*tables]
    if {*CHAIN} <= {*named}:
        return ["chain", *(table for table in named if table not in CHAIN)]
    return named
