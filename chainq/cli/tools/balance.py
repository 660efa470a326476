"""`chainq balance`: what view keys own and have not spent, by program and token, as of a block."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial

import msgspec
from msgspec import Raw

from chainq.catalog.owned import BALANCE, BALANCE_COLUMNS
from chainq.cli import connect, output
from chainq.cli.output import OutputSettings
from chainq.cli.query import split_range
from chainq.cli.report import Reporter
from chainq.cli.tool_options import BalanceCommand
from chainq.cli.tools import view_keys
from chainq.errors import ChainqError, OutputError, Shortfall, UsageError, is_lasting
from chainq.fetching.service import Service
from chainq.heights.bounds import Bounds, parse_range, parse_start
from chainq.process.pool import cores
from chainq.process.signals import Interrupted, signals_deferred
from chainq.resume.checkpoint import Checkpoint, Content, Position
from chainq.sinks.open import open_sink
from chainq.text.humanize import utc
from chainq.text.sanitize import mask_url, printable
from chainq.wallet.balance import Bookkeeper, check_heights
from chainq.wallet.book import Book, Mark, Total
from chainq.wallet.records import none_of
from chainq.wallet.shown import Amount


class Kept(Content, forbid_unknown_fields=True):
    """The fields of the checkpoint: those of any, and the book. The file is for its user alone (`prepare`)."""

    book: Book = msgspec.field(default_factory=lambda: Book(0))


class BookCheckpoint(Checkpoint):
    """The book of a run, and the file that keeps it, which `chainq status` reads as any checkpoint."""

    FIELDS = Kept
    content: Kept

    def record(self) -> None:
        """Record the book as it is. Raises OutputError."""
        with signals_deferred():
            self.content.positions = [Position(self.content.book.next, rows=len(self.content.book.entries))]
            self.save()


def run(given: BalanceCommand) -> None:
    """Print the balance. Raises ChainqError, PipeClosed, Interrupted.

    IncompleteError at the end, after the balance, if a record could not be entered.
    """
    bounds, files = _bounds(given)
    settings = output.settings(BALANCE, given)
    reporter = Reporter(given)
    found = view_keys.read_keys("balance", files, given, settings.file, reporter.warn)
    found.sort(key=lambda key: key.address)
    addresses = [key.address for key in found]
    with ExitStack() as stack:
        options = connect.service_options(given)
        service = stack.enter_context(connect.open_service(options, reporter))
        stack.callback(reporter.end)
        if bounds == Bounds() and given.checkpoint is None:
            view_keys.refuse_whole_chain("a balance", service)
        start = bounds.start or 0
        query = {"command": "balance", "owner": view_keys.recorded_owner(addresses, given.checkpoint), "start": start}
        query["url"] = mask_url(service.url)
        kept = stack.enter_context(BookCheckpoint(given.checkpoint, query))
        book = kept.content.book
        if not kept.content.positions:
            book.next, kept.content.positions = start, [Position(start)]
        keeper = stack.enter_context(
            Bookkeeper(
                found,
                service,
                given.workers or cores(),
                warn=reporter.warn,
                progress=reporter,
                recorded=kept.record,
            )
        )
        reporter.draw(rows_on_terminal=settings.spec.terminal)
        write = partial(_write, book, start, addresses, settings, reporter)
        _bring_up(service, keeper, kept, bounds.end, write)
        keeper.check()


def _bounds(given: BalanceCommand) -> tuple[Bounds, list[str]]:
    """Return the heights that are given, and the arguments that are files of view keys. Raises UsageError."""
    word, files = split_range(given.keys)
    if word is not None and (others := given.stated("start", "end")):
        raise UsageError(f"the range {word} cannot be combined with {' or '.join(others)}")
    start, end = (None if text is None else parse_start(text) for text in (given.start, given.end))
    bounds = Bounds(start=start, end=end) if word is None else parse_range(word)
    if min(bounds.start or 0, bounds.end or 0) < 0:
        raise UsageError("balance needs heights such as 12345, not counted from the tip")
    if bounds.end is not None and given.checkpoint is not None:
        raise UsageError("--end cannot be combined with --checkpoint")
    check_heights(bounds.start or 0, bounds.end)
    return bounds, files


def _bring_up(
    service: Service, keeper: Bookkeeper, kept: BookCheckpoint, end: int | None, write: Callable[[], None]
) -> None:
    """Bring the book up to the tip, record how that ended, and write it. Raises ChainqError."""
    book = kept.content.book
    try:
        tip = service.blocks.tip()
        keeper.bring_up(book, tip, service.blocks.hash_of, end)
        if tip.height + 1 >= book.next:  # else the server is behind
            kept.succeeded(tip.height, tip.time)
            kept.record()
    except ChainqError as error:
        with suppress(OutputError), signals_deferred():  # which the error may be about
            kept.failed(str(error), lasting=is_lasting(error))
        if book.as_of is not None:  # else nothing is known, not even that there are no records
            write()
        raise
    except Interrupted as stop:
        if kept.path is not None:
            stop.add_note(f"the next run reads from block {kept.content.positions[-1].next} on")
        raise
    write()


def _write(book: Book, start: int, addresses: Sequence[str], settings: OutputSettings, reporter: Reporter) -> None:
    """Write the totals of a book that begins at a height, and say which keys have no records."""
    totals, table = book.totals(), settings.format == "table"
    columns = settings.spec.columns
    if not addresses[1:]:  # then a table need not say whose it is
        columns = tuple(one._replace(brief=0 if one.path == "owner" else one.brief) for one in columns)
    with open_sink(settings.file) as sink, signals_deferred():
        writer = settings.begin(reporter, sink, counted=False, columns=columns)
        writer.write([_row(book.as_of, addresses[one.owner], one, table=table) for one in totals])
        writer.close()
    if none := none_of(addresses, {total.owner for total in totals}):
        reporter.note(none)
    if start:
        reporter.warn(Shortfall(f"records before block {start} are not counted"))
    if table or not totals:
        mark = book.as_of
        when = f", {utc(mark.time)}" if mark and mark.time is not None else ""
        reporter.note(f"as of block {mark.height}{when}, {printable(mark.hash)}" if mark else "as of no block")


def _row(mark: Mark | None, owner: str, total: Total, *, table: bool) -> Raw:
    """Return the row of a total. Amounts are text, for they can have 39 digits; a table has their units."""
    received, unspent = (
        None if amount is None else str(Amount(total.program, "", amount) if table else amount)
        for amount in (total.sum, total.unspent)
    )
    values = (
        *((mark.height, mark.hash, mark.time) if mark else (None, None, None)),
        *(owner, total.program, total.token or None),
        *(total.records, received, total.unspent_records, unspent),
    )
    return Raw(msgspec.json.encode(dict(zip(BALANCE_COLUMNS, values, strict=True))))
