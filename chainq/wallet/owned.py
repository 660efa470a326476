"""`Wallet`: selects the rows that view keys own from ownership rows; `OwnedService` yields only those."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Column
from chainq.catalog.owned import OWNER, RECORD_NAME, SENDER, SHARED, SPENT_HEIGHT, SPENT_TRANSACTION
from chainq.errors import IncompleteError, UsageError
from chainq.fetching.calls import ROWS, Asked
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.planning.chunking import refuse_whole
from chainq.process import Closing
from chainq.process.progress import UNSEEN, Progress
from chainq.query import Batch, Query
from chainq.rows import fields, raw_json
from chainq.text.humanize import counted
from chainq.wallet.book import Book, Entry
from chainq.wallet.examine import Examiner, Record
from chainq.wallet.keys import ViewKey
from chainq.wallet.records import MISTYPED, NAMED, Key, find_records, key_of, place_of
from chainq.wallet.scan import Scanned, Scanner
from chainq.wallet.shown import Style, shown_plaintext
from chainq.wallet.walk import Keeper, advice, announce, fewer, full_blocks, walk

AROUND = 50  # full blocks, which one request returns, so that the service does not learn which of them has a record

_OWNERSHIP = BY_COMMAND["ownership"]
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

    `workers`: concurrent processes. `progress`: shows rows as they are compared. `entries`: the decrypted records, for
    the wanted rows. `compared`: how many rows were compared with the keys. `read`: from the lowest to the highest of
    their heights, None before any.
    """

    def __init__(self, keys: Sequence[ViewKey], wanted: Wanted, workers: int, progress: Progress = UNSEEN) -> None:
        self._keys, self.wanted, self._progress = list(keys), wanted, progress
        self._scanner = Scanner([key.text for key in keys], workers, progress)
        self.entries: dict[Key, Entry] = {}
        self.compared = 0
        self.read: HeightRange | None = None
        self._owners: set[int] = set()  # numbers of keys that own a row
        self._examiner: Examiner | None = None
        self._lacking: list[int | None] = []  # heights of blocks with records that are not listed

    def close(self) -> None:
        """End the processes."""
        self._scanner.close()

    @property
    def unowned(self) -> list[str]:
        """The addresses of keys that own none of the rows so far."""
        return [key.address for number, key in enumerate(self._keys) if number not in self._owners]

    @property
    def none_owned(self) -> str:
        """Which keys own none of the rows so far, and what else to look at; empty if each key owns one."""
        without = self.unowned
        if not without or self.read is None:
            return ""
        more = f" and {len(without) - NAMED:,} more" if len(without) > NAMED else ""
        heights, named = heights_in_words(self.read), f"{', '.join(without[:NAMED])}{more}"
        hint = "" if self._owners else f"; {MISTYPED}"
        return f"compared {counted(self.compared, 'row')} of {heights}: none is of {named}{hint}"

    def owned(
        self,
        service: Service,
        query: Query,
        heights: HeightRange,
        warn: Callable[[str], None],
        fetch: Callable[[Query, HeightRange], Iterator[Batch]],
    ) -> Iterator[Batch]:
        """Yield the wanted rows of a range that the wallet owns, in batches.

        `fetch`: what yields the ownership rows. If spends are needed, all of the range is read before anything is
        yielded, with the full blocks from the first owned row on. `warn` is called with each record that has a fault,
        up to `NAMED`, and before many full blocks are read. Raises ChainqError.
        """
        self._examiner = self._examiner or Examiner(self._keys, service, warn)
        spends, keeper = self.wanted.spends, Keeper(Book(0), self._examiner)
        asked = query._replace(limit=None, reverse=query.reverse and not spends)
        scanned = self._scanner.scan(fetch(asked, heights), check=service.connection.check_open)
        last = self._last(service, heights) if spends else 0
        if not spends:
            return (self._batch(one, service, keeper) for one in scanned)

        def batches() -> Iterator[Batch]:
            for one in scanned:
                if one.owned and not self._owners and one.batch.heights:
                    reader = " with ".join(f"--{name}" for name in ("unspent", "spent") if getattr(self.wanted, name))
                    rest = HeightRange(one.batch.heights.start, max(heights.end, last + 1))
                    announce(reader, rest, service, warn, "--as-of HEIGHT reads fewer")
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
                entry = self.entries.get(key_of(row))
                spent = entry is not None and entry.spent is not None
                if self.wanted.spent if spent else self.wanted.unspent:
                    height, spender = (entry.spent, entry.spender) if entry and spent else (None, None)
                    more = _values((SPENT_HEIGHT, height), (SPENT_TRANSACTION, spender))
                    rows.append(_object({**raw_json.members(bytes(row)), **more}))
                else:
                    self.entries.pop(key_of(row), None)
            yield batch._replace(rows=rows[::-1] if reverse else rows)

    def check(self) -> None:
        """Raise IncompleteError if owned rows may be missing, or if something is wrong with a record."""
        if self._lacking:
            first, more = self._lacking[0], len(self._lacking) - 1
            others = f", and so at {counted(more, 'other height')}" if more else ""
            raise IncompleteError(f"{fewer(first)}{others}; owned rows may be missing", advice(first))
        if self._examiner is not None:
            self._examiner.check()

    def _batch(self, scanned: Scanned, service: Service, keeper: Keeper) -> Batch:
        """Return the owned rows of a batch, each with its owner, and with the members of its record if wanted."""
        batch, owned = scanned.batch, scanned.owned
        heights = batch.heights or HeightRange(0, 0)  # a range has them
        for key, problem in scanned.malformed.items():
            keeper.examiner.report(key, f"is malformed, so its owner is unknown: {problem}")
        self.compared += len(batch.rows)
        self._owners.update(owned.values())
        known = self.read or heights
        self.read = HeightRange(min(known.start, heights.start), max(known.end, heights.end))
        records = find_records(service, batch, owned) if self.wanted.records else {}
        found: dict[Key, Record] = {}
        for part, inside in self._parts(heights, owned, records):
            for seen in walk(service, keeper.examiner, part, batch.rows, inside):
                found |= {place_of(one.output): one for one in seen.records}
                enter = keeper.enter if self.wanted.spends else keeper.entries
                self.entries |= enter(seen.block, seen.records)
                if not seen.listed:
                    self._lacking.append(seen.block.height)
        rows = []
        for number, owner in scanned.findings.owned:
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
        if self.wanted.spends and self._owners:
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


