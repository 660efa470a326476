"""Checks the partitions of a data set from one listing: their names, and how they adjoin."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from chainq.catalog.tables import TABLES
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.lake.data_set import export_command, gaps, look, shorter, span
from chainq.lake.names import PARTITION_COLUMN, Entry, PartitionSpec
from chainq.lake.plan import broken
from chainq.lake.store import Store
from chainq.verify.findings import ANCHOR, Contradiction, Finding, by_height


class Partition(NamedTuple):
    """A partition.

    `apart`: it links to neither of its neighbors, so its rows are not worth a comparison: it is of another chain, or
    both neighbors are.
    """

    spec: PartitionSpec
    entry: Entry
    apart: bool = False


class PartitionRepair(NamedTuple):
    """Makes findings about partitions. `label`: of the data set; `grid`: heights in a partition."""

    label: str
    grid: int

    def finding(
        self, spec: PartitionSpec, height: int | None, contradiction: Contradiction, others: Iterable[str] = ()
    ) -> Finding:
        """Return a finding about a partition, at all its heights unless one is known.

        `others`: commands whose partitions of these heights show the same. An export repairs it once the file is
        removed, unless another anchor is wanted.
        """
        commands = (spec.command, *others)
        export = export_command(commands, HeightRange(spec.start - spec.start % self.grid, spec.end), self.label)
        repair = None if contradiction.check == ANCHOR else export
        first, end = (spec.start, spec.end) if height is None else (height, None)
        return Finding(first, ",".join(commands), *contradiction[:3], repair, end)

    def gap(self, heights: HeightRange, commands: Sequence[str]) -> Finding:
        """Return a finding about heights in no partition of some commands."""
        due = Contradiction("missing", str(heights), None)
        return self.finding(PartitionSpec(commands[0], *heights.edges), None, due, commands[1:])


class Partitions:
    """The partitions of a data set. Raises UsageError if there is none, IncompleteError if no export has written any.

    `grid`: heights in a partition. `repair`: makes findings. `found`: partitions, sorted by command and height.
    `findings`: what is wrong in the listing, by height.
    """

    def __init__(self, store: Store) -> None:
        contents = look(store)
        self._commands, self.grid = tuple(contents.data_set.tables), contents.data_set.partition
        self.repair = PartitionRepair(store.label, self.grid)
        foreign = [Finding(*_place(name), "foreign", None, name, None) for name in contents.others if _is_data(name)]
        self.found = [Partition(one.spec, one) for some in contents.tables.values() for one in some]
        self.found = list(self._marked())
        self.findings = sorted([*foreign, *self._not_linked(), *self._missing()], key=by_height)
        self.heights = span(partition.spec for partition in self.found) or HeightRange(0, 0)
        if not self.found and not self.findings:
            writes = export_command(self._commands, None, store.label)
            raise IncompleteError(
                f"{store.label} has no partitions: no export has written any", f"{writes} writes them"
            )

    def uneven(self) -> list[str]:
        """Return, in words, the commands that cover fewer heights than the data set."""
        specs = {command: [one.spec for one in self.found if one.spec.command == command] for command in self._commands}
        return shorter({command: span(some) for command, some in specs.items()}, self.heights)

    def _missing(self) -> Iterator[Finding]:
        """Yield the heights between partitions. Heights that several tables lack are one finding."""
        lacking: dict[HeightRange, list[str]] = {}
        for command, group in groupby(self.found, lambda one: one.spec.command):
            specs = [one.spec for one in group]
            for gap in gaps(specs, span(specs) or HeightRange(0, 0)):
                lacking.setdefault(gap, []).append(command)
        yield from (self.repair.gap(gap, sorted(commands)) for gap, commands in lacking.items())

    def _adjoining(self) -> Iterator[tuple[Partition, Partition]]:
        """Yield each partition with the one before it."""
        for _, group in groupby(self.found, lambda one: one.spec.command):
            yield from pairwise(group)

    def _marked(self) -> Iterator[Partition]:
        """Yield all partitions, marked if they link to neither neighbor."""
        unlinked = [pair for pair in self._adjoining() if broken(pair[0].entry, pair[1].entry)]
        behind, ahead = ({pair[side].spec for pair in unlinked} for side in (1, 0))
        for one in self.found:
            yield one._replace(apart=one.spec in behind & ahead)

    def _not_linked(self) -> Iterator[Finding]:
        """Yield partitions that do not link to the previous partition.

        One that links to neither neighbor is one finding, and so is a link that is broken in the same way in several
        tables.
        """
        links: dict[tuple[HeightRange, Contradiction], list[PartitionSpec]] = {}
        for before, after in self._adjoining():
            if not broken(before.entry, after.entry):
                continue
            wrong = Contradiction("link", f"SHA-256 of the previous hash {before.entry.last}", after.entry.previous)
            if after.apart:
                wrong = wrong._replace(found=f"{after.entry.previous}: a partition that links to neither neighbor")
            elif before.apart:  # which is the one to write again
                continue
            links.setdefault((after.spec.heights, wrong), []).append(after.spec)
        for (_, wrong), (spec, *others) in links.items():
            yield self.repair.finding(spec, None, wrong, [one.command for one in others])


def _is_data(name: str) -> bool:
    """Return whether readers of a command's folder treat a file as data."""
    folder, *rest = name.split("/")
    return bool(rest) and folder in TABLES and not any(part[0] in "._" for part in rest)


def _place(name: str) -> tuple[int | None, str]:
    """Return the first height and the command of the partition whose folder contains a file, if any."""
    command, *rest = name.split("/")
    digits = rest[0].removeprefix(f"{PARTITION_COLUMN}=")
    return (int(digits) if digits.isdecimal() and len(digits) == len("4294967295") else None), command
