"""One data command from its query to its last byte: requests, rows, format, sink.

What fails is raised, with a note on how to get the rest if that is known; `main` prints it.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from chainq.catalog.dialects import is_shared
from chainq.catalog.methods import Method, Role
from chainq.cli import connect, output
from chainq.cli.output import OutputSettings
from chainq.cli.query import check_one_page, check_page_size, lookups, read_query, resume_settings
from chainq.cli.report import Reporter
from chainq.cli.stdin import check_open
from chainq.errors import NotFoundError, UsageError
from chainq.fetching.service import Service
from chainq.fetching.tip import check_age
from chainq.formats.protocol import Writer
from chainq.heights.block_time import parse_age
from chainq.heights.bounds import LATEST, Bounds
from chainq.heights.range import HeightRange
from chainq.process.signals import PipeClosed, signals_deferred
from chainq.query import STDIN, Batch, Lookup, Query, limited, matching
from chainq.rows.raw_json import put_first
from chainq.sinks.base import Sink
from chainq.sinks.open import has_receipt, open_sink, receipt_path
from chainq.text.sanitize import mask_url, printable

if TYPE_CHECKING:
    from chainq.cli.options import MethodOptions
    from chainq.cli.receipt import Account
    from chainq.resume.settings import ResumeSettings
    from chainq.rows.where import Where


def run(
    method: Method,
    given: "MethodOptions",
    make: Callable[..., Service] = Service,
    identity: Mapping[str, object] = MappingProxyType({}),
    reporter: Reporter | None = None,
) -> None:
    """Run the command of one method, as its options say.

    `make`: what makes the service; `identity`: what a checkpoint tells queries apart by, beside the options;
    `reporter`: what prints to stderr, if the caller has it. Raises ChainqError, PipeClosed or Interrupted.
    """
    query = read_query(method, given)
    if query.lookups and STDIN in query.lookups:
        check_open()
    resume = resume_settings(query, given)
    max_age = None if query.bounds or given.max_age is None else parse_age(given.max_age, "max_age")
    settings = output.settings(
        method,
        given,
        appended=resume is not None and (resume.checkpoint is not None or resume.output is not None),
        endless=resume is not None and resume.follow,
        details=method.param(Role.ADDRESS) is not None and not given.no_details,
        no_check=given.no_check,
        flatten=given.flatten,
    )
    _check_output(query, settings.file, given, resume)
    reporter = reporter or connect.reporter(given)
    lake = given.lake or "" if method.stored else None
    options = connect.service_options(given, patient=given.follow, strict=given.strict, lake=lake)
    if given.fill and not given.dry_run:
        from chainq.cli import fill

        fill.run(query, options, reporter)
    with ExitStack() as stack:
        service = stack.enter_context(connect.open_service(options, reporter, make))
        if method.page_size_max is not None:
            check_page_size(query, service.known_dialect(method) or service.published_dialect)
        stack.callback(lambda: connect.warn_of_belief({**service.believed, **service.believed_lists}, reporter))
        stack.callback(lambda: connect.warn_of_unhashed(service.unhashed, reporter))
        stack.callback(reporter.end)
        if query.where is not None and not given.dry_run:
            stack.callback(_say_filtered, query.where, query.limit, reporter)
        if resume is not None:
            from chainq.resume import follow

            identity = {**_identity(service, query, settings), **identity}
            if given.dry_run:
                _plan(service, follow.first_round(query, resume, identity), reporter)
                return

            def begin(sink: Sink, continued: bool) -> Writer:
                _warn_odd(settings, reporter)
                spec = settings.spec._replace(resumed=continued, warn=reporter.warn)
                return settings.make(reporter.beside(sink), spec)

            gc.enable()
            reporter.draw(rows_on_terminal=settings.spec.terminal)
            follow.run(service, query, resume, identity, begin, reporter.warn, reporter)
        elif given.dry_run:
            _plan(service, query, reporter)
        else:
            if max_age is not None:
                check_age(service.tip(), max_age)
            _run_once(service, query, settings, given, reporter)


def _check_output(query: Query, file: Path | None, given: "MethodOptions", resume: "ResumeSettings | None") -> None:
    """Raise UsageError if the query cannot be written to that output."""
    if query.newest and query.endless and not output.on_terminal(file):
        raise UsageError("--newest needs --limit N", "a list is read from its end only as far as N rows")
    if given.receipt:
        from chainq.cli import receipt

        receipt.check(file, resume)


def _run_once(
    service: Service, query: Query, settings: OutputSettings, given: "MethodOptions", reporter: Reporter
) -> None:
    """Write the rows of a query into an output of their own."""
    _warn_odd(settings, reporter, receipt=given.receipt)
    account = None
    if given.receipt:
        from chainq.cli.receipt import Account

        account = Account(query, settings, mask_url(service.url))
    receipt = account.receipt if account else None
    with open_sink(settings.file, pager=not settings.can.binary, receipt=receipt) as sink:
        spec = settings.spec._replace(single=query.single, warn=reporter.warn)
        _write_rows(service, query, sink, settings._replace(spec=spec), reporter, account)


def _say_filtered(where: "Where", limit: int | None, reporter: Reporter) -> None:
    """Say what the filter did, unless nobody reads on, or an error came before the first row."""
    error = sys.exception()
    if error is None or (reporter.filtered[0] and not isinstance(error, PipeClosed)):
        reporter.say_filtered(limit, where.hint)


def _warn_odd(settings: output.OutputSettings, reporter: Reporter, *, receipt: bool = False) -> None:
    """Warn of what is odd about the output. `receipt`: the run writes one."""
    if settings.file is not None and not receipt and has_receipt(settings.file):
        name = printable(str(receipt_path(settings.file)))
        reporter.warn(f"{name} is of the file that this run replaces; delete it, or add --receipt")
    if settings.warning:
        reporter.warn(settings.warning)


def _identity(service: Service, query: Query, settings: OutputSettings) -> dict[str, object]:
    """Return what a checkpoint tells queries apart by, as JSON values without secrets."""
    method = query.method
    return {
        "command": method.command,
        "arguments": {role.value: value for role, value in query.arguments.items()},
        "start": query.bounds.start or 0 if query.bounds else 0,
        "url": mask_url(service.url),
        # As stated, and not as detected: a checkpoint is opened, and its place found writable, before any request.
        "dialect": None if is_shared(method, service.names) else service.dialect_name,
        "format": settings.format,
        "columns": settings.requested,
        **({} if settings.spec.header else {"no-header": True}),
        **({"flatten": True} if settings.spec.flatten else {}),
        **({} if query.where is None else query.where.given),
    }


def _remedy(settings: OutputSettings, query: Query) -> str:
    """Return what to do after a failure where the output cannot be resumed; empty if it can."""
    if settings.file is not None:
        keep = ", or add --checkpoint FILE to keep what came" if settings.can.append and query.bounds else ""
        unchanged = "left unchanged" if settings.file.exists() else "not created"
        return f"{settings.file} was {unchanged}; run the command again{keep}"
    return "" if settings.can.endless else f"the {settings.format} output is incomplete; run the command again"


def _write_rows(
    service: Service,
    query: Query,
    sink: Sink,
    settings: OutputSettings,
    reporter: Reporter,
    account: "Account | None" = None,
) -> None:
    """Write all rows of the query; `account` counts them."""
    spec = settings.spec
    rest = None
    _draw(query, sink, spec.terminal, reporter)
    if query.bounds is not None:
        heights = service.height_range(query.bounds, to_tip=query.reverse)
        _warn_empty(service, query.bounds, heights, reporter)
        if account is not None:
            account.heights = heights
        rest = _Rest(query, heights, query.limit, _remedy(settings, query), HeightRange(heights.start, heights.start))
        reporter.begin(len(heights) if query.limit is None else None)
        if query.limit is None and query.page is None and not query.reverse and query.where is None:
            spec = spec._replace(heights=partial(_edges, rest))
    try:
        writer = settings.make(reporter.beside(sink), spec)
        sink.keep()
        if spec.terminal and query.endless:
            from chainq.cli.screenful import Screenful

            screenful = Screenful(query, lambda found: _batches(service, found, None, reporter))
            found = _copy(screenful.batches(), writer, sink, None, reporter)
            _warn_uncalled(query, reporter, found=found)
            reporter.note(screenful.note)
            return
        batches = _rows(service, query, rest.heights if rest else None, settings._replace(spec=spec), reporter)
        if account is not None:
            batches = account.counted(batches)
        found = _copy(batches, writer, sink, rest, reporter, filtered=query.where is not None)
        _warn_uncalled(query, reporter, found=found)
        if rest is not None and query.limit is None and query.page is None:
            _warn_unreached(service, query.bounds, rest.read, reporter)
    except (NotFoundError, PipeClosed, UsageError):  # these leave nothing to resume
        raise
    except BaseException as error:
        if rest is not None:
            error.add_note(str(rest))
        raise


def _rows(
    service: Service, query: Query, heights: HeightRange | None, settings: OutputSettings, reporter: Reporter
) -> Iterator[Batch]:
    """Yield the rows of the query as they are written: those that pass the filter, with what chainq adds to them."""
    spec = settings.spec
    batches = limited(matching(_batches(service, query, heights, reporter), query.where), query.limit)
    verbatim = settings.can.verbatim and not (spec.selected or spec.flatten)
    if any(column.computed for column in spec.columns) and not verbatim:
        batches = map(_with_height, batches)
    if spec.detailed:
        from chainq.fetching.details import joined

        batches = joined(service, batches, reporter.warn)
    return batches


def _draw(query: Query, sink: Sink, terminal: bool, reporter: Reporter) -> None:
    """Have the progress shown from the first request on, in what the query counts.

    How many heights a range has, the tip may decide; that is known later.
    """
    names = query.lookups or ()
    reporter.draw(rows_on_terminal=terminal, paged=sink.paged or (STDIN in names and os.isatty(0)))
    if query.lookups is not None:
        known = all(isinstance(name, int | str) and name != STDIN for name in names)
        reporter.begin(len(names) if known else None, "IDs" if query.method.param(Role.ID) else "heights")
    elif query.bounds is None:
        reporter.begin(query.limit, "rows")


@dataclass(slots=True)
class _Rest:
    """What is written of a range, and what is left of it, for the messages that say so.

    `heights`: those that are left; `read`: those from the first one up to the highest whose rows came, which is where
    the chain ended once all have come. `limit`: rows that are left, None without a limit.
    """

    query: Query
    heights: HeightRange
    limit: int | None
    remedy: str
    read: HeightRange

    def written(self, batch: Batch) -> None:
        """Note that the rows of a batch are written."""
        heights = batch.heights or self.heights
        start, end = self.heights.edges
        self.read = HeightRange(self.read.start, max(self.read.end, heights.end))
        self.heights = HeightRange(start, heights.start) if self.query.reverse else HeightRange(heights.end, end)
        if self.limit is not None:
            self.limit -= len(batch.rows)

    def __str__(self) -> str:
        if self.remedy:
            return self.remedy
        limit = "" if self.limit is None else f" --limit {self.limit}"
        reverse = " --reverse" if self.query.reverse else ""
        start, end = self.heights.edges
        one_word = self.query.bounds is not None and self.query.bounds.one_word
        return f"resume with {f'{start}:{end}' if one_word else f'--start {start} --end {end}'}{reverse}{limit}"


def _edges(rest: _Rest) -> tuple[int, int]:
    return rest.read.edges


def _warn_empty(service: Service, bounds: Bounds, heights: HeightRange, reporter: Reporter) -> None:
    """Say why a range has no heights."""
    if len(heights):
        return
    if bounds.start is not None and bounds.start == bounds.end:
        reporter.warn(f"no heights from {bounds.start} to {bounds.end}: --end is exclusive")
    elif bounds.last == 0:
        reporter.warn("the range is empty")
    elif not bounds.fixed:
        tip = service.tip()
        if bounds.until is not None and heights.end == 0 <= tip.height:
            reporter.warn(f"no blocks in that range: block 0 is of {_utc(service.time_of(0))}")
            return
        time = "" if tip.time is None else f", of {_utc(tip.time)}"
        reporter.warn(f"no blocks in that range: {_chain_end(tip.height)}{time}")


def _warn_uncalled(query: Query, reporter: Reporter, *, found: bool) -> None:
    """Say that nothing calls a program's function: a misspelt name looks the same to the service."""
    program, function = map(query.arguments.get, (Role.PROGRAM, Role.FUNCTION))
    if function and not (found or query.page or query.where or query.limit == 0):
        reporter.warn(f"no transactions call {program}/{function}: check the names")


