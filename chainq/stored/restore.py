"""Restores a lost `chainq.json` from receipts, because a new one could name another partition size."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from chainq.errors import Phrase, UsageError
from chainq.heights.grid import on_grid
from chainq.stored.data_set import NAME, VERSION, DataSet, Origin, Wanted
from chainq.stored.inventory import Inventory
from chainq.stored.narrow import UNFIT
from chainq.stored.receipt import Entry, Receipt
from chainq.stored.store import Store
from chainq.text.humanize import counted


def restored(store: Store, inventory: Inventory, wanted: Wanted, schemas: Mapping[str, str]) -> DataSet | None:
    """Return the description of partitions without `chainq.json`, None if there are no partitions; write nothing.

    `schemas`: of all tables. Those of `wanted` are left for `data_set.save` to add, which writes the file with them.
    Raises UsageError if receipts do not show the partition size and `wanted` has none that fits.
    """
    keys = [*inventory.valid, *inventory.damaged]
    if not keys:
        return None
    lost = f"{store.label} has {counted(len(keys), 'partition')}, but no {NAME}"
    entries = [entry for some in inventory.tables(store.label).values() for entry in some]
    origin = _origin(store, entries)
    if origin is None:
        raise UsageError(f"{lost} and no receipts", f"restore {NAME} and the folder _chainq, or export to a new folder")
    size = _size(entries) or wanted.partition
    if size is None:
        raise UsageError(
            f"{lost}, and they do not show their partition size",
            Phrase("pass the {partition} of the first export, or export to a new folder"),
        )
    for spec in inventory.partitions(size):
        if not on_grid(spec, size):
            raise UsageError(
                f"{lost}, and {spec} is not a partition of {size} heights",
                Phrase("pass another {partition}, or export to a new folder"),
            )
    tables = {command: schemas[command] for command, _ in keys if command not in wanted.schemas}
    return DataSet(VERSION, origin, None, size, tables)


def _size(entries: Sequence[Entry]) -> int | None:
    """Return the heights in a partition, None if it is not certain: one that ends where the next begins is full."""
    pairs = pairwise(entry.spec for entry in entries)
    sizes = {len(one.heights) for one, other in pairs if (one.command, one.end) == (other.command, other.start)}
    return sizes.pop() if len(sizes) == 1 else None


def _origin(store: Store, entries: Sequence[Entry]) -> Origin | None:
    """Return the first block that a receipt has the hash of; None if there is none."""
    for entry in entries:
        try:
            receipt = msgspec.json.decode(store.read(entry.name) or b"", type=Receipt)
        except UNFIT:
            continue
        if receipt.first_hash:
            return Origin(receipt.start, receipt.first_hash)
    return None
