"""Verifies a data set of `chainq export` offline: partitions, rows, and one command against another.

A listing shows the partitions. Then each partition is read once, together with the
other commands of the same heights, because they are compared with each other.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from chainq.catalog.tables import DERIVED, SOURCE, TABLES
from chainq.defaults import MAX_MEMORY
from chainq.errors import IncompleteError, needed
from chainq.fetching.hashed import TIERS
from chainq.formats.arrow_rows import ArrowRows
from chainq.heights.height_set import of_tables
from chainq.heights.range import HeightRange
from chainq.lake.files import Receipt, check_decoded, opened
from chainq.lake.names import PartitionSpec
from chainq.lake.store import Store, open_store
from chainq.process.pool import Workers, cores
from chainq.process.progress import UNSEEN, Progress
from chainq.process.threads import in_order
from chainq.process.worker import Say
from chainq.verify.compare import fallen
from chainq.verify.file_rows import FileRows
from chainq.verify.findings import Contradiction, Finding, Located, Step, by_height
from chainq.verify.parquet_rows import (
    ParquetRows,
    tables_of,
)
from chainq.verify.partitions import Partition, PartitionRepair, Partitions

if TYPE_CHECKING:
    from chainq.verify.inside_blocks import InsideBlocks
    from chainq.verify.tables import Rising

EXPLAINED = frozenset(("ownership", "records", "transitions"))
"""The commands with rows that must be inside of full blocks, and in the tables that are read from them."""
MANY, MUCH = 64, 64 << 20  # partitions, and bytes, for which worker processes are worth their start


def check_packages() -> None:
    """Raise UsageError without the packages that read files."""
    with needed("verifying files needs numpy and pyarrow", "parquet"):
        import numpy
        import pyarrow
    del numpy
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # Arrow's own keeps what was freed: 90 MB more


class Checked(NamedTuple):
    """The findings in the partitions of the same heights, the names of unreadable files, by command the number of
    receipts with recomputed block hashes, the commands that were compared with full blocks, and by partition the first
    and the last time and round."""

    step: Step
    unreadable: set[str]
    hashed: dict[str, int]
    explained: set[str]
    rising: dict[PartitionSpec, Mapping[str, list["Rising"]]]


class DataSetCheck:
    """A data set to verify in that many worker processes (None: one per core; little work uses none).

    `progress` counts its rows. `inside`: compare other commands with the contents of full blocks. `memory`: as in
    `Store`. Raises UsageError if there is no data set.
    """

    range_known = counted = True  # whatever its rows are, a receipt counts them
    unordered = ""
    differs = False  # an export writes partitions again, whatever differs

    def __init__(
        self,
        destination: str,
        workers: int | None = 1,
        progress: Progress = UNSEEN,
        *,
        inside: bool = True,
        memory: int = MAX_MEMORY,
    ) -> None:
        self._destination, self._workers, self._progress, self._inside = destination, workers, progress, inside
        self._store = open_store(destination, memory)
        self.partitions = Partitions(self._store)
        self.heights = self.reached = self.partitions.heights
        # Names of files without rows to compare; `steps` finds more.
        self._unread = {one.entry.name for one in self.partitions.found if one.apart}
        self._hashed: Counter[str] = Counter()
        self._explained: Counter[str] = Counter()  # partitions that were compared with full blocks, by command
        self._last: dict[tuple[str, str], int] = {}  # times and rounds of the last blocks, by command and check

    def warnings(self) -> Iterator[str]:
        """Yield which tables are shorter than others, and that an export is unfinished."""
        for words in self.partitions.uneven() if len(self.heights) else ():
            yield f"{words}; the data set spans {self.heights}"

    hint = ""  # its files say which rows are due

    def compared(self, url: str) -> str:
        """Return which commands were compared with full blocks, or the tables read from them, and what is not proved
        of the others, as the end of a sentence. `url`: the option that names the service. Call it after `steps`."""
        there = Counter(partition.spec.command for partition in self.partitions.found)
        known = sorted(EXPLAINED & there.keys())
        parts = {one: f" in {self._explained[one]:,} of {there[one]:,} partitions" for one in known}
        done = ", ".join(
            command + parts[command] * (self._explained[command] < there[command])
            for command in known
            if self._explained[command]
        )
        rest = ", ".join(command for command in known if self._explained[command] < there[command])
        asks = f"chainq verify {self.heights.start}:{self.heights.end}{url} compares them with full blocks"
        unread: dict[str, list[HeightRange]] = {}
        for spec, entry, _ in self.partitions.found:
            if entry.name in self._unread:
                unread.setdefault(spec.command, []).append(spec.heights)
        words = f"; not compared: {of_tables(unread)}" if unread else ""
        words += f"; compared with full blocks: {done} (which rows exist, not their values)" if done else ""
        return words + (f"; not proved: that the service sent all {rest} ({asks})" if rest else "")

    @property
    def unseen(self) -> str:
        """Return what was not checked, although its receipts show which rows are due; empty for no rows. Known after
        `steps`."""
        if not self.partitions.found:
            return ""
        linked = any(TABLES[partition.spec.command].linked for partition in self.partitions.found)
        hashes = "block hashes (--hashes), " if linked and not self._hashed else ""
        return f"not checked: {hashes}the values in the tables (--full compares them with the service)"

    @property
    def hashed(self) -> str:
        """Return what the export recomputed, as the end of a sentence, or "" for nothing. Call it after `steps`."""
        there = Counter(partition.spec.command for partition in self.partitions.found)
        parts = [f"{number:,} of {there[command]:,} {command}" for command, number in sorted(self._hashed.items())]
        return f"; block hashes checked by the export: partitions {', '.join(parts)}" if parts else ""

    def steps(self) -> Iterator[Step]:
        """Yield findings partition by partition, after the findings of the listing."""
        start = self.heights.start
        self._progress.begin(sum(one.entry.rows for one in self.partitions.found), "rows")
        yield Step(HeightRange(start, start), self.partitions.findings, {})
        by_start = sorted(self.partitions.found, key=lambda one: one.spec.start)
        groups = [list(group) for _, group in groupby(by_start, lambda one: one.spec.start)]
        size = sum(partition.entry.size for partition in by_start)
        workers = self._workers or (1 if len(groups) < MANY and size < MUCH else cores())
        make = partial(_group_check, self._destination, self.partitions.repair, self._inside, self._store.memory)
        if workers == 1:
            checked = map(make().check, groups)
            yield from map(self._noted, checked)
            return
        with Workers(make) as processes:
            jobs = (partial(processes.call, GroupCheck.check, group) for group in groups)
            yield from map(self._noted, in_order(workers, jobs, 2 * workers))

    def parts(self) -> Iterator[FileRows]:
        """Yield the rows of each partition with a readable file, for a comparison. Call it after `steps`."""
        for spec, entry, _ in self.partitions.found:
            if entry.name not in self._unread:
                source = partial(self._store.source, entry.name, entry.size)
                file = ParquetRows(source, entry.name)
                finding = partial(self.partitions.repair.finding, spec)
                derived = spec.command in DERIVED or file.derived
                yield FileRows(file, TABLES[spec.command], spec.heights, finding, derived)

    def spans(self) -> list[HeightRange]:
        """Return the heights of each partition that `parts` yields."""
        return [spec.heights for spec, entry, _ in self.partitions.found if entry.name not in self._unread]

    def _noted(self, checked: Checked) -> Step:
        self._unread |= checked.unreadable
        checked.step.findings.extend(self._fallen(checked))
        checked.step.findings.sort(key=by_height)
        self._hashed.update(checked.hashed)
        self._explained.update(checked.explained)
        self._progress.wrote(0, sum(checked.step.rows.values()))
        return checked.step

    def _fallen(self, checked: Checked) -> Iterator[Finding]:
        """Yield blocks with an earlier time or a lower round than the last block of the partitions before."""
        for spec, edges in checked.rising.items():
            for check, (first, last) in edges.items():
                before = self._last.get((spec.command, check))
                if before is not None and first.value < before:
                    yield self.partitions.repair.finding(spec, first.height, fallen(check, before, first.value))
                self._last[spec.command, check] = last.value


class GroupCheck:
    """Checks the partitions of the same heights, one of each command, against their receipts and each other."""

    def __init__(self, store: Store, repair: PartitionRepair, *, inside: bool) -> None:
        import pyarrow

        self._arrow, self._store, self._repair, self._compares = pyarrow, store, repair, inside
        self._inside: InsideBlocks | None = None  # of a group with rows that its full blocks explain
        self._tables: dict[str, Any] = {}  # of a group: what other commands are compared with
        self._unreadable: set[str] = set()
        self._hashed: Counter[str] = Counter()
        self._rising: dict[PartitionSpec, Mapping[str, list[Rising]]] = {}

    def check(self, group: Sequence[Partition]) -> Checked:
        """Return what is wrong."""
        from chainq.verify.across import check_across
        from chainq.verify.inside_blocks import InsideBlocks
        from chainq.verify.tables import integers, misnumbered

        self._tables, self._unreadable, self._hashed, self._rising = {}, set(), Counter(), {}
        specs = {partition.spec.command: partition.spec for partition in group}
        self._inside = (
            InsideBlocks() if self._compares and SOURCE.command in specs and EXPLAINED & specs.keys() else None
        )
        found = [self._repair.finding(partition.spec, *one) for partition in group for one in self._check(partition)]
        heights = {name: specs[name].heights for name in self._tables}
        inside = self._inside if SOURCE.command in self._tables and self._inside and self._inside.whole else None
        for command, at, one in check_across(self._tables, heights, inside):
            found.append(self._repair.finding(specs[command], at, one))
        if (listed := self._tables.get("transactions")) is not None:
            numbers = (integers(listed[name], -1) for name in ("height", "index"))
            found += [self._repair.finding(specs["transactions"], *one) for one in misnumbered(*numbers)]
        spanned = HeightRange(group[0].spec.start, max(spec.end for spec in specs.values()))
        rows = {command: table.num_rows for command, table in self._tables.items()}
        step = Step(spanned, sorted(found, key=by_height), rows)
        explained = {*EXPLAINED & self._tables.keys()} if inside or "outputs" in self._tables else set()
        return Checked(step, self._unreadable, dict(self._hashed), explained, self._rising)

    def _check(self, partition: Partition) -> Iterator[Located]:
        """Yield what is wrong with a partition; keep its readable rows for the comparison with other commands."""
        _, entry, apart = partition
        if apart:  # the listing has a finding about it
            return
        found: list[Located] = []
        try:
            with opened(self._store, entry) as (file, receipt):
                for group in range(file.num_row_groups):
                    check_decoded(self._store, entry, file, group, file.schema_arrow.names)
                found += list(self._read(file, partition, receipt))
        except IncompleteError as error:
            self._unreadable.add(entry.name)
            found.append((None, Contradiction("invalid", "a whole Parquet file", error.message)))
        yield from found

    def _read(self, file: Any, partition: Partition, receipt: Receipt) -> Iterator[Located]:
        """Yield what is wrong in a file, which is read one row group at a time."""
        from chainq.verify.across import COMPARED
        from chainq.verify.tables import TableCheck

        spec = partition.spec
        method = TABLES[spec.command]
        due = ArrowRows(method.columns, self._arrow).schema
        check = TableCheck(method, due.names, spec.heights, texts=method.text in due.names)
        names = [name for name in due.names if name.rpartition(".")[2] in {*COMPARED, "previous_hash"}]
        kept = [due.empty_table().select(names)]
        for table in tables_of(file):
            yield from check.take(table)
            if self._inside is not None and spec.command == SOURCE.command:
                self._inside.take(table)
            # A copy, which does not keep the rest of the row group in memory.
            kept.append(self._arrow.concat_tables([table.select(names)]).combine_chunks())
        yield from check.finish(lambda names: tables_of(file, names))
        self._rising[spec] = check.rising
        narrow = self._arrow.concat_tables(kept)
        yield from ((None, one) for one in self._contradictions(spec, receipt, narrow))
        self._tables[spec.command] = narrow

    def _contradictions(self, spec: PartitionSpec, receipt: Receipt, table: Any) -> Iterator[Contradiction]:
        """Yield contradictions between the receipt in a file and the rows."""
        said: dict[str, tuple[object, object]] = {}
        if receipt.hashes:
            self._hashed[spec.command] += 1
            said["hashes"] = (TIERS.get(receipt.source or spec.command, ""), receipt.hashes)
        if TABLES[spec.command].linked and table.num_rows:
            said["first_hash"] = (receipt.first_hash, table["block_hash"][0].as_py())
            said["last_hash"] = (receipt.last_hash, table["block_hash"][-1].as_py())
            said["previous_hash"] = (receipt.previous_hash, table["previous_hash"][0].as_py())
        for name, (due, found) in said.items():
            if due != found:
                yield Contradiction("receipt", f"{name}: {due}", f"{name}: {found}")


def _group_check(
    destination: str, repair: PartitionRepair, inside: bool, memory: int, _say: Say | None = None
) -> GroupCheck:
    """Return what checks partitions, also in a worker process."""
    return GroupCheck(open_store(destination, memory), repair, inside=inside)