def _warn_unreached(service: Service, bounds: Bounds | None, read: HeightRange, reporter: Reporter) -> None:
    """Say where the chain ends below `--end`: above the heights that were read, with all their rows.

    Not by the tip: of several servers behind a URL, another one may have ended the range than the one asked again.
    """
    end = bounds.end if bounds else None
    if bounds is None or end is None or end <= max(0, read.end):
        return
    chain_end = _chain_end(read.end - 1 if len(read) else service.tip_for(end))
    if bounds.one_word and bounds.start == end - 1:
        reporter.warn(f"block {bounds.start} does not exist: {chain_end}")
    else:
        reporter.warn(f"--end {end} is not reached: {chain_end}")


def _chain_end(tip: int) -> str:
    return f"the tip is {tip}" if tip >= 0 else "the chain has no blocks yet"


def _utc(seconds: int) -> str:
    from chainq.formats.cells import time_cell
    from chainq.text.humanize import now

    return time_cell(str(seconds), now()).short


def _with_height(batch: Batch) -> Batch:
    """Return the rows of a lookup with the height that was looked up as their first field."""
    if batch.heights is None:
        return batch
    height = {"height": b"%d" % batch.heights.start}
    return batch._replace(rows=[put_first(row, height) for row in batch.rows])


def _keys(service: Service, query: Query, reporter: Reporter) -> Iterator[Lookup | HeightRange | None]:
    """Yield what to look up: of a range its heights, as far as the tip; for `latest` the tip."""
    by_height = query.method.param(Role.HEIGHT) is not None
    for lookup in lookups(query):
        if isinstance(lookup, Bounds):
            heights = service.height_range(lookup, to_tip=True)
            _warn_empty(service, lookup, heights, reporter)
            _warn_unreached(service, lookup, heights, reporter)
            if query.lookups == (lookup,):
                reporter.begin(len(heights))
            yield heights
        else:
            yield service.latest_height() if by_height and lookup == LATEST else lookup


