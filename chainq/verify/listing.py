"""What one listing of a data set shows: its partitions, what their receipts say in their names, and how they adjoin."""

import shlex
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import UsageError
from chainq.heights.range import HeightRange
from chainq.lake import data_set
from chainq.lake.grid import PartitionSpec, parse_name, partitions
from chainq.lake.plan import broken
from chainq.lake.receipt import Entry, parse_entry
from chainq.lake.store import Listed, Store
from chainq.verify.findings import Finding, by_height


class Partition(NamedTuple):
    """A partition by the listing: what its receipt says, None without one, and whether its file is there."""

    spec: PartitionSpec
    entry: Entry | None
    size: int | None


class Listing:
    """The listing of a data set. Raises UsageError where there is none.

    `grid`: heights in a partition. `partitions`: those with a file or a receipt, sorted by command and height.
    """

    def __init__(self, store: Store) -> None:
        found = data_set.read(store)
        if found is None:
            raise UsageError(f"{store.label} is not a data set that chainq export wrote", "it has no chainq.json")
        self._label, self._commands = store.label, tuple(found.schemas)
        self.grid = found.partition
        listing = list(store.listing())
        self.partitions, self._odd = _listed(listing, self.grid)
        self._foreign = [name for name, _ in listing if _is_foreign(name)]

    @property
    def heights(self) -> HeightRange:
        """The heights that the data set spans."""
        return _spanned(partition.spec for partition in self.partitions)

    def uneven(self) -> Iterator[str]:
        """Yield in words which commands of the data set do not span the heights that all of them together do."""
        for command in self._commands:
            spanned = _spanned(one.spec for one in self.partitions if one.spec.command == command)
            if not len(spanned):
                yield f"{command}: no partitions"
            elif spanned != self.heights:
                yield f"{command}: {spanned} only"

    def findings(self) -> list[Finding]:
        """Return what is wrong, by height."""
        odd = (self.finding(spec, "receipt", "one receipt", found) for spec, found in self._odd)
        foreign = (Finding(*_place(name), "foreign", None, name, None) for name in self._foreign)
        return sorted([*odd, *foreign, *self._grid_findings()], key=by_height)

    def finding(
        self, spec: PartitionSpec, check: str, expected: str | None, found: str | None, *, height: int | None = None
    ) -> Finding:
        """Return a finding about a partition, at its first height where no other is known."""
        at = spec.start if height is None else height
        return Finding(at, spec.command, check, expected, found, self.repair(spec))

    def repair(self, spec: PartitionSpec) -> str | None:
        """Return the command that writes a partition anew; None off the grid, where no export writes."""
        if spec.start % self.grid:
            return None
        heights = f"{spec.start}:{spec.end}"
        return f"chainq export {spec.command} {heights} --to {shlex.quote(self._label)} --repair all"

    def _grid_findings(self) -> Iterator[Finding]:
        """Yield gaps, overlaps and partitions off the grid, and those that are not linked to the one before."""
        before: Partition | None = None
        for partition in self.partitions:
            spec = partition.spec
            if spec.start % self.grid or not 0 < len(spec.heights) <= self.grid:
                due = f"at most {self.grid} heights from a multiple of it"
                yield self.finding(spec, "grid", due, f"{spec.heights} in {spec.name}")
            if spec.start % self.grid:
                continue  # it says nothing of its neighbours
            if before is not None and before.spec.command == spec.command:
                if before.spec.end < spec.start:
                    for gap in partitions(spec.command, HeightRange(before.spec.end, spec.start), self.grid):
                        at = max(gap.start, before.spec.end)
                        yield self.finding(gap, "missing", str(HeightRange(at, gap.end)), None, height=at)
                elif before.spec.end > spec.start:
                    yield self.finding(spec, "grid", f"from height {before.spec.end}", f"from height {spec.start}")
                elif before.entry and partition.entry and broken(before.entry, partition.entry):
                    due, found = before.entry.last, partition.entry.previous
                    yield self.finding(spec, "link", f"SHA-256 of the previous hash {due}", found)
            before = partition


def _spanned(specs: Iterable[PartitionSpec]) -> HeightRange:
    """Return the heights from the first to the last of some partitions, none of none."""
    edges = [(spec.start, spec.end) for spec in specs]
    return HeightRange(min(start for start, _ in edges), max(end for _, end in edges)) if edges else HeightRange(0, 0)


def _is_foreign(name: str) -> bool:
    """Return whether readers of a command's folder take a file for data that is no partition's."""
    folder, *rest = name.split("/")
    return (
        bool(rest) and folder in BY_COMMAND and parse_name(name) is None and not any(part[0] in "._" for part in rest)
    )


def _place(name: str) -> tuple[int | None, str]:
    """Return the first height of the partition in whose folder a file lies, if it does, and the command."""
    command, *rest = name.split("/")
    key = parse_name(f"{command}/{rest[0]}/data.parquet")
    return (key[1] if key else None), command


def _listed(listing: Iterable[Listed], grid: int) -> tuple[list[Partition], list[tuple[PartitionSpec, str]]]:
    """Return the partitions of a listing, and those that have more than one receipt, with their number in words."""
    sizes: dict[tuple[str, int], int] = {}
    entries: dict[tuple[str, int], list[Entry]] = {}
    for name, size in listing:
        if (key := parse_name(name)) and key[0] in BY_COMMAND:
            sizes[key] = size
        elif (entry := parse_entry(name)) and entry.spec.command in BY_COMMAND:
            entries.setdefault((entry.spec.command, entry.spec.start), []).append(entry)
    partitions: list[Partition] = []
    odd: list[tuple[PartitionSpec, str]] = []
    for key in sorted(sizes.keys() | entries.keys()):
        found = entries.get(key, [])
        spec = found[0].spec if found else PartitionSpec(*key, key[1] + grid)
        partitions.append(Partition(spec, found[0] if len(found) == 1 else None, sizes.get(key)))
        if len(found) > 1:
            odd.append((spec, f"{len(found)} receipts"))
    return partitions, odd
