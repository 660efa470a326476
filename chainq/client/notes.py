"""Notes of a client to the logger `chainq`: what a program may not expect of its rows, and retries of requests."""

from collections.abc import Callable, Iterator

from chainq.catalog.methods import Method
from chainq.errors import ChainqError
from chainq.fetching.service import Service
from chainq.fetching.short_range import reason, unreached
from chainq.fetching.unproved import unproved
from chainq.heights.bounds import Bounds
from chainq.heights.height_set import HeightSet
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade
from chainq.query import Batch, Query, limited
from chainq.transport.base import Report


def uncalled(batches: Iterator[Batch], program: str, function: str) -> Iterator[Batch]:
    """Yield batches of the transactions that call a function, and note that there are none."""
    return _noted(batches, lambda: f"no transactions call {program}/{function}: check the names")


def _noted(batches: Iterator[Batch], note: Callable[[], str]) -> Iterator[Batch]:
    found = False
    for batch in batches:
        found = found or bool(batch.rows)
        yield batch
    if not found:
        warn(note())


def short(
    batches: Iterator[Batch], service: Service, query: Query, heights: HeightRange, *, to_tip: bool
) -> Iterator[Batch]:
    """Yield the batches of a range, and note why it has no heights, or that the chain ends below its end.

    `to_tip`: `heights` end at the tip at the latest, and otherwise where the rows do. Heights without a block between
    them, as a loop over new blocks may have, are not noted.
    """
    bounds = query.bounds or Bounds(whole=True)
    if not len(heights) and not bounds.fixed and bounds.last != 0:
        warn(reason(service, bounds, heights))
    elif to_tip:
        warn(unreached(service, bounds, heights))
    read, rows = HeightRange(heights.start, heights.start), 0
    for batch in batches:
        rows += len(batch.rows)
        if batch.heights is not None:
            read = HeightRange(read.start, max(read.end, batch.heights.end))
        yield batch
    if not to_tip and (query.limit is None or rows < query.limit):
        warn(unreached(service, bounds, read))


def complete(batches: Iterator[Batch], method: Method, limit: int | None = None) -> Iterator[Batch]:
    """Yield batches up to `limit` rows, and note at their end, or at an error, which of them rest on belief.

    Rows that are not read to their end claim nothing. Each call notes its own, as rows of a client may be read in turn.
    """
    heights, rows, read = HeightSet(), range(0), 0
    try:
        for batch in limited(batches, limit):
            after = read + len(batch.rows)
            if batch.proof is not None and batch.proof.grade is Grade.BELIEF:
                if batch.heights is None:
                    rows = range(rows.start if rows else read, after)
                else:
                    heights.add(batch.heights)
            read = after
            yield batch
    except ChainqError:
        _note_belief(method, heights, rows, limited=False)
        raise
    _note_belief(method, heights, rows, limited=read == limit)


def _note_belief(method: Method, heights: HeightSet, rows: range, *, limited: bool) -> None:
    where = heights or (f"rows {rows.start} to {rows.stop - 1} of the list" if rows else None)
    if where:
        warn(f"{unproved({method.name: where}, limited=limited)}; --strict makes this an error")


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
