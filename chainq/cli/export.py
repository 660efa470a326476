"""`chainq export`: partitions of range commands into a folder or an object store; what is decided is in `lake`."""

import re
from collections.abc import Callable
from shlex import quote
from typing import Any

import msgspec

from chainq.catalog.identifiers import STORES
from chainq.catalog.methods import Column, Kind, Method
from chainq.catalog.tables import DERIVED
from chainq.cli import connect, output
from chainq.cli.export_progress import Progress, without_range
from chainq.cli.options import OutputOptions
from chainq.cli.query import read_bounds
from chainq.cli.report import Reporter
from chainq.cli.tool_options import ExportCommand
from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.fetching.short_range import reason
from chainq.heights.bounds import Bounds, parse_count
from chainq.lake.engine import Engine
from chainq.lake.export import Export, ExportQuery
from chainq.lake.extras import check_installed
from chainq.lake.local import LocalEngine
from chainq.lake.reads import NAME
from chainq.lake.store import absolute, open_store
from chainq.process.pool import cores
from chainq.sinks.open import open_sink
from chainq.text.humanize import chain_end, counted, in_bytes
from chainq.transport.base import Report, ServiceOptions

_RANGE = re.compile(r"[0-9:\u2212]|latest")
"""How a range begins, and no command does."""
_LISTED = Method(
    command="export",
    name="",
    group="Tools",
    purpose="list the partitions to write",
    columns=(
        Column("command", "string", "table"),
        Column("start", "number", "first height", Kind.HEIGHT),
        Column("end", "number", "height after the last one", Kind.HEIGHT),
        Column("reason", "string", "why it is written"),
    ),
)
"""The rows of `--dry-run` in the form that formats take."""


def run(given: ExportCommand) -> None:
    """Export what the command line names, or list it with `--dry-run`. Raises ChainqError."""
    if given.scheduler is not None and given.engine != "dask":
        raise UsageError("--scheduler needs --engine dask")
    query = _query(given)
    if given.hashes:
        query = _with_hashes(query)
    _check_installed(given, query)
    destination = absolute(given.to)
    reporter = connect.reporter(given)
    options = connect.service_options(given, strict=given.strict)
    store = open_store(destination)
    own = _OwnCalls()
    with connect.open_service(options, reporter, own.open) as service:
        export = Export(service, store, query, reporter.warn)
        if given.dry_run:
            _list(export, query, reporter)
            return
        workers = given.workers or cores()
        progress = Progress(reporter, announce=query.bounds == Bounds(whole=True), whole=query.unbounded)
        reporter.draw()
        try:
            totals = export.run(
                _engine(given, workers, reporter, progress),
                service.options._replace(headers=options.headers, names=None),
                destination,
                begin=progress.begin,
                wrote=progress.wrote,
            )
        finally:
            reporter.end()
            connect.warn_of_belief(export.believed, reporter)
            connect.warn_of_unhashed(export.unhashed, reporter)
        if totals is None:
            heights = service.height_range(query.bounds)
            why = "" if len(heights) else reason(service, query.bounds, heights)
            reporter.warn(why or f"no blocks in that range: {chain_end(service.blocks.tip_height())}")
        elif not reporter.quiet:
            hashed = " (block hashes checked)" if given.hashes else ""
            kept = f", {totals.kept:,} skipped" if totals.kept else ""
            committed = f"; {totals.committed:,} committed to Delta tables" if totals.committed else ""
            unread = f"; chainq verify {quote(store.label)} checks the contents of those skipped" if totals.kept else ""
            calls = counted(totals.calls + own.number, "call")
            reporter.line(
                f"chainq: {store.label}: {counted(totals.written, 'partition')} written{hashed}{kept};"
                f" {counted(totals.rows, 'row')}, {in_bytes(totals.size)}, {calls}{committed}{unread}"
            )


class _OwnCalls:
    """Counts the calls of the coordinator; those of workers come with what they have done."""

    def __init__(self) -> None:
        self.number = 0

    def open(self, options: ServiceOptions, *, report: Callable[[Report], None], **listeners: Any) -> Service:
        """Return a service whose calls are counted."""

        def count(one: Report) -> None:
            self.number += 1
            report(one)

        return Service(options, report=count, **listeners)


def _query(given: ExportCommand) -> ExportQuery:
    """Return what the arguments ask for. Raises UsageError."""
    words = given.words or []
    ranges = [word for word in words if _RANGE.match(word)]
    commands = [word for word in words if word not in ranges]
    if len(ranges) > 1:
        raise UsageError(f"two ranges, {ranges[0]} and {ranges[1]}: expected one")
    bounds = read_bounds(given, ranges[0] if ranges else None, whole=True)
    if given.no_full_blocks and NAME not in commands:
        raise UsageError(f"--no-full-blocks needs {NAME}")
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
    )


def _check_installed(given: ExportCommand, query: ExportQuery) -> None:
    """Raise UsageError if optional packages that the options need are not installed."""
    stores = given.to.partition("://")[0].lower() in STORES
    wanted = {"delta": query.delta, "dask": given.engine == "dask", "hashes": query.hashes, "export": stores}
    check_installed([extra for extra, needed in wanted.items() if needed])


def _with_hashes(query: ExportQuery) -> ExportQuery:
    """Return the query with block hashes. Raises UsageError without a command of blocks."""
    from chainq.fetching.links import TIERS

    if query.commands and not {NAME, *TIERS, *DERIVED} & {*query.commands}:  # the others are not read from blocks
        raise UsageError(f"--hashes needs blocks, full-blocks or {NAME}", "add one of them to the commands")
    return query._replace(hashes=True)


def _engine(given: ExportCommand, workers: int, reporter: Reporter, progress: Progress) -> Engine:
    """Return the engine of the options. Raises UsageError."""
    if given.engine == "dask":
        from chainq.lake.cluster import DaskEngine

        return DaskEngine(given.scheduler, workers, reporter)
    return LocalEngine(workers, reporter, progress.advanced)


def _list(export: Export, query: ExportQuery, reporter: Reporter) -> None:
    """Print the partitions to write, as a table on a terminal, and how many they are."""
    settings = output.settings(_LISTED, OutputOptions())
    plan = export.plan()
    todo = plan.todo if plan else []
    found = [
        {"command": one.spec.command, "start": one.spec.start, "end": one.spec.end, "reason": one.reason}
        for one in todo
    ]
    with open_sink(None) as sink:
        writer = settings.begin(reporter, sink, counted=False, selected=True)  # the sum counts
        writer.write([msgspec.Raw(msgspec.json.encode(one)) for one in found])
        writer.close()
    if not reporter.quiet:
        why = without_range(plan) if plan and query.unbounded else ""
        kept = len(plan.kept) if plan else 0
        reporter.line(f"chainq: {counted(len(found), 'partition')} to write, {kept:,} complete{why}")
