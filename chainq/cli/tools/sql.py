"""`chainq sql`: a query over a data set, or over the last blocks, which are fetched into memory first."""

import gc
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Raw

from chainq.catalog.identifiers import is_data_set
from chainq.catalog.methods import BY_COMMAND, Column, Schema
from chainq.catalog.tables import FETCHED
from chainq.cli import connect, output, stdin
from chainq.cli.query import read_bounds, split_range
from chainq.cli.report import Reporter
from chainq.config.server import completed
from chainq.defaults import DEFAULT_LAST
from chainq.errors import Shortfall, UsageError
from chainq.fetching.lookups import with_height
from chainq.fetching.reading import Reading
from chainq.heights.bounds import Bounds
from chainq.lake.scan import view_name
from chainq.lake.sql import Database, statements
from chainq.lake.store import open_store
from chainq.process.signals import signals_deferred
from chainq.query import Query
from chainq.sinks.open import open_sink
from chainq.text.sanitize import quoted

if TYPE_CHECKING:
    from chainq.cli.tool_options import SqlOptions


def run(given: "SqlOptions") -> None:
    """Print the result of a query; without one, the views of a data set for DuckDB. Raises ChainqError."""
    destination, bounds, query = _arguments(given)
    # Checked before anything is fetched. The columns are known only after the query; with heights no format is refused.
    settings = _settings((Column("height", "number"),), given)
    reporter = Reporter(given)
    store = open_store(destination, connect.service_options(given).max_memory) if destination else None
    if store is not None and query is None:
        if settings.file is not None:
            raise UsageError("-o needs a query")
        output.write(statements(store, reporter.warn, partial=given.partial))
        return
    gc.enable()
    database = Database()
    if store is not None:
        database.add_data_set(store, partial=given.partial)
    with open_sink(settings.file) as sink:
        if store is None:
            _fetch(database, query or "", bounds, given, reporter)
        columns, batches = database.run(query or "")
        settings = _settings(columns, given)
        writer = settings.begin(reporter, sink, selected=True)
        for rows in batches:
            with signals_deferred():
                writer.write(rows)
                sink.keep()
        with signals_deferred():
            writer.close()
        for text in database.lacking():
            reporter.warn(Shortfall(text))


def _arguments(given: "SqlOptions") -> tuple[str, Bounds, str | None]:
    """Return the data set, empty for a service, the bounds of what is fetched of that, and the query, which only a data
    set may be without. Raises UsageError."""
    words = list(given.words or ())
    taken = len(words) > 1 or words == ["-"] or (len(words) == 1 and _looks_like_query(words[0]))
    query = words.pop() if taken else None
    piped = query == "-" or (query is None and sys.stdin is not None and not sys.stdin.isatty())
    if piped:
        query = stdin.everything().strip() or None
    heights, words = split_range(words)
    if len(words) > 1:
        raise UsageError(f"unexpected argument {words[1]}: expected [RANGE|DEST] and one query in quotes")
    wrong = [word for word in words if not is_data_set(word)] if query is None else [query]
    if wrong and not (query is not None and _looks_like_query(query)):
        raise UsageError(f"{quoted(wrong[0])} is not a query: expected one SELECT in quotes")
    bounds = read_bounds(given, heights, whole=False)
    if words and bounds != Bounds():
        raise UsageError("a range cannot be combined with DEST")
    if not words and bounds == Bounds() and is_data_set(url := completed(connect.service_options(given)).url):
        words = [url]  # without a range it is queried whole, unlike a service
    if given.partial and not words:
        raise UsageError("--partial needs DEST")
    if query is None and (taken or not words):
        raise UsageError(f"no query{' on standard input' * piped}: expected one SELECT in quotes")
    return words[0] if words else "", bounds, query


def _settings(columns: tuple[Column, ...], given: "SqlOptions") -> output.OutputSettings:
    """Return how to write rows of these columns. Raises UsageError."""
    charted = any(column.path == "height" for column in columns)
    return output.settings(Schema(command="sql", columns=columns, height="height" if charted else None), given)


def _looks_like_query(text: str) -> bool:
    """Return whether a text can be meant as SQL: it is empty, or more than the name of a folder or a table."""
    return re.fullmatch(r"[^\s(*\"']+", text) is None


def _fetch(database: Database, query: str, bounds: Bounds, given: "SqlOptions", reporter: Reporter) -> None:
    """Fetch the tables that a query names into memory, all of the same heights of the service. Raises ChainqError."""
    options = connect.service_options(given)
    commands = database.tables(query)
    if not commands:
        raise UsageError(f"the query names no table: expected {', '.join(map(view_name, FETCHED))}")
    with connect.open_service(options, reporter) as service:
        reporter.draw()
        heights = service.height_range(bounds)
        what = heights if len(heights) else "no heights: the range is empty"
        reporter.trace(f"fetching {', '.join(map(view_name, commands))} of {what}")
        if bounds == Bounds() and heights.start:
            reporter.note(f"only the last {DEFAULT_LAST} blocks are queried; a range such as 0:500 queries others")
        reporter.begin(len(heights) * len(commands), "heights of all tables")
        readings = [Reading(Query(BY_COMMAND[command], bounds=bounds), service) for command in commands]
        try:
            for command, reading in zip(commands, readings, strict=True):
                database.add_rows(command, _rows(reading, reporter), reporter.warn)
            for note in readings[-1].notes():
                reporter.warn(note.text)
        finally:
            reporter.end()
            for note in readings[-1].doubts():
                reporter.warn(note.text)


def _rows(reading: Reading, reporter: Reporter) -> Iterator[list[Raw]]:
    """Yield the rows of a range."""
    reading.resolve()
    batches = reading.batches()
    for batch in map(with_height, batches) if reading.query.by_height else batches:
        reading.took(batch)
        yield batch.rows
        reporter.wrote(len(batch.heights or ()), len(batch.rows))