def heights_in_words(read: HeightRange) -> str:
    """Return which heights were read, and how to read those before."""
    return f"{read} (--start 0 reads those before)" if read.start else str(read)


def _object(members: Mapping[str, Raw]) -> Raw:
    values = (json.dumps(name).encode() + b":" + bytes(value) for name, value in members.items())
    return Raw(b"{" + b",".join(values) + b"}")


def _values(*values: tuple[Column, int | str | None]) -> dict[str, Raw]:
    """Return members with these values."""
    return {column.path: Raw(msgspec.json.encode(value)) for column, value in values}


class OwnedService(Service):
    """A service whose ranges of ownership rows contain only rows that a wallet owns. Arguments as in `Service`."""

    def __init__(self, wallet: Wallet, *arguments: Any, **listeners: Any) -> None:
        super().__init__(*arguments, **listeners)
        self._wallet = wallet
        self.need(*wallet.wanted.commands)

    def bounded(self, requested: Bounds) -> Bounds:
        """Return the bounds. Raises UsageError for none, if the unspent records are wanted: those of the newest blocks
        would pass for what a key owns."""
        if self._wallet.wanted.unspent and requested == Bounds() and self.export is None:
            heights = HeightRange(0, self.blocks.tip_height() + 1)
            refuse_whole("what is unspent", [_OWNERSHIP, BY_COMMAND["full-blocks"]], heights)
        return requested

    def fetch_range(self, query: Query, heights: HeightRange, asked: Asked = ROWS) -> Iterator[Batch]:
        """Yield the owned rows of a height range, in height order, or for other methods all rows, as in `Service`.

        The caller applies the query's `limit` to owned rows.
        """
        if query.method is not _OWNERSHIP:
            return super().fetch_range(query, heights, asked)
        fetch = super().fetch_range
        return self._wallet.owned(self, query, heights, self.calls.warn, fetch)
