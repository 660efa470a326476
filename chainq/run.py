"""One data command from its options to its last byte: question, calls, rows, format, sink.

What fails is raised, with a note on how to get the rest where that is known; `app.main` prints it.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from chainq import checks, formats
from chainq.client import Client
from chainq.dialects import DIALECTS, Value
from chainq.errors import NotFoundError, UsageError
from chainq.fetch import Batch, Question
from chainq.formats import Sheet, Writer
from chainq.heights import RangeAsk, parse_bound, parse_height
from chainq.methods import Column, Method, Role, Shape
from chainq.options import LimitOptions, OutputOptions, PageOptions, RangeOptions, SourceOptions, VerifyOptions
from chainq.plan import Span
from chainq.report import Reporter
from chainq.signals import held
from chainq.sink import open_sink

FORMAT_FLAGS = ("table", "jsonl", "json", "csv")


@dataclass(frozen=True, slots=True)
class Options:
    """All options of a data command; groups that a command does not have stand at their defaults."""

    source: SourceOptions
    output: OutputOptions
    heights: RangeOptions = field(default_factory=RangeOptions)
    limit: LimitOptions = field(default_factory=LimitOptions)
    page: PageOptions = field(default_factory=PageOptions)
    verify: VerifyOptions = field(default_factory=VerifyOptions)


def run(method: Method, words: dict[Role, list[str]], options: Options) -> None:
    """Answer one command. `words` are its arguments as typed, by role.

    Raises ChainqError, BrokenPipeError or Interrupted.
    """
    output, check = options.output, not options.source.no_check
    if output.columns == "help":
        _list_columns(method)
        return
    columns = _columns(method, output, check)
    make = formats.load(_format_name(output))
    arguments = _arguments(words, check)
    names = _names(words, check)
    ask = _range_ask(method, options.heights) if method.ranged else None
    _check_page(method, options.page, check)
    reporter = Reporter(quiet=options.source.quiet, verbose=options.source.verbose)
    single = method.shape is not Shape.ROWS and (names is None or (len(names) == 1 and names[0] != "-"))
    with open_client(options.source, reporter) as client, open_sink(output.output) as sink:
        writer = make(sink, _sheet(method, columns, output, single))
        rest = None
        if ask is not None:
            span = client.span(ask, reverse=options.heights.reverse)
            if not len(span) and not ask.fixed:
                reporter.warn(f"no block in that range: the newest is {client.newest()}")
            rest = _Rest(span, options.heights.reverse, options.limit.limit, output.output)
        batches = _batches(client, method, arguments, names, rest.span if rest else None, options)
        _copy(batches, writer, options.limit.limit, rest)


def open_client(options: SourceOptions, reporter: Reporter) -> Client:
    """The client that flags, environment and profile ask for. Raises UsageError."""
    from chainq import config

    url = options.url
    profile = config.profile(options.profile, config.read()) if options.profile or not url else config.Profile()
    # A profile's headers may be secrets: they go to the profile's own host only.
    headers = dict(profile.headers) if not url or config.same_host(url, profile.url or "") else {}
    url = url or profile.url
    if not url:
        raise UsageError(
            "no URL: where is the service?",
            "give --url URL, set CHAINQ_URL, choose a --profile of config.toml, or try --url demo:",
        )
    headers |= dict(checks.header(header) for header in options.header or [])
    dialect = options.dialect or profile.dialect or "chain"
    if dialect not in DIALECTS:
        raise UsageError(f"there is no dialect {dialect!r}", f"the dialects are {', '.join(DIALECTS)}")
    timeout = options.timeout if options.timeout is not None else profile.timeout
    rate = options.rate if options.rate is not None else profile.rate
    for name, value in (("--timeout", timeout), ("--rate", rate)):
        if value is not None and not 0 < value < 1e9:
            raise UsageError(f"{name} {value:g} is no number above 0")
    return Client(
        url if options.no_check else checks.url(url),
        dialect=dialect,
        timeout=30.0 if timeout is None else timeout,
        retries=options.retries,
        rate=rate,
        headers=headers,
        concurrency=options.concurrency,
        report=reporter.call,
    )


@dataclass(slots=True)
class _Rest:
    """What of a range is still to be written, for the line that says how to get it."""

    span: Span
    reverse: bool
    limit: int | None
    file: Path | None

    def done(self, span: Span, rows: int) -> None:
        """Take in that the rows of `span` have been written."""
        self.span = Span(self.span.start, span.start) if self.reverse else Span(span.end, self.span.end)
        if self.limit is not None:
            self.limit -= rows

    def __str__(self) -> str:
        if self.file is not None:
            return f"{self.file} is as it was: run again"
        limit = "" if self.limit is None else f" --limit {self.limit}"
        reverse = " --reverse" if self.reverse else ""
        return f"resume with --start {self.span.start} --end {self.span.end}{reverse}{limit}"


def _batches(
    client: Client,
    method: Method,
    arguments: dict[Role, Value],
    names: list[str] | None,
    span: Span | None,
    options: Options,
) -> Iterator[Batch]:
    page = options.page
    if page.page is not None:
        if span is not None and method.span is not None and len(span) > method.span:
            raise UsageError(
                f"--page sends one call, and {span} are more than its {method.span}", "narrow the range, or drop --page"
            )
        size = page.page_size or method.page_size or 1
        return client.one_page(method, {**arguments, Role.PAGE: page.page, Role.SIZE: size}, span)
    if span is not None:
        return client.ranged(
            Question(
                method,
                span,
                arguments,
                reverse=options.heights.reverse,
                page_size=page.page_size,
                limit=options.limit.limit,
                verify=not options.verify.no_verify,
            )
        )
    if names is not None:
        return client.named(method, _resolved(client, method, names, check=not options.source.no_check))
    if method.param(Role.SIZE):
        return client.paged(method, arguments, page_size=page.page_size, limit=options.limit.limit)
    return client.latest()


def _copy(batches: Iterator[Batch], writer: Writer, limit: int | None, rest: _Rest | None) -> None:
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
    except NotFoundError:  # told after the last row: what there is shall stand whole
        writer.close()
        raise
    except BrokenPipeError:
        raise
    except BaseException as error:
        if rest is not None:
            error.add_note(str(rest))
        raise
    with held():
        writer.close()


def _arguments(words: dict[Role, list[str]], check: bool) -> dict[Role, Value]:
    """The arguments that go into every call: program, function, address."""
    several = (Role.HEIGHT, Role.ID)
    return {
        role: checks.CHECKS[role](word[0]) if check else word[0] for role, word in words.items() if role not in several
    }


def _names(words: dict[Role, list[str]], check: bool) -> list[str] | None:
    """The heights or IDs as typed, checked as far as they can be before any call; None where a command takes none."""
    for role in (Role.HEIGHT, Role.ID):
        if role in words:
            for word in words[role]:
                if word not in ("-", "latest"):
                    _name(role, word, check)
            return words[role]
    return None


def _name(role: Role, word: str, check: bool) -> int | str:
    if role is Role.HEIGHT:
        return parse_height(word)
    return checks.CHECKS[role](word) if check else word


def _resolved(client: Client, method: Method, names: list[str], check: bool) -> Iterator[int | str]:
    """The names one by one: `-` is the lines of standard input, `latest` the newest block's height."""
    role = Role.HEIGHT if method.param(Role.HEIGHT) else Role.ID
    for name in names:
        lines: Iterable[str] = [name]
        if name == "-":
            lines = (line for line in map(str.strip, sys.stdin) if line)
        for line in lines:
            if role is Role.HEIGHT and line == "latest":
                yield client.newest()
            else:
                yield _name(role, line, check)


