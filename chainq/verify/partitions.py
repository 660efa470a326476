"""Checks the partitions of a data set from one listing: the names of their receipts, and how they adjoin."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from chainq.catalog.tables import TABLES
from chainq.errors import IncompleteError
from chainq.heights.bounds import HIGHEST
from chainq.heights.grid import PartitionSpec, on_grid, parse_name
from chainq.heights.range import HeightRange
from chainq.lake.plan import broken
from chainq.stored import data_set, last_run
from chainq.stored.inventory import export_command, gaps, remove_command, shorter, span
from chainq.stored.narrow import partition_of
from chainq.stored.receipt import Entry, parse_entry
from chainq.stored.store import Store
from chainq.verify.findings import ANCHOR, Contradiction, Finding, by_height


class Partition(NamedTuple):
    """A partition: the content of its receipt's name, and the size of its file; each None if it is missing.

    `apart`: its receipt links to neither of its neighbors, so its rows are not worth a comparison: it is of another
    chain, or both neighbors are.
    """

    spec: PartitionSpec
    entry: Entry | None
    size: int | None
    apart: bool = False


class PartitionRepair(NamedTuple):
    """Makes findings about partitions. `label`: of the data set; `grid`: heights in a partition."""

    label: str
    grid: int

    def finding(
        self, spec: PartitionSpec, height: int | None, contradiction: Contradiction, others: Iterable[str] = ()
    ) -> Finding:
        """Return a finding about a partition, at all its heights unless one is known.

        `others`: commands whose partitions of these heights show the same. An export repairs it, unless it is off the
        grid, because no export writes there (`removal`), or another anchor is wanted.
        """
        commands = (spec.command, *others)
        export = export_command(commands, HeightRange(spec.start, spec.end), self.label, repairs=True)
        repair = None if spec.start % self.grid or contradiction.check == ANCHOR else export
        first, end = (spec.start, spec.end) if height is None else (height, None)
        return Finding(first, ",".join(commands), *contradiction[:3], repair, end)

    def removal(self, partition: Partition, contradiction: Contradiction) -> Finding:
        """Return a finding about a partition that should not be there."""
        spec, entry, *_ = partition
        names = [spec.name.rpartition("/")[0], *([entry.name] if entry else ())]
        return self.finding(spec, None, contradiction)._replace(repair=remove_command(names, self.label))

    def gap(self, heights: HeightRange, commands: Sequence[str]) -> Finding:
        """Return a finding about heights in no partition of some commands."""
        spec = PartitionSpec(commands[0], heights.start, heights.end)
        due = Contradiction("missing", str(heights), None)
        return self.finding(
            spec._replace(start=spec.start - spec.start % self.grid), spec.start, due, commands[1:]
        )._replace(end=spec.end)


class Partitions:
    """The partitions of a data set. Raises UsageError if there is none, IncompleteError if no export has written any.

    `grid`: heights in a partition. `repair`: makes findings. `found`: partitions with a file or a receipt, sorted by
    command and height. `findings`: what is wrong in the listing, by height.
    """

    def __init__(self, store: Store) -> None:
        stored = data_set.read(store)
        if stored is None:
            raise data_set.missing(store, "name the folder that chainq export wrote, or a file of rows")
        self._commands, self.grid = tuple(stored.schemas), stored.partition
        self.repair = PartitionRepair(store.label, stored.partition)
        sizes: dict[tuple[str, int], int] = {}
        entries: dict[tuple[str, int], list[Entry]] = {}
        foreign: list[Finding] = []
        for name, size, _ in store.listing():
            if key := partition_of(name):
                sizes[key] = size
            elif entry := parse_entry(name):
                entries.setdefault((entry.spec.command, entry.spec.start), []).append(entry)
            elif _is_data(name):
                foreign.append(Finding(*_place(name), "foreign", None, name, None))
        self.found: list[Partition] = []
        odd: list[Finding] = []
        for key in sorted(sizes.keys() | entries.keys()):
            same = entries.get(key, [])
            spec = same[0].spec if same else PartitionSpec(*key, key[1] + self.grid)
            self.found.append(Partition(spec, same[0] if len(same) == 1 else None, sizes.get(key)))
            if len(same) > 1:
                odd.append(
                    self.repair.finding(spec, None, Contradiction("receipt", "one receipt", f"{len(same)} receipts"))
                )
        due = self._due()
        strays = dict.fromkeys(self._strays(due, last_run.read(store).spans))
        self.found = [one for one in self.found if one not in strays]
        odd += [
            self.repair.removal(one, Contradiction("receipt", f"a receipt of {one.spec.name}", None)) for one in strays
        ]
        self.found = list(self._marked())
        wrong = [*odd, *foreign, *self._off_the_grid(), *self._not_linked(), *self._missing(due)]
        self.findings = sorted(wrong, key=by_height)
        self.heights = _spanned(partition.spec for partition in self.found)
        if not self.found and not self.findings:
            writes = last_run.what_writes(store, self._commands, last_run.begun(store))
            raise IncompleteError(f"{store.label} has no partitions: no export has written any", writes)

    def uneven(self) -> list[str]:
        """Return, in words, the commands that cover fewer heights than the data set."""
        specs = {command: [one.spec for one in self.found if one.spec.command == command] for command in self._commands}
        return shorter({command: span(some) for command, some in specs.items()}, self.heights)

    def _off_the_grid(self) -> Iterator[Finding]:
        for partition in self.found:
            spec = partition.spec
            if not on_grid(spec, self.grid):
                due = f"at most {self.grid} heights from a multiple of it"
                yield self.repair.removal(partition, Contradiction("grid", due, f"{spec.heights} in {spec.name}"))

    def _due(self) -> dict[str, list[PartitionSpec]]:
        """Return the partitions that a receipt names, by command. Files without a receipt, which may
        have been copied there, do not show that any heights are due, unless all receipts are lost."""
        received = any(entry for _, entry, *_ in self.found)
        due: dict[str, list[PartitionSpec]] = {}
        for spec, entry, *_ in self.found:
            if spec.start % self.grid == 0 and (entry or not received):
                due.setdefault(spec.command, []).append(spec)
        return due

    def _there(self) -> dict[str, list[PartitionSpec]]:
        """Return the partitions on the grid that have a file, by command."""
        there: dict[str, list[PartitionSpec]] = {}
        for spec, _, size, _ in self.found:
            if spec.start % self.grid == 0 and size is not None:
                there.setdefault(spec.command, []).append(spec)
        return there

    def _strays(
        self, due: Mapping[str, list[PartitionSpec]], begun: Mapping[str, tuple[int, int]]
    ) -> Iterator[Partition]:
        """Yield the files without a receipt that no export left here: heights lie between them and those that are due,
        or that an unfinished export began to write (`begun`). Other files may be of a run that was killed."""
        reached: dict[str, tuple[int, int]] = {}
        for command, specs in self._there().items():
            edges = [(spec.start, spec.end) for spec in due.get(command, ())]
            edges += [begun[command]] if command in begun else []
            if edges:
                low, high = min(edges)[0], max(end for _, end in edges)
                between = gaps([*specs, PartitionSpec(command, low, high)], _spanned(specs))
                below, above = [gap.end for gap in between if gap.end <= low], [gap.start for gap in between]
                above = [start for start in above if start >= high]
                reached[command] = max(below, default=0), min(above, default=HIGHEST)
        for one in self.found:
            spec, entry, size, _ = one
            low, high = reached.get(spec.command, (0, HIGHEST))
            if entry is None and size is not None and not spec.start % self.grid and not low <= spec.start < high:
                yield one

    def _missing(self, due: Mapping[str, list[PartitionSpec]]) -> Iterator[Finding]:
        """Yield the heights that no file has: between partitions, or in those of a receipt alone.
        Heights that several tables lack are one finding."""
        there = self._there()
        lacking: dict[HeightRange, list[str]] = {}
        for command, specs in due.items():
            for gap in gaps(there.get(command, ()), _spanned(specs)):
                lacking.setdefault(gap, []).append(command)
        yield from (self.repair.gap(gap, sorted(commands)) for gap, commands in lacking.items())

    def _adjoining(self) -> Iterator[tuple[Partition, Partition]]:
        """Yield each partition on the grid with the one before it. Others are not compared with their neighbors."""
        on_grid = [one for one in self.found if not one.spec.start % self.grid]
        for _, group in groupby(on_grid, lambda one: one.spec.command):
            yield from pairwise(group)

    def _marked(self) -> Iterator[Partition]:
        """Yield all partitions, marked if they link to neither neighbor."""
        unlinked = [pair for pair in self._adjoining() if _is_broken(*pair)]
        behind, ahead = ({pair[side].spec for pair in unlinked} for side in (1, 0))
        for one in self.found:
            yield one._replace(apart=one.spec in behind & ahead)

    def _not_linked(self) -> Iterator[Finding]:
        """Yield overlaps, and partitions that do not link to the previous partition.

        One that links to neither neighbor is one finding, and so is a link that is broken in the same way in several
        tables.
        """
        links: dict[tuple[HeightRange, Contradiction], list[PartitionSpec]] = {}
        for before, after in self._adjoining():
            end, spec = before.spec.end, after.spec
            if end > spec.start:
                overlap = Contradiction("grid", f"start at height {end} or later", f"start at height {spec.start}")
                yield self.repair.finding(spec, None, overlap)
            elif before.entry and after.entry and _is_broken(before, after):
                wrong = Contradiction("link", f"SHA-256 of the previous hash {before.entry.last}", after.entry.previous)
                if after.apart:
                    wrong = wrong._replace(found=f"{after.entry.previous}: a partition that links to neither neighbor")
                elif before.apart:  # which is the one to write again
                    continue
                links.setdefault((spec.heights, wrong), []).append(spec)
        for (_, wrong), (spec, *others) in links.items():
            yield self.repair.finding(spec, None, wrong, [one.command for one in others])


def _is_broken(before: Partition, after: Partition) -> bool:
    return bool(before.entry and after.entry and broken(before.entry, after.entry))


def _spanned(specs: Iterable[PartitionSpec]) -> HeightRange:
    """Return the heights from the first to the last of some partitions; no heights for no partitions."""
    return span(specs) or HeightRange(0, 0)


def _is_data(name: str) -> bool:
    """Return whether readers of a command's folder treat a file as data."""
    folder, *rest = name.split("/")
    return bool(rest) and folder in TABLES and not any(part[0] in "._" for part in rest)


def _place(name: str) -> tuple[int | None, str]:
    """Return the first height and the command of the partition whose folder contains a file, if any."""
    command, *rest = name.split("/")
    key = parse_name(f"{command}/{rest[0]}/data.parquet")
    return (key[1] if key else None), command
