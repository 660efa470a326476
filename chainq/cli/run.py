"""One data command from its query to its last byte: requests, rows, format, sink.

What fails is raised, with a note on how to get the rest if that is known; `main` prints it.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING

from chainq.catalog.dialects import is_shared
from chainq.catalog.methods import Method, Role
from chainq.cli import connect, output
from chainq.cli.output import OutputSettings
from chainq.cli.query import check_one_page, check_page_size, lookups, read_query, resume_settings
from chainq.cli.report import Reporter
from chainq.cli.stdin import check_open
from chainq.defaults import DEFAULT_LAST
from chainq.errors import NotFoundError, UsageError
from chainq.fetching.blocks import check_age
from chainq.fetching.lookups import with_height
from chainq.fetching.service import Service
from chainq.formats.protocol import Writer
from chainq.heights.block_time import parse_age
from chainq.heights.bounds import LATEST, Bounds
from chainq.heights.range import HeightRange
from chainq.process.signals import PipeClosed, signals_deferred
from chainq.query import STDIN, Batch, Lookup, Query, limited, matching
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.text.humanize import chain_end
from chainq.text.sanitize import mask_url, quoted

if TYPE_CHECKING:
    from chainq.cli.options import MethodOptions
    from chainq.resume.settings import ResumeSettings

SCREENFUL = 50  # rows of a list without heights on a terminal: nobody knows how long it is
BEGINNING_READ = 2000  # rows that are read at most for those that a table holds back: a filter may leave few


def run(
    method: Method,
    given: "MethodOptions",
    make: Callable[..., Service] = Service,
    identity: Mapping[str, object] = MappingProxyType({}),
    reporter: Reporter | None = None,
    totals: Callable[[], Sequence[str]] = tuple,
) -> None:
    """Run the command of one method, as its options say.

    `make`: what makes the service; `identity`: what a checkpoint tells queries apart by, beside the options;
    `reporter`: what prints to stderr, if the caller has it; `totals`: returns lines for the end of a table.
    Raises ChainqError, PipeClosed or Interrupted.
    """
    query = read_query(method, given)
    if query.lookups and STDIN in query.lookups:
        check_open()
    resume = resume_settings(query, given)
    max_age = None if query.bounds or given.max_age is None else parse_age(given.max_age, "max-age")
    settings = _settings(method, given, resume, totals)
    reporter = reporter or connect.reporter(given)
    lake = given.lake or "" if method.stored else None
    options = connect.service_options(given, patient=given.follow, strict=given.strict, lake=lake)
    with ExitStack() as stack:
        service = stack.enter_context(connect.open_service(options, reporter, make))
        if method.page_size_max is not None:
            check_page_size(query, service.dialect.known(method) or service.dialect.published)
        job = Run(service, query, settings, reporter, identity)
        if given.dry_run:
            from chainq.cli import dry_run

            dry_run.print_requests(service, query, resume, job.identity)
            return
        stack.callback(job.warn_at_end)
        stack.callback(reporter.end)
        stack.callback(job.warn_unseen)
        if resume is not None:
            job.resume(resume)
            return
        if max_age is not None:
            check_age(service.blocks.tip(), max_age)
        job.write()


def _settings(
    method: Method, given: "MethodOptions", resume: "ResumeSettings | None", totals: Callable[[], Sequence[str]]
) -> OutputSettings:
    """Return how the rows are written. Raises UsageError."""
    found = output.settings(
        method,
        given,
        appended=resume is not None and (resume.checkpoint is not None or resume.output is not None),
        endless=given.follow,
        no_check=given.no_check,
        flatten=given.flatten,
    )
    return found._replace(spec=found.spec._replace(totals=totals))


class Run:
    """A run of a query into its output. `identity`: what a checkpoint tells queries apart by, beside the options.

    `left`: the heights of a range that are not written yet. `read`: those from the first one up to the highest whose
    rows came, which is where the chain ended once all have come. `limit`: rows that are left, None without a limit.
    `last`: the heights of the batch written last. `begun`: some rows are written; `opened`: the output has its first
    bytes, if it begins with any, such as a header.
    """

    def __init__(
        self,
        service: Service,
        query: Query,
        settings: OutputSettings,
        reporter: Reporter,
        identity: Mapping[str, object],
    ) -> None:
        self._screenful = query.endless and settings.spec.terminal
        query = query._replace(limit=SCREENFUL) if self._screenful else query
        query = query._replace(located=any(column.computed for column in settings.spec.columns))
        self.service, self.query, self.settings, self.reporter = service, query, settings, reporter
        self.identity = {**_identity(service, query, settings), **identity}
        self.left: HeightRange | None = None
        self.read = HeightRange(0, 0)
        self.limit = query.limit
        self.last: HeightRange | None = None
        self.begun = self.opened = False

    def resume(self, resume: "ResumeSettings") -> None:
        """Write new rows, with `--follow` until interrupted."""
        from chainq.resume import follow

        def begin(sink: Sink, continued: bool) -> Writer:
            self.settings.warn_odd(reporter.warn)
            return self.settings.begin(reporter, sink, continued)

        reporter = self.reporter
        gc.enable()
        reporter.draw(rows_on_terminal=self.settings.spec.terminal)
        resume = resume._replace(header=self.settings.has_header)
        follow.run(self.service, self.query, resume, self.identity, begin, reporter.warn, reporter)

    def warn_at_end(self) -> None:
        """Warn of rows that rest on belief, and of hashes that were not checked."""
        believed = {**self.service.believed, **self.service.believed_lists}
        connect.warn_of_belief(believed, self.reporter, limited=self.limit == 0)
        connect.warn_of_unhashed(self.service.unhashed, self.reporter)

    def warn_unseen(self) -> None:
        """Warn of the fields of a filter that no row had, unless nobody reads on or no row came."""
        where = self.query.where
        if where is not None and self.reporter.filtered and not isinstance(sys.exception(), PipeClosed):
            for path in where.unseen:
                self.reporter.warn(f"no row has the column {quoted(path)}")

    def write(self) -> None:
        """Write all rows. Raises ChainqError and PipeClosed."""
        self.settings.warn_odd(self.reporter.warn)
        with open_sink(self.settings.file) as sink:
            self._draw()
            if self.query.bounds is not None:
                self._begin_range(self.query.bounds)
            try:
                self._write(sink)
            except NotFoundError as error:
                connect.note_tip(error, self.service)
                raise
            except (PipeClosed, UsageError):  # these and the last leave nothing to resume
                raise
            except BaseException as error:
                if rest := self._rest(again=getattr(error, "again", True)):
                    error.add_note(rest)
                raise

    def _draw(self) -> None:
        """Have the progress shown from the first request on, in what the query counts.

        How many heights a range has, the tip may decide; that is known later.
        """
        query, names = self.query, self.query.lookups or ()
        if not (STDIN in names and os.isatty(0)):  # somebody types them there
            self.reporter.draw(rows_on_terminal=self.settings.spec.terminal)
        if query.lookups is not None:
            known = all(isinstance(name, int | str) and name != STDIN for name in names)
            self.reporter.begin(len(names) if known else None, query.looked_up)
        elif query.bounds is None:
            self.reporter.begin(query.limit, "rows")

    def _begin_range(self, bounds: Bounds) -> None:
        heights = self.service.height_range(bounds, to_tip=self.query.reverse)
        self._warn_empty(bounds, heights)
        self.left, self.read = heights, HeightRange(heights.start, heights.start)
        self.reporter.begin(len(heights) if self.limit is None else None)

    def _write(self, sink: Sink) -> None:
        query, settings = self.query, self.settings
        whole = self.left is not None and query.page is None
        listed = len(query.lookups or ()) == 1 and isinstance((query.lookups or ())[0], Bounds)
        read = (lambda: self.read.edges) if (whole or listed) and query.limit is None else settings.spec.read
        heights = settings.spec.heights if listed or query.reverse or query.where is not None else read
        batches = self._rows()  # raises UsageError before the first byte
        writer = settings.begin(self.reporter, sink, single=query.single, heights=heights, read=read)
        sink.keep()
        self.opened = True
        if settings.format == "table":
            batches = _begun_together(batches)
        found = self._copy(batches, writer, sink)
        self._warn_uncalled(found=found)
        if STDIN in (query.lookups or ()) and not self.begun and self.limit != 0:  # a filter before it may find nothing
            self.reporter.note(f"standard input had no {query.looked_up}")
        if whole and query.bounds is not None and (self.limit != 0 or (query.reverse and len(self.read))):
            self._warn_unreached(query.bounds, self.read)
        if whole and query.bounds == Bounds() and self.limit != 0 and query.limit is not None and self.read.start:
            self.reporter.note(f"only the last {DEFAULT_LAST} blocks were read; --last N reads more")
        if self._screenful and self.limit == 0:
            self.reporter.note(f"only the first {SCREENFUL} rows were read; --limit N reads more")

    def _rows(self) -> Iterator[Batch]:
        """Yield the rows as they are written: those that pass the filter, with what chainq adds to them."""
        query, spec = self.query, self.settings.spec
        batches = limited(matching(self._batches(query), query.where), query.limit)
        verbatim = self.settings.can.verbatim and not (spec.selected or spec.flatten)
        shown = query.method.columns if self.settings.can.needs_heights else spec.columns
        computed = any(column.computed for column in shown) and not verbatim
        return map(with_height, batches) if computed else batches

    def _batches(self, query: Query) -> Iterator[Batch]:
        heights = self.left
        if query.page is not None:
            if heights is not None:
                check_one_page(query.method, heights)
            return self.service.fetch_one_page(query, heights)
        if heights is not None:
            return self.service.fetch_range(query, heights)
        if query.lookups is not None:
            return self.service.fetch_lookups(query.method, self._keys())
        if query.method.sized:
            return self.service.fetch_pages(query)
        return self.service.blocks.fetch_latest(known=True)

    def _keys(self) -> Iterator[Lookup | HeightRange | None]:
        """Yield what to look up: of a range its heights, as far as the tip; for `latest` the tip."""
        by_height = self.query.method.param(Role.HEIGHT) is not None
        for lookup in lookups(self.query):
            if isinstance(lookup, Bounds):
                heights = self.service.height_range(lookup, to_tip=True)
                self._warn_empty(lookup, heights)
                self._warn_unreached(lookup, heights)
                if self.query.lookups == (lookup,):
                    self.read = heights
                    self.reporter.begin(len(heights))
                yield heights
            else:
                yield self.service.blocks.latest_height() if by_height and lookup == LATEST else lookup

    def _copy(self, batches: Iterator[Batch], writer: Writer, sink: Sink) -> bool:
        """Write batches until they end, and return whether there was a row; a signal waits for the end of a batch.

        NotFoundError is raised after the last row that exists: with a row the output is finished, without one it is
        left to be abandoned, so that no file is replaced by nothing.
        """
        found = False
        try:
            for batch in batches:
                # Not before: all is loaded now, and a lookup or two, which end here, are spared a tenth of their time.
                gc.enable()
                with signals_deferred():
                    writer.write(batch.rows)
                    found = found or batch.shown > 0
                    sink.keep()  # before they count: a row that comes twice is better than one not requested
                    self._written(batch)
        except NotFoundError:
            with signals_deferred():
                writer.close()
                sink.keep()
                if found:
                    sink.finish()
            raise
        with signals_deferred():
            writer.close()
        return found

    def _written(self, batch: Batch) -> None:
        """Count the rows of a batch as written."""
        self.begun, self.last = True, batch.heights
        if self.limit is not None:
            self.limit -= len(batch.rows)
        if self.left is not None and batch.heights is not None:
            (start, end), (first, after) = self.left.edges, batch.heights.edges
            self.read = HeightRange(self.read.start, max(self.read.end, after))
            self.left = HeightRange(start, first) if self.query.reverse else HeightRange(after, end)
        passed = None if self.query.where is None else len(batch.rows)
        self.reporter.wrote(1 if batch.heights is None else len(batch.heights), batch.shown, passed)

    # What it says

    def _rest(self, *, again: bool) -> str:
        """Return how to get the rows that are left; empty if none is written, and the same command fails again."""
        settings, left = self.settings, self.left
        if settings.file is not None:
            return settings.unchanged
        if self.query.single or not (again or self.begun):
            return ""
        if not settings.can.endless:
            return f"the {settings.format} output is incomplete; run the command again"
        if left is None:
            return f"resume after height {self.last.start}" if self.last else ""
        rest = f"resume with --start {left.start} --end {left.end}{' --reverse' * self.query.reverse}"
        rest += "" if self.limit is None else f" --limit {self.limit}"
        return rest + " --no-header" * (settings.has_header and self.opened)  # which is written once

    def _warn_empty(self, bounds: Bounds, heights: HeightRange) -> None:
        """Say why a range has no heights."""
        if len(heights):
            return
        from chainq.fetching.short_range import reason

        if why := reason(self.service, bounds, heights):
            self.reporter.warn(why)

    def _warn_uncalled(self, *, found: bool) -> None:
        """Say that nothing calls a program's function: a misspelt name looks the same to the service."""
        query = self.query
        program, function = map(query.arguments.get, (Role.PROGRAM, Role.FUNCTION))
        if function and not (found or query.page or query.where or query.limit == 0):
            self.service.believed_lists.pop(query.method.name, None)  # an empty list: one warning is enough
            tip = self.service.blocks.tip_height()
            hint = f"check the names with chainq show {program}" if tip >= 0 else chain_end(tip)
            self.reporter.warn(f"no transactions call {program}/{function}: {hint}")

    def _warn_unreached(self, bounds: Bounds, read: HeightRange) -> None:
        """Say where the chain ends, if that is before `--end` or `--until`."""
        if bounds.until is None and (bounds.end is None or bounds.end <= read.end):  # nor is the module loaded
            return
        from chainq.fetching.short_range import unreached

        if why := unreached(self.service, bounds, read):
            self.reporter.warn(why)


