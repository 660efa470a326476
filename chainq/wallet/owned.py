"""`Wallet`: picks the rows that view keys own from ownership rows (`Query.pick`), and adds what their records hold.

An ownership row has no height, so the records of all heights of its batch are read, and the service does not learn
which of them are owned. Rejected: finding the height by the position of the row, which takes fewer rows and shows them.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Column
from chainq.catalog.owned import OWNER, RECORD_NAME, SENDER, SHARED, SPENT_HEIGHT, SPENT_TRANSACTION
from chainq.errors import IncompleteError, UsageError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.process import Closing
from chainq.process.progress import UNSEEN, Progress
from chainq.query import Batch, Query
from chainq.rows import fields, raw_json
from chainq.text.humanize import counted
from chainq.wallet.book import Book, Entry
from chainq.wallet.examine import Examiner, Record
from chainq.wallet.keys import ViewKey
from chainq.wallet.records import Key, key_of, place_of, shown
from chainq.wallet.scan import Scanned, Scanner
from chainq.wallet.shown import Style, shown_plaintext
from chainq.wallet.walk import Keeper, full_blocks, unlisted, walk

AROUND = 50  # full blocks, which one request returns, so that the service does not learn which of them has a record

_RECORDS = BY_COMMAND["records"]
_RECORD = fields.Picker(["height", "transaction_id", "program_id", "record_ciphertext"])


class Wanted(NamedTuple):
    """What to print besides an owned row: its record row (`records`), and the record's plaintext (`plaintext`), with
    the facts of its output and its amount, in that `style`. `spent`, `unspent`: only such records, with their spends
    up to the block `as_of`, None for the tip.
    """

    records: bool = False
    plaintext: bool = False
    spent: bool = False
    unspent: bool = False
    as_of: int | None = None
    style: Style = Style.TEXT

    @property
    def spends(self) -> bool:
        """Return whether the spends of records are needed."""
        return self.spent or self.unspent

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands whose rows are read, which an export must have."""
        blocks = self.plaintext or self.spends
        return ("ownership", *(["records"] if self.records else []), *(["full-blocks"] if blocks else []))


