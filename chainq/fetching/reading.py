"""`Reading`: the way from a query to its rows, for commands, `Client` and `sql`, and what to say about them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from chainq.catalog.methods import BY_NAME, Method, Role
from chainq.defaults import DEFAULT_LAST
from chainq.errors import Shortfall, UsageError
from chainq.fetching.service import Service
from chainq.heights.bounds import LATEST, Bounds, none_below
from chainq.heights.range import HeightRange, chain_end, end_above
from chainq.query import Batch, Lookup, Query, limited, matching
from chainq.text.humanize import counts, utc
from chainq.text.sanitize import quoted


class Note(NamedTuple):
    """What a user should know of rows. `warning`: it is not what the arguments say already."""

    text: str
    warning: bool = True


class Reading:
    """The rows of a query, up to its limit.

    `left`: the heights of a range that are not taken yet, None for a query without. `read`: those from the first one up
    to the highest whose rows were taken, which is where the chain ended once all have come. `limit`: rows that are
    left, None without a limit. `last`: the heights of the batch taken last. `begun`: one was taken; `shown`: rows that
    the service had for those that were taken, also if a filter dropped them.
    """

    def __init__(self, query: Query, service: Service, lookups: Iterable[Lookup | Bounds | None] | None = None) -> None:
        self.query, self.service, self.limit = query, service, query.limit
        self._lookups = query.lookups or () if lookups is None else lookups
        self._to_tip = query.reverse or query.by_height
        self._notes: list[Note] = []
        self.left: HeightRange | None = None
        self.heights = self.read = HeightRange(0, 0)
        self.last: HeightRange | None = None
        self.begun, self.shown = False, 0

    def resolve(self) -> HeightRange:
        """Return the heights of a range, none for a query without; the tip may be requested. Raises ChainqError."""
        if self.query.bounds is not None:
            self.left = self.heights = self.service.height_range(self.query.bounds, to_tip=self._to_tip)
            self.read = HeightRange(self.left.start, self.left.start)
        return self.heights

    def batches(self, *, whole: bool = False) -> Iterator[Batch]:
        """Return the rows that pass the filter, up to the limit, to be taken one batch after another.

        `whole`: the limit cuts no batch. Raises UsageError before the first, and ChainqError.
        """
        return limited(matching(self._source(), self.query.where), None if whole else self.query.limit)

    def took(self, batch: Batch) -> None:
        """Count the rows of a batch."""
        self.begun, self.last = True, batch.heights
        self.shown += batch.shown
        if self.limit is not None:
            self.limit = max(0, self.limit - len(batch.rows))
        if self.left is not None and batch.heights is not None:
            (start, end), (first, after) = self.left.edges, batch.heights.edges
            self.read = HeightRange(self.read.start, max(self.read.end, after))
            self.left = HeightRange(start, first) if self.query.reverse else HeightRange(after, end)

    def _source(self) -> Iterator[Batch]:
        query, heights, service, method = self.query, self.left, self.service, self.query.method
        if query.page is not None:
            check_one_page(method, heights)
            return service.fetch_one_page(query, heights)
        if heights is not None and query.by_height:
            return service.fetch_lookups(method, reversed(range(*heights.edges)) if query.reverse else [heights])
        if heights is not None:
            return service.fetch_range(query, heights)
        if query.lookups is not None:
            return service.fetch_lookups(method, self._keys())
        return service.fetch_pages(query) if method.page_size else service.blocks.fetch_latest(known=True)

    def _keys(self) -> Iterator[Lookup | HeightRange | None]:
        """Yield what to look up: of a range its heights, as far as the tip; for `latest` the tip."""
        for lookup in self._lookups:
            if isinstance(lookup, Bounds):
                heights = self.service.height_range(lookup, to_tip=True)
                self._notes += self._of_range(lookup, heights, heights)
                yield heights
            else:
                yield self.service.blocks.latest_height() if self.query.by_height and lookup == LATEST else lookup

    def notes(self) -> Iterator[Note]:
        """Yield what to say after the last row: why there is none, and where the chain ends."""
        query, bounds = self.query, self.query.bounds
        program, function = map(query.arguments.get, (Role.PROGRAM, Role.FUNCTION))
        if function and not (self.shown or query.page or query.where or query.limit == 0):  # it may be misspelt
            self.service.believed_lists.pop(query.method.name, None)  # an empty list: one warning is enough
            tip = self.service.blocks.tip_height()
            hint = f"check the names with chainq show {program}" if tip >= 0 else chain_end(tip)
            yield Note(f"no transactions call {program}/{function}: {hint}")
        yield from self._notes
        if bounds is not None and query.page is None:
            if self.limit != 0 or (self._to_tip and len(self.read)):
                yield from self._of_range(bounds, self.heights, self.heights if self._to_tip else self.read)
            if bounds == Bounds() and self.limit != 0 and query.limit is not None and self.read.start:
                yield Note(f"only the last {DEFAULT_LAST} blocks were read; --last N reads more", warning=False)

    def _of_range(self, bounds: Bounds, heights: HeightRange, read: HeightRange) -> Iterator[Note]:
        if not len(heights) and (why := reason(self.service, bounds, heights)):
            yield Note(why, warning=not (bounds.fixed or bounds.last == 0))
        if why := unreached(self.service, bounds, read):
            yield Note(why)

    def doubts(self, only: str = "") -> Iterator[Note]:
        """Yield what to say once of the rows that came, also if an error ended them: what they rest on.

        `only`: the method to speak of; all that the service was asked for if it is empty.
        """
        service, where = self.service, self.query.where
        believed: dict[str, object] = {}
        for kept in (service.believed, service.believed_lists):
            believed |= {name: kept.pop(name) for name in [*kept] if only in ("", name)}
        if believed:
            yield unproved(believed, limited=self.limit == 0)
        if service.unhashed:
            yield unchecked(service.unhashed)
            service.unhashed.clear()
        for path in where.unseen if where is not None else ():
            yield Note(f"no row has the column {quoted(path)}")


def check_one_page(method: Method, heights: HeightRange | None) -> None:
    """Raise UsageError for a range that is too long for one request, which is all that `--page` sends."""
    most = method.max_heights
    if heights is not None and most is not None and len(heights) > most:
        raise UsageError(f"--page sends one request, which can cover {most} heights but not {len(heights)}")


def unproved(believed: Mapping[str, object], *, limited: bool = False) -> Note:
    """Return which rows of methods rest on belief: at which heights, or where in a list.

    `limited`: the rows ended at their limit, so that none are claimed beyond.
    """
    rows = "; ".join(f"{BY_NAME[method].command} {where}".rstrip() for method, where in believed.items())
    limit = " up to the limit" if limited else ""
    why = f'nothing proves that these are all rows{limit} (docs/completeness.md, "Belief")'
    return Note(Shortfall(f"{rows}: {why}; --strict makes this an error"))


def unchecked(unhashed: Mapping[str, int]) -> Note:
    """Return what `--hashes` could not check."""
    return Note(Shortfall(f'not checked: {counts(unhashed.items())} (docs/hashes.md, "What is not checked")'))


def reason(service: Service, bounds: Bounds, heights: HeightRange) -> str:
    """Return why bounds resolve to `heights`, which are none; empty if only requests for a fixed range can show it.

    Raises ChainqError.
    """
    since, until, place = bounds.since, bounds.until, heights.start
    if bounds.last == 0:
        return "the range is empty"
    if (bounds.start or 0) == bounds.end:
        return none_below(bounds.end, bounds.end)
    if since is not None and since == until:
        return f"no times from {utc(since)} to {utc(until)}: --until is exclusive"
    if bounds.fixed:
        return ""
    tip = service.blocks.tip()
    if place > tip.height:
        time = "" if tip.time is None else f", of {utc(tip.time)}"
        return f"no blocks in that range: {chain_end(tip.height)}{time}"
    if since is None and until is None:
        return none_below(place, heights.end)
    return f"no blocks in that range: block {place} is of {utc(service.blocks.time_of(place))}"


def unreached(service: Service, bounds: Bounds, read: HeightRange) -> str:
    """Return where the chain ends, if that is below the end of the bounds; empty if it is not.

    `read`: the heights that were read, with all their rows. The tip is not requested if there are any: of several
    servers behind a URL, another one may have ended the range than the one asked again. Raises ChainqError.
    """
    end = bounds.end
    if bounds.until is not None and len(read):
        newest = service.blocks.tip()  # known, because the time was searched below it
        if newest.height < read.end and newest.time is not None and newest.time < bounds.until:
            until, ends = utc(bounds.until), chain_end(newest.height)
            return Shortfall(f"the end {until} is not reached: {ends}, of {utc(newest.time)}")
    if end is None or end <= max(0, read.end):
        return ""
    tip = read.end - 1 if len(read) else service.blocks.tip_for(end)
    if bounds.one_word and bounds.start == end - 1:
        return Shortfall(f"block {bounds.start} does not exist: {chain_end(tip)}")
    if bounds.start is not None and bounds.start >= max(0, read.end) and not len(read):
        return Shortfall(f"no blocks in that range: {chain_end(tip)}")
    return end_above(end, tip)
