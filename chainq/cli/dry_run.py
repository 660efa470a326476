"""`--dry-run`: the requests that a command would send, as far as they are known before the first response."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from chainq.catalog.dialects import Dialect, Value
from chainq.catalog.methods import BY_COMMAND, Method, Role, Shape
from chainq.cli.query import lookups
from chainq.defaults import DEFAULT_LAST
from chainq.fetching.reading import check_one_page
from chainq.fetching.service import Service
from chainq.heights.bounds import LATEST, Bounds
from chainq.heights.range import HeightRange
from chainq.planning.chunking import first_requests, page_sizes
from chainq.query import Lookup, Query
from chainq.sinks.open import open_sink
from chainq.transport.jsonrpc import encode

if TYPE_CHECKING:
    from chainq.resume.settings import ResumeSettings

_Call = tuple[Method, Mapping[Role, Value]]
_TIP: _Call = (BY_COMMAND["latest"], {})


def print_requests(
    service: Service, query: Query, resume: "ResumeSettings | None", identity: Mapping[str, object]
) -> None:
    """Print the requests that the query would send, one per line. Ranges are divided as they are before any response.

    What depends on a response is a word in its place, such as `tip-99`. An unknown dialect is shown as chain.
    `identity`: as in `run`.
    """
    if resume is not None:
        from chainq.resume import follow

        query = follow.first_round(query, resume, identity)
    if query.bounds is not None:
        query = query._replace(bounds=service.bounded(query.bounds))
    dialect = service.dialect.known(query.method) or service.dialect.published
    by_key = query.lookups is not None or query.by_height
    calls = _lookups(service, query, dialect) if by_key else _range(service, query)
    with open_sink(None) as sink:
        for number, (method, arguments) in enumerate(calls, 1):
            name, params = dialect.call(method, {**query.arguments, **arguments})
            sink.write(encode(name, params, number) + b"\n")


def _lookups(service: Service, query: Query, dialect: Dialect) -> Iterator[_Call]:
    """Yield the request for each height or ID, and before the first that depends on the tip one for it.

    Where the method takes the row id of a block, the block is requested first.
    """
    role = Role.HEIGHT if query.method.param(Role.HEIGHT) else Role.ID
    tip_requested = False
    for lookup in lookups(query) if query.bounds is None else [query.bounds]:
        if lookup is None:
            continue
        values = _values(lookup, role)
        if not tip_requested and (isinstance(lookup, Bounds) or values == ["tip"]):
            yield _TIP
            tip_requested = True
        for value in values:
            if isinstance(value, int) and not service.requested(query, HeightRange(value, value + 1)):
                continue
            sent = value
            if query.method.shape is Shape.ROWS and dialect.transactions_by_row_id:
                yield BY_COMMAND["block"], {role: value}
                sent = f"row id of block {value}"
            yield query.method, {role: sent}


def _values(lookup: Lookup | Bounds | None, role: Role) -> Iterable[Value]:
    """Return the heights or the ID of a lookup, a list of one word if they depend on the tip."""
    if isinstance(lookup, Bounds):
        start, end = _words(lookup)
        return range(*lookup.fixed) if lookup.fixed else [f"each height from {start} to below {end}"]
    return ["tip" if lookup == LATEST and role is Role.HEIGHT else lookup or 0]


def _range(service: Service, query: Query) -> Iterator[_Call]:
    """Yield the requests of a range or a list; of a range that depends on the tip one, with words as its bounds."""
    method, bounds, paging = query.method, query.bounds, dict[Role, Value]()
    if method.sized:
        chosen = page_sizes(query)[0] if method.ranged and query.page is None else query.page_size or method.page_size
        paging = {Role.PAGE: query.page or 0, Role.SIZE: chosen or 1}
    if bounds is None:
        yield method, paging
    elif bounds.fixed:
        heights = HeightRange(*bounds.fixed)
        parts: Iterable[HeightRange] = [heights]
        if query.page is not None:
            check_one_page(method, heights)
        else:
            if query.where:  # of rows that pass, nobody knows where they are
                query = query._replace(limit=None)
            some = service.requested(query, heights)
            parts = (request.heights for part in some for request in first_requests(query, part))
        for part in parts:
            yield method, {Role.START: part.start, Role.END: part.end, **paging}
    else:
        start, end = _words(bounds)
        yield _TIP
        yield method, {Role.START: start, Role.END: end, **paging}


def _words(bounds: Bounds) -> tuple[Value, Value]:
    """Return both bounds, as words if they depend on the tip or on block times."""
    if bounds.last is not None or bounds == Bounds():
        return _from_tip(1 - (DEFAULT_LAST if bounds.last is None else bounds.last)), _from_tip(1)
    return _word(bounds.start, bounds.since, 0), _word(bounds.end, bounds.until, _from_tip(1))


def _word(bound: int | None, time: float | None, default: Value) -> Value:
    if time is not None:
        return f"first block at {datetime.fromtimestamp(time, UTC).isoformat()}"
    if bound is None:
        return default
    return bound if bound >= 0 else _from_tip(bound + 1)


def _from_tip(offset: int) -> str:
    return f"tip{offset:+d}" if offset else "tip"