def _batches(service: Service, query: Query, heights: HeightRange | None, reporter: Reporter) -> Iterator[Batch]:
    method = query.method
    if query.page is not None:
        if heights is not None:
            check_one_page(method, heights)
        return service.fetch_one_page(query, heights)
    if heights is not None:
        return service.fetch_range(query, heights)
    if query.lookups is not None:
        return service.fetch_lookups(method, _keys(service, query, reporter))
    if method.param(Role.SIZE):
        return service.fetch_pages(query)
    return service.fetch_latest(known=True)


def _plan(service: Service, query: Query, reporter: Reporter) -> None:
    """Print the requests that the query would send, one per line."""
    from chainq.cli import dry_run

    dialect = service.known_dialect(query.method)
    if dialect is None:
        reporter.warn("the server's dialect is not known, and --dry-run does not detect it: shown with --dialect chain")
    with open_sink(None, pager=True) as sink:
        for line in dry_run.lines(dialect or service.published_dialect, query, partial(service.requested, query)):
            sink.write(line)


def _copy(
    batches: Iterator[Batch],
    writer: Writer,
    sink: Sink,
    rest: _Rest | None,
    reporter: Reporter,
    *,
    filtered: bool = False,
) -> bool:
    """Write batches until they end, and return whether there was a row; a signal waits for the end of a batch.

    NotFoundError is raised after the last row that exists: with a row the output is finished, without one it is left to
    be abandoned, so that no file is replaced by nothing.
    """
    found = False
    try:
        for batch in batches:
            # Not before: all is loaded now, and a lookup or two, which end here, are spared a tenth of their time.
            gc.enable()
            with signals_deferred():
                writer.write(batch.rows)
                found = found or batch.shown > 0
                sink.keep()  # before `rest`: a row that comes twice is better than one removed and not requested
                if rest is not None and batch.heights is not None:
                    rest.written(batch)
                passed = len(batch.rows) if filtered else None
                reporter.wrote(1 if batch.heights is None else len(batch.heights), batch.shown, passed)
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