def _identity(service: Service, query: Query, settings: OutputSettings) -> dict[str, object]:
    """Return what a checkpoint tells queries apart by, as JSON values without secrets."""
    method = query.method
    return {
        "command": method.command,
        "arguments": {role.value: value for role, value in query.arguments.items()},
        "start": query.bounds.start or 0 if query.bounds else 0,
        "url": mask_url(service.url),
        # As stated, and not as detected: a checkpoint is opened, and its place found writable, before any request.
        "dialect": None if is_shared(method, service.dialect.names) else service.dialect.name,
        "format": settings.recorded_format,
        "columns": settings.requested,
        **({} if settings.spec.header else {"no-header": True}),
        **({"flatten": True} if settings.spec.flatten else {}),
        **({"typed": True} if settings.typed else {}),
        **({} if query.where is None else query.where.given),
    }


def _begun_together(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the first rows as one batch, which settles the widths of columns; then the others as they come.

    If the run fails or is stopped, what has come is yielded before the error.
    """
    held: Batch | None = None
    failure = None
    try:
        for batch in batches:
            held = batch if held is None else held.joined(batch)
            if len(held.rows) >= output.BEGINNING or held.shown >= BEGINNING_READ:
                break
    except BaseException as error:
        failure = error
    if held is not None:
        yield held
    if failure is not None:
        raise failure
    yield from batches
