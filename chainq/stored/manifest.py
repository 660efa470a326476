"""`_chainq/manifest.json`: the partitions of a data set in one file, and so the extent of the data set.

    {"manifest":1,"writing":[],"registered":{"delta":["records"]},"sha256":"…","tables":{"records":[{"start":120000,"end":130000,…}]}}

Receipts remain authoritative. The manifest repeats the contents of their names, so that one read replaces a listing if
a listing is slow or forbidden. It also records partitions whose file and receipt are both gone.

It replaces a listing only while no export is writing. Each export adds its ID to `writing` before it changes anything,
and at its end replaces the ID with its partitions. Both are atomic changes of the current file, so concurrent exports
keep each other's entries. After a kill the ID stays: readers then list, and the next export with the lock removes the
ID, because no other export can have the lock.
"""

from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from typing import Annotated, NamedTuple, Self
from uuid import uuid4

import msgspec
from msgspec import Raw

from chainq.errors import OutputError
from chainq.heights.grid import PartitionSpec, file_in
from chainq.stored.inventory import Inventory, Key, in_order, take_inventory
from chainq.stored.narrow import UNFIT, Count, Digest, End, Height, Sha256, Table, damaged
from chainq.stored.receipt import Entry
from chainq.stored.store import Change, Store
from chainq.text.sanitize import excerpt

NAME = "_chainq/manifest.json"
VERSION = 1
MOST = 64 << 20  # bytes: 280,000 partitions
LOCKED = "lock-"  # prefix of the IDs of exports with the lock


