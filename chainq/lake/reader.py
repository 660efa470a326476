"""Reads the rows of a data set at any heights, in the form a service sends, from its partitions.

Nothing is proved again: a receipt records that a partition is complete, and how that was proved. Heights up to the tip
of the data set that are missing from all complete partitions cause an error, never an empty result.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import compress, groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.catalog.tables import CHAIN, DERIVED, SOURCE, TABLES
from chainq.defaults import MAX_MEMORY
from chainq.errors import needed
from chainq.formats.arrow_rows import EXTRA, ArrowRows
from chainq.heights.range import HeightRange
from chainq.lake import data_set
from chainq.lake.data_set import export_command, gaps, listed, look
from chainq.lake.files import Receipt, heights_in, heights_of, opened, read_group
from chainq.lake.names import UNKNOWN, Entry, lacking, no_table
from chainq.lake.rows import StoredRows
from chainq.lake.store import open_store
from chainq.planning.exchange import Grade, Proof
from chainq.process.threads import in_order
from chainq.query import Batch
from chainq.rows.block import RECORDS
from chainq.rows.tables import table_rows

BLOCKS = ("blocks", SOURCE.command)
KEYS = (("records", "output_index"), ("outputs", "index"))
"""The tables that give ownership rows their heights, and what they call the index of the output."""

OPENED = 8  # files read concurrently


class _Part(NamedTuple):
    """Rows in one row group: the height of each, None if rows have none, and the rows as an Arrow table."""

    heights: list[int] | None
    table: Any


class Reader:
    """One data set, as one listing has it. Threads may share it. `is_service`: it is the service of the run. `memory`:
    as in `Store`. Raises UsageError if there is no data set.

    `first`: the lowest height of the blocks in it, 0 for none; `tip`: the highest, -1 for none. `partition`: heights in
    each partition.
    """

    def __init__(self, destination: str, *, is_service: bool = False, memory: int = MAX_MEMORY) -> None:
        extra = "export" if "://" in destination else "parquet"  # which object stores need, too
        with needed("reading a data set needs the pyarrow package", extra):
            import pyarrow
        self._arrow, self._store = pyarrow, open_store(destination, memory)
        self.label, self._is_service = self._store.label, is_service
        contents = look(self._store)
        self.origin, self.partition = contents.data_set.chain, contents.data_set.partition
        self._entries, self._span = contents.tables, contents.span
        known = contents.tables
        some = [table for table in BLOCKS if table in known] or list(known)
        self.first = min((known[table][0].spec.start for table in some), default=0)
        self.tip = max((known[table][-1].spec.end for table in some), default=0) - 1

    def check_store(self) -> None:
        """Raise ChainqError if the data set cannot be read any more."""
        data_set.read(self._store)

    def has(self, table: str, *, own: bool = False) -> bool:
        """Return whether there are partitions of a table or, unless `own`, of the full blocks that contain its rows."""
        return (table if own else self._source(table)) in self._entries

    def check(self, table: str, heights: HeightRange) -> None:
        """Raise IncompleteError if the data set lacks heights of a table below its tip."""
        self._places(table, heights)

    def need(self, *tables: str) -> None:
        """Raise IncompleteError if the data set has no rows of some of these tables. The hint writes all of these."""
        if missing := [table for table in tables if not self.has(table)]:
            written = [one for table in missing for one in (CHAIN if table == SOURCE.command else (table,))]
            what, does = ("table", "writes it") if len(missing) == 1 else ("tables", "writes them")
            hint = self.export_hint(" ".join(written), does=does)
            raise lacking(f"{self.label} has no {what} {', '.join(missing)}", hint)

    def proved(self, table: str, heights: HeightRange, *, strict: bool) -> list[Entry]:
        """Return the partitions whose rows at some heights can replace the service's rows.

        They contain all rows, as the service sent them. This excludes partitions that were near the tip when written,
        because more rows may appear; rows extracted from full blocks, which lack fields; and, if `strict`, unproved
        ranges. Rows without heights count for whole partitions, or if another table of the same blocks has the heights.
        """
        found = [
            entry
            for entry in self._entries.get(table, ())
            if entry.settled
            and entry.last != UNKNOWN
            and (heights.start < entry.spec.end and entry.spec.start < heights.end)
            and (
                TABLES[table].height
                or heights.common(entry.spec.heights) == entry.spec.heights
                or self._has_keys(entry)
            )
        ]
        if not strict and table != "blocks":  # the only one of these that full blocks can fill
            return found
        receipts = in_order(OPENED, iter([partial(self.receipt, entry) for entry in found]), len(found) or 1)
        return [
            entry
            for entry, receipt in zip(found, receipts, strict=True)
            if not receipt.source and not (strict and Grade.BELIEF in receipt.proof)
        ]

    def receipt(self, entry: Entry) -> Receipt:
        """Return the receipt of a partition. Raises IncompleteError if its file is damaged."""
        with opened(self._store, entry) as (_, receipt):
            return receipt

    def occurrences(self, table: str, texts: Mapping[str, str], heights: HeightRange | None = None) -> Iterator[int]:
        """Yield, once each and in order, the heights of rows of a table that have these texts, by column; only those in
        partitions with some `heights`, if given. Reads no other column.

        Raises IncompleteError if there is no such table, or if a file is damaged.
        """
        if not self.has(table, own=True):
            raise no_table(self.label, table, self.export_hint(table))
        jobs = [
            partial(self._occurrences, entry, texts)
            for entry in self._entries[table]
            if heights is None or heights.overlaps(entry.spec.heights)
        ]
        for found in in_order(OPENED, iter(jobs), 2 * OPENED):
            yield from found

    def _occurrences(self, entry: Entry, texts: Mapping[str, str]) -> list[int]:
        from pyarrow import compute

        found: set[int] = set()
        with opened(self._store, entry) as (file, _):
            for group in range(file.num_row_groups):
                rows = read_group(self._store, entry, file, group, [*texts, "height"])
                for column, text in texts.items():
                    rows = rows.filter(compute.equal(rows.column(column), self._arrow.scalar(text)))
                found.update(heights_in(self._store, entry, rows, "height"))
        return sorted(found)

    def has_block(self, height: int) -> bool:
        """Return whether any partition shows that a block exists at this height."""
        return any(height in entry.spec.heights for entries in self._entries.values() for entry in entries)

    def batches(self, table: str, heights: HeightRange, *, reverse: bool = False) -> Iterator[Batch]:
        """Yield the rows of a table, up to the tip, in batches that end with the last row of a height.

        Raises IncompleteError before the first row if the data set lacks heights, and later if a file is damaged.
        """
        places = self._places(table, heights)
        for entry, inside in reversed(places) if reverse else places:
            if table == entry.spec.command:
                yield from self._read(entry, inside, reverse)
                continue
            for batch in self._read(entry, inside, reverse):
                yield batch._replace(rows=self._derived(table, batch.rows))

    def _derived(self, table: str, blocks: list[Raw]) -> list[Raw]:
        """Return the rows of a table that full blocks contain, as if that table had been stored."""
        rows = [row for block in blocks for row in table_rows(block)[table]]
        writer = StoredRows(TABLES[table], derived=True)
        return [row for batch in ArrowRows(writer.columns, self._arrow).batches(rows) for row in writer.rows(batch)]

    def rows(self, table: str, heights: HeightRange) -> Iterator[Raw]:
        """Yield the rows of `batches` one by one."""
        for batch in self.batches(table, heights):
            yield from batch.rows

    def _places(self, table: str, heights: HeightRange) -> list[tuple[Entry, HeightRange]]:
        """Return the partitions with these heights, each with its heights to read. Raises IncompleteError."""
        heights = HeightRange(min(heights.start, self.tip + 1), min(heights.end, self.tip + 1))
        found, at = [], heights.start
        for entry in self._entries.get(self._source(table), ()):
            inside = HeightRange(max(at, entry.spec.start), min(heights.end, entry.spec.end))
            if inside.start < inside.end:
                found.append((entry, inside))
                at = inside.end
        missing = gaps((entry.spec for entry, _ in found), heights)
        if missing:
            own = self._span
            if own is not None and heights.start < own.start:
                outside = HeightRange(heights.start, min(heights.end, own.start))
                raise lacking(f"{self.label} has {own}, not {outside}", self.export_hint(table, outside, "writes them"))
            if not self.has(table):
                raise no_table(self.label, table, self.export_hint(table))
            raise lacking(
                f"{self.label} has no whole partition of {table} for {listed(missing)}",
                self.export_hint(table, HeightRange(missing[0].start, missing[-1].end), "writes them"),
            )
        for (one, _), (other, _) in pairwise(found):
            if one.last != other.previous and UNKNOWN not in (one.last, other.previous):
                raise lacking(
                    f"reorg: the partition {other.spec} of {self.label} does not follow on the one before it",
                    self.export_hint(
                        table, HeightRange(one.spec.start, other.spec.end), "replaces what is not on the chain"
                    ),
                )
        return found

    def export_hint(self, tables: str, heights: HeightRange | None = None, does: str = "writes it") -> str:
        """Return the command that writes these tables, of all heights here unless some are given, and its effect.

        It names whole partitions, up to the tip: one that ends at a given height would leave a gap after it.
        """
        if (heights := heights or self._span) is not None:
            end = min(-heights.end // self.partition * -self.partition, max(self.tip + 1, heights.end))
            heights = HeightRange(heights.start - heights.start % self.partition, end)
        return f"{export_command(tables.split(), heights, self.label, needs_url=self._is_service)} {does}"

    def _source(self, table: str) -> str:
        """Return the table to read: the full blocks if only they contain the rows."""
        held_elsewhere = table not in self._entries and (table in DERIVED or table == "blocks")
        return SOURCE.command if held_elsewhere else table

    def _read(self, entry: Entry, heights: HeightRange, reverse: bool) -> Iterator[Batch]:
        """Yield the rows of some heights of a partition."""
        method = TABLES[entry.spec.command]
        with opened(self._store, entry) as (file, receipt):
            proof = Proof(Grade.BELIEF if Grade.BELIEF in receipt.proof else next(iter(receipt.proof), Grade.ORDER))
            writer = StoredRows(method, derived=receipt.source != "")
            names = [column.path for column in writer.columns] + [EXTRA]
            groups = self._groups(file, method, heights)
            parts = (self._part(file, group, names, entry, heights) for group in (groups[::-1] if reverse else groups))
            if method.height is None:
                yield Batch(self._owned(writer, parts, entry, heights), heights, proof)
            else:
                yield from _whole(writer, parts, heights, proof, reverse)

    def _groups(self, file: Any, method: Method, heights: HeightRange) -> list[int]:
        """Return the row groups with rows at some heights, by the statistics in the footer."""
        groups = [group for group in range(file.num_row_groups) if file.metadata.row_group(group).num_rows]
        if method.height is None:
            return groups
        known = ((group, heights_of(file, group, method.height)) for group in groups)
        return [group for group, found in known if found is None or found.overlaps(heights)]

    def _part(self, file: Any, group: int, names: list[str], entry: Entry, heights: HeightRange) -> _Part:
        table, column = read_group(self._store, entry, file, group, names), TABLES[entry.spec.command].height
        if column is None:
            return _Part(None, table)
        at = heights_in(self._store, entry, table, column)
        if heights.start <= min(at) and max(at) < heights.end:
            return _Part(at, table)
        inside = [heights.start <= height < heights.end for height in at]
        return _Part(list(compress(at, inside)), table.filter(self._arrow.array(inside, self._arrow.bool_())))

    def _owned(self, writer: StoredRows, parts: Iterator[_Part], entry: Entry, heights: HeightRange) -> list[Raw]:
        """Return rows without heights, all or those of records at some heights, in the order of the file."""
        tables = [part.table for part in parts]
        if not tables:  # a file without rows has no row group
            return []
        table = self._arrow.concat_tables(tables)
        if heights != entry.spec.heights:
            wanted, names = self._keys(heights), ("transition_id", "output_index")
            pairs = zip(*(table.column(name).to_pylist() for name in names), strict=True)
            table = table.filter(self._arrow.array([pair in wanted for pair in pairs], self._arrow.bool_()))
        return writer.rows(table)

    def _has_keys(self, entry: Entry) -> bool:
        """Return whether the table that gives rows their heights covers a whole partition, with the same blocks."""
        table = next((self._source(name) for name, _ in KEYS if self.has(name)), "")
        return any(
            one.settled
            and (one.spec.heights, one.last) == (entry.spec.heights, entry.last)
            and (table == SOURCE.command or Grade.BELIEF not in self.receipt(one).proof)
            for one in self._entries.get(table, ())
        )

    def _keys(self, heights: HeightRange) -> set[tuple[str, int]]:
        """Return the keys of the records at some heights. Raises IncompleteError if no table has them."""
        for name, index in KEYS:
            if self.has(name):
                picked = (msgspec.json.decode(row) for row in self.rows(name, heights))
                created = (row for row in picked if name == "records" or row.get("type") in RECORDS)
                return {(row["transition_id"], int(row[index])) for row in created}
        raise lacking(
            f"{self.label} does not tell the heights of ownership rows inside of a partition",
            f"request whole partitions, or {self.export_hint('records', does='writes records, which tell them')}",
        )


def _whole(
    writer: StoredRows, parts: Iterator[_Part], heights: HeightRange, proof: Proof, reverse: bool
) -> Iterator[Batch]:
    """Yield rows in batches of whole heights; rows of a part's last height wait for the next part.

    `reverse`: parts come in reverse order. Heights then fall, and the rows of each keep their order.
    """
    held: list[tuple[int, Raw]] = []
    left = heights
    for part in parts:
        rows = list(zip(part.heights or (), writer.rows(part.table), strict=True))
        rows = rows + held if reverse else held + rows
        if not rows:
            continue
        waiting = rows[0][0] if reverse else rows[-1][0]
        held = [row for row in rows if row[0] == waiting]
        whole = rows[len(held) :] if reverse else rows[: -len(held)]
        if whole:
            done = HeightRange(waiting + 1, left.end) if reverse else HeightRange(left.start, waiting)
            left = HeightRange(left.start, waiting + 1) if reverse else HeightRange(waiting, left.end)
            yield Batch(_ordered(whole, reverse), done, proof)
    yield Batch([row for _, row in held], left, proof)


def _ordered(rows: list[tuple[int, Raw]], reverse: bool) -> list[Raw]:
    groups = [[row for _, row in group] for _, group in groupby(rows, itemgetter(0))]
    return [row for group in (groups[::-1] if reverse else groups) for row in group]
