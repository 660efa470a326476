"""`--dry-run`: the requests that a command would send, as far as they are known before the first response."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from chainq.catalog.dialects import Dialect, Value
from chainq.catalog.methods import BY_COMMAND, Method, Role, Shape
from chainq.cli.query import check_one_page, lookups
from chainq.defaults import DEFAULT_LAST
from chainq.heights.bounds import LATEST, Bounds
from chainq.heights.range import HeightRange
from chainq.planning.chunking import first_requests, page_sizes, proving
from chainq.query import Lookup, Query
from chainq.transport.jsonrpc import encode


def lines(
    dialect: Dialect,
    query: Query,
    requested: Callable[[HeightRange], list[HeightRange]],
    remark: Callable[[str], None],
) -> Iterator[bytes]:
    """Yield the requests as lines of JSON. Ranges are divided as they are before any response.

    `requested` returns the heights of a range that are not read from files. What depends on a response is a word in its
    place, such as `tip-99`. `remark` tells somebody who watches why requests go beyond the range.
    """
    method, arguments = query.method, query.arguments
    paging: dict[Role, Value] = {}
    if method.sized:
        page_size = query.page_size or method.page_size
        if method.ranged and query.page is None:
            page_size, _ = page_sizes(query)
        paging = {Role.PAGE: query.page or 0, Role.SIZE: page_size or 1}
    if query.lookups is not None:
        calls = _lookups(dialect, method, lookups(query), requested)
    elif query.bounds is None:
        calls = iter([dialect.call(method, {**arguments, **paging})])
    else:
        calls = _range(dialect, query, query.bounds, paging, requested, remark)
    for number, (name, params) in enumerate(calls, 1):
        yield encode(name, params, number) + b"\n"


def _lookups(
    dialect: Dialect,
    method: Method,
    wanted: Iterable[Lookup | Bounds | None],
    requested: Callable[[HeightRange], list[HeightRange]],
) -> Iterator[tuple[str, Any]]:
    """Yield the request for each height or ID, and before the first `latest` or range one for the tip.

    Where the method takes the row id of a block, the block is requested first.
    """
    role = Role.HEIGHT if method.param(Role.HEIGHT) else Role.ID
    tip_requested = False
    for lookup in wanted:
        if lookup is None:
            continue
        if not tip_requested and (isinstance(lookup, Bounds) or (lookup == LATEST and role is Role.HEIGHT)):
            yield dialect.call(BY_COMMAND["latest"], {})
            tip_requested = True
        for value in _values(lookup, role):
            if isinstance(value, int) and not requested(HeightRange(value, value + 1)):
                continue
            sent = value
            if method.shape is Shape.ROWS and dialect.transactions_by_row_id:
                yield dialect.call(BY_COMMAND["block"], {role: value})
                sent = f"row id of block {value}"
            yield dialect.call(method, {role: sent})


def _values(lookup: Lookup | Bounds, role: Role) -> Iterable[Value]:
    """Return the heights or the ID of a lookup, words if they depend on the tip."""
    if not isinstance(lookup, Bounds):
        return ["tip" if lookup == LATEST and role is Role.HEIGHT else lookup]
    if lookup.fixed:
        return range(*lookup.fixed)
    start, end = _words(lookup)
    if lookup.until is not None:
        return [f"each height from {start} to below {end}"]
    end = lookup.end - 1 if lookup.end is not None and lookup.end > 0 else _from_tip(lookup.end or 0)
    return [f"each height from {start} to {end}"]


def _range(
    dialect: Dialect,
    query: Query,
    bounds: Bounds,
    paging: dict[Role, Value],
    requested: Callable[[HeightRange], list[HeightRange]],
    remark: Callable[[str], None],
) -> Iterator[tuple[str, Any]]:
    """Yield the requests of a range; if it depends on the tip a single one, with words as its bounds."""
    method, arguments = query.method, query.arguments
    if bounds.fixed:
        heights = HeightRange(*bounds.fixed)
        if query.page is not None:
            check_one_page(method, heights)
            sent: Iterable[HeightRange] = [heights]
        else:
            if query.where:  # of rows that pass, nobody knows where they are
                query = query._replace(limit=None)
            sent = (request.heights for part in requested(heights) for request in first_requests(query, part))
        last = heights.end
        for part in sent:
            last = max(last, part.end)
            yield dialect.call(method, {**arguments, Role.START: part.start, Role.END: part.end, **paging})
        if last > heights.end:
            remark(f"requests go on to height {last - 1} {proving(heights)}")
    else:
        start, end = _words(bounds)
        yield dialect.call(BY_COMMAND["latest"], {})
        yield dialect.call(method, {**arguments, Role.START: start, Role.END: end, **paging})


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
