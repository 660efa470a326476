"""The contents of a data set by its listing: the complete partitions, by their receipts, and all other files."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from chainq.catalog.tables import CHAIN
from chainq.errors import IncompleteError
from chainq.heights.grid import PartitionSpec, file_in, on_grid
from chainq.heights.range import HeightRange
from chainq.stored.narrow import partition_of
from chainq.stored.receipt import Entry, parse_entry
from chainq.stored.store import Listed, Store
from chainq.text.humanize import counted

REMOVES = "rm -rf"
Key = tuple[str, int]
"""What identifies a partition: its table and its first height."""


class Inventory(NamedTuple):
    """The contents of a listing. `valid`: receipts of complete files. `damaged`: receipt names of all other partitions,
    none for a file without a receipt. `others`: names of all other files."""

    valid: Mapping[Key, Entry]
    damaged: Mapping[Key, tuple[str, ...]]
    others: list[str]

    def receipts(self, spec: PartitionSpec) -> tuple[str, ...]:
        """Return the names of all receipts of a partition."""
        key = (spec.command, spec.start)
        entry = self.valid.get(key)
        return (entry.name,) if entry else self.damaged.get(key, ())

    def partitions(self, grid: int) -> Iterator[PartitionSpec]:
        """Yield all partitions, whole or not.

        Damaged ones end at the height that a receipt says; without a receipt, after `grid` heights.
        """
        yield from (entry.spec for entry in self.valid.values())
        for key, names in self.damaged.items():
            ends = [entry.spec.end for name in names if (entry := parse_entry(name))]
            yield PartitionSpec(*key, max(ends, default=key[1] + grid))

    def tables(self, label: str) -> dict[str, list[Entry]]:
        """Return the complete partitions of each table, in order (`in_order`)."""
        found: dict[str, list[Entry]] = {}
        for entry in self.valid.values():
            found.setdefault(entry.spec.command, []).append(entry)
        return {command: in_order(some, label) for command, some in sorted(found.items())}

    def check_grid(self, grid: int, label: str) -> None:
        """Raise IncompleteError if a complete partition cannot be one of `grid` heights: another would contain it."""
        for spec, *_ in self.valid.values():
            if not on_grid(spec, grid):
                raise IncompleteError(
                    f"the partitions of {label} have {grid} heights, but {spec.name} has {spec.heights}", _which(label)
                )


def look(store: Store) -> Inventory:
    """Return the contents of a data set. Raises OutputError."""
    return take_inventory(store.listing(file_in))


def take_inventory(listing: Iterable[Listed]) -> Inventory:
    """Return the contents of a listing. If a partition has several receipts, none counts: a run was killed there."""
    sizes: dict[Key, int] = {}
    entries: dict[Key, Entry] = {}
    more: dict[Key, tuple[Entry, ...]] = {}  # besides the one in `entries`
    others: list[str] = []
    for name, size, _ in listing:
        if key := partition_of(name):
            sizes[key] = size
        elif entry := parse_entry(name):
            key = (entry.spec.command, entry.spec.start)
            if entries.setdefault(key, entry) is not entry:
                more[key] = (*more.get(key, ()), entry)
        else:
            others.append(name)
    damaged: dict[Key, tuple[str, ...]] = {key: () for key in sizes if key not in entries}
    for key, entry in entries.items():
        if key in more or sizes.get(key) != entry.size:
            damaged[key] = tuple(one.name for one in (entry, *more.get(key, ())))
    for key in damaged:
        entries.pop(key, None)
    return Inventory(entries, damaged, others)


def in_order(entries: Iterable[Entry], label: str) -> list[Entry]:
    """Return complete partitions of one table of the data set with that label, sorted.

    Raises IncompleteError if two contain the same heights, whose rows would count twice.
    """
    found = sorted(entries)
    for (one, *_), (other, *_) in pairwise(found):
        if other.start < one.end:
            both = HeightRange(other.start, min(one.end, other.end))
            raise IncompleteError(
                f"two partitions of {one.command} in {label} contain {both}: {one.name} and {other.name}",
                _which(label),
            )
    return found


def _which(label: str) -> str:
    return f"chainq verify {shlex.quote(label)} --jsonl says which files to remove"


def gaps(whole: Iterable[PartitionSpec], heights: HeightRange) -> list[HeightRange]:
    """Return the heights of a range that are missing from these partitions of a table.

    >>> specs = [PartitionSpec("records", 10, 20), PartitionSpec("records", 30, 35)]
    >>> [str(gap) for gap in gaps(specs, HeightRange(5, 40))]
    ['heights 5-9', 'heights 20-29', 'heights 35-39']
    """
    found, at = [], heights.start
    for spec in sorted(whole):
        if at < min(spec.start, heights.end):
            found.append(HeightRange(at, min(spec.start, heights.end)))
        at = max(at, spec.end)
    if at < heights.end:
        found.append(HeightRange(at, heights.end))
    return found


def span(specs: Iterable[PartitionSpec]) -> HeightRange | None:
    """Return the heights from the first to the last of some partitions, None for no partitions."""
    edges = [(spec.start, spec.end) for spec in specs]
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


def export_command(
    tables: Iterable[str], heights: HeightRange | None, label: str, *, needs_url: bool = False, repairs: bool = False
) -> str:
    """Return the command that writes these heights of tables into the data set with that label.

    None for heights that nobody knows: without a range the command would write the whole chain. `needs_url`: the URL
    of the run is that of the data set, so another one must be passed. `repairs`: it replaces what is there.

    >>> export_command(["blocks", "records"], HeightRange(5, 30), "my lake")
    "chainq export blocks records 5:30 --to 'my lake'"
    >>> export_command([*CHAIN, "records"], None, "lake")
    'chainq export chain records RANGE --to lake'
    >>> export_command(["blocks"], HeightRange(5, 30), "lake", needs_url=True)
    'chainq export blocks 5:30 --to lake --url URL'
    >>> export_command(["; rm x"], None, "lake")  # a name in the files of a data set, which anybody may have made
    "chainq export '; rm x' RANGE --to lake"
    """
    bounds = "RANGE" if heights is None else f"{heights.start}:{heights.end}"
    what, to = f"{' '.join(map(shlex.quote, export_words(tables)))} {bounds}", shlex.quote(label)
    return f"chainq export {what} --to {to}{' --url URL' * needs_url}{' --repair all' * repairs}"


def remove_command(names: Iterable[str], label: str) -> str | None:
    """Return the command that removes files and folders of a data set; None in an object store, whose tools differ.

    >>> remove_command(["records/start=000000250", "records/x"], "my lake")
    "rm -rf 'my lake/records/start=000000250' 'my lake/records/x'"
    """
    paths = (shlex.quote(f"{label}/{name}") for name in names)
    return None if "://" in label else f"{REMOVES} {' '.join(paths)}"


def export_words(tables: Iterable[str]) -> list[str]:
    """Return what `chainq export` calls some tables.

    >>> export_words([*CHAIN, "records"])
    ['chain', 'records']
    """
    named = [*tables]
    if {*CHAIN} <= {*named}:
        return ["chain", *(table for table in named if table not in CHAIN)]
    return named
