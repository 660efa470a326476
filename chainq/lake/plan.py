"""Plans an export from one listing of the data set and a few block hashes of the chain.

A partition is kept if it reaches the wanted height, its last block is still on the chain, and no row can be missing.
Services write some rows after their block, so a partition that ended just below the tip is rewritten once the tip has
moved on.

Blocks are linked by hash, and the name of a file has the hash before its partition. Partitions that link to each other
are therefore of one chain: if the last one of such a stretch is still on the chain, so are all the others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from chainq.errors import IncompleteError
from chainq.lake.names import UNKNOWN, Entry, PartitionSpec, digest, is_settled

HashAt = Callable[[int], str | None]
"""The hash of a block as the chain has it now; None if there is no such block."""


class Todo(NamedTuple):
    """A partition to write. `reason`: `new`, `grown` (its end is higher now), `late rows` (it ended just below the
    tip) or `reorg`. `old`: the file that is there."""

    spec: PartitionSpec
    reason: str
    old: Entry | None = None


def make_plan(
    wanted: Iterable[PartitionSpec],
    tables: Mapping[str, Sequence[Entry]],
    hash_at: HashAt,
    tip: int,
) -> list[Todo]:
    """Return the partitions to write, in the order wanted; `tip` is the current tip height.

    Raises IncompleteError if the chain is shorter than the partitions.
    """
    specs = list(wanted)
    there = {(command, entry.spec.start): entry for command, some in tables.items() for entry in some}
    old = {spec: there.get((spec.command, spec.start)) for spec in specs}
    kept = [entry for spec, entry in old.items() if entry is not None and entry.spec.end >= spec.end]
    replaced = {entry.spec[:2] for entry in _reorganized(kept, hash_at)}
    made = []
    for spec, entry in old.items():
        if entry is None:
            made.append(Todo(spec, "new"))
        elif spec[:2] in replaced:
            made.append(Todo(spec, "reorg", entry))
        elif entry.spec.end < spec.end:
            made.append(Todo(spec, "grown", entry))
        elif not entry.settled and is_settled(entry.spec, tip):
            made.append(Todo(entry.spec, "late rows", entry))
    return made


def linked(before: Entry, after: Entry) -> bool:
    """Return whether a partition follows another on the same chain, according to the known hashes."""
    return _comparable(before, after) and before.last == after.previous


def broken(before: Entry, after: Entry) -> bool:
    """Return whether a partition begins where another ends, but on another chain, according to the known hashes."""
    return _comparable(before, after) and before.last != after.previous


def _comparable(before: Entry, after: Entry) -> bool:
    edges = (before.spec.command, before.spec.end), (after.spec.command, after.spec.start)
    return edges[0] == edges[1] and UNKNOWN not in (before.last, after.previous)


def first_broken(entries: Iterable[Entry]) -> tuple[Entry, Entry] | None:
    """Return the first partition that is on another chain than the previous one, after that one; None without any."""
    return next((pair for pair in pairwise(sorted(entries)) if broken(*pair)), None)


def on_chain(entry: Entry, hash_at: HashAt) -> bool:
    """Return whether the last block of a partition is known to be the one that the service has."""
    found = hash_at(entry.spec.end - 1)
    return bool(found) and digest(found or "") == entry.last


def _reorganized(entries: list[Entry], hash_at: HashAt) -> list[Entry]:
    """Return the partitions whose last block is no longer on the chain."""
    stretches: list[list[Entry]] = []
    for entry in entries:
        if stretches and linked(stretches[-1][-1], entry):
            stretches[-1].append(entry)
        else:
            stretches.append([entry])
    return [entry for stretch in stretches for entry in stretch[_agreeing(stretch, hash_at) :]]


def _agreeing(stretch: list[Entry], hash_at: HashAt) -> int:
    """Return, by bisection, how many partitions at the start of a linked stretch are on the chain."""
    if _agrees(stretch[-1], hash_at):
        return len(stretch)
    low, high = 0, len(stretch) - 1
    while low < high:
        middle = (low + high) // 2
        if _agrees(stretch[middle], hash_at):
            low = middle + 1
        else:
            high = middle
    return low


def _agrees(entry: Entry, hash_at: HashAt) -> bool:
    height = entry.spec.end - 1
    found = hash_at(height)
    if found is None:
        raise IncompleteError(
            f"the data set contains the partition {entry.spec}, but the service has no block {height}",
            "its tip is behind, or the chain was reorganized; run the command again later",
        )
    return entry.last == UNKNOWN or not found or digest(found) == entry.last
