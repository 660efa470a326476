"""One data command from its query to its last byte: requests, rows, format, sink.

What fails is raised, with a note on how to get the rest if that is known; `main` prints it.
"""

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from chainq.catalog.dialects import is_shared
from chainq.catalog.methods import Method
from chainq.cli import connect, output
from chainq.cli.output import OutputSettings
from chainq.cli.query import check_page_size, read_query, resume_settings
from chainq.cli.report import Reporter
from chainq.cli.single_run import SingleRun
from chainq.cli.stdin import check_open
from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.fetching.tip import check_age
from chainq.formats.protocol import Writer
from chainq.heights.block_time import parse_age
from chainq.process.signals import PipeClosed
from chainq.query import STDIN, Query
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.text.sanitize import mask_url, quoted

if TYPE_CHECKING:
    from chainq.cli.options import MethodOptions
    from chainq.rows.where import Where


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
    settings = output.settings(
        method,
        given,
        appended=resume is not None and (resume.checkpoint is not None or resume.output is not None),
        endless=resume is not None and resume.follow,
        no_check=given.no_check,
        flatten=given.flatten,
    )
    settings = settings._replace(spec=settings.spec._replace(totals=totals))
    if query.newest and query.endless and not output.on_terminal(settings.file):
        raise UsageError("--newest needs --limit N", "a list is read from its end only as far as N rows")
    reporter = reporter or connect.reporter(given)
    lake = given.lake or "" if method.stored else None
    options = connect.service_options(given, patient=given.follow, strict=given.strict, lake=lake)
    with ExitStack() as stack:
        service = stack.enter_context(connect.open_service(options, reporter, make))
        if method.page_size_max is not None:
            check_page_size(query, service.dialect.known(method) or service.dialect.published)
        single = SingleRun(service, query, settings, reporter)
        stack.callback(
            lambda: connect.warn_of_belief(
                {**service.believed, **service.believed_lists},
                reporter,
                limited=single.limit == 0,
            )
        )
        stack.callback(lambda: connect.warn_of_unhashed(service.unhashed, reporter))
        stack.callback(reporter.end)
        if query.where is not None and not given.dry_run:
            stack.callback(_warn_unseen, query.where, reporter)
        if resume is not None:
            from chainq.resume import follow

            identity = {**_identity(service, query, settings), **identity}
            if given.dry_run:
                _plan(service, follow.first_round(query, resume, identity), reporter)
                return

            def begin(sink: Sink, continued: bool) -> Writer:
                settings.warn_odd(reporter.warn)
                return settings.begin(reporter, sink, continued)

            gc.enable()
            reporter.draw(rows_on_terminal=settings.spec.terminal)
            resume = resume._replace(header=settings.has_header)
            follow.run(service, query, resume, identity, begin, reporter.warn, reporter)
        elif given.dry_run:
            _plan(service, query, reporter)
        else:
            if max_age is not None:
                check_age(service.blocks.tip(), max_age)
            single.write()


def _warn_unseen(where: "Where", reporter: Reporter) -> None:
    """Warn of the fields of a filter that no row had, unless nobody reads on or no row came."""
    if where.unseen and reporter.filtered and not isinstance(sys.exception(), PipeClosed):
        for path in where.unseen:
            reporter.warn(f"no row has the column {quoted(path)}")


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


def _plan(service: Service, query: Query, reporter: Reporter) -> None:
    """Print the requests that the query would send, one per line."""
    from chainq.cli import dry_run

    dialect = service.dialect.known(query.method)
    if query.bounds is not None:
        query = query._replace(bounds=service.bounded(query.bounds))
    if dialect is None:
        reporter.warn("the server's dialect is not known, and --dry-run does not detect it: shown with --dialect chain")
    with open_sink(None) as sink:
        for line in dry_run.lines(
            dialect or service.dialect.published, query, partial(service.requested, query), reporter.remark
        ):
            sink.write(line)
