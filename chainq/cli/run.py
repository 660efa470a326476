"""One data command from its query to its last byte: requests, rows, format, sink.

What fails is raised, with a note on how to get the rest if that is known; `main` prints it.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from chainq.catalog.dialects import Dialect, Value, is_shared
from chainq.catalog.methods import BY_COMMAND, Method, Role, Schema, Shape
from chainq.cli import connect, output
from chainq.cli.output import OutputSettings
from chainq.cli.query import check_page_size, lookups, resume_settings
from chainq.cli.report import Reporter
from chainq.defaults import DEFAULT_LAST
from chainq.errors import ChainqError, NotFoundError, Shortfall, UsageError
from chainq.fetching.blocks import check_age
from chainq.fetching.calls import PUBLISHED
from chainq.fetching.lookups import with_height
from chainq.fetching.reading import Reading, check_one_page
from chainq.fetching.service import Service
from chainq.formats.protocol import Writer
from chainq.heights.bounds import LATEST, Bounds
from chainq.heights.range import HeightRange
from chainq.process.signals import PipeClosed, signals_deferred
from chainq.query import STDIN, Batch, Lookup, Query
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.text.humanize import utc
from chainq.text.sanitize import mask_url
from chainq.transport.jsonrpc import encode

if TYPE_CHECKING:
    from chainq.cli.options import MethodOptions
    from chainq.resume.rounds import ResumeSettings

BEGINNING = 40  # rows that a table waits for, so that one header is above all of them
BEGINNING_READ = 2000  # rows that are read at most for those that a table holds back: a filter may leave few


class Picked(NamedTuple):
    """What a command has whose rows are picked from those of a method (`Query.pick`).

    `schema`: the rows as they are printed; `check`: called with the service before any request; `identity`: what a
    checkpoint tells queries apart by, beside the options.
    """

    schema: Schema
    check: Callable[[Service], None]
    identity: Mapping[str, object]


def run(query: Query, given: "MethodOptions", reporter: Reporter, picked: Picked | None = None) -> None:
    """Run the command of one method, as its options say. Raises ChainqError, PipeClosed or Interrupted."""
    method, resume = query.method, resume_settings(query, given)
    appended = resume is not None and (resume.checkpoint or resume.output) is not None
    settings = output.settings(picked.schema if picked else method, given, appended=appended)
    query = query._replace(located=any(column.computed for column in settings.spec.columns))
    given.lake = given.lake if method.stored else None  # nor is the profile's read
    options = connect.service_options(given)
    with ExitStack() as stack:
        service = stack.enter_context(connect.open_service(options, reporter))
        if picked is not None:
            picked.check(service)
        if method.page_size_max is not None:
            check_page_size(query, service.dialect.known(method) or PUBLISHED)
        identity = {**_identity(service, query, settings), **(picked.identity if picked else {})}
        if given.dry_run:
            _print_requests(service, query, resume, identity)
            return
        reading = Reading(query, service, lookups(query))
        stack.callback(reporter.end)
        stack.callback(_say_doubts, reading, reporter)
        if resume is None:
            if given.max_age is not None:
                check_age(service.blocks.tip(), given.max_age)
            _Run(reading, settings, reporter).write()
            return
        from chainq.resume import follow

        gc.enable()
        reporter.draw(rows_on_terminal=settings.spec.terminal)
        resume = resume._replace(header=settings.has_header)
        follow.run(service, query, resume, identity, partial(settings.begin, reporter), reporter.warn, reporter)


def _say_doubts(reading: Reading, reporter: Reporter) -> None:
    """Say what the rows that were written rest on; a reader that has gone is told of that alone."""
    reader_gone = isinstance(sys.exception(), PipeClosed)
    for note in reading.doubts():
        if not reader_gone or isinstance(note.text, Shortfall):
            reporter.warn(note.text)


class _Run:
    """The rows of a reading on their way into the output."""

    def __init__(self, reading: Reading, settings: OutputSettings, reporter: Reporter) -> None:
        self.reading, self.query, self.settings, self.reporter = reading, reading.query, settings, reporter
        self.opened = False  # the output has its first bytes, if it begins with any, such as a header

    def write(self) -> None:
        """Write all rows. Raises ChainqError and PipeClosed."""
        with open_sink(self.settings.file) as sink:
            if STDIN not in (self.query.lookups or ()) or not os.isatty(0):  # else somebody types there
                self.reporter.draw(rows_on_terminal=self.settings.spec.terminal)
            self.reading.resolve()
            self.reporter.begin(*self._work())
            try:
                self._write(sink)
            except NotFoundError as error:
                connect.note_tip(error, self.reading.service)
                raise
            except (PipeClosed, UsageError):  # these and the last leave nothing to resume
                raise
            except BaseException as error:
                if rest := self._rest(error):
                    error.add_note(rest)
                raise

    def _work(self) -> tuple[int | None, str]:
        """Return how many units the progress counts, None if that is not known yet, and what they are."""
        query = self.query
        if query.lookups is not None:
            known = all(isinstance(one, int | str) and one != STDIN for one in query.lookups)
            return len(query.lookups) if known else None, "heights" if query.by_height else "IDs"
        if query.bounds is None:
            return query.limit, "rows"
        return len(self.reading.heights) if query.limit is None else None, "heights"

    def _write(self, sink: Sink) -> None:
        query, settings, reading = self.query, self.settings, self.reading
        read = heights = settings.spec.read
        if query.bounds is not None and query.page is None and query.limit is None:
            read = lambda: reading.read.edges  # noqa: E731
            heights = heights if query.reverse or query.where is not None or query.by_height else read
        batches = self._rows()  # raises UsageError before the first byte
        writer = settings.begin(self.reporter, sink, single=query.single, heights=heights, read=read)
        sink.keep()
        self.opened = True
        self._copy(_begun_together(batches) if settings.format == "table" else batches, writer, sink)
        for note in reading.notes():
            (self.reporter.warn if note.warning else self.reporter.note)(note.text)

    def _rows(self) -> Iterator[Batch]:
        """Return the rows as they are written, with what chainq adds to them."""
        query, spec, can = self.query, self.settings.spec, self.settings.can
        verbatim = can.verbatim and not (spec.selected or spec.flatten)
        shown = query.method.columns if can.needs_heights else spec.columns
        computed = query.by_height and any(column.computed for column in shown) and not verbatim
        return map(with_height, self.reading.batches()) if computed else self.reading.batches()

    def _copy(self, batches: Iterator[Batch], writer: Writer, sink: Sink) -> None:
        """Write batches until they end; a signal waits for the end of a batch.

        NotFoundError is raised after the last row that exists: with a row the output is finished, without one it is
        left to be abandoned, so that no file is replaced by nothing.
        """
        try:
            for batch in batches:
                # Not before: all is loaded now, and a lookup or two, which end here, are spared a tenth of their time.
                gc.enable()
                with signals_deferred():
                    writer.write(batch.rows)
                    sink.keep()  # before they count: a row that comes twice is better than one not requested
                    self.reading.took(batch)
                    self.reporter.wrote(1 if batch.heights is None else len(batch.heights), batch.shown)
        except NotFoundError:
            with signals_deferred():
                writer.close()
                sink.keep()
                if self.reading.shown:
                    sink.finish()
            raise
        with signals_deferred():
            writer.close()

    def _rest(self, error: BaseException) -> str:
        """Return how to get the rows that are left; empty if none is written, and the same command fails again."""
        settings, reading, again = self.settings, self.reading, getattr(error, "again", True)
        if settings.unchanged:
            more = again and isinstance(error, ChainqError) and not error.hint
            return settings.unchanged + ("; run the command again" if more else "")
        if self.query.single or not (again or reading.begun):
            return ""
        if not settings.can.endless:
            return f"the {settings.format} output is incomplete; run the command again"
        if reading.left is None:
            return f"resume after height {reading.last.start}" if reading.last else ""
        start, end = reading.left.edges
        rest = f"resume with --start {start} --end {end}{' --reverse' * self.query.reverse}"
        rest += "" if reading.limit is None else f" --limit {reading.limit}"
        return rest + " --no-header" * (settings.has_header and self.opened)  # which is written once


def _identity(service: Service, query: Query, settings: OutputSettings) -> dict[str, object]:
    """Return what a checkpoint tells queries apart by, as JSON values without secrets."""
    method, spec = query.method, settings.spec
    flatten = spec.flatten and settings.can.verbatim  # csv is the same without it
    switches = {"no-header": not spec.header, "flatten": flatten, "typed": bool(settings.typed)}
    return {
        "command": spec.command,
        "arguments": {role.value: value for role, value in query.arguments.items()},
        "start": query.bounds.start or 0 if query.bounds else 0,
        "url": mask_url(service.url),
        # As stated, and not as detected: a checkpoint is opened, and its place found writable, before any request.
        "dialect": None if is_shared(method) else service.dialect.name,
        # A table is only looked at: other runs may write to a pipe.
        "format": settings.format if settings.can.append else "jsonl",
        "columns": settings.requested,
        **{name: True for name, is_so in switches.items() if is_so},
        **({} if query.where is None else query.where.given),
    }


def _begun_together(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the first rows as one batch, which settles the widths of columns; then the others as they come."""
    held: Batch | None = None
    try:
        for batch in batches:
            held = batch if held is None else held.joined(batch)
            if len(held.rows) >= BEGINNING or held.shown >= BEGINNING_READ:
                break
    finally:  # what has come is written before an error
        if held is not None:
            yield held
    yield from batches


