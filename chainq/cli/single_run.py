"""One run of a query into an output of its own, and what it says where rows are missing that were asked for."""

import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chainq.catalog.methods import Role
from chainq.cli import connect
from chainq.cli.output import BEGINNING, OutputSettings
from chainq.cli.query import LookupsLeft, check_one_page, lookups
from chainq.cli.report import Reporter
from chainq.defaults import DEFAULT_LAST
from chainq.errors import ChainqError, NotFoundError, ResponseError, UsageError
from chainq.fetching.lookups import with_height
from chainq.fetching.service import Service
from chainq.formats.protocol import Writer
from chainq.heights.bounds import LATEST, Bounds
from chainq.heights.range import HeightRange
from chainq.process.signals import PipeClosed, signals_deferred
from chainq.query import STDIN, Batch, Lookup, Query, limited, matching
from chainq.sinks.base import Sink
from chainq.sinks.open import open_sink
from chainq.text.humanize import chain_end

if TYPE_CHECKING:
    from msgspec import Raw

SCREENFUL = 50  # rows of a list without heights on a terminal: nobody knows how long it is
BEGINNING_READ = 2000  # rows that it reads for them on a terminal, at most: a filter may leave few
TOGETHER = 100  # lookups whose rows a table waits for, at most; more are written as they come


@dataclass(slots=True)
class SingleRun:
    """A run that writes the rows of a query and ends.

    `left`: the heights of a range that are not written yet. `read`: those from the first one up to the highest whose
    rows came, which is where the chain ended once all have come. `asked`: lookups whose rows are not written yet.
    `limit`: rows that are left, None without a limit.
    `rest`: how to get the rows of a list that go beyond the screen. `opened`: the output has its first bytes, if it
    begins with any, such as a header.
    """

    service: Service
    query: Query
    settings: OutputSettings
    reporter: Reporter
    left: HeightRange | None = None
    read: HeightRange = field(default=HeightRange(0, 0))
    asked: LookupsLeft = field(default_factory=LookupsLeft)
    limit: int | None = None
    rest: str = ""
    opened: bool = False

    def write(self) -> None:
        """Write all rows. Raises ChainqError and PipeClosed."""
        self.settings.warn_odd(self.reporter.warn)
        self.limit = self.query.limit
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
                self._add_remedy(error)
                raise

    def _draw(self) -> None:
        """Have the progress shown from the first request on, in what the query counts.

        How many heights a range has, the tip may decide; that is known later.
        """
        query, names = self.query, self.query.lookups or ()
        if not (STDIN in names and os.isatty(0)):  # somebody types them there
            self.reporter.draw(rows_on_terminal=self.settings.spec.terminal)
        if query.lookups is not None:
            self.reporter.begin(_number(query), "IDs" if query.method.param(Role.ID) else "heights")
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
        screenful = settings.spec.terminal and query.endless
        batches = self._screenful() if screenful else self._rows()  # raises UsageError before the first byte
        writer = settings.begin(self.reporter, sink, single=query.single, heights=heights, read=read)
        sink.keep()
        self.opened = True
        if screenful:
            found = self._copy(batches, writer, sink)
            self._warn_uncalled(found=found)
            self.reporter.note(self.rest)
            return
        if settings.format == "table":
            batches = _begun_together(batches, BEGINNING_READ if settings.spec.terminal else None)
        found = self._copy(batches, writer, sink)
        self._warn_uncalled(found=found)
        self._note_no_lookups()
        if whole and query.bounds is not None and (self.limit != 0 or (query.reverse and len(self.read))):
            self._warn_unreached(query.bounds, self.read)
        if whole and query.bounds == Bounds() and self.limit and self.read.start:
            self.reporter.note(f"only the last {DEFAULT_LAST} blocks were read; --last N reads more")

    def _note_no_lookups(self) -> None:
        """Tell the user that standard input was empty. It is a success: a filter before it may find nothing."""
        if STDIN in (self.query.lookups or ()) and not self.asked.taken and self.limit != 0:
            self.reporter.note(f"standard input had no {'IDs' if self.query.method.param(Role.ID) else 'heights'}")

    def _screenful(self) -> Iterator[Batch]:
        """Yield the first rows of the list, or its newest ones; request one more to see whether the list goes on."""
        left = SCREENFUL
        for batch in self._batches(self.query._replace(limit=SCREENFUL + 1)):
            if left:
                yield batch._replace(rows=batch.rows[:left])
            if len(batch.rows) > left:
                which, more = ("newest", "") if self.query.newest else ("first", ", --newest the newest, a pipe all")
                self.rest = f"these are the {which} {SCREENFUL} rows; --limit N shows more{more}"
                return
            left -= len(batch.rows)

    def _rows(self) -> Iterator[Batch]:
        """Yield the rows as they are written: those that pass the filter, with what chainq adds to them."""
        query, spec = self.query, self.settings.spec
        batches = limited(matching(self._batches(query), query.where), query.limit)
        verbatim = self.settings.can.verbatim and not (spec.selected or spec.flatten)
        shown = query.method.columns if self.settings.can.needs_heights else spec.columns
        if any(column.computed for column in shown) and not verbatim:
            batches = map(with_height, batches)
        if self.settings.format == "table" and 1 < (_number(query) or 0) <= TOGETHER:
            batches = _together(batches)
        return batches

    def _batches(self, query: Query) -> Iterator[Batch]:
        heights = self.left
        if query.page is not None:
            if heights is not None:
                check_one_page(query.method, heights)
            return self.service.fetch_one_page(query, heights)
        if heights is not None:
            return self.service.fetch_range(query, heights)
        if query.lookups is not None:
            return self.service.fetch_lookups(query.method, self.asked.noted(self._keys()))
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
        self.asked.answered(batch.lookups)
        if self.limit is not None:
            self.limit -= len(batch.rows)
        if self.left is not None and batch.heights is not None:
            start, end = self.left.edges
            self.read = HeightRange(self.read.start, max(self.read.end, batch.heights.end))
            below = HeightRange(start, batch.heights.start)
            self.left = below if self.query.reverse else HeightRange(batch.heights.end, end)
        passed = None if self.query.where is None else len(batch.rows)
        self.reporter.wrote(1 if batch.heights is None else len(batch.heights), batch.shown, passed)

    # What it says

    def _add_remedy(self, error: BaseException) -> None:
        """Add a note to an error: how to get the rows that are left."""
        from chainq.cli import remedy

        begun = self.asked.last is not None or bool(self.left and self.read) or self.limit != self.query.limit
        again = getattr(error, "again", True) and (begun or not isinstance(error, ResponseError))
        rest = self.query, self.settings, self.left, self.asked, self.limit
        if note := remedy.of(*rest, again=again, begun=begun, opened=self.opened):
            error.add_note(note)

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


