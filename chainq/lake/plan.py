"""Plans an export from one listing of the data set and a few block hashes of the chain.

A read is one method and the tables that its rows fill: those of a command, or the tables of full blocks. Everything
before it (what exists, what is missing, what a reorg changed) and after it (files, SQL, verification) handles only
tables. If a killed or partial run leaves tables without some heights, the next run reads these heights again for those
tables only.

A partition is kept if it reaches the wanted height, its last block is still on the chain, and no row can be missing.
Services write some rows after their block, so a partition that ended just below the tip is rewritten once the tip has
moved on.

Blocks are linked by hash, and the name of a file has the hash before its partition. Partitions that link to each other
are therefore of one chain: if the last one of such a stretch is still on the chain, so are all the others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.catalog.tables import CHAIN, COMMANDS, DERIVED, SOURCE
from chainq.errors import IncompleteError, UsageError
from chainq.lake.data_set import UNKNOWN, Entry, PartitionSpec, digest, is_settled
from chainq.planning.exchange import NOTHING_KNOWN, Known

CHAIN_READ = "chain"
"""The read of full blocks that fills several tables, and what the command line calls all of them."""
EXPORTED = (CHAIN_READ, *COMMANDS, *(table for table in CHAIN if table in DERIVED))
"""What can be exported."""
HashAt = Callable[[int], str | None]
"""The hash of a block as the chain has it now; None if there is no such block."""


class Todo(NamedTuple):
    """A partition to write. `reason`: `new`, `grown` (its end is higher now), `late rows` (it ended just below the
    tip) or `reorg`. `old`: the file that is there."""

    spec: PartitionSpec
    reason: str
    old: Entry | None = None


class Task(NamedTuple):
    """One partition of a read to write. `tables`: which tables of the read. `known`: learned from partitions of this
    export."""

    spec: PartitionSpec
    tables: tuple[str, ...]
    known: Known = NOTHING_KNOWN


def make_plan(
    wanted: Iterable[PartitionSpec], tables: Mapping[str, Sequence[Entry]], hash_at: HashAt, tip: int
) -> list[Todo]:
    """Return the partitions to write, in the order wanted; `tip` is the current tip height.

    Raises IncompleteError if the chain is shorter than the partitions.
    """
    there = {entry.spec[:2]: entry for some in tables.values() for entry in some}
    old = {spec: there.get(spec[:2]) for spec in wanted}
    kept = [entry for spec, entry in old.items() if entry is not None and entry.spec.end >= spec.end]
    replaced = _reorganized(kept, hash_at)
    made = []
    for spec, entry in old.items():
        if entry is None:
            made.append(Todo(spec, "new"))
        elif entry.spec in replaced:
            made.append(Todo(spec, "reorg", entry))
        elif entry.spec.end < spec.end:
            made.append(Todo(spec, "grown", entry))
        elif not entry.settled and is_settled(entry.spec, tip):
            made.append(Todo(entry.spec, "late rows", entry))
    return made


def reads_of(commands: Iterable[str], *, full_blocks: bool = True) -> dict[str, str]:
    """Return the tables of these commands, and for each the read that fills it: a command, or `CHAIN_READ`.

    `full_blocks`: whether `chain` includes the table of the full blocks themselves. Raises UsageError for a command
    without partitions.
    """
    wanted = dict.fromkeys(commands)
    for command in wanted:
        if command not in EXPORTED:
            raise UsageError(f"{command!r} cannot be exported: expected {', '.join(EXPORTED)}")
    if CHAIN_READ in wanted:
        shared = [table for table in CHAIN if full_blocks or table != SOURCE.command]
    else:
        shared = [table for table in CHAIN if table in wanted and (table in DERIVED or table == SOURCE.command)]
    return {**dict.fromkeys(shared, CHAIN_READ), **{own: own for own in wanted if own not in (CHAIN_READ, *shared)}}


def read_method(name: str) -> Method:
    """Return the method of a read by its name."""
    return SOURCE if name == CHAIN_READ else BY_COMMAND[name]


def tasks_of(todos: Sequence[Todo], reads: Mapping[str, str]) -> list[Task]:
    """Return the partitions to write as tasks; partitions at the same heights that one read fills are one task."""
    groups: dict[tuple[str, int], list[PartitionSpec]] = {}
    for spec, *_ in todos:
        groups.setdefault((reads[spec.command], spec.start), []).append(spec)
    return [
        Task(PartitionSpec(*read, max(spec.end for spec in specs)), tuple(spec.command for spec in specs))
        for read, specs in groups.items()
    ]


def broken(before: Entry, after: Entry) -> bool:
    """Return whether a partition begins where another ends, but on another chain, according to the known hashes."""
    return _comparable(before, after) and before.last != after.previous


def _comparable(before: Entry, after: Entry) -> bool:
    edges = (before.spec.command, before.spec.end), (after.spec.command, after.spec.start)
    return edges[0] == edges[1] and UNKNOWN not in (before.last, after.previous)


def _reorganized(entries: Sequence[Entry], hash_at: HashAt) -> set[PartitionSpec]:
    """Return the partitions whose last block is no longer on the chain."""
    found, after = set[PartitionSpec](), None  # the one after it, if that is on the chain
    for entry in reversed(entries):
        height = entry.spec.end - 1
        if after is None or not _comparable(entry, after) or broken(entry, after):
            current = hash_at(height)
            if current is None:
                raise IncompleteError(
                    f"the data set contains the partition {entry.spec}, but the service has no block {height}",
                    "its tip is behind, or the chain was reorganized; run the command again later",
                )
            if entry.last != UNKNOWN and current and digest(current) != entry.last:
                found.add(entry.spec)
        after = None if entry.spec in found else entry
    return found