# --dry-run

_Call = tuple[Method, Mapping[Role, Value]]
_TIP: _Call = (BY_COMMAND["latest"], {})


def _print_requests(
    service: Service, query: Query, resume: "ResumeSettings | None", identity: Mapping[str, object]
) -> None:
    """Print the requests that the query would send, one per line. Ranges are divided as they are before any response.

    What depends on a response is a word in its place, such as `tip-99`. An unknown dialect is shown as chain.
    """
    if resume is not None:
        from chainq.resume import follow

        query = follow.first_round(query, resume, identity)
    dialect = service.dialect.known(query.method) or PUBLISHED
    by_key = query.lookups is not None or query.by_height
    calls = _lookup_calls(service, query, dialect) if by_key else _range_calls(service, query)
    with open_sink(None) as sink:
        for number, (method, arguments) in enumerate(calls, 1):
            name, params = dialect.call(method, {**query.arguments, **arguments})
            sink.write(encode(name, params, number) + b"\n")


def _lookup_calls(service: Service, query: Query, dialect: Dialect) -> Iterator[_Call]:
    """Yield the request for each height or ID, and before all of them one for the tip if any depends on it.

    Where the method takes the row id of a block, the block is requested first.
    """
    role = Role.HEIGHT if query.by_height else Role.ID
    wanted = [one for one in lookups(query) if one is not None] if query.bounds is None else [query.bounds]
    if any(isinstance(one, Bounds) or one == LATEST for one in wanted):
        yield _TIP
    for value in (value for one in wanted for value in _values(one)):
        if isinstance(value, int) and not service.requested(query, HeightRange(value, value + 1)):
            continue
        if query.method.shape is Shape.ROWS and dialect.transactions_by_row_id:
            yield BY_COMMAND["block"], {role: value}
            value = f"row id of block {value}"
        yield query.method, {role: value}


