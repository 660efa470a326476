"""`chainq sql`: a query over a data set, or over the last blocks, which are fetched into memory first."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw

from chainq.catalog.identifiers import is_data_set
from chainq.catalog.methods import BY_COMMAND, Column, Kind, Method
from chainq.catalog.tables import COMMANDS
from chainq.cli import connect, output, stdin
from chainq.cli.query import is_range, read_bounds
from chainq.cli.report import Reporter
from chainq.cli.sql_prompt import DOTTED, SqlPrompt
from chainq.config import values as config_values
from chainq.config.server import completed
from chainq.defaults import DEFAULT_LAST
from chainq.errors import Phrase, ResponseError, Shortfall, UsageError
from chainq.fetching.service import Service
from chainq.fetching.short_range import unreached
from chainq.formats.chart_result import ResultChart
from chainq.formats.protocol import Format, OutputSpec
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange
from chainq.lake.sql import Database, Result, view_name
from chainq.lake.sql_errors import single_file
from chainq.planning.chunking import first_requests
from chainq.process.progress import heights_of
from chainq.process.signals import signals_deferred
from chainq.query import Query
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.stored import last_run
from chainq.stored.open import open_store
from chainq.text.humanize import counted
from chainq.text.sanitize import quoted

if TYPE_CHECKING:
    from chainq.cli.tool_options import SqlOptions


SHOWN, COUNTED = 40, 100_000
"""Rows of a table at the prompt, half as many as lines, and the number from which on the others are not counted."""


def run(given: "SqlOptions") -> None:
    """Print the result of a query, or of those that are typed at a prompt. Raises ChainqError."""
    words = list(given.words or ())
    query = _query(words)
    heights = next((word for word in words if is_range(word) and not os.path.exists(word)), None)  # noqa: PTH110
    if heights is not None:
        words.remove(heights)
    _check_words(words, query, given.url or "")
    bounds = read_bounds(given, heights, whole=False)
    if words and bounds != Bounds():
        raise UsageError("a range cannot be combined with DEST", "filter heights with WHERE")
    words = words or _of_url(given, bounds)
    if given.partial and not words:
        raise UsageError("--partial needs DEST")
    # Checked before anything is fetched. The columns are known only after the query; with heights no format is refused.
    settings = _settings((Column("height", "number"),), given)
    file = settings.file
    if query is None and file is not None:
        raise UsageError(Phrase("{output} needs a query"))
    reporter = connect.reporter(given)
    settings.warn_odd(reporter.warn, receipt=None)
    prepare: Callable[[str], object]
    unfinished = ""
    store = open_store(words[0], config_values.memory(given.max_memory)) if words else None
    before = f"{shlex.quote(words[0])} " if words else ""
    with Database() as database:
        if store is not None:
            database.add_data_set(store, partial=given.partial)
            unfinished = last_run.read(store).warning(store.label)
            prepare = database.tables
        else:
            prepare = _Fetched(database, bounds, given, reporter).add

        def answer(file: Path | None, text: str) -> None:
            nonlocal unfinished
            with open_sink(file) as sink:
                if store is not None and query is None:
                    database.add_data_set(store, partial=given.partial)  # an export may have written more meanwhile
                prepare(text)
                if unfinished:
                    reporter.warn(unfinished)
                    unfinished = ""  # said once, at a prompt too
                result = database.run(text)
                said = _warn(database, reporter)
                _print(result, sink, given, reporter, prompt=before if query is None else None)
                _warn(database, reporter, said)

        if query is None:
            SqlPrompt(database.schema(), partial(answer, None), database.ends).run()
        else:
            answer(file, query)


def _of_url(given: "SqlOptions", bounds: Bounds) -> list[str]:
    """Return the data set that the URL names, if any: without a range it is queried whole, unlike a service."""
    url = "" if bounds != Bounds() else completed(connect.service_options(given)).url
    return [url] if is_data_set(url) else []


def _warn(database: Database, reporter: Reporter, said: Sequence[str] = ()) -> list[str]:
    """Warn of heights and values that the query lacks, apart from what was `said`; return what the warnings say."""
    lacking = database.lacking()
    for text in lacking:
        if text not in said:
            reporter.warn(Shortfall("{}", text))
    return lacking


def _check_words(words: list[str], query: str | None, url: str) -> None:
    """Raise UsageError unless `words`, the arguments before the query, the query and the URL are what they must be."""
    place = words[0] if words else url
    if os.path.isfile(place):  # noqa: PTH113  # a Path raises for names that are too long
        raise UsageError(
            f"{quoted(place)} is a file: expected the folder or URL of an export", single_file(query or "", place)
        )
    typed = words[0] if query is None and words else query or ""
    if typed.split(" ")[0].rstrip(";") in DOTTED and not os.path.exists(typed):  # noqa: PTH110
        table = typed.partition(" ")[2] or "blocks"
        hint = f"the query 'describe {table}' lists columns, and 'show tables' the tables of an export"
        raise UsageError(f"{quoted(typed)} is for the prompt: expected one SELECT in quotes", hint)
    if words and words[0] == "demo:":
        of_url = f"chainq sql --url demo:{'' if query is None else f' {shlex.quote(query)}'}"
        raise UsageError("demo: is a service: expected the folder or URL of an export", of_url)
    if len(words) > 1:
        raise UsageError(f"unexpected argument {words[1]}: expected [RANGE|DEST] and one query in quotes")
    if query is None and not (stdin.is_terminal() and output.on_terminal(None)):  # nobody types one
        hint = f"chainq sql {shlex.quote(words[0])} 'select ...' queries a data set" if words else ""
        if words and not is_data_set(words[0]):
            given_word = f"{quoted(words[0])} is not a query"
        else:
            given_word = "no query" if stdin.is_terminal() else "no query on standard input"
        raise UsageError(f"{given_word}: expected one SELECT in quotes", hint)
    if query is not None and not _looks_like_query(query):
        if words and _looks_like_query(words[0]):
            raise UsageError("the query comes last", f"chainq sql {shlex.quote(query)} {shlex.quote(words[0])}")
        raise UsageError(f"{quoted(query)} is not a query: expected one SELECT in quotes")


def _query(words: list[str]) -> str | None:
    """Take the query off the arguments, or read it from standard input; None if there is none. Raises UsageError."""
    piped = words[-1:] == ["-"]
    if piped or len(words) > 1 or (words and _looks_like_query(words[0])):
        query = words.pop()
        if not piped:
            return query
    return stdin.everything().strip() or None if piped or (sys.stdin and not stdin.is_terminal()) else None


def _settings(columns: tuple[Column, ...], given: "SqlOptions") -> output.OutputSettings:
    """Return how to write rows of these columns. Raises UsageError."""
    # A chart draws other columns, too.
    charted = any(column.path == "height" for column in columns) or output.format_name(given) == "chart"
    method = Method("sql", "sql", "", "", columns, height="height" if charted else None)
    return output.settings(method, given)


def _looks_like_query(text: str) -> bool:
    """Return whether a text can be meant as SQL: it is empty, or more than the name of a folder or a table."""
    return re.fullmatch(r"[^\s(*\"']+", text) is None


class _Fetched:
    """Tables of a range of the service, fetched into memory when a query names them, all of the same heights."""

    def __init__(self, database: Database, bounds: Bounds, given: "SqlOptions", reporter: Reporter) -> None:
        self._database, self._bounds, self._given, self._reporter = database, bounds, given, reporter
        self._heights: HeightRange | None = None
        self._fetched: set[str] = set()

    def add(self, query: str) -> None:
        """Fetch the tables that a query names and that were not fetched before. Raises ChainqError."""
        options, reporter = connect.service_options(self._given), self._reporter
        try:
            named = self._database.tables(query)
        except UsageError as error:
            url = completed(options).url
            if "no table" in error.message and is_data_set(url):
                error.hint = f"an export has all its tables without a range: chainq sql {shlex.quote(url)} 'QUERY'"
            raise
        if not named:
            raise UsageError("the query names no table", f"the tables are {', '.join(map(view_name, COMMANDS))}")
        commands = [command for command in named if command not in self._fetched]
        if not commands:
            return
        with connect.open_service(options, reporter) as service:
            reporter.draw()
            first, heights = self._heights is None, self._heights or service.height_range(self._bounds)
            self._heights = heights
            calls = sum(1 for name in commands for _ in first_requests(Query(BY_COMMAND[name]), heights))
            what = f"{heights}: about {counted(calls, 'call')}" if len(heights) else "no heights: the range is empty"
            reporter.remark(f"fetching {', '.join(map(view_name, commands))} of {what}")
            if first and self._bounds == Bounds() and heights.start:
                reporter.note(f"only the last {DEFAULT_LAST} blocks are queried; a range such as 0:500 queries others")
            reporter.begin(len(heights) * len(commands), heights_of(len(commands)))
            ends: list[int] = []
            try:
                for command in commands:
                    wanted = Query(BY_COMMAND[command], bounds=self._bounds)
                    rows = _rows(service, wanted, heights, reporter, ends)
                    self._database.add_rows(command, rows, reporter.warn)
                    self._fetched.add(command)
                if first and ends and (why := unreached(service, self._bounds, HeightRange(heights.start, max(ends)))):
                    reporter.warn(why)
            finally:
                reporter.end()
                connect.warn_of_belief(service.believed, reporter, hint="")


def _rows(
    service: Service, query: Query, heights: HeightRange, reporter: Reporter, ends: list[int]
) -> Iterator[list[Raw]]:
    """Yield the rows of a range, and add to `ends` up to which height, excluded, they are complete."""
    for batch in service.fetch_range(query, heights):
        yield batch.rows
        if batch.heights is not None:
            ends.append(batch.heights.end)
        reporter.wrote(len(batch.heights or ()), len(batch.rows))


def _over_height(columns: tuple[Column, ...]) -> bool:
    """Return whether a chart of a result is one over block height: of its rows, or of one column of numbers."""
    others = [column for column in columns if column.path != "height"]
    drawn = all(column.kind in (Kind.HEIGHT, Kind.DATA) for column in others)
    return len(others) < len(columns) and len(others) < 2 and drawn


def _first(batches: Iterator[list[Raw]], number: int, of: str, said: list[str]) -> Iterator[list[Raw]]:
    """Yield the first rows of a result, and say how many more there are, without counting a large result to its end.

    `of`: the words before the query of a command that writes all.
    """
    left, more = number, 0
    for rows in batches:
        if left:
            yield rows[:left]
        more += max(0, len(rows) - left)
        left = max(0, left - len(rows))
        if more > COUNTED:
            break
    if more:
        many = f"more than {COUNTED:,}" if more > COUNTED else f"{more:,}"
        said.append(f"… {many} more {'row' if more == 1 else 'rows'}; chainq sql {of}-o FILE 'QUERY' writes all\n")


def _fitting(rows: Sequence[Raw], make: Format, spec: OutputSpec) -> int:
    """Return how many rows a table at the prompt has: fewer if each takes several lines, but at least one."""
    drawn = BytesIO()
    make(drawn, spec).write(rows[:SHOWN])
    lines = drawn.getvalue().count(b"\n")
    return SHOWN if lines < 2 * SHOWN else max(1, 2 * SHOWN * len(rows[:SHOWN]) // lines)


def _print(result: Result, sink: Sink, given: "SqlOptions", reporter: Reporter, *, prompt: str | None) -> None:
    """Write a result in the format that is wanted; at a prompt a table of its first rows. `prompt`: the words before
    the query of a command like it, None without a prompt."""
    settings = _settings(result.columns, given)
    chart, over_height = settings.format == "chart", _over_height(result.columns)
    spec = settings.spec._replace(selected=True, warn=reporter.warn)
    if chart and over_height:
        spec = spec._replace(command="rows")  # what it counts if there is no other column
    writer = ResultChart(sink, spec) if chart and not over_height else settings.make(sink, spec)
    said: list[str] = []
    some = result.batches
    if prompt is not None and settings.format == "table":
        first = next(some, [])
        some = _first(chain([first], some), _fitting(first, settings.make, spec), prompt, said)
    for rows in some:
        with signals_deferred():
            try:
                writer.write(rows)
            except ResponseError as error:  # the query computed the value, and no service sent it
                raise UsageError(error.message, error.hint) from None
            sink.keep()
    with signals_deferred():
        writer.close()
        sink.write("".join(said).encode())
