"""`--dry-run`: the requests that a command would send, as far as they are known before the first answer."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from chainq.catalog.dialects import Dialect, Value
from chainq.catalog.methods import BY_COMMAND, Method, Role, Shape
from chainq.cli.query import lookups
from chainq.heights.bounds import DEFAULT_LAST, Bounds
from chainq.heights.range import HeightRange
from chainq.planning.chunking import Cutter
from chainq.planning.query import LATEST, Lookup, Query
from chainq.transport.jsonrpc import encode


def lines(dialect: Dialect, query: Query) -> Iterator[bytes]:
    """The requests, as lines of JSON. Ranges are cut as if nothing were learned from answers."""
    method, arguments = query.method, query.arguments
    paged: dict[Role, Value] = {}
    if method.param(Role.SIZE):
        paged = {Role.PAGE: query.page or 0, Role.SIZE: query.page_size or 1}
    if query.lookups is not None:
        calls = _looked_up(dialect, method, lookups(query))
    elif query.bounds is None:
        calls = iter([dialect.call(method, {**arguments, **paged})])
    else:
        calls = _ranged(dialect, query, query.bounds, paged)
    for number, (name, params) in enumerate(calls, 1):
        yield encode(name, params, number) + b"\n"


def _looked_up(dialect: Dialect, method: Method, names: Iterable[Lookup | None]) -> Iterator[tuple[str, Any]]:
    """A call for each name; `latest` asks for the newest block first, and stands as a word after that.

    Where transactions are asked for by row id, their block is asked for it, and the row id stands as a word.
    """
    role = Role.HEIGHT if method.param(Role.HEIGHT) else Role.ID
    known = False
    for name in names:
        if name is None:
            continue
        if name == LATEST and role is Role.HEIGHT:
            if not known:
                yield dialect.call(BY_COMMAND["latest"], {})
            known, name = True, "newest"
        if method.shape is Shape.ROWS and dialect.transactions_by_row_id:
            yield dialect.call(BY_COMMAND["block"], {role: name})
            name = f"row id of block {name}"
        yield dialect.call(method, {role: name})


def _ranged(dialect: Dialect, query: Query, ask: Bounds, paged: dict[Role, Value]) -> Iterator[tuple[str, Any]]:
    """The calls of a range; where the newest block decides, they stand as one, its bounds as words."""
    method, arguments = query.method, query.arguments
    if ask.fixed and ask.start is not None and ask.end is not None:
        cutter = Cutter(method, HeightRange(ask.start, ask.end), query.page_size, query.reverse)
        while cutter:
            span, _ = cutter.cut()
            yield dialect.call(method, {**arguments, Role.START: span.start, Role.END: span.end, **paged})
    else:
        start, end = _words(ask)
        yield dialect.call(BY_COMMAND["latest"], {})
        yield dialect.call(method, {**arguments, Role.START: start, Role.END: end, **paged})


def _words(ask: Bounds) -> tuple[Value, Value]:
    if ask.last is not None or ask == Bounds():
        back = (DEFAULT_LAST if ask.last is None else ask.last) - 1
        return f"newest-{back}" if back > 0 else "newest", "newest+1"
    start = _word(ask.start, ask.since, 0)
    return start, _word(ask.end, ask.until, "newest+1")


def _word(bound: int | None, time: float | None, usual: Value) -> Value:
    if time is not None:
        return f"first block at {datetime.fromtimestamp(time, UTC).isoformat()}"
    if bound is None:
        return usual
    return bound if bound >= 0 else f"newest{bound + 1:+d}" if bound < -1 else "newest"
