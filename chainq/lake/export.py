"""The coordinator of an export: it looks what there is, has workers write the rest, and checks that all links up.

Workers write partitions; the coordinator handles only their names, never rows. All its decisions follow from
`chainq.json`, one listing and a few block hashes, so it can be killed at any moment, and two of them may run at once:
files appear whole, under names that say what is in them, and one is removed only once a better one is there.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from chainq.catalog.dialects import AUTO, is_shared
from chainq.catalog.tables import TABLES
from chainq.defaults import SETTLE
from chainq.errors import ChainqError, IncompleteError, LackingError, UnreachableError, UsageError
from chainq.fetching.calls import PUBLISHED
from chainq.fetching.reading import unreached
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange, HeightSet, end_above
from chainq.lake import data_set, delta, plan
from chainq.lake.data_set import Contents, DataSet, Entry, Origin, parse_entry, partitions
from chainq.lake.plan import EXPORTED, Task, Todo, read_method, reads_of, tasks_of
from chainq.lake.store import Store, is_same_service
from chainq.lake.workers import Crew, Done, Event, Hear, Job, write_all
from chainq.options import ServiceOptions
from chainq.planning.chunking import refuse_whole
from chainq.text.humanize import counted


class ExportQuery(NamedTuple):
    """The arguments of an export. `commands`: of `plan.EXPORTED`, none for those of the data set; `full_blocks`:
    whether `chain` includes the full blocks. `partition`: heights in a partition, None for the data set's own. `lag`:
    blocks to leave out below the tip.

    `delta`: create Delta tables; existing ones are always kept up to date. `hashes`: recompute block hashes.
    """

    commands: tuple[str, ...]
    bounds: Bounds
    partition: int | None = None
    lag: int = 0
    full_blocks: bool = True
    delta: bool = False
    hashes: bool = False

    @property
    def unbounded(self) -> bool:
        """Return whether nobody gave a range, so that it is the whole chain."""
        return self.bounds == Bounds(whole=True)


class ExportPlan(NamedTuple):
    """The work of an export. `data_set`: the one there is, or to be made; `new`: whether it is to be made. `todo`: the
    partitions to write; `tasks`: the same, grouped by read. `kept`: the files of the others in the range. `replaced`:
    files to remove. `registered`: tables of the export that have a Delta table, or get one."""

    data_set: DataSet
    new: bool
    heights: HeightRange
    todo: list[Todo]
    tasks: list[Task]
    kept: list[Entry]
    replaced: list[Entry]
    registered: list[str]


class Listener:
    """Receives the progress of an export, and what workers say; from any thread. This class shows nothing."""

    def begin(self, plan: ExportPlan) -> None:
        """Show what is to be done."""

    def hear(self, worker: object, event: Event) -> None:
        """Show what a worker tells: a warning once, although every worker sends it."""

    def wrote(self, done: Done) -> None:
        """Show that a partition is written."""


class Export:
    """One export into a store. `warn` takes a line for the user.

    `believed`: the unproved heights, by method name. `unhashed`: what `hashes` could not check, counted.
    """

    def __init__(self, service: Service, store: Store, query: ExportQuery, warn: Callable[[str], None]) -> None:
        if is_same_service(service.url, store.address("")):
            raise UsageError(f"{store.label} would be exported into itself", "pass the URL of the service with --url")
        if store.folder and any((one / data_set.FILE).is_file() for one in store.folder.parents):
            raise UsageError(f"{store.label} is inside another export", "pass another --to")
        self._service, self._store, self._query, self._warn = service, store, query, warn
        origin = service.export and service.export.origin  # of which it may lack the block
        known = {origin.height: origin.hash} if origin else {}
        self._hash_at = cache(lambda height: known.get(height) or service.blocks.hash_of(height))
        self.believed: dict[str, HeightSet] = {}
        self.unhashed: Counter[str] = Counter()

    def plan(self) -> ExportPlan | None:
        """Return the plan; None if the range has no blocks. Writes nothing.

        Raises UsageError for a command without partitions, and if the data set is of another chain or grid."""
        query, there = self._query, data_set.find(self._store)
        reads = self._reads(there)
        heights = self._heights(there, reads.values())
        if there is not None:
            data_set.check_partition(self._store, there.data_set, query.partition)
            self._check_chain(there, heights)
        if not len(heights):
            return None
        if there is None:  # the partitions are those of an export that it is read from, unless given
            read = self._service.export
            partition = query.partition or (read.partition if read else data_set.PARTITION)
            found = DataSet(data_set.VERSION, self._origin(heights), partition, heights.start, [*reads])
        else:
            found = there.data_set
        _, tables, replaced, others = there or Contents(found, {}, [], [])
        specs = [spec for table in reads for spec in partitions(table, heights, found.partition)]
        if (start := specs[0].start) < heights.start:
            self._warn(f"partitions begin at multiples of {found.partition}: the range starts at height {start}")
        todo = plan.make_plan(specs, tables, self._hash_at, self._service.blocks.tip_height())
        if touched := [one.spec.folder for one in todo if one.reason == "reorg"]:
            names = ", ".join(touched[:5]) + (", …" if len(touched) > 5 else "")
            self._warn(f"reorg: {counted(len(touched), 'partition')} to replace: {names}")
        todo.sort(key=lambda one: one.spec.start)  # so that all tables become complete evenly
        complete = {spec[:2] for spec in specs} - {one.spec[:2] for one in todo}
        kept = [entry for entries in tables.values() for entry in entries if entry.spec[:2] in complete]
        committed = [table for table in reads if any(name.startswith(f"{table}/{delta.FOLDER}/") for name in others)]
        registered = [*reads] if query.delta else committed
        return ExportPlan(found, there is None, heights, todo, tasks_of(todo, reads), kept, replaced, registered)

    def run(
        self, crew: Callable[[Job, int, Hear], Crew], options: ServiceOptions, listener: Listener
    ) -> Counter[str] | None:
        """Run the plan; return how many partitions were `written`, `kept` and `committed` to Delta tables, and the
        `rows`, `size` and `calls` of those written; None if the range has no blocks.

        `crew`: returns workers for a job and so many tasks. `options`: for a worker. Raises ChainqError.
        """
        todo: list[Todo] = []
        entries: list[Entry] = []  # of what this run has written
        with self._noted(todo, entries):
            made = self.plan()
            if made is None:
                return None
            todo += made.todo
            listener.begin(made)
            old = {one.spec[:2]: one for one in todo}
            totals: Counter[str] = Counter(kept=len(made.kept))
            try:
                with crew(self._job(made, options), len(made.tasks), listener.hear) as workers:
                    self._prepare(made)
                    for done in write_all(workers, made.tasks, entries):
                        self._remove_old(old, done.files)
                        totals.update(written=len(done.files), rows=done.rows, size=done.size, calls=done.calls)
                        for heights in done.believed:
                            self.believed.setdefault(read_method(done.spec.command).name, HeightSet()).add(heights)
                        self.unhashed.update(done.unhashed)
                        listener.wrote(done)
            finally:
                self._store.clean()  # after the workers are gone
            inside = [*made.kept, *entries]
            self._check_links(inside)
            totals["committed"] = self._commit(made, inside, adds=True)
            return totals

    def _reads(self, there: Contents | None) -> dict[str, str]:
        """Return the tables to write, and for each the read that fills it. Raises UsageError."""
        if there is None and any(parse_entry(*one) for one in self._store.listing()):
            raise UsageError(f"{self._store.label} lost {data_set.FILE}", "restore it, or export to a new folder")
        commands: Iterable[str] = self._query.commands
        if not commands:
            if there is None:
                raise UsageError("no command to export", f"the commands are {', '.join(EXPORTED)}")
            commands = data_set.export_words(table for table in TABLES if table in there.known)
        return reads_of(commands, full_blocks=self._query.full_blocks)

    def _heights(self, there: Contents | None, reads: Iterable[str]) -> HeightRange:
        """Return the heights to export, up to the tip less `--lag`; if nobody gave a range, those from the first of the
        data set, for a new one all that the source has.

        Rejected: all that the source has for each, because an export of the newest blocks, run again for those that are
        new, would begin with the whole chain before them. Raises UsageError for a new one of a whole chain.
        """
        bounds, blocks = self._query.bounds, self._service.blocks
        heights = self._service.height_range(bounds)
        if self._query.unbounded and there is None and self._service.export is None:
            refuse_whole(f"a new export in {self._store.label}", map(read_method, dict.fromkeys(reads)), heights)
        if self._query.unbounded:
            first = 0 if there is None else there.heights.start
            heights = HeightRange(min(max(blocks.first, first), heights.end), heights.end)
        tip = blocks.tip_for(heights.end) if not self._query.lag else blocks.tip_height()
        if bounds.end is not None and heights.start <= tip < heights.end - 1:
            self._warn(end_above(heights.end, tip))
        elif bounds.until is not None and (why := unreached(self._service, bounds, heights)):
            self._warn(why)
        end = min(heights.end, max(0, tip + 1 - self._query.lag))
        return HeightRange(min(heights.start, end), end)

    def _check_chain(self, there: Contents, heights: HeightRange) -> None:
        """Raise UsageError if the service has another chain than the data set; IncompleteError if the range ends at the
        tip of a network that is far behind what the data set has."""
        tip, bounds = self._service.blocks.tip_height(), self._query.bounds
        if len(heights) or tip >= there.data_set.chain.height:
            data_set.check_chain(self._store, there.data_set, self._hash_at(there.data_set.chain.height))
        newest = there.heights.end - 1 if there.tables else -1
        if newest - tip > SETTLE and (bounds.end is None or tip < bounds.end - 1) and self._service.export is None:
            what = f"the service is behind: its tip is {tip}, but {self._store.label} has block {newest}"
            raise IncompleteError(what, "run the command again later")

    def _origin(self, heights: HeightRange) -> Origin:
        """Return the block that identifies the chain: block 0, or the first one to export."""
        for height in dict.fromkeys((0, heights.start)):
            with suppress(LackingError):  # a served export may begin above
                if found := self._hash_at(height):
                    return Origin(height, found)
        raise IncompleteError(f"block {heights.start} does not exist or has no hash", "run the command again")

    def _job(self, made: ExportPlan, options: ServiceOptions) -> Job:
        """Return what all workers are given; the dialect is detected here and not by each of them, if it matters."""
        spoken = self._service.dialect
        methods = (read_method(task.spec.command) for task in made.tasks)
        found = (spoken.of(method).name for method in methods if not is_shared(method))
        name = next(found, PUBLISHED.name if spoken.name == AUTO else spoken.name)
        tip, to = self._service.blocks.tip(), self._store.address("")
        return Job(options._replace(dialect=name), tip, to, self._query.hashes)

    def _prepare(self, made: ExportPlan) -> None:
        """Write the description of a new data set, and remove what killed runs have left and what Delta tables must not
        list any more."""
        if made.new:
            found = data_set.create(self._store, made.data_set)
            data_set.check_partition(self._store, found, made.data_set.partition)
            data_set.check_chain(self._store, found, self._hash_at(found.chain.height))
        self._store.clean()
        self._commit(made, made.kept, adds=False)
        self._store.delete(entry.name for entry in made.replaced)

    def _remove_old(self, todo: dict[tuple[str, int], Todo], files: Iterable[Entry]) -> None:
        """Remove the files that new ones replace; not a longer one, unless a reorg replaced its blocks."""
        for new in files:
            one = todo[new.spec[:2]]
            if one.old and one.old.name != new.name and (one.reason == "reorg" or one.old < new):
                self._store.delete([one.old.name])

    def _commit(self, made: ExportPlan, entries: Sequence[Entry], *, adds: bool) -> int:
        """Remove from the Delta tables what is not in these files, and add, if `adds`, those of full partitions that
        need not be written again; return how many were added."""
        size = made.data_set.partition
        full = [entry for entry in entries if len(entry.spec.heights) == size and entry.settled]
        heights = HeightRange(made.heights.start - made.heights.start % size, made.heights.end)
        return sum(
            delta.update(self._store, table, [one for one in full if one.spec.command == table], heights, adds=adds)
            for table in made.registered
        )

    def _check_links(self, entries: Iterable[Entry]) -> None:
        """Raise IncompleteError if partitions do not link: after a reorg, or if the service contradicts itself."""
        broken = (after.spec for before, after in pairwise(sorted(entries)) if plan.broken(before, after))
        if spec := next(broken, None):
            what = f"the partition {spec} names another hash of block {spec.start - 1} than the one before it"
            raise IncompleteError(what, "run the command again, which replaces it after a reorg")

    @contextmanager
    def _noted(self, todo: Sequence[Todo], written: Sequence[Entry]) -> Iterator[None]:
        """Add to an error, or a signal, how much of `todo` is written, and how to get the rest; both grow meanwhile."""
        try:
            yield
        except BaseException as error:
            if todo:
                error.add_note(f"{len(written):,} of {counted(len(todo), 'partition')} written")
                # A worker may not have reached the service, but this process has.
                again = not isinstance(error, ChainqError) or error.again or isinstance(error, UnreachableError)
                if again and len(written) < len(todo):
                    error.add_note("run the command again for the rest")
            elif not isinstance(error, ChainqError):
                error.add_note("nothing written; run the command again")
            raise
