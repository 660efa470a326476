"""`chainq export`: partitions of range commands into a folder or an object store; what is decided is in `lake`."""

from functools import partial
from importlib.util import find_spec
from shlex import quote
from threading import Lock

import msgspec

from chainq.catalog.identifiers import STORES
from chainq.catalog.tables import DERIVED
from chainq.cli import connect, output
from chainq.cli.query import read_bounds, split_range
from chainq.cli.report import Reporter
from chainq.cli.tool_options import ExportCommand
from chainq.errors import Shortfall, UsageError, missing_package
from chainq.fetching.links import TIERS as HASHED
from chainq.fetching.reading import reason, unchecked, unproved
from chainq.heights.bounds import parse_count
from chainq.heights.range import HeightSet, chain_end
from chainq.lake.export import Export, ExportPlan, ExportQuery, Listener
from chainq.lake.plan import CHAIN_READ
from chainq.lake.store import open_store
from chainq.lake.workers import Advance, Crew, DaskCrew, Done, Event, Hear, Job, LocalCrew
from chainq.process.pool import cores
from chainq.text.humanize import counted, in_bytes
from chainq.transport.base import Report

_MODULES = {"parquet": "pyarrow", "export": "obstore", "dask": "distributed", "delta": "deltalake", "hashes": "aleo"}
"""By extra, the module that it adds to that of `parquet`."""


def run(given: ExportCommand) -> None:
    """Export what the command line names, or list it with `--dry-run`. Raises ChainqError."""
    if given.scheduler is not None and given.engine != "dask":
        raise UsageError("--scheduler needs --engine dask")
    query = _query(given)
    _check_installed(given)
    reporter = Reporter(given)
    options = connect.service_options(given)
    store = open_store(given.to)
    progress = ExportProgress(reporter, query)
    with connect.open_service(options, reporter, progress.call) as service:
        export = Export(service, store, query, reporter.warn)
        if given.dry_run:
            _list(export, reporter)
            return
        reporter.draw()
        try:
            totals = export.run(partial(_crew, given), service.options._replace(headers=options.headers), progress)
        finally:
            reporter.end()
            if export.believed:
                reporter.warn(unproved(export.believed).text)
            if export.unhashed:
                reporter.warn(unchecked(export.unhashed).text)
        if totals is None:
            heights = service.height_range(query.bounds)
            why = "" if len(heights) else reason(service, query.bounds, heights)
            reporter.warn(Shortfall(why or f"no blocks in that range: {chain_end(service.blocks.tip_height())}"))
        else:
            hashed = " (block hashes checked)" if given.hashes else ""
            kept = f", {totals['kept']:,} skipped (see chainq verify {quote(store.label)})" if totals["kept"] else ""
            committed = f"; {totals['committed']:,} committed to Delta tables" if totals["committed"] else ""
            calls = counted(totals["calls"] + progress.own_calls, "call")
            reporter.note(
                f"{store.label}: {counted(totals['written'], 'partition')} written{hashed}{kept};"
                f" {counted(totals['rows'], 'row')}, {in_bytes(totals['size'])}, {calls}{committed}"
            )


def _crew(given: ExportCommand, job: Job, tasks: int, hear: Hear) -> Crew:
    """Return the workers of the options; a run without tasks starts no cluster. Raises UsageError."""
    workers = given.workers or cores()
    if given.engine == "dask" and tasks:
        return DaskCrew(given.scheduler, workers, job, tasks, hear)
    return LocalCrew(workers, job, tasks, hear)