def _values(lookup: Lookup | Bounds) -> Iterable[Value]:
    """Return what is sent for a lookup, or for each height of a range."""
    if isinstance(lookup, Bounds):
        return range(*lookup.fixed) if lookup.fixed else ["each height from {} to below {}".format(*_words(lookup))]
    return ["tip" if lookup == LATEST else lookup]


def _range_calls(service: Service, query: Query) -> Iterator[_Call]:
    """Yield the requests of a range or a list; of a range that depends on the tip one, with words as its bounds."""
    from chainq.planning.chunking import first_requests, page_sizes

    method, bounds, paging = query.method, query.bounds, dict[Role, Value]()
    if method.page_size:
        chosen = page_sizes(query)[0] if method.ranged and query.page is None else query.page_size or method.page_size
        paging = {Role.PAGE: query.page or 0, Role.SIZE: chosen or 1}
    if bounds is None:
        yield method, paging
        return
    parts: Iterable[tuple[Value, Value]] = [bounds.fixed or _words(bounds)]
    if not bounds.fixed:
        yield _TIP
    elif query.page is not None:
        check_one_page(method, HeightRange(*bounds.fixed))
    else:
        if query.where:  # of rows that pass, nobody knows where they are
            query = query._replace(limit=None)
        some = service.requested(query, HeightRange(*bounds.fixed))
        parts = (request.heights.edges for part in some for request in first_requests(query, part))
    for start, end in parts:
        yield method, {Role.START: start, Role.END: end, **paging}


def _words(bounds: Bounds) -> tuple[Value, Value]:
    """Return both bounds, as words if they depend on the tip or on block times."""
    last = DEFAULT_LAST if bounds == Bounds() else bounds.last
    start = bounds.start if last is None else -last
    return _word(start, bounds.since, 0), _word(bounds.end, bounds.until, "tip+1")


def _word(bound: int | None, time: float | None, default: Value) -> Value:
    if time is not None:
        return f"first block at {utc(time)}"
    if bound is None:
        return default
    return bound if bound >= 0 else f"tip{bound + 1:+d}"
