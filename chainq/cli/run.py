"""One data command from its question to its last byte: calls, rows, format, sink.

What fails is raised, with a note on how to get the rest where that is known; `app.main` prints it.
"""

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chainq.catalog.methods import Method, Role
from chainq.cli import output, query
from chainq.cli.connect import open_client
from chainq.cli.query import Asked, Options
from chainq.cli.report import Reporter
from chainq.errors import NotFoundError, UsageError
from chainq.fetching.service import Client
from chainq.formats import registry
from chainq.formats.protocol import Format, Sheet, Writer
from chainq.heights.range import HeightRange
from chainq.planning.query import Batch, Question
from chainq.process.signals import PipeClosed, held
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink


def run(method: Method, words: dict[Role, list[str]], options: Options) -> None:
    """Answer one command. `words` are its arguments as typed, by role.

    Raises ChainqError, PipeClosed or Interrupted.
    """
    if options.output.columns == "help":
        output.list_columns(method)
        return
    question = query.read(method, words, options)
    columns = output.columns(method, options.output, question.check)
    going = options.checkpoint
    appended = going.checkpoint is not None or (going.follow and options.output.file is not None)
    name = output.format_name(options.output, appended=appended, endless=going.follow)
    make = registry.load(name)
    reporter = Reporter(quiet=options.source.quiet, verbose=options.source.verbose)
    with open_client(options.source, reporter) as client:
        if method.page_size_max is not None:
            query.check_page_size(question, client.dialect)
        if going.checkpoint is not None or going.follow:
            from chainq.resume import follow

            if options.source.dry_run:
                _plan(client, follow.planned(client, question, options, name))
            else:
                follow.run(client, question, options, name, make, columns, reporter)
        elif options.source.dry_run:
            _plan(client, question)
        else:
            with open_sink(options.output.file) as sink:
                told = output.sheet(method, columns, options.output, reporter, single=question.single)
                _answer(client, question, sink, make, told, reporter, _again(name, options.output.file))


def _again(name: str, file: Path | None) -> str:
    """What to do after a failure where the answer cannot be gone on with; empty where it can."""
    if file is not None:
        return f"{file} is as it was: run again"
    return f"there is no part of a {name}: run again" if name in output.WHOLE else ""


def _answer(
    client: Client,
    question: Asked,
    sink: Sink,
    make: Format,
    told: Sheet,
    reporter: Reporter,
    again: str,
) -> None:
    """Copy the answer; `again` is what to do after a failure where it cannot be gone on with."""
    rest = None
    if question.heights is not None:
        gc.enable()
        span = client.span(question.heights, reverse=question.reverse)
        if not len(span) and not question.heights.fixed:
            reporter.warn(f"no block in that range: the newest is {client.tip_height()}")
        rest = _Rest(span, question.reverse, question.limit, sink, again)
        reporter.begin(len(span), rows_on_terminal=told.terminal)
    try:
        writer = make(sink, told)
        if rest is not None:
            sink.keep()
        _copy(_batches(client, question, rest.span if rest else None), writer, question.limit, rest, reporter)
    except (NotFoundError, PipeClosed):
        raise
    except BaseException as error:
        if rest is not None:
            error.add_note(str(rest))
        raise
    finally:
        reporter.end()


@dataclass(slots=True)
class _Rest:
    """What of a range is still to be written, for the line that says how to get it."""

    span: HeightRange
    reverse: bool
    limit: int | None
    sink: Sink
    again: str

    def done(self, span: HeightRange, rows: int) -> None:
        """Take in that the rows of `span` have been written."""
        self.sink.keep()  # first: rows that come again are better than rows that are cut off and not asked for again
        self.span = HeightRange(self.span.start, span.start) if self.reverse else HeightRange(span.end, self.span.end)
        if self.limit is not None:
            self.limit -= rows

    def __str__(self) -> str:
        if self.again:
            return self.again
        limit = "" if self.limit is None else f" --limit {self.limit}"
        reverse = " --reverse" if self.reverse else ""
        return f"resume with --start {self.span.start} --end {self.span.end}{reverse}{limit}"


def _batches(client: Client, question: Asked, span: HeightRange | None) -> Iterator[Batch]:
    method, arguments = question.method, question.arguments
    if question.page is not None:
        if span is not None and method.max_heights is not None and len(span) > method.max_heights:
            raise UsageError(
                f"--page sends one call, and {span} are more than its {method.max_heights}",
                "narrow the range, or drop --page",
            )
        return client.one_page(method, arguments, span, question.page, question.page_size or 1)
    if span is not None:
        return client.ranged(
            Question(
                method,
                span,
                arguments,
                reverse=question.reverse,
                page_size=question.page_size,
                limit=question.limit,
                verify=question.verify,
            )
        )
    if question.names is not None:
        typed = (client.latest_height() if name == "latest" else name for name in question.typed())
        return client.named(method, typed)
    if method.param(Role.SIZE):
        return client.paged(method, arguments, page_size=question.page_size, limit=question.limit)
    return client.latest()


def _plan(client: Client, question: Asked) -> None:
    """Write the requests that would be sent, a line each."""
    from chainq.cli import dry_run

    with open_sink(None) as sink:
        for line in dry_run.lines(client.dialect, question):
            sink.write(line)


def _copy(batches: Iterator[Batch], writer: Writer, limit: int | None, rest: _Rest | None, reporter: Reporter) -> None:
    """Write batches, no signal cutting one, until they end or `limit` rows are written."""
    left = limit
    try:
        while left is None or left > 0:
            batch = next(batches, None)
            if batch is None:
                break
            rows = batch.rows if left is None else batch.rows[:left]
            with held():
                writer.write(rows)
                if left is not None:
                    left -= len(rows)
                if rest is not None and batch.span is not None:
                    rest.done(batch.span, len(rows))
                    reporter.wrote(len(batch.span), len(rows))
    except NotFoundError:  # told after the last row: what there is shall stand whole
        writer.close()
        raise
    with held():
        writer.close()
