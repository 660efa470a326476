"""`Wallet`: selects the rows that view keys own from batches of ownership rows; `OwnedService` yields only those."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.catalog.owned import COMMAND, OWNER, SHARED, SPENT_HEIGHT, SPENT_TRANSACTION
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
from chainq.rows.block import Block, read_block
from chainq.text.humanize import counted
from chainq.wallet.examine import Examiner
from chainq.wallet.keys import ViewKey
from chainq.wallet.listed import Listed, advice, fewer, full_blocks
from chainq.wallet.network import check_network
from chainq.wallet.records import MISTYPED, NAMED, Key, decrypt, find_records, key_of, shown
from chainq.wallet.scan import Scanned, Scanner
from chainq.wallet.shown import Amount, Style, shown_plaintext
from chainq.wallet.spends import Spend, Spends, announce

_OWNERSHIP = BY_COMMAND["ownership"]
_OWNER = fields.Picker([OWNER.path])


class Wanted(NamedTuple):
    """What to print besides an owned row: its record row (`records`), and the record's plaintext (`plaintext`), with
    the facts of its output and its amount, in that `style`. `spent`, `unspent`: only such records, with their spends,
    as of the block `as_of`, negative from the end of the chain.
    """

    records: bool = False
    plaintext: bool = False
    spent: bool = False
    unspent: bool = False
    as_of: int = -1
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

    def bounded(self, bounds: Bounds) -> Bounds:
        """Return the bounds of a range of rows; without an end they end with `as_of` if spends are needed."""
        return bounds.through(self.as_of) if self.spends else bounds

    def last(self, service: Service) -> int:
        """Return the height of the last block whose spends count. Raises ChainqError."""
        return self.as_of if self.as_of >= 0 else service.blocks.tip_height() + 1 + self.as_of

    def check(self, heights: HeightRange, service: Service) -> None:
        """Raise UsageError if the block `as_of` is below the heights of the rows, or above the tip."""
        if self.as_of == -1 or not len(heights):
            return
        tip, last = service.blocks.tip_height(), self.last(service)
        if last > tip:
            raise UsageError(f"--as-of {self.as_of} is above the tip, {tip}")
        if last + 1 < heights.end:
            message = f"--as-of {self.as_of} is below the end of the range, height {heights.end - 1}"
            raise UsageError(message, f"end the range before height {last + 1}")


def block_of(as_of: int | None, *, spends: bool) -> int:
    """Return the block as of which records are spent, by default the tip. Raises UsageError if spends are not needed,
    because the block then has no effect."""
    if as_of is not None and not spends:
        raise UsageError("--as-of needs --spent or --unspent")
    return -1 if as_of is None else as_of


class Wallet(Closing):
    """View keys and their rows. A context manager, which ends its processes and drops the keys.

    `workers`: concurrent processes. `progress`: shows rows as they are compared. `malformed`: the rows so far whose
    owner cannot be determined. `amounts`: the amounts of the decrypted records, for the wanted rows. `compared`: how
    many rows were compared with the keys. `read`: from the lowest to the highest of their heights, None before any.
    """

    def __init__(self, keys: Sequence[ViewKey], wanted: Wanted, workers: int, progress: Progress = UNSEEN) -> None:
        self._keys, self.wanted, self._progress = list(keys), wanted, progress
        self._scanner = Scanner([key.text for key in keys], workers, progress)
        self.malformed: dict[Key, None] = {}  # as a set that keeps their order
        self.amounts: dict[Key, Amount] = {}
        self.spent: set[Key] = set()
        self.compared = 0
        self.read: HeightRange | None = None
        self._owners: set[int] = set()  # numbers of keys that own a row
        self._examiner: Examiner | None = None
        self._listed = Listed()
        self._lacking: list[int] = []  # heights of blocks with records that are not listed

    def close(self) -> None:
        """End the processes and drop the keys."""
        self._scanner.close()
        self._keys.clear()

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

    def owned(self, batches: Iterator[Batch], service: Service, warn: Callable[[str], None]) -> Iterator[Batch]:
        """Yield each batch, reduced to the wanted rows that the wallet owns.

        If spends are needed, the full blocks from the first owned row to the tip are read before anything is yielded,
        or to the one that spends the last of the records.

        `warn` is called with each malformed row and each record that is not genuine, up to `NAMED`, and before many
        full blocks are read. Raises the errors of `batches`, and IncompleteError for an owned row without a record that
        decrypts.
        """
        if self.wanted.plaintext and self._examiner is None:
            self._examiner = Examiner(service, warn)
        owned = self._owned(batches, service, warn)
        return self._with_spends(owned, service, warn) if self.wanted.spends else owned

    def _owned(self, batches: Iterator[Batch], service: Service, warn: Callable[[str], None]) -> Iterator[Batch]:
        for scanned in self._scanner.scan(batches, check=service.connection.check_open):
            self._report(scanned, warn)
            self.compared += len(scanned.batch.rows)
            if heights := scanned.batch.heights:
                known = self.read or heights
                self.read = HeightRange(min(known.start, heights.start), max(known.end, heights.end))
                if self.wanted.spends:
                    self._listed.add(heights, scanned.batch.rows)
            self._owners.update(key for _, key in scanned.findings.owned)
            rows, count = self._rows(scanned, service), len(scanned.batch.rows)
            yield scanned.batch._replace(rows=rows, scanned=count)
            del scanned  # free its large rows before a wait that may be long

    def _with_spends(self, batches: Iterator[Batch], service: Service, warn: Callable[[str], None]) -> Iterator[Batch]:
        """Yield the batches with the wanted rows and their spends."""
        found = []
        for batch in batches:
            found.append(batch)
            self._progress.wrote(len(batch.heights or ()), 0)
        owners = {key_of(row): fields.text_of(_OWNER(row)[0]) for batch in found for row in batch.rows}
        spends = Spends(self._keys, owners)
        first = min((batch.heights.start for batch in found if batch.rows and batch.heights), default=None)
        if first is not None:
            heights = HeightRange(first, max(first, self.wanted.last(service) + 1))
            reader = " with ".join(f"--{name}" for name in ("unspent", "spent") if getattr(self.wanted, name))
            announce(reader, heights, service, warn, "--as-of HEIGHT reads fewer")
            self._progress.begin(len(heights), "full blocks")
            lower = "run the command again later, or with a lower --as-of HEIGHT"
            for blocks in full_blocks(service, heights, lower):
                for block in map(read_block, blocks.rows):
                    spends.read(block)
                    self._compare(block)
                self._progress.wrote(len(blocks.heights or ()), 0)
                if spends.all_spent:
                    break
        for batch in found:
            wanted = []
            for row in batch.rows:
                by = spends.of(key_of(row))
                if by:
                    self.spent.add(key_of(row))
                if self.wanted.spent if by else self.wanted.unspent:
                    wanted.append(_with(row, _spent(by)))
                else:
                    self.amounts.pop(key_of(row), None)
            yield batch._replace(rows=wanted)

    def _compare(self, block: Block) -> None:
        """Note a block of the range with records that the service does not list."""
        if self.read and block.height is not None and block.height in self.read and self._listed.lacks(block):
            self._lacking.append(block.height)

    def check(self) -> None:
        """Raise IncompleteError if owned rows may be missing or if records are not genuine.

        They may be missing if rows were malformed, or if the full blocks that were read have more records.
        """
        if self.malformed:
            named = [shown(key) for key in self.malformed][:NAMED]
            more = len(self.malformed) - len(named)
            raise IncompleteError(
                f"records/isOwner: {counted(len(self.malformed), 'malformed row')}, whose owner nobody can tell"
                f" ({', '.join(named)}{f' and {more:,} more' if more else ''}); all others were compared",
                "report it to the operator of the server",
            )
        if self._lacking:
            first, more = self._lacking[0], len(self._lacking) - 1
            others = f", and so at {counted(more, 'other height')}" if more else ""
            raise IncompleteError(f"{fewer(first)}{others}; owned rows may be missing", advice(first))
        if self._examiner is not None:
            self._examiner.check()

    def _report(self, scanned: Scanned, warn: Callable[[str], None]) -> None:
        for number, problem in scanned.findings.malformed:
            key = key_of(scanned.batch.rows[number])
            if key not in self.malformed:  # --follow reads the newest rows again
                self.malformed[key] = None
                if len(self.malformed) <= NAMED:
                    warn(f"records/isOwner {scanned.batch.heights}: {shown(key)} is malformed: {problem}")

    def _rows(self, scanned: Scanned, service: Service) -> list[Raw]:
        """Return the owned rows of a batch, each with its owner, and with the members of its record if wanted."""
        owned, batch = scanned.findings.owned, scanned.batch
        keys = [self._keys[key] for _, key in owned]
        joined: list[dict[str, Raw]] = [{} for _ in owned]
        if self.wanted.records and batch.heights is not None:
            joined = self._joined(find_records(service, batch, [number for number, _ in owned]), keys, batch.heights)
        return [
            _with(batch.rows[number], members, {OWNER.path: Raw(msgspec.json.encode(key.address))})
            for (number, _), key, members in zip(owned, keys, joined, strict=True)
        ]

    def _joined(self, records: Sequence[Raw], keys: Sequence[ViewKey], heights: HeightRange) -> list[dict[str, Raw]]:
        """Return the members of record rows that ownership rows lack; decrypts every record, as a check."""
        opened = [decrypt(record, key) for record, key in zip(records, keys, strict=True)]
        joined = [
            {name: value for name, value in raw_json.members(bytes(record)).items() if name not in SHARED}
            for record in records
        ]
        if self._examiner is not None and records:
            examined = self._examiner.examine(records, opened, heights)
            for record, members, one, more in zip(records, joined, opened, examined, strict=True):
                program = fields.text_of(members.get("program_id"))
                added, amount = shown_plaintext(str(one.plaintext), program, self.wanted.style)
                members |= added | more
                self.amounts[key_of(record)] = amount
        return joined


def heights_in_words(read: HeightRange) -> str:
    """Return which heights were read, and how to read those before."""
    return f"{read} (--start 0 reads those before)" if read.start else str(read)


def _with(row: Raw, more: Mapping[str, Raw], first: Mapping[str, Raw] = MappingProxyType({})) -> Raw:
    """Return a row with members put before its own (replacing equal names), and with more members after them."""
    own = {name: value for name, value in raw_json.members(bytes(row)).items() if name not in first}
    values = {**first, **own, **more}
    return Raw(
        b"{" + b",".join(json.dumps(name).encode() + b":" + bytes(value) for name, value in values.items()) + b"}"
    )


def _spent(by: Spend | None) -> dict[str, Raw]:
    height, transaction = (None, None) if by is None else by
    return {
        SPENT_HEIGHT.path: Raw(msgspec.json.encode(height)),
        SPENT_TRANSACTION.path: Raw(msgspec.json.encode(transaction)),
    }


class OwnedService(Service):
    """A service whose ranges of ownership rows contain only rows that a wallet owns.

    `network`: one of `network.NETWORKS` that the service must be on; any if None. Other arguments as in `Service`.
    Raises IncompleteError for an export that lacks tables.
    """

    def __init__(self, wallet: Wallet, network: str | None, *arguments: Any, **listeners: Any) -> None:
        super().__init__(*arguments, **listeners)
        self._wallet, self._network = wallet, network
        self.need(*wallet.wanted.commands)

    def bounded(self, requested: Bounds) -> Bounds:
        """Return the bounds; without an end they end with the block of `as_of`. Raises UsageError for none, if the
        unspent records are wanted: those of the newest blocks would pass for what a key owns."""
        if self._wallet.wanted.unspent and requested == Bounds() and not self.is_export:
            heights = HeightRange(0, self._wallet.wanted.last(self) + 1)
            refuse_whole("what is unspent", [_OWNERSHIP, BY_COMMAND["full-blocks"]], heights)
        return self._wallet.wanted.bounded(requested)

    def fetch_range(self, query: Query, heights: HeightRange, asked: Asked = ROWS) -> Iterator[Batch]:
        """Yield the owned rows of a height range, in height order, or for other methods all rows, as in `Service`.

        The caller applies the query's `limit` to owned rows. Raises UsageError for a service on another network, and
        IncompleteError before the first row if the service is an export that lacks rows of the range.
        """
        if query.method.command != COMMAND:
            return super().fetch_range(query, heights, asked)
        if self._network and len(heights):
            check_network(self, self._network)
            self._network = None  # once a run
        self._wallet.wanted.check(heights, self)
        if self._stored is not None:  # the whole range, not the first part that is read
            for command in self._wallet.wanted.commands:
                self._stored.reader.check(command, heights)
        everything = super().fetch_range(query._replace(method=_OWNERSHIP, limit=None), heights, asked)
        return self._wallet.owned(everything, self, self.calls.warn)
