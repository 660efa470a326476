"""`chainq sql`: a query over a data set, or over the last blocks, which are fetched into memory first."""

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Column, Method, Shape
from chainq.cli import connect, output
from chainq.cli.query import read_bounds
from chainq.cli.report import Reporter
from chainq.errors import IncompleteError, Phrase, UsageError
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds
from chainq.heights.grid import COMMANDS
from chainq.heights.range import HeightRange
from chainq.lake.open import open_store
from chainq.lake.sql import Database, Result, view_name
from chainq.planning.chunking import first_requests
from chainq.process.progress import heights_of
from chainq.process.signals import signals_deferred
from chainq.query import Query
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.text.humanize import counted
from chainq.text.sanitize import quoted

if TYPE_CHECKING:
    from chainq.cli.commands import SqlOptions


def run(given: "SqlOptions") -> None:
    """Print the result of a query. Raises ChainqError."""
    *destination, query = given.words
    if len(destination) > 1:
        raise UsageError(f"unexpected argument {destination[1]}: expected [DEST] and one query in quotes")
    if not _looks_like_query(query):
        if destination and _looks_like_query(destination[0]):
            raise UsageError("the query comes last", f"chainq sql {shlex.quote(query)} {shlex.quote(destination[0])}")
        hint = "" if destination else f"chainq sql {shlex.quote(query)} 'select ...' queries a data set"
        raise UsageError(f"{quoted(query)} is not a query: expected one SELECT in quotes", hint)
    bounds = read_bounds(given, whole=False)
    if destination and bounds != Bounds():
        raise UsageError("a range cannot be combined with DEST", "select heights by WHERE")
    if given.partial and not destination:
        raise UsageError("--partial needs DEST")
    # Checked before anything is fetched. The columns are known only after the query; with heights no format is refused.
    file = _settings((Column("height", "number"),), given).file
    reporter = connect.reporter(given)
    with Database() as database, open_sink(file) as sink:
        if destination:
            database.add_data_set(open_store(destination[0]))
            if gaps := _gaps(database, database.tables(query)):
                if not given.partial:
                    raise IncompleteError(
                        gaps, Phrase("see chainq verify DEST; {partial} queries the rest", partial=True)
                    )
                reporter.warn(gaps)
        else:
            _fetch(database, query, bounds, given, reporter)
        _print(database.run(query), sink, given, reporter)


def _settings(columns: tuple[Column, ...], given: "SqlOptions") -> output.OutputSettings:
    """Return how to write rows of these columns. Raises UsageError."""
    height = "height" if any(column.path == "height" for column in columns) else None
    method = Method("sql", "sql", "", "", (), Shape.ROWS, columns, "", height=height)
    return output.settings(method, given)


def _looks_like_query(text: str) -> bool:
    """Return whether a text can be meant as SQL: it is empty, or more than the name of a folder or a table."""
    return re.fullmatch(r"[^\s(*\"']+", text) is None


def _gaps(database: Database, commands: list[str]) -> str:
    """Return in one line which heights the tables lack, between their partitions and where these are damaged."""
    lacking = []
    for command in commands:
        gaps = database.gaps[command]
        shown = ", ".join(f"{gap.start}-{gap.end - 1}" for gap in gaps[:3])
        more = f" and {counted(len(gaps) - 3, 'gap')} more" if len(gaps) > 3 else ""
        if gaps:
            lacking.append(f"{view_name(command)} lacks heights {shown}{more}")
    return f"{'; '.join(lacking)}: the data set has no whole partition of them" if lacking else ""


def _fetch(database: Database, query: str, bounds: Bounds, given: "SqlOptions", reporter: Reporter) -> None:
    """Fetch the tables that the query names, for the range, into memory."""
    commands = database.tables(query)
    if not commands:
        raise UsageError("the query names no table", f"the tables are {', '.join(map(view_name, COMMANDS))}")
    with connect.open_service(connect.service_options(given), reporter) as service:
        reporter.draw()
        heights = service.height_range(bounds)
        calls = sum(1 for name in commands for _ in first_requests(BY_COMMAND[name], heights, None))
        if not reporter.quiet:
            names = ", ".join(map(view_name, commands))
            reporter.line(f"chainq: fetching {names} of {heights}: about {counted(calls, 'call')}")
        reporter.begin(len(heights) * len(commands), heights_of(len(commands)))
        try:
            for command in commands:
                database.add_rows(command, _rows(service, BY_COMMAND[command], heights, reporter))
        finally:
            reporter.end()
            connect.warn_of_belief(service.believed, reporter, hint="")


def _rows(service: Service, method: Method, heights: HeightRange, reporter: Reporter) -> Iterator[list[Raw]]:
    for batch in service.fetch_range(Query(method), heights):
        yield batch.rows
        reporter.wrote(len(batch.heights or ()), len(batch.rows))


def _print(result: Result, sink: Sink, given: "SqlOptions", reporter: Reporter) -> None:
    """Write a result in the format that is wanted."""
    settings = _settings(result.columns, given)
    writer = settings.make(sink, settings.spec._replace(selected=True, warn=reporter.warn))
    for rows in result.batches:
        with signals_deferred():
            writer.write(rows)
            sink.keep()
    with signals_deferred():
        writer.close()
