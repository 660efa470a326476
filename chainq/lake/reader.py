"""Reads the rows of a data set at any heights, in the form a service sends, from its partitions; and looks up rows
without a height: transactions by ID, function and address, transitions by ID, and inputs by tag.

Nothing is proved again: a receipt records that a partition is complete, and how that was proved. Heights up to the tip
of the data set that are missing from all complete partitions cause an error, never an empty result.

For a lookup, the columns with the texts are searched. An empty result is certain only if the data set has all heights.
Rejected: an index of its own, which made a search of 10,000 partitions shorter by seconds, and every export longer.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial, reduce
from itertools import compress, pairwise
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.tables import DERIVED, SOURCE, TABLES
from chainq.defaults import MAX_MEMORY
from chainq.errors import needed
from chainq.formats.arrow_rows import EXTRA, ArrowRows
from chainq.formats.json_rows import JsonRows
from chainq.heights.range import HeightRange, HeightSet, in_words
from chainq.lake import data_set
from chainq.lake.data_set import UNKNOWN, Entry, gaps, lacking, look, writing
from chainq.lake.files import Receipt, StoredFile, schema_of
from chainq.lake.plan import broken
from chainq.lake.store import open_store
from chainq.planning.exchange import Grade, Proof
from chainq.query import Batch
from chainq.rows.block import RECORDS, looked_up
from chainq.rows.fields import object_of, text_of
from chainq.rows.tables import table_rows
from chainq.rows.transaction import times_called

BLOCKS = ("blocks", SOURCE.command)
KEYS = (("records", "output_index"), ("outputs", "index"))
"""The tables that give ownership rows their heights, and what they call the index of the output."""
_NEAR = 100  # heights of a lookup that are read together: a row group contains several blocks


class Reader:
    """One data set, as one listing has it. Threads may share it. `memory`: as in `Store`. Raises UsageError if there is
    no data set.

    `first`: the lowest height of the blocks in it, 0 for none; `tip`: the highest, -1 for none. `partition`: heights in
    each partition.
    """

    def __init__(self, destination: str, memory: int = MAX_MEMORY) -> None:
        extra = "export" if "://" in destination else "parquet"  # which object stores need, too
        with needed("reading a data set needs the pyarrow package", extra):
            import pyarrow
        self._arrow, self._store = pyarrow, open_store(destination, memory)
        self.label = self._store.label
        contents = look(self._store)
        self.origin, self.partition = contents.data_set.chain, contents.data_set.partition
        self._entries, self._heights = contents.tables, contents.heights
        some = [table for table in BLOCKS if table in self._entries] or list(self._entries)
        self.first = min((self._entries[table][0].spec.start for table in some), default=0)
        self.tip = max((self._entries[table][-1].spec.end for table in some), default=0) - 1

    def check_store(self) -> None:
        """Raise ChainqError if the data set cannot be read any more."""
        data_set.read(self._store)

    def has(self, table: str, *, own: bool = False) -> bool:
        """Return whether there are partitions of a table or, unless `own`, of the full blocks that contain its rows."""
        return (table if own else self._source(table)) in self._entries

    def has_block(self, height: int) -> bool:
        """Return whether any partition shows that a block exists at this height."""
        return any(height in entry.spec.heights for entries in self._entries.values() for entry in entries)

    def need(self, *tables: str, own: bool = False) -> None:
        """Raise IncompleteError if the data set has no rows of some tables at any height. `own`: as in `has`."""
        if missing := [table for table in tables if not self.has(table, own=own)]:
            what = f"{self.label} has no table{'s' * (len(missing) > 1)} {', '.join(missing)}"
            error = lacking(what, writing(missing, self._heights, self.label))
            error.table = missing[0]
            raise error

    def _writing(self, table: str, start: int, end: int) -> str:
        """Return the hint to write heights of a table, of whole partitions up to the tip: one that ends at a given
        height would leave a gap after it."""
        end = min(-end // self.partition * -self.partition, max(self.tip + 1, end))
        return writing([table], HeightRange(start - start % self.partition, end), self.label)

    def proved(self, table: str, heights: HeightRange, *, strict: bool) -> list[Entry]:
        """Return the partitions whose rows at some heights can replace the service's rows.

        They contain all rows, as the service sent them. This excludes partitions that were near the tip when written,
        because more rows may appear; rows extracted from full blocks, which lack fields; and, if `strict`, unproved
        ranges. Rows without heights count for whole partitions.
        """
        found = [
            entry
            for entry in self._entries.get(table, ())
            if entry.settled
            and entry.last != UNKNOWN
            and heights.overlaps(entry.spec.heights)
            and (TABLES[table].height or heights.common(entry.spec.heights) == entry.spec.heights)
        ]
        if not strict and table != "blocks":  # the only one of these that full blocks can fill
            return found
        receipts = self._store.results(partial(self.receipt, entry) for entry in found)
        return [
            entry
            for entry, receipt in zip(found, receipts, strict=True)
            if not receipt.source and not (strict and Grade.BELIEF in receipt.proof)
        ]

    def receipt(self, entry: Entry) -> Receipt:
        """Return the receipt of a partition. Raises IncompleteError if its file is damaged."""
        return StoredFile(self._store, entry).receipt

    def find(
        self, table: str, texts: Mapping[str, str], heights: HeightRange | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[HeightRange, list[tuple[int, str]]]]:
        """Yield the heights of each partition of a table, those with some `heights` if given; with the height and the
        transaction of each row in it that has these texts, by column. Reads no other column.

        The data set has that table. Raises IncompleteError if a file is damaged.
        """
        entries = [one for one in self._entries[table] if heights is None or heights.overlaps(one.spec.heights)]
        entries = entries[::-1] if reverse else entries
        jobs = (partial(self._found, entry, texts) for entry in entries)
        for entry, found in zip(entries, self._store.results(jobs), strict=True):
            yield entry.spec.heights, found

    def _found(self, entry: Entry, texts: Mapping[str, str]) -> list[tuple[int, str]]:
        from pyarrow import compute

        found: list[tuple[int, str]] = []
        file = StoredFile(self._store, entry)
        for group, known in file.groups(texts):
            keys = file.read(group, [*texts])
            hits = reduce(compute.and_, (compute.equal(keys.column(column), text) for column, text in texts.items()))
            if compute.any(hits).as_py():
                rows = file.read(group, ["height", "transaction_id"]).filter(hits)
                heights = file.within(rows.column("height").to_pylist(), known)
                found += zip(heights, rows.column("transaction_id").to_pylist(), strict=True)
        return found

    def rows(self, table: str, heights: HeightRange) -> Iterator[Raw]:
        """Yield the rows of `batches` one by one."""
        for batch in self.batches(table, heights):
            yield from batch.rows

    def batches(self, table: str, heights: HeightRange, *, reverse: bool = False) -> Iterator[Batch]:
        """Yield the rows of a table, up to the tip, in batches that end with the last row of a height.

        Raises IncompleteError before the first row if the data set lacks heights, and later if a file is damaged.
        """
        places = self.places(table, heights)
        for entry, inside in reversed(places) if reverse else places:
            for batch in self._read(entry, inside, reverse):
                yield batch if table == entry.spec.command else batch._replace(rows=self._derived(table, batch.rows))

    def _source(self, table: str) -> str:
        """Return the table to read: the full blocks if only they contain the rows."""
        held_elsewhere = table not in self._entries and (table in DERIVED or table == "blocks")
        return SOURCE.command if held_elsewhere else table

    def places(self, table: str, heights: HeightRange) -> list[tuple[Entry, HeightRange]]:
        """Return the partitions with these heights, each with its heights to read. Raises IncompleteError if some
        heights of the table below the tip are missing."""
        self.need(table)
        heights = HeightRange(min(heights.start, self.tip + 1), min(heights.end, self.tip + 1))
        entries = [one for one in self._entries.get(self._source(table), ()) if heights.overlaps(one.spec.heights)]
        if missing := gaps((entry.spec for entry in entries), heights):
            what = f"{self.label} has no whole partition of {table} for {in_words(missing)}"
            raise lacking(what, self._writing(table, missing[0].start, missing[-1].end))
        for one, other in pairwise(entries):
            if broken(one, other):
                what = f"reorg: the partition {other.spec} of {self.label} does not follow on the one before it"
                raise lacking(what, self._writing(table, one.spec.start, other.spec.end))
        return [(entry, heights.common(entry.spec.heights)) for entry in entries]

    def _read(self, entry: Entry, heights: HeightRange, reverse: bool) -> Iterator[Batch]:
        """Yield the rows of some heights of a partition."""
        file, method = StoredFile(self._store, entry), TABLES[entry.spec.command]
        proof = Proof(
            Grade.BELIEF if Grade.BELIEF in file.receipt.proof else next(iter(file.receipt.proof), Grade.ORDER)
        )
        writer = JsonRows(method, derived=file.receipt.source != "")
        names = [*(column.path for column in writer.columns), EXTRA]
        if method.height is None:
            with file.checked():
                yield Batch(writer.rows(self._owned(file, names, heights)), heights, proof)
            return
        groups = [(group, known) for group, known in file.groups() if known.overlaps(heights)]
        read = lru_cache(2)(lambda group: file.read(group, names))  # a height may be in two
        for part in heights.split((known.start for _, known in groups), reverse=reverse):
            rows: list[tuple[int, Raw]] = []
            for group, known in groups:
                if known.overlaps(part):
                    table = read(group)
                    at = file.within(table.column(method.height).to_pylist(), known)
                    inside = [part.start <= height < part.end for height in at]
                    table = table if all(inside) else table.filter(self._arrow.array(inside))
                    with file.checked():
                        rows += zip(compress(at, inside), writer.rows(table), strict=True)
            if reverse:
                rows.sort(key=lambda row: -row[0])
            yield Batch([row for _, row in rows], part, proof)

    def _owned(self, file: StoredFile, names: list[str], heights: HeightRange) -> Any:
        """Return rows without heights, all or those of records at some heights, in the order of the file."""
        none = schema_of(file.entry.spec.command).empty_table().select(names)
        table = self._arrow.concat_tables([none, *(file.read(group, names) for group, _ in file.groups())])
        if heights == file.entry.spec.heights:
            return table
        name, index = next((key for key in KEYS if self.has(key[0])), KEYS[0])
        made = (msgspec.json.decode(row) for row in self.rows(name, heights))
        records = (row for row in made if name == "records" or row.get("type") in RECORDS)
        wanted = {(row["transition_id"], int(row[index])) for row in records}
        pairs = zip(*(table.column(name).to_pylist() for name in ("transition_id", "output_index")), strict=True)
        return table.filter(self._arrow.array([pair in wanted for pair in pairs], self._arrow.bool_()))

    def _derived(self, table: str, blocks: list[Raw]) -> list[Raw]:
        """Return the rows of a table that full blocks contain, as if that table had been stored."""
        rows = [row for block in blocks for row in table_rows(block)[table]]
        writer = JsonRows(TABLES[table], derived=True)
        return [row for batch in ArrowRows(writer.columns, self._arrow).batches(rows) for row in writer.rows(batch)]


def transaction(reader: Reader, name: str) -> Raw | None:
    """Return a transaction by its ID, None if there is none. Raises IncompleteError if heights are missing."""
    reader.need("transactions", SOURCE.command, own=True)
    for batch in _near(reader, "transactions", {"transaction_id": name}, SOURCE.command):
        for row in (row for block in batch.rows for row in looked_up(block)):
            if text_of(object_of(object_of(row).get("transaction")).get("id")) == name:
                return row
    if reader.first:
        held = HeightRange(reader.first, reader.tip + 1)
        raise lacking(f"not found in {held} of {reader.label}", "it may be in others")
    return None


def row_of(reader: Reader, table: str, column: str, text: str) -> Raw | None:
    """Return the first row of a table with a text in a column, None if there is none from its first height.

    Raises IncompleteError if heights are missing.
    """
    reader.need(table, own=True)
    rows = (row for batch in _near(reader, table, {column: text}, table) for row in batch.rows)
    return next((row for row in rows if text_of(object_of(row).get(column)) == text), None)


def program_transactions(
    reader: Reader, program: str, function: str, *, newest: bool = False, start: int = 0
) -> Iterator[Batch]:
    """Yield the transactions that call a function, once per call, by height; `newest`: from the highest one on.

    Raises IncompleteError, also for heights from `start` that are missing; those below the first height matter to
    `newest` only after all rows.
    """
    reader.need("calls", SOURCE.command, own=True)
    whole = HeightRange(start, max(start, reader.tip + 1))
    reader.places("calls", HeightRange(max(start, reader.first), whole.end) if newest else whole)
    texts = {"program": program, "function": function}
    for batch in _near(reader, "calls", texts, SOURCE.command, reverse=newest):
        every = (row for block in batch.rows for row in looked_up(block))
        called = (row for row in every for _ in range(times_called(bytes(row), program, function)))
        yield batch._replace(rows=list(called))
    reader.places("calls", whole)


def _near(
    reader: Reader, table: str, texts: Mapping[str, str], source: str, *, reverse: bool = False
) -> Iterator[Batch]:
    """Yield the rows of the table `source` at, and between, the heights of rows of a table that have some texts.

    Raises IncompleteError after the last one if heights from the first one on are missing.
    """
    for _, found in reader.find(table, texts, reverse=reverse):
        parts = [*HeightSet(HeightRange(height, height + _NEAR) for height, _ in found)]
        for part in reversed(parts) if reverse else parts:
            yield from reader.batches(source, HeightRange(part.start, part.end - _NEAR + 1), reverse=reverse)
    reader.places(table, HeightRange(reader.first, max(reader.first, reader.tip + 1)))


def address_transactions(
    reader: Reader, address: str, heights: HeightRange, *, reverse: bool = False
) -> Iterator[Batch]:
    """Yield references to transactions in a range with an address in a public input, once per such input.

    Raises IncompleteError.
    """
    reader.need("inputs", own=True)
    reader.places("inputs", heights)
    texts = {"value": address, "type": "public", "value_type": "address"}
    for part, found in reader.find("inputs", texts, heights, reverse=reverse):
        if reverse:
            found.sort(key=lambda row: -row[0])
        rows = [Raw(msgspec.json.encode({"transaction_id": name})) for height, name in found if height in heights]
        yield Batch(rows, heights.common(part))