class _Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A partition of a table: the contents of its receipt's name (`receipt.Entry`), and the SHA-256 of its file, empty
    in a manifest that was rebuilt from the names of receipts."""

    start: Height
    end: End
    tip: Height
    rows: Count
    size: Count
    calls: Count
    previous: Digest
    last: Digest
    sha256: Sha256 = ""

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ValueError("no heights")

    def entry(self, table: str) -> Entry:
        """Return the essentials of its receipt."""
        spec = PartitionSpec(table, self.start, self.end)
        return Entry(spec, self.tip, self.rows, self.size, self.calls, self.previous, self.last)


class _File(msgspec.Struct, frozen=True):
    """The file. `sha256`: of the bytes of `tables`."""

    manifest: int
    writing: list[Annotated[str, msgspec.Meta(pattern=r"\A(lock-)?[0-9a-f]{32}\Z")]]
    registered: dict[Annotated[str, msgspec.Meta(pattern=r"\A[a-z]{1,20}\Z")], list[Table]]
    sha256: str
    tables: Raw


class Manifest(NamedTuple):
    """The content of a manifest. `entries`: the essentials of the receipts; `hashes`: the SHA-256 of their files, if
    known. `writing`: IDs of exports in progress. `registered`: commands that have a Delta table."""

    entries: Mapping[Key, Entry]
    hashes: Mapping[Key, str] = {}
    writing: frozenset[str] = frozenset()
    registered: frozenset[str] = frozenset()

    def updated(self, entries: Mapping[Key, Entry], hashes: Mapping[Key, str]) -> Self:
        """Return the manifest with these partitions; unchanged ones keep their hashes."""
        before = self.entries
        same = {key: one for key, one in self.hashes.items() if key not in entries or entries[key] == before.get(key)}
        return self._replace(entries={**self.entries, **entries}, hashes={**same, **hashes})


class Seen(NamedTuple):
    """The contents of a data set. `listed`: from a listing, not from the manifest alone. `manifest`: None if there is
    no readable one; after a listing without its partitions. `recorded`: whether it has all complete partitions."""

    inventory: Inventory
    manifest: Manifest | None
    listed: bool
    recorded: bool


class Tables(Mapping[str, list[Entry]]):
    """The sorted partitions of each table, from a manifest alone; decoded on first use.
    Threads may share it: at worst two decode the same."""

    def __init__(self, found: "_Opened") -> None:
        self._found, self._names = found, [*found.tables]
        self._decoded: dict[str, list[Entry]] = {}

    def __getitem__(self, table: str) -> list[Entry]:
        if table not in self._names:
            raise KeyError(table)
        if table not in self._decoded:
            self._decoded[table] = in_order((part.entry(table) for part in self._found.of(table)), self._found.label)
        return self._decoded[table]

    def __contains__(self, table: object) -> bool:
        return table in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def tables(store: Store) -> Tables | None:
    """Return the partitions in the manifest, for a caller who checks what it reads; None without a readable manifest,
    or while an export writes. Raises OutputError."""
    found = _opened(store)
    return None if found is None or found.writing else Tables(found)


def look(store: Store, *, listed: bool = False) -> Seen:
    """Return the contents of a data set, from its manifest if a listing is slow or forbidden, else from a listing.

    Partitions that only the manifest has are damaged: their file and receipt are gone. `listed`: always list.
    Raises OutputError.
    """
    found = _opened(store)
    if found is not None and not found.writing and not listed and store.lists_slowly:
        return _unlisted(found)
    try:
        inventory = take_inventory(store.listing(file_in))
    except OutputError:
        if found is None or found.writing or listed:
            raise
        return _unlisted(found)
    if found is None:
        return Seen(inventory, None, listed=True, recorded=False)
    gone, recorded = {}, 0
    for key, part in found.parts():
        entry = part.entry(key[0])
        recorded += inventory.valid.get(key) == entry
        if key not in inventory.valid and key not in inventory.damaged:
            gone[key] = (entry.name,)
    if gone:
        inventory = inventory._replace(damaged={**inventory.damaged, **gone})
    known = Manifest({}, {}, found.writing, found.registered)
    return Seen(inventory, known, listed=True, recorded=recorded == len(inventory.valid))


def _unlisted(found: "_Opened") -> Seen:
    """Return the contents from a manifest alone."""
    known = found.manifest()
    return Seen(Inventory(known.entries, {}, []), known, listed=False, recorded=True)


def read(store: Store) -> Manifest | None:
    """Return the manifest, None if it is missing or unreadable. Raises OutputError, IncompleteError."""
    return _manifest(_opened(store))


class Keeper:
    """Updates the manifest while one export writes. `locked`: whether the export has the lock."""

    def __init__(self, store: Store, *, locked: bool) -> None:
        self._store = store
        self._id = f"{LOCKED if locked else ''}{uuid4().hex}"
        self._locked = locked

    def begin(self, seen: Seen, replaced: Collection[Key], registered: frozenset[str]) -> None:
        """Record the current partitions, except those about to be written (`replaced`), and that this export writes;
        if it has none to write, only the current partitions. Raises OutputError."""

        def begun(known: Manifest, valid: Mapping[Key, Entry]) -> Manifest:
            made = known.updated(valid, {})
            kept = {key: entry for key, entry in made.entries.items() if key not in replaced}
            writing = {one for one in known.writing if not (self._locked and one.startswith(LOCKED))}
            writing |= {self._id} if replaced else set()
            return Manifest(kept, made.hashes, frozenset(writing), registered)

        def change(found: bytes | None) -> bytes | None:
            return _encoded(begun(_manifest(_decoded(found, self._store.label)) or Manifest({}), seen.inventory.valid))

        known = seen.manifest
        if known is not None and seen.recorded and not replaced and begun(known, {}) == known:
            return
        self._change(change)

    def end(self, written: Mapping[Key, Entry], hashes: Mapping[Key, str]) -> None:
        """Record the partitions that this export wrote, with the SHA-256 of files if known. Raises OutputError."""

        def change(found: bytes | None) -> bytes | None:
            known = _manifest(_decoded(found, self._store.label))
            if known is None:  # lost meanwhile, with the entries of other exports: the next export lists
                return None
            made = known.updated(written, hashes)._replace(writing=known.writing - {self._id})
            return None if made == known else _encoded(made)

        self._change(change)

    def _change(self, change: Change) -> None:
        if not self._store.change(NAME, change, MOST):
            self._store.delete([NAME])  # concurrent exports would lose each other's entries


def _encoded(manifest: Manifest) -> bytes:
    tables: dict[str, list[_Part]] = {}
    for key, entry in sorted(manifest.entries.items()):
        part = _Part(entry.spec.start, entry.spec.end, *entry[1:], manifest.hashes.get(key, ""))
        tables.setdefault(key[0], []).append(part)
    encoded = msgspec.json.encode(tables)
    registered = {"delta": sorted(manifest.registered)} if manifest.registered else {}
    made = _File(VERSION, sorted(manifest.writing), registered, sha256(encoded).hexdigest(), Raw(encoded))
    return msgspec.json.encode(made) + b"\n"


class _Opened(NamedTuple):
    """A manifest whose partitions are decoded one by one: together they take more memory than a listing.

    `label`: of its data set. Each method raises IncompleteError for partitions that are none: the hash shows that they
    are as they were written, not who wrote them.
    """

    label: str
    tables: dict[Table, Raw]
    writing: frozenset[str]
    registered: frozenset[str]

    def of(self, table: str) -> Iterator[_Part]:
        """Yield the partitions of a table."""
        decode = msgspec.json.Decoder(_Part).decode
        try:
            yield from map(decode, msgspec.json.decode(self.tables[table], type=list[Raw]))
        except UNFIT as error:
            hint = "delete it: the next chainq export writes it again from the receipts"
            raise damaged(self.label, NAME, f"{table}: {excerpt(str(error), 80)}", hint) from None

    def parts(self) -> Iterator[tuple[Key, _Part]]:
        """Yield all partitions."""
        for table in self.tables:
            for part in self.of(table):
                yield (table, part.start), part

    def manifest(self) -> Manifest:
        """Return all of it."""
        parts = dict(self.parts())
        entries = {key: part.entry(key[0]) for key, part in parts.items()}
        hashes = {key: part.sha256 for key, part in parts.items() if part.sha256}
        return Manifest(entries, hashes, self.writing, self.registered)


def _manifest(found: _Opened | None) -> Manifest | None:
    return None if found is None else found.manifest()


def _opened(store: Store) -> _Opened | None:
    """Return the manifest of a data set; None if it is missing, damaged or of another version: receipts replace it."""
    return _decoded(store.read(NAME, MOST), store.label)


def _decoded(data: bytes | None, label: str) -> _Opened | None:
    """Return the content of a manifest in the data set with that label, None as in `_opened`."""
    try:
        found = msgspec.json.decode(data or b"", type=_File)
        if found.manifest != VERSION or sha256(found.tables).hexdigest() != found.sha256:
            return None
        tables = msgspec.json.decode(found.tables, type=dict[Table, Raw])
    except UNFIT:
        return None
    return _Opened(label, tables, frozenset(found.writing), frozenset(found.registered.get("delta", ())))