def _number(query: Query) -> int | None:
    """Return how many lookups a query has, None if only the run shows it."""
    names = query.lookups or ()
    return len(names) if all(isinstance(name, int | str) and name != STDIN for name in names) else None


def _together(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the rows of a few lookups as one batch, so that they stand below one header; after it the error, if any."""
    rows: list[Raw] = []
    lookups = 0
    failure = None
    try:
        for batch in batches:
            rows += batch.rows
            lookups += batch.lookups
    except ChainqError as error:
        failure = error
    if rows:
        yield Batch(rows, lookups=lookups)
    if failure is not None:
        raise failure


def _begun_together(batches: Iterator[Batch], most_read: int | None) -> Iterator[Batch]:
    """Yield the first rows as one batch, which settles the widths of columns; then the others as they come.

    `most_read`: after how many rows before a filter the first rows are yielded, however few; None to wait for them.
    If the run fails or is stopped, what has come is yielded before the error.
    """
    held: Batch | None = None
    failure = None
    try:
        for batch in batches:
            held = batch if held is None else _joined(held, batch)
            if len(held.rows) >= BEGINNING or (most_read is not None and held.shown >= most_read):
                break
    except BaseException as error:
        failure = error
    if held is not None:
        yield held
    if failure is not None:
        raise failure
    yield from batches


def _joined(first: Batch, second: Batch) -> Batch:
    """Return two batches in a row as one."""
    a, b = first.heights, second.heights
    return second._replace(
        rows=[*first.rows, *second.rows],
        heights=HeightRange(min(a.start, b.start), max(a.end, b.end)) if a and b else a or b,
        scanned=first.shown + second.shown,
        lookups=first.lookups + second.lookups,
    )
