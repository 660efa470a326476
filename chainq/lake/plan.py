"""Plans an export from one listing of the data set and a few block hashes of the chain.

A partition is kept if its file has the size in its receipt, it reaches the wanted height, its last block is still on
the chain, and no row can be missing. Services write some rows after their block, so a partition that ended just below
the tip is rewritten once the tip has moved on.

Blocks are linked by hash, and a receipt contains the hash before its partition. Partitions that link to each other are
therefore of one chain: if the last one of such a stretch is still on the chain, so are all the others.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from chainq.errors import IncompleteError
from chainq.heights.grid import PartitionSpec
from chainq.stored.inventory import Inventory
from chainq.stored.receipt import Entry, digest, is_settled, parse_entry

HashAt = Callable[[int], str | None]
"""The hash of a block as the chain has it now; None if there is no such block."""


class Todo(NamedTuple):
    """A partition to write. `reason`: `new`, `grown` (its end is higher now), `late rows` (it ended just below the
    tip), `reorg` or `repair`. `stale`: receipts to remove."""

    spec: PartitionSpec
    reason: str
    stale: tuple[str, ...] = ()


def make_plan(
    wanted: Iterable[PartitionSpec],
    inventory: Inventory,
    hash_at: HashAt,
    tip: int,
    expect: Callable[[list[int]], None] = lambda _: None,
) -> list[Todo]:
    """Return the partitions to write, in the order wanted; `tip` is the current tip height.

    `expect` is called with the heights whose hashes are about to be looked up.

    Raises IncompleteError if the chain is shorter than the partitions.
    """
    specs = list(wanted)
    kept: list[Entry] = []
    reasons: dict[PartitionSpec, str] = {}
    for spec in specs:
        entry = inventory.valid.get((spec.command, spec.start))
        if entry is None:
            reasons[spec] = "new"
        elif entry.spec.end < spec.end:
            reasons[spec] = "grown"
        else:
            kept.append(entry)
            if not entry.settled and is_settled(entry.spec, tip):
                reasons[spec] = "late rows"
    replaced = {(entry.spec.command, entry.spec.start) for entry in _reorganized(kept, hash_at, expect)}
    for spec in specs:
        if (spec.command, spec.start) in replaced:
            reasons[spec] = "reorg"
    return [_todo(spec, reasons[spec], inventory) for spec in specs if spec in reasons]


def make_repair(specs: Iterable[PartitionSpec], inventory: Inventory) -> list[Todo]:
    """Return partitions to write whether or not they are complete."""
    return [_todo(spec, "repair", inventory) for spec in specs]


def _todo(spec: PartitionSpec, reason: str, inventory: Inventory) -> Todo:
    """Return a partition to write, at least up to its present end if its blocks are still on the chain."""
    stale = inventory.receipts(spec)
    if reason in ("late rows", "repair"):
        spec = spec._replace(end=max([spec.end, *(entry.spec.end for name in stale if (entry := parse_entry(name)))]))
    return Todo(spec, reason, stale)


def linked(before: Entry, after: Entry) -> bool:
    """Return whether a partition follows another on the same chain, according to the known hashes."""
    return _comparable(before, after) and before.last == after.previous


def broken(before: Entry, after: Entry) -> bool:
    """Return whether a partition begins where another ends, but on another chain, according to the known hashes."""
    return _comparable(before, after) and before.last != after.previous


def _comparable(before: Entry, after: Entry) -> bool:
    edges = (before.spec.command, before.spec.end), (after.spec.command, after.spec.start)
    return edges[0] == edges[1] and "0" not in (before.last, after.previous)


def first_broken(entries: Iterable[Entry]) -> tuple[Entry, Entry] | None:
    """Return the first partition that is on another chain than the previous one, after that one; None without any."""
    in_order = sorted(entries, key=lambda entry: entry.spec)
    return next((pair for pair in pairwise(in_order) if broken(*pair)), None)


def on_chain(entry: Entry, hash_at: HashAt) -> bool:
    """Return whether the last block of a partition is known to be the one that the service has."""
    found = hash_at(entry.spec.end - 1)
    return bool(found) and digest(found or "") == entry.last


def _reorganized(entries: list[Entry], hash_at: HashAt, expect: Callable[[list[int]], None]) -> list[Entry]:
    """Return the partitions whose last block is no longer on the chain."""
    stretches: list[list[Entry]] = []
    for entry in entries:
        if stretches and linked(stretches[-1][-1], entry):
            stretches[-1].append(entry)
        else:
            stretches.append([entry])
    expect(sorted({stretch[-1].spec.end - 1 for stretch in stretches}))
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
    return entry.last == "0" or not found or digest(found) == entry.last
