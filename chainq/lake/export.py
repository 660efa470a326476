"""The coordinator of an export: it plans the partitions to write and checks that the result links up.

Workers write partitions; the coordinator handles only their names, sizes and hashes, never rows. All its decisions
follow from `chainq.json`, one listing and a few block hashes, so it can be killed at any moment.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, groupby
from typing import NamedTuple

from chainq.catalog.dialects import is_shared
from chainq.catalog.tables import TABLES
from chainq.defaults import SETTLE
from chainq.errors import (
    ChainqError,
    IncompleteError,
    LackingError,
    Shortfall,
    UnreachableError,
    UsageError,
)
from chainq.fetching.service import Service
from chainq.fetching.short_range import unreached
from chainq.heights.bounds import Bounds
from chainq.heights.grid import PartitionSpec, partitions
from chainq.heights.height_set import HeightSet
from chainq.heights.range import HeightRange
from chainq.lake import delta, plan
from chainq.lake.engine import Engine
from chainq.lake.extras import check_installed
from chainq.lake.job import Done, Job, Task
from chainq.lake.plan import Todo
from chainq.lake.reads import read_method, reads_of, tasks_of
from chainq.lake.table import SCHEMAS
from chainq.planning.chunking import refuse_whole
from chainq.stored import data_set, index, last_run
from chainq.stored.data_set import DataSet, Origin, Wanted
from chainq.stored.inventory import Inventory, Key, gaps, look
from chainq.stored.open import is_same_service
from chainq.stored.receipt import Entry, parse_entry
from chainq.stored.store import Store
from chainq.text.humanize import counted, end_above
from chainq.transport.base import ServiceOptions

NEAR, MANY = 1000, 8  # MANY hashes within NEAR heights are fetched with one request for all blocks there


class ExportQuery(NamedTuple):
    """The arguments of an export. `commands`: of `reads.EXPORTED`; `full_blocks`: whether `chain` includes the full
    blocks. `partition`: heights in a partition, None for the data set's own. `lag`: blocks to leave out below the tip.

    `delta`: create Delta tables; existing ones are always kept up to date. `repair`: rewrite complete partitions too.
    `hashes`: recompute block hashes.
    """

    commands: tuple[str, ...]
    bounds: Bounds
    partition: int | None = None
    lag: int = 0
    full_blocks: bool = True
    delta: bool = False
    repair: bool = False
    hashes: bool = False

    @property
    def unbounded(self) -> bool:
        """Return whether nobody gave a range, so that it is the whole chain."""
        return self.bounds == Bounds(whole=True) and not self.repair


class Target(NamedTuple):
    """The heights to export, and what they make of `chainq.json`."""

    heights: HeightRange
    wanted: Wanted
    origin: Origin


class ExportPlan(NamedTuple):
    """The work of an export. `found`: the data set, None for a new one. `todo`: the partitions to write; `tasks`: the
    same, grouped by read. `kept`: partitions that are already complete. `inventory`: the previous contents.
    `registered`: commands that have a Delta table, including those of other exports."""

    target: Target
    found: DataSet | None
    partition: int
    todo: list[Todo]
    tasks: list[Task]
    kept: int
    inventory: Inventory
    registered: frozenset[str]

    @property
    def heights(self) -> HeightRange:
        """Return the heights to export."""
        return self.target.heights


class Totals(NamedTuple):
    """The result of an export. `committed`: partitions that were added to Delta tables."""

    written: int = 0
    kept: int = 0
    rows: int = 0
    size: int = 0
    calls: int = 0
    committed: int = 0


class Export:
    """One export into a store. `warn` takes a line for the user. Raises UsageError for a command without partitions.

    `believed`: the unproved heights, by method name. `unhashed`: what `hashes` could not check, counted.
    """

    def __init__(self, service: Service, store: Store, query: ExportQuery, warn: Callable[[str], None]) -> None:
        if is_same_service(service.url, store.address("")):
            raise UsageError(f"{store.label} would be exported into itself", "pass the URL of the service with --url")
        self._reads = reads_of(query.commands, full_blocks=query.full_blocks)
        self._tables = tuple(table for read in self._reads for table in read.tables)
        self._service, self._store, self._query, self._warn = service, store, query, warn
        self._hashes: dict[int, str | None] = {**service.origin}
        self.believed: dict[str, HeightSet] = {}
        self.unhashed: Counter[str] = Counter()
        check_installed(["delta"] if query.delta else [])
        if query.delta:
            delta.load()
        data_set.check_place(store)
        self._wanted = Wanted(None, query.partition, {table: SCHEMAS[table] for table in self._tables})
        self._new: Target | None = None

    def plan(self) -> ExportPlan | None:
        """Return the plan; None if the range has no blocks. Writes nothing.

        Raises UsageError if the data set is of another chain, dialect, grid or schema."""
        found = data_set.read(self._store)
        if found is not None:
            data_set.check(self._store, found, self._wanted)
        inventory = look(self._store)
        found = found or self._described(inventory)
        target = self._target(found, inventory)
        if target is None:
            return None
        heights = target.heights
        size = found.partition if found else self._partition
        inventory.check_grid(size, self._store.label)
        specs = [spec for table in self._tables for spec in partitions(table, heights, size)]
        if specs[0].start < heights.start:
            self._warn(f"partitions begin at multiples of {size}: the range starts at height {specs[0].start}")
        tables = delta.commands_in(inventory.others) | ({*self._tables} if self._query.delta else set())
        if self._query.repair:
            todo = plan.make_repair(specs, inventory)
        else:
            todo = plan.make_plan(specs, inventory, self._hash_at, self._service.blocks.tip_height(), self._look_up)
        self._tell_of_reorgs(todo)
        self._tell_of_gaps(specs, inventory)
        # Lowest heights first, so that all commands become complete evenly.
        todo = sorted(todo, key=lambda one: (one.spec.start, self._tables.index(one.spec.command)))
        tasks = tasks_of(todo, self._reads)
        return ExportPlan(target, found, size, todo, tasks, len(specs) - len(todo), inventory, tables)

    def _described(self, inventory: Inventory) -> DataSet | None:
        """Return the data set; None for a new one. Raises UsageError if it lost `chainq.json`, as a new one could name
        another partition size, or another chain."""
        # Read after the listing: who wrote a partition wrote it before.
        found = data_set.read(self._store)
        if found is not None:
            data_set.check(self._store, found, self._wanted)
        elif there := sum(table in TABLES for table, _ in (*inventory.valid, *inventory.damaged)):
            lost = f"{self._store.label} has {counted(there, 'partition')}, but no {data_set.NAME}"
            raise UsageError(lost, data_set.RESTORE)
        return found

    @property
    def _partition(self) -> int:
        """Heights in each partition of a new data set: those of an export that it is read from, unless given."""
        return self._query.partition or self._service.partition or data_set.PARTITION

    def _target(self, found: DataSet | None, inventory: Inventory) -> Target | None:
        """Return what to write into a data set, or into a new one; None if the range has no blocks."""
        if found is None and self._query.repair:
            raise UsageError(f"no data set in {self._store.label} to repair")
        if found is None and self._new is not None:
            return self._new
        bounds = self._bounds(inventory, found)
        heights = self._heights(bounds, inventory)
        if found is None and self._query.unbounded and not self._service.is_export:
            refuse_whole(
                f"a new export in {self._store.label}", [read_method(one.name) for one in self._reads], heights
            )
        if found is not None and (len(heights) or self._service.blocks.tip_height() >= found.chain.height):
            data_set.check_chain(self._store, found, self._hash_at(found.chain.height))
        self._check_tip(bounds, inventory)
        if not len(heights):
            return None
        wanted = self._wanted._replace(dialect=self._dialect())
        if found is None:
            return Target(heights, wanted._replace(partition=self._partition), self._origin(heights))
        data_set.check(self._store, found, wanted)
        return Target(heights, wanted, found.chain)

    def _check_tip(self, bounds: Bounds, inventory: Inventory) -> None:
        """Raise IncompleteError if a range ends at the tip of a network that is far behind what the data set has."""
        newest = max((entry.spec.end for entry in inventory.valid.values()), default=0) - 1
        tip = self._service.blocks.tip_height() if newest >= 0 else 0
        if newest - tip > SETTLE and (bounds.end is None or tip < bounds.end - 1) and not self._service.origin:
            what = f"the service is behind: its tip is {tip}, but {self._store.label} has block {newest}"
            raise IncompleteError(what, "run the command again later")

    def _begin(self, made: ExportPlan) -> None:
        """Record that a plan is about to be carried out, with the heights of tables without partitions; in a new data
        set before `chainq.json`."""
        inventory = made.inventory
        if made.found is None and any(not name.startswith("_chainq/") for name in inventory.others):
            self._warn(f"{self._store.label} has other files; the data set is written beside them")
        fresh = made.found is None or not {*self._tables} <= {table for table, _ in inventory.valid}
        if fresh or made.todo:
            last_run.begin(self._store, self._tables, made.heights, fresh=fresh, new=made.found is None)
        data_set.save(self._store, made.target.wanted, made.target.origin, made.found)
        if data_set.EARLIER in inventory.others:
            self._store.delete([data_set.EARLIER])

    def _tell_of_gaps(self, specs: Sequence[PartitionSpec], inventory: Inventory) -> None:
        """Say which heights lie between this range and what the data set has: nobody can query beyond them."""
        apart: dict[str, HeightRange] = {}
        entries = inventory.tables(self._store.label)
        for table in self._tables:
            own = [spec for spec in specs if spec.command == table]
            every = own + [entry.spec for entry in entries.get(table, ())]
            spanned = HeightRange(min(spec.start for spec in every), max(spec.end for spec in every))
            for gap in gaps(every, spanned):
                if gap.end == own[0].start or gap.start == own[-1].end:
                    apart[str(gap)] = gap
        for words, gap in apart.items():
            rest = f"missing between this range and the rest of {self._store.label}"
            self._warn(Shortfall(f"{words}: {rest}; export {gap.start}:{gap.end}, too"))

    def run(
        self,
        engine: Engine,
        options: ServiceOptions,
        destination: str,
        *,
        lock: bool,
        begin: Callable[[ExportPlan], None],
        wrote: Callable[[Done], None],
    ) -> Totals | None:
        """Run the plan; return None if the range has no blocks. `begin` is called with the plan, `wrote` with each
        partition. `options`: for a worker. Raises ChainqError; BusyError if another export is running."""
        todo: list[Todo] = []
        entries: dict[Key, Entry] = {}  # of what this run has written
        with ExitStack() as stack:
            stack.enter_context(self._noted(todo, entries))
            engine.check()
            # All that may be refused comes before the lock creates a folder.
            if data_set.read(self._store) is None and self._described(look(self._store)) is None:
                self._new = self._target(None, Inventory({}, {}, []))
                if self._new is None:
                    return None
            check: Callable[[], None] = stack.enter_context(self._store.lock()) if lock else lambda: None
            stack.enter_context(last_run.recorded(self._store, self._tables, self._service.blocks.tip_height))
            self._store.clean()
            stack.callback(self._store.clean)  # after the workers are gone
            made = self.plan()
            if made is None:
                return None
            todo += made.todo
            tables = [command for command in self._tables if command in made.registered]
            for command in tables:
                delta.update(self._store, command, gone=[one.spec for one in todo if one.spec.command == command])
            self._begin(made)
            begin(made)
            dialect = self._dialect() or self._service.dialect.stated or self._service.dialect.published.name
            tip = self._service.blocks.tip()
            job = Job(options._replace(dialect=dialect), tip, destination, self._query.hashes)
            totals: Counter[str] = Counter(kept=made.kept)
            for done in engine.run(job, made.tasks, check) if made.tasks else ():
                written = [entry for name in done.receipts if (entry := parse_entry(name))]
                entries.update({(entry.spec.command, entry.spec.start): entry for entry in written})
                totals.update(written=len(done.receipts), rows=done.rows, size=done.size, calls=done.calls)
                for heights in done.believed:
                    self.believed.setdefault(read_method(done.spec.command).name, HeightSet()).add(heights)
                self.unhashed.update(done.unhashed)
                wrote(done)
            before = (entry for key, entry in made.inventory.valid.items() if key not in entries)
            inside = [entry for entry in chain(before, entries.values()) if entry.spec.start < made.heights.end]
            self._check_links(inside)
            # Partitions below the range have not been compared with the chain.
            full = [
                one
                for one in inside
                if one.spec.end > made.heights.start and len(one.spec.heights) == made.partition and one.settled
            ]
            added = sum(
                delta.update(self._store, command, entries=[one for one in full if one.spec.command == command])
                for command in tables
            )
            if entries:
                for command in self._tables:
                    if command in index.INDEXED:
                        index.keep(self._store, command, [one for one in inside if one.spec.command == command])
            return Totals(**totals, committed=added)

    def _hash_at(self, height: int) -> str | None:
        """Return the hash of a block, None if it does not exist, with one request at most."""
        if height not in self._hashes:
            self._hashes[height] = self._service.blocks.hash_of(height)
        return self._hashes[height]

    def _look_up(self, heights: Sequence[int]) -> None:
        """Look up the hashes of nearby blocks with one request for many."""
        for _, group in groupby(heights, lambda height: height // NEAR):
            near = list(group)
            if len(near) >= MANY:
                self._hashes |= self._service.blocks.block_hashes(HeightRange(near[0], near[-1] + 1))

    @contextmanager
    def _noted(self, todo: Sequence[Todo], written: Mapping[Key, Entry]) -> Iterator[None]:
        """Add to an error, or a signal, how much of `todo` is written, and how to get the rest; both grow meanwhile."""
        try:
            yield
        except BaseException as error:
            if not todo:
                if not isinstance(error, ChainqError):
                    error.add_note("nothing written; run the command again")
                raise
            error.add_note(f"{len(written):,} of {counted(len(todo), 'partition')} written")
            left = [one.spec for one in todo if (one.spec.command, one.spec.start) not in written]
            # A worker may not have reached the service, but this process has.
            if left and (not isinstance(error, ChainqError) or error.again or isinstance(error, UnreachableError)):
                error.add_note(self._rest(left))
            raise

    def _rest(self, left: Sequence[PartitionSpec]) -> str:
        """Return how to get partitions that an export that fails has not written."""
        if not self._query.repair:
            return "run the command again for the rest"
        return f"the same command would repair these again; the rest is {HeightRange(left[0].start, left[-1].end)}"

    def _bounds(self, inventory: Inventory, found: DataSet | None) -> Bounds:
        """Return the bounds of the heights to export. A repair without a range is one of what is there.

        Raises UsageError if nothing is.
        """
        if found is None or not self._query.repair or self._query.bounds != Bounds(whole=True):
            return self._query.bounds
        specs = [spec for spec in inventory.partitions(found.partition) if spec.command in self._tables]
        if not specs:
            raise UsageError(f"no partitions of {', '.join(self._tables)} in {self._store.label} to repair")
        return Bounds(min(spec.start for spec in specs), max(spec.end for spec in specs))

    def _heights(self, bounds: Bounds, inventory: Inventory) -> HeightRange:
        """Return the heights to export, up to the tip less `--lag`; if nobody gave a range, those from the first of the
        data set, for a new one all that the source has.

        Rejected: all that the source has for each, because an export of the newest blocks, run again for those that are
        new, would begin with the whole chain before them.
        """
        heights = self._service.height_range(bounds)
        if self._query.unbounded:
            starts = [*(entry.spec.start for entry in inventory.valid.values()), *last_run.starts(self._store)]
            first = max(self._service.blocks.first, min(starts, default=0))
            heights = HeightRange(min(first, heights.end), heights.end)
        tip = self._service.blocks.tip_for(heights.end) if not self._query.lag else self._service.blocks.tip_height()
        top = max(0, tip + 1 - self._query.lag)
        if self._query.bounds.end is not None and heights.start <= tip < heights.end - 1:
            self._warn(end_above(heights.end, tip))
        elif bounds.until is not None and (why := unreached(self._service, bounds, heights)):
            self._warn(why)
        end = min(heights.end, top)
        return HeightRange(min(heights.start, end), end)

    def _dialect(self) -> str | None:
        """Return the name of the dialect; None if no command depends on it."""
        for read in self._reads:
            method = read_method(read.name)
            if not is_shared(method, self._service.dialect.names):
                return self._service.dialect.of(method).name
        return None

    def _origin(self, heights: HeightRange) -> Origin:
        """Return the block that identifies the chain: block 0, or the first one to export."""
        if heights.start:
            with suppress(LackingError):  # a served export may begin above
                if found := self._hash_at(0):
                    return Origin(0, found)
        if found := self._hash_at(heights.start):
            return Origin(heights.start, found)
        raise IncompleteError(f"block {heights.start} does not exist or has no hash", "run the command again")

    def _tell_of_reorgs(self, todo: Sequence[Todo]) -> None:
        touched = [one.spec for one in todo if one.reason == "reorg"]
        if touched:
            names = ", ".join(spec.name for spec in touched[:5]) + (", …" if len(touched) > 5 else "")
            self._warn(f"reorg: {counted(len(touched), 'partition')} to replace: {names}")

    def _check_links(self, entries: Iterable[Entry]) -> None:
        """Raise IncompleteError if partitions do not link: after a reorg, or if the service contradicts itself."""
        broken = plan.first_broken(one for one in entries if one.spec.command in self._tables)
        if broken is None:
            return
        spec, hash_at = broken[1].spec, self._service.blocks.block_hash  # as they are now, after all rows
        if all(plan.on_chain(one, hash_at) for one in broken):  # another run would end in the same way
            height = spec.start
            raise IncompleteError(
                f"the service contradicts itself: block {height} names another previous block than block {height - 1},"
                f" {hash_at(height - 1)}",
                f"chainq verify {height - 1}:{height + 1} shows both hashes; compare with another server",
            )
        raise IncompleteError(
            f"reorg: the partition {spec} does not follow on the one before it", "run the command again to replace it"
        )
