"""`chainq balance`: what view keys own and have not spent, by program and token, as of a block."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from chainq.catalog.methods import BY_COMMAND
from chainq.cli import connect
from chainq.cli.balance_checkpoint import Checkpoint
from chainq.cli.identity import prepare, read_keys, recorded_owner
from chainq.cli.output import form_of, on_terminal
from chainq.cli.query import is_range
from chainq.cli.report import Reporter
from chainq.cli.tool_options import BalanceCommand
from chainq.defaults import INTERVAL
from chainq.errors import ChainqError, ResponseError, ServiceError, UnreachableError, UsageError, is_lasting
from chainq.fetching.service import Service
from chainq.formats.drawing import ENDLESS, draw_texts
from chainq.heights.bounds import parse_range, parse_start
from chainq.heights.range import HeightRange
from chainq.planning.chunking import refuse_whole
from chainq.process.pool import cores
from chainq.process.signals import Interrupted, raise_if_ending
from chainq.sinks.open import open_sink
from chainq.text.humanize import counted, utc
from chainq.text.sanitize import mask_url, printable
from chainq.text.width import terminal_width, width_is_stated, wrap
from chainq.wallet.balance import FEWER, Bookkeeper, check_heights
from chainq.wallet.book import Book, Mark, Total
from chainq.wallet.network import check_network
from chainq.wallet.records import MISTYPED
from chainq.wallet.shown import Amount

_RESUMES = "with --checkpoint FILE a stopped run resumes"
_HEADER = ("owner", "program", "token", "records", "received", "unspent records", "unspent")
_TOKEN = 2  # its column; numbers follow


class _Scope(NamedTuple):
    """What a balance is of: the addresses of all keys, sorted, and the first block whose records count.

    `form`: in which it is printed for programs, empty for a table. `width`: of a line of the terminal, for which a
    table abbreviates addresses and token IDs; 0 in a pipe, where they are whole.
    """

    addresses: Sequence[str]
    start: int
    form: str
    width: int


def run(given: BalanceCommand) -> None:
    """Print the balance, and with `--watch` each change of it. Raises ChainqError, PipeClosed, Interrupted.

    IncompleteError at the end, after the balance, where a record could not be entered.
    """
    files = _key_files(given)
    if given.interval is not None and not given.watch:
        raise UsageError("--interval needs --watch")
    form = form_of(given, "json", "jsonl", "csv")
    start = 0 if given.start is None else _height(given.start, "start")
    end = None if given.end is None else _height(given.end, "end")
    if end is not None and (given.watch or given.checkpoint is not None):
        raise UsageError("--end cannot be combined with --watch or --checkpoint")
    check_heights(start, end)
    prepare("balance", given.network)
    found = sorted(read_keys(files, given), key=lambda key: key.address)
    addresses = [key.address for key in found]
    reporter = connect.reporter(given)
    for_screen = not given.no_trunc and (on_terminal(None) or width_is_stated())
    with ExitStack() as stack:
        options = connect.service_options(given, patient=given.watch, lake=given.lake or "")
        service = stack.enter_context(connect.open_service(options, reporter))
        stack.callback(reporter.end)
        if given.start is None and given.end is None and given.checkpoint is None and not service.is_export:
            methods = BY_COMMAND["ownership"], BY_COMMAND["full-blocks"]
            refuse_whole("a balance", methods, HeightRange(0, service.blocks.tip_height() + 1))
        identity = {"owner": recorded_owner(addresses, given.checkpoint), "start": start}
        identity["url"] = mask_url(service.url)
        kept = stack.enter_context(Checkpoint(given.checkpoint, identity, start, len(addresses)))
        keeper = stack.enter_context(
            Bookkeeper(
                found,
                service,
                given.workers or cores(),
                warn=reporter.warn,
                progress=reporter,
                recorded=lambda _: kept.save(),
                ways=_ways(given),
            )
        )
        found.clear()
        if given.network is not None:
            check_network(service, given.network)
        try:
            _print_balances(
                given,
                service,
                keeper,
                kept,
                end,
                _Scope(addresses, start, form, terminal_width() if for_screen else 0),
                reporter,
            )
        except Interrupted as stop:
            unrecorded = "" if given.watch or end is not None else f"nothing was recorded: {_RESUMES}"
            if rest := kept.rest or unrecorded:
                stop.add_note(rest)
            raise
        keeper.check()


def _height(text: str, name: str) -> int:
    """Return the height in an option. Raises UsageError, also for one that counts from the tip."""
    height = parse_start(text)
    if height < 0:
        raise UsageError(f"--{name} {text} counts from the tip; balance needs a height, such as 12345")
    return height


def _ways(given: BalanceCommand) -> str:
    """Return what helps with a long run, of the options that it can have beside its own."""
    if given.checkpoint is not None:
        return ""
    if given.end is not None:
        return FEWER
    return _RESUMES if given.watch else f"{_RESUMES}, {FEWER}"


def _key_files(given: BalanceCommand) -> list[str]:
    """Return the arguments that are files of view keys; a range among them becomes the bounds. Raises UsageError."""
    words = given.keys or []
    ranges = [word for word in words if is_range(word)]
    if ranges:
        shown, stated = ranges[0], given.start is not None or given.end is not None
        if stated or len(ranges) > 1:
            raise UsageError(f"the range {shown} cannot be combined with {'--start or --end' if stated else 'another'}")
        bounds = parse_range(shown)
        given.start, given.end = str(bounds.start or 0), None if bounds.end is None else str(bounds.end)
    return [word for word in words if word not in ranges]


def _print_balances(
    given: BalanceCommand,
    service: Service,
    keeper: Bookkeeper,
    kept: Checkpoint,
    end: int | None,
    scope: _Scope,
    reporter: Reporter,
) -> None:
    """Print the balance once, or each time that it changes."""
    shown: list[Total] | None = None
    book = kept.book
    with open_sink(None) as sink:
        reporter.draw(rows_on_terminal=on_terminal(None))
        out = reporter.beside(sink)
        while True:
            raise_if_ending()
            try:
                tip = service.blocks.tip(refresh=shown is not None)
                keeper.bring_up(book, tip, service.blocks.hash_of, end)
                kept.succeeded(tip.height, tip.time)
            except (ServiceError, UnreachableError, ResponseError) as error:
                kept.failed(error, lasting=shown is None and is_lasting(error))
                if shown is None:
                    raise
                reporter.warn(str(error))
            except ChainqError as error:
                kept.failed(error, lasting=is_lasting(error))
                if book.as_of is not None:  # else nothing is known yet, not even that there are no records
                    out.write(_text(book, book.totals(), shown, scope, reporter))
                raise
            totals = book.totals()
            if totals != shown:
                out.write(_text(book, totals, shown, scope, reporter))
            shown = totals
            sink.keep()
            if not given.watch:
                sink.finish()
                return
            reporter.begin(None)
            interval = INTERVAL if given.interval is None else given.interval
            reporter.waits(interval, "next poll in")
            time.sleep(interval)


def _text(
    book: Book, totals: Sequence[Total], shown: Sequence[Total] | None, scope: _Scope, reporter: Reporter
) -> bytes:
    """Return what to print of the totals of a book after those that were `shown`; None for the first ones, with which
    stderr says which keys have no records, as a table does."""
    if not scope.form:
        return _table(book, totals, scope) if shown is None else _changes(book, shown, totals, scope)
    from chainq.cli.balance_rows import encoded

    for line in _without(totals, scope) if shown is None else ():
        reporter.note(line)
    resumed, terminal = shown is not None, on_terminal(None)
    return encoded(scope.form, book.as_of, totals, scope.addresses, scope.start, resumed=resumed, terminal=terminal)


def _table(book: Book, totals: Sequence[Total], scope: _Scope) -> bytes:
    addresses = scope.addresses
    first = 0 if len(addresses) > 1 else 1  # column; of one key nobody asks whose a balance is
    lines = [_HEADER[first:]]
    for total in totals:
        received, unspent = (str(Amount(total.program, "", one)) for one in (total.sum, total.unspent))
        owner, token = (_short(text, scope) for text in (addresses[total.owner], printable(total.token) or "-"))
        texts = owner, printable(total.program), token
        lines.append((*texts, f"{total.records:,}", received, f"{total.unspent_records:,}", unspent)[first:])
    tokens = any(total.token for total in totals)
    columns = [
        (cells, number > _TOKEN)
        for number, cells in enumerate(zip(*lines, strict=True), first)
        if tokens or number != _TOKEN
    ]
    drawn = draw_texts(columns, scope.width or ENDLESS) if totals else []
    below = f"; records before block {scope.start} are not counted" if scope.start else ""
    ends = [*_without(totals, scope), f"{_as_of(book.as_of)}{below}"]
    if scope.width:
        ends = [piece for line in ends for piece in wrap(line, max(scope.width, *map(len, line.split())))]
    return "".join(f"{line}\n" for line in [*drawn, *ends]).encode()


def _without(totals: Sequence[Total], scope: _Scope) -> list[str]:
    """Return a line for each key without records."""
    owners = {total.owner for total in totals}
    hint = "" if owners else f"; {MISTYPED}"
    return [f"no records of {address}{hint}" for number, address in enumerate(scope.addresses) if number not in owners]


def _changes(book: Book, before: Sequence[Total], now: Sequence[Total], scope: _Scope) -> bytes:
    """Return one line for each program and token whose balance changed."""
    known = {(total.owner, total.program, total.token): total for total in before}
    lines = []
    for total in now:
        old = known.pop((total.owner, total.program, total.token), None)
        if old != total:
            lines.append(_change(total, total.unspent, total.unspent_records, scope))
    lines += [_change(total, 0, 0, scope) for total in known.values()]  # after a reorg
    return "".join(f"{_as_of(book.as_of)}: {line}\n" for line in lines).encode()


def _change(total: Total, unspent: int | None, records: int, scope: _Scope) -> str:
    owner = f"{_short(scope.addresses[total.owner], scope)} " if len(scope.addresses) > 1 else ""
    token = f" {_short(printable(total.token), scope)}" if total.token else ""
    amount = Amount(total.program, "", unspent)
    return f"{owner}{printable(total.program)}{token} {amount} in {counted(records, 'unspent record')}"


def _short(text: str, scope: _Scope) -> str:
    return text if len(text) <= 17 or not scope.width else f"{text[:8]}…{text[-6:]}"


def _as_of(mark: Mark | None) -> str:
    if mark is None:
        return "as of no block"
    when = "" if mark.time is None else f", {utc(mark.time)}"
    return f"as of block {mark.height}{when}, {printable(mark.hash)}"