class Wallet(Closing):
    """View keys and their rows. A context manager, which ends its processes.

    `workers`: concurrent processes. `warn` is called with each record that has a fault, up to `NAMED`. `progress`:
    shows rows as they are compared. `owners`: the numbers of the
    keys that own a row. `read`: from the lowest to the highest height of the rows, None before any.
    """

    def __init__(
        self,
        keys: Sequence[ViewKey],
        wanted: Wanted,
        workers: int,
        warn: Callable[[str], None],
        progress: Progress = UNSEEN,
    ) -> None:
        self._keys, self.wanted, self._warn, self._progress = list(keys), wanted, warn, progress
        self._scanner = Scanner([key.text for key in keys], workers, progress)
        self._entries: dict[Key, Entry] = {}  # if spends are needed
        self.owners: set[int] = set()
        self.read: HeightRange | None = None
        self._examiner: Examiner | None = None
        self._lacking: list[int | None] = []  # heights of blocks with records that are not listed

    def close(self) -> None:
        """End the processes."""
        self._scanner.close()

    def owned(self, service: Service, query: Query, heights: HeightRange) -> Iterator[Batch]:
        """Yield the wanted rows of a range that the wallet owns, in batches.

        If spends are needed, all of the range is read before anything is yielded, with the full blocks from the first
        owned row on. Raises ChainqError.
        """
        self._examiner = self._examiner or Examiner(self._keys, service, self._warn)
        spends, keeper = self.wanted.spends, Keeper(Book(0), self._examiner)
        last = self._last(service, heights) if spends else 0
        rows = service.fetch_range(query._replace(limit=None, reverse=query.reverse and not spends), heights)
        check, report = service.connection.check_open, self._examiner.report
        scanned = self._scanner.scan(rows, check=check, report=report)
        if not spends:
            return (self._batch(one, service, keeper) for one in scanned)

        def batches() -> Iterator[Batch]:
            for one in scanned:
                yield self._batch(one, service, keeper)
                self._progress.wrote(len(one.batch.heights or ()), 0)
            later = HeightRange(heights.end, max(heights.end, last + 1))
            self._progress.begin(len(later), "later full blocks")
            for block in full_blocks(service, later) if keeper.unspent else ():
                keeper.enter(block, [])
                self._progress.wrote(1, 0)
                if not keeper.unspent:
                    break

        return self._with_spends(batches(), heights, reverse=query.reverse)

    def _last(self, service: Service, heights: HeightRange) -> int:
        """Return the last height whose spends count. Raises UsageError if it is below those of the rows, or above the
        tip: rows would be unspent as of a block that is not there."""
        tip = service.blocks.tip_height()
        last = tip if self.wanted.as_of is None else self.wanted.as_of
        if last > tip:
            raise UsageError(f"--as-of {last} is above the tip, {tip}")
        if last + 1 < heights.end:
            message = f"--as-of {last} is below the end of the range, height {heights.end - 1}"
            raise UsageError(message, f"end the range before height {last + 1}")
        return last

    def _with_spends(self, batches: Iterator[Batch], heights: HeightRange, *, reverse: bool) -> Iterator[Batch]:
        """Yield the batches with the wanted rows and their spends."""
        found = list(batches)
        self._progress.begin(len(heights))  # all of it is read, and is written now
        for batch in reversed(found) if reverse else found:
            rows = []
            for row in batch.rows:
                entry = self._entries.get(key_of(row))
                spent = entry is not None and entry.spent is not None
                if self.wanted.spent if spent else self.wanted.unspent:
                    height, spender = (entry.spent, entry.spender) if entry and spent else (None, None)
                    more = _values((SPENT_HEIGHT, height), (SPENT_TRANSACTION, spender))
                    rows.append(_object({**raw_json.members(bytes(row)), **more}))
            yield batch._replace(rows=rows[::-1] if reverse else rows)

    def check(self) -> None:
        """Raise IncompleteError if owned rows may be missing, or if something is wrong with a record."""
        if self._lacking:
            first, more = self._lacking[0], len(self._lacking) - 1
            others = f", and so at {counted(more, 'other height')}" if more else ""
            raise unlisted(first, f"{others}; owned rows may be missing")
        if self._examiner is not None:
            self._examiner.check()

    def _batch(self, scanned: Scanned, service: Service, keeper: Keeper) -> Batch:
        """Return the owned rows of a batch, each with its owner, and with the members of its record if wanted."""
        batch, owned = scanned.batch, scanned.owned
        heights = batch.heights or HeightRange(0, 0)  # a range has them
        self.owners.update(owned.values())
        known = self.read or heights
        self.read = HeightRange(min(known.start, heights.start), max(known.end, heights.end))
        records = _records(service, batch, owned) if self.wanted.records else {}
        found: dict[Key, Record] = {}
        for part, inside in self._parts(heights, owned, records):
            for seen in walk(service, keeper.examiner, part, batch.rows, inside):
                found |= {place_of(one.output): one for one in seen.records}
                if self.wanted.spends:
                    self._entries |= keeper.enter(seen.block, seen.records)
                if not seen.listed:
                    self._lacking.append(seen.block.height)
        rows = []
        for number, owner in scanned.hits:
            key = key_of(batch.rows[number])
            address = _values((OWNER, self._keys[owner].address))
            more = self._joined(records[key], owner, found.get(key), keeper.examiner) if self.wanted.records else {}
            rows.append(_object({**address, **raw_json.members(bytes(batch.rows[number])), **address, **more}))
        return batch._replace(rows=rows, scanned=len(batch.rows))

    def _parts(
        self, heights: HeightRange, owned: Mapping[Key, int], records: Mapping[Key, Raw]
    ) -> Iterator[tuple[HeightRange, Mapping[Key, int]]]:
        """Yield the heights whose full blocks are read, each with the owned records there: all once a record is owned
        if spends are needed, else `AROUND` blocks around the records, so that the service does not learn which of them
        has one."""
        if self.wanted.spends and self.owners:
            yield heights, owned
        elif self.wanted.plaintext:
            at = {key: fields.integer_of(_RECORD(row)[0]) or 0 for key, row in records.items()}
            for start in sorted({height // AROUND * AROUND for height in at.values()}):
                part = HeightRange(max(start, heights.start), min(start + AROUND, heights.end))
                yield part, {key: owner for key, owner in owned.items() if at[key] in part}

    def _joined(self, row: Raw, owner: int, record: Record | None, examiner: Examiner) -> dict[str, Raw]:
        """Return the members of a record row that its ownership row lacks, and those of the record itself."""
        members = {name: value for name, value in raw_json.members(bytes(row)).items() if name not in SHARED}
        _, *sent = map(fields.text_of, _RECORD(row))
        if record is None:  # the full block was not read, or shows no record that the key decrypts
            examiner.open(key_of(row), owner, sent[2])
        elif sent != [record.output.transaction, record.output.program, record.output.ciphertext]:
            examiner.report(key_of(row), "has another transaction, program or ciphertext in its full block")
        if self.wanted.plaintext:
            text = None if record is None else str(record.opened.plaintext)
            members |= shown_plaintext(text, sent[1], self.wanted.style)
            name, sender = (None, None) if record is None else (record.name, examiner.sender_of(record))
            members |= _values((RECORD_NAME, name), (SENDER, sender))
        return members


def _records(service: Service, batch: Batch, keys: Collection[Key]) -> dict[Key, Raw]:
    """Return the record rows of ownership rows of a batch. Raises IncompleteError if the service lacks one."""
    found: dict[Key, Raw] = {}
    for part in service.fetch_range(Query(_RECORDS), batch.heights) if keys and batch.heights else ():
        found |= {key: row for row in part.rows if (key := key_of(row)) in keys}
    for key in keys:
        if key not in found:
            raise IncompleteError(f"records/all {batch.heights}: {shown(key)} is owned, but has no record")
    return found


def _object(members: Mapping[str, Raw]) -> Raw:
    values = (json.dumps(name).encode() + b":" + bytes(value) for name, value in members.items())
    return Raw(b"{" + b",".join(values) + b"}")


def _values(*values: tuple[Column, int | str | None]) -> dict[str, Raw]:
    """Return members with these values."""
    return {column.path: Raw(msgspec.json.encode(value)) for column, value in values}