def _range_ask(method: Method, options: RangeOptions) -> RangeAsk:
    ask = RangeAsk(
        start=parse_bound(options.start) if options.start is not None else None,
        end=parse_bound(options.end) if options.end is not None else None,
        last=parse_height(options.last) if options.last is not None else None,
        whole=method.param(Role.ADDRESS) is not None,
    )
    ask.check()
    return ask


def _check_page(method: Method, page: PageOptions, check: bool) -> None:
    most = method.page_size_max
    if check and most is not None and page.page_size is not None and page.page_size > most:
        raise UsageError(f"--page-size {page.page_size} is above the {most} of {method.name}", "--no-check sends it")


def _format_name(options: OutputOptions) -> str:
    flags = {name for name in FORMAT_FLAGS if getattr(options, name)}
    if len(flags) > 1:
        raise UsageError(
            f"one format at a time: {' and '.join('--' + name for name in sorted(flags))} exclude each other"
        )
    if flags:
        return flags.pop()
    if options.format:
        return options.format
    return "table" if options.output is None and _is_terminal() else "jsonl"


def _is_terminal() -> bool:
    try:
        return os.isatty(1)
    except OSError:
        return False


def _columns(method: Method, options: OutputOptions, check: bool) -> tuple[Column, ...]:
    if options.columns is None or options.columns == "all":
        return method.columns
    known = {column.path: column for column in method.columns}
    chosen = []
    for path in options.columns.split(","):
        name = path.strip()
        if name in known:
            chosen.append(known[name])
        elif check or not name:
            near = get_close_matches(name, known, 3, 0.5)
            did = f"did you mean {', '.join(near)}?" if near else f"the columns: {', '.join(known)}"
            raise UsageError(f"{method.command} has no column {name!r}: {did}", "--no-check allows any field")
        else:
            chosen.append(Column(name, "unknown"))
    return tuple(chosen)


def _list_columns(method: Method) -> None:
    """Write the columns of a command, with their types and notes, as lines for people and `cut -f` alike."""
    with open_sink(None) as sink:
        for column in method.columns:
            sink.write(f"{column.path}\t{column.type}\t{column.note}\n".encode())


def _sheet(method: Method, columns: tuple[Column, ...], options: OutputOptions, single: bool) -> Sheet:
    terminal = options.output is None and _is_terminal()
    return Sheet(
        method.command,
        columns,
        chosen=options.columns is not None,
        single=single,
        width=shutil.get_terminal_size().columns,
        color=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        trunc=not options.no_trunc,
        terminal=terminal,
    )
