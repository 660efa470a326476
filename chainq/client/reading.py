"""The rows of a query for a client, and what it logs about them to the logger `chainq`: warnings, and retries."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chainq.catalog.methods import Role
from chainq.errors import UsageError
from chainq.fetching.lookups import with_height
from chainq.fetching.service import Service
from chainq.fetching.short_range import reason, unreached
from chainq.fetching.unproved import unproved
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange, HeightSet
from chainq.planning.exchange import Grade
from chainq.query import Batch, Query, limited, matching
from chainq.transport.base import Report, Stopped


def heights_of(service: Service, query: Query) -> HeightRange:
    """Return the heights of a range; the tip may be requested. Raises ChainqError."""
    with while_open():
        return service.height_range(query.bounds or Bounds(), to_tip=_to_tip(query))


def _to_tip(query: Query) -> bool:
    return query.reverse or query.method.param(Role.HEIGHT) is not None


def read(
    service: Service, query: Query, heights: HeightRange | None, *, whole_batches: bool = False
) -> Iterator[Batch]:
    """Return the rows of a query that pass its filter, up to its limit, which with `whole_batches` cuts no batch.

    Warnings at their end say which of them rest on belief, where the chain ends, or that nothing calls a function.
    """
    if heights is None:
        batches = service.fetch_pages(query)
    elif query.method.param(Role.HEIGHT):
        wanted = reversed(range(*heights.edges)) if query.reverse else [heights]
        batches = map(with_height, service.fetch_lookups(query.method, wanted))
    else:
        batches = service.fetch_range(query, heights)
    bounds = query.bounds or Bounds(whole=True)
    if heights is not None and not (len(heights) or bounds.fixed or bounds.last == 0):
        warn(reason(service, bounds, heights))
    return _noted(batches, service, query, heights, whole_batches=whole_batches)


def _noted(
    batches: Iterator[Batch], service: Service, query: Query, heights: HeightRange | None, *, whole_batches: bool
) -> Iterator[Batch]:
    bounds, believed, list_end, rows = query.bounds or Bounds(whole=True), HeightSet(), range(0), 0
    seen = HeightRange(0, 0) if heights is None else HeightRange(heights.start, heights.start)
    for batch in limited(matching(batches, query.where), None if whole_batches else query.limit):
        before, rows = rows, rows + len(batch.rows)
        if batch.heights is not None:
            seen = HeightRange(seen.start, max(seen.end, batch.heights.end))
        if batch.proof is not None and batch.proof.grade is Grade.BELIEF:
            if batch.heights is None:
                list_end = range(list_end.start if list_end else before, rows)
            else:
                believed.add(batch.heights)
        yield batch
    cut = query.limit is not None and rows >= query.limit
    if where := believed or (f"rows {list_end.start} to {list_end.stop - 1} of the list" if list_end else None):
        warn(f"{unproved({query.method.name: where}, limited=cut)}; --strict makes this an error")
    if heights is None and not rows and not cut:
        names = "/".join(str(query.arguments[role]) for role in (Role.PROGRAM, Role.FUNCTION))
        warn(f"no transactions call {names}: check the names")
    if heights is not None and (_to_tip(query) or not cut):
        warn(unreached(service, bounds, heights if _to_tip(query) else seen))


def retried(then: Callable[[Report], None], report: Report) -> None:
    """Log an attempt of a request, before what follows of it, if it failed and the call goes on."""
    if report.wait is not None:
        _log("INFO", f"{report.named}: {report.outcome}; retrying in {report.wait:.1f} s")
    elif report.hung:
        _log("INFO", f"{report.named}: {report.outcome}")
    then(report)


def warn(text: str) -> None:
    """Log a warning, unless its text is empty."""
    if text:
        _log("WARNING", text)


def _log(level: str, text: str) -> None:
    import logging  # takes time to load

    logging.getLogger("chainq").log(getattr(logging, level), "%s", text)


@contextmanager
def while_open() -> Iterator[None]:
    """Raise UsageError for what needs a request of a closed client."""
    try:
        yield
    except Stopped:
        raise UsageError("the client is closed") from None