def _query(given: ExportCommand) -> ExportQuery:
    """Return what the arguments ask for. Raises UsageError."""
    heights, commands = split_range(given.words)
    bounds = read_bounds(given, heights, whole=True)
    if given.no_full_blocks and CHAIN_READ not in commands:
        raise UsageError(f"--no-full-blocks needs {CHAIN_READ}")
    if given.hashes and commands and not {CHAIN_READ, *HASHED, *DERIVED} & {*commands}:  # the rest reads no blocks
        raise UsageError(f"--hashes needs blocks, full-blocks or {CHAIN_READ}", "add one of them to the commands")
    partition = None if given.partition is None else parse_count(given.partition, "partition")
    if partition == 0:
        raise UsageError("invalid --partition 0: expected at least 1 height")
    return ExportQuery(
        tuple(dict.fromkeys(commands)),
        bounds,
        partition,
        given.lag,
        full_blocks=not given.no_full_blocks,
        delta=given.delta,
        hashes=given.hashes,
    )


def _check_installed(given: ExportCommand) -> None:
    """Raise UsageError if pyarrow, or an optional package that the options need, is not installed; load none."""
    stores = given.to.partition("://")[0].lower() in STORES
    wanted = {"delta": given.delta, "dask": given.engine == "dask", "hashes": given.hashes, "export": stores}
    for extra, module in _MODULES.items():
        if wanted.get(extra, True) and find_spec(module) is None:
            raise missing_package(f"this export needs the package {module}", extra)


def _list(export: Export, reporter: Reporter) -> None:
    """Print the partitions to write, and how many they are."""
    plan = export.plan()
    todo = plan.todo if plan else []
    rows = [{"command": name, "start": start, "end": end, "reason": why} for (name, start, end), why, _ in todo]
    output.write(msgspec.json.Encoder().encode_lines(rows).decode())
    reporter.note(f"{counted(len(todo), 'partition')} to write, {len(plan.kept) if plan else 0:,} complete")


class ExportProgress(Listener):
    """The bar and the lines of an export: heights and rows within partitions, partitions, and what workers do.

    `own_calls`: those of the coordinator; those of workers come with what they have done.
    """

    def __init__(self, reporter: Reporter, query: ExportQuery) -> None:
        self._reporter, self._query = reporter, query
        self._lock = Lock()  # of those below
        self.own_calls = self._partitions = self._written = 0
        self._underway: dict[tuple[object, ...], Advance] = {}

    def call(self, report: Report) -> None:
        """Count a call of the coordinator."""
        self.own_calls += 1
        self._reporter.call(report)

    def begin(self, plan: ExportPlan) -> None:
        """Start the bar; if nobody gave the heights, say how much is to be done."""
        if plan.todo and self._query.unbounded:
            heights = HeightSet(todo.spec.heights for todo in plan.todo)
            todo = counted(len(plan.todo), "partition")
            self._reporter.note(f"{todo} of {heights} to write, {len(plan.kept):,} complete")
        self._partitions = len(plan.todo)
        self._reporter.begin(sum(len(task.spec.heights) for task in plan.tasks), "heights of all tables")

    def hear(self, worker: object, event: Event) -> None:
        """Show a request, a warning or a step, and count what is written."""
        if isinstance(event, Advance):
            self._advanced(event)
        elif isinstance(event, Report):
            self._reporter.call(event)
        elif event.warning:
            self._reporter.warn_once(event.text, event.text)
        else:
            self._reporter.trace(f"worker {worker}: {event.text}")

    def _advanced(self, advance: Advance) -> None:
        """Count what a worker has written of a partition, which it may have begun anew; for any thread."""
        with self._lock:
            before = self._underway.get(advance.spec[:2], Advance(advance.spec))  # its end may be a lower one now
            self._underway[advance.spec[:2]] = advance
            self._reporter.wrote(advance.heights - before.heights, advance.rows - before.rows)
            self._reporter.show(f"{self._written:,} of {counted(self._partitions, 'partition')}")

    def wrote(self, done: Done) -> None:
        """Count a partition."""
        self._written += len(done.files)
        self._advanced(Advance(done.spec, len(done.spec.heights), done.rows))
        del self._underway[done.spec[:2]]
        rows, calls = counted(done.rows, "row"), counted(done.calls, "call")
        self._reporter.trace(f"{done.spec!s}: {rows}, {in_bytes(done.size)}, {calls}")
