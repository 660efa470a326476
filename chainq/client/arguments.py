"""Checks the arguments of the Python API: whatever is wrong with one is a UsageError, before any request."""

import operator
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, ParamSpec, TypedDict, TypeVar, cast

import msgspec

from chainq.catalog import identifiers
from chainq.catalog.kinds import TextKind, check_kind
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.config import values
from chainq.errors import UsageError
from chainq.heights.block_time import parse_time
from chainq.heights.bounds import HIGHEST, LATEST, Bounds, parse_count, parse_end, parse_height, parse_start
from chainq.query import Query
from chainq.rows.where import Where
from chainq.text.sanitize import excerpt

if TYPE_CHECKING:
    from chainq.wallet.keys import ViewKey

Time = date | timedelta | float | str  # a datetime is a date
Height = int | str  # 12345, or as the commands take it: "12K"; of ranges -100, and of these and one block "latest"
Location = str | os.PathLike[str]  # a URL or a folder
Texts = str | Sequence[str]  # one or several
_MOST = 1e11  # seconds since 1970, as in the texts that the commands take: a larger number is in a smaller unit
P = ParamSpec("P")
T = TypeVar("T")


class RangeOptions(TypedDict, total=False):
    """What every method with a height range takes beside `start` and `end`; `chainq.client` describes them."""

    last: Height | None
    since: Time | None
    until: Time | None
    limit: int | None
    reverse: bool


_BOUNDS = ("start", "end", *RangeOptions.__annotations__)


class WhereOptions(RangeOptions, total=False):
    """What is taken if rows can be left out, too."""

    where: Texts | None


class CallOptions(WhereOptions, total=False):
    """What is taken if rows name the program and the function that was called, too."""

    program: Texts | None
    function: Texts | None


def range_query(
    caller: str,
    command: str,
    start: Height | None,
    end: Height | None,
    options: RangeOptions,
    sent: Mapping[Role, int | str] = MappingProxyType({}),
    *,
    verify: bool = True,
) -> Query:
    """Return the query of a range command: without any bound the newest blocks, of an address the whole chain.

    `caller`: the method that was called; `sent`: the arguments of each request. Raises UsageError, and TypeError for an
    unknown option.
    """
    method = BY_COMMAND[command]
    filters = WhereOptions if method.filtered and caller not in ("owned", "batches") else RangeOptions
    known = (CallOptions if method.program and filters is WhereOptions else filters).__annotations__
    check_names(caller, options, ("start", "end", *known))
    last, since, until = options.get("last"), options.get("since"), options.get("until")
    limit = options.get("limit")
    bounds = Bounds(
        start=None if start is None else counted_height("start", start),
        end=None if end is None else parse_end(end) if isinstance(end, str) else _bound("end", end),
        last=None if last is None else parse_count(last) if isinstance(last, str) else height("last", last),
        since=None if since is None else _seconds("since", since),
        until=None if until is None else _seconds("until", until),
        whole=method.param(Role.ADDRESS) is not None,
    )
    bounds.check()
    given = cast("CallOptions", options)
    return Query(
        method,
        sent,
        bounds=bounds,
        reverse=flag("reverse", options.get("reverse", False)),
        limit=None if limit is None else integer("limit", limit, 0, HIGHEST),
        verify=flag("verify", verify),
        where=condition(method, given.get("where"), given.get("program"), given.get("function")),
    )


def check_names(caller: str, options: Iterable[str], known: Sequence[str]) -> None:
    """Raise TypeError for an option that is none of the known ones, as a function without it does."""
    for name in options:
        if name not in known:
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}")


def condition(
    method: Method, where: Texts | None, program: Texts | None = None, function: Texts | None = None
) -> Where | None:
    """Return the condition of the filter options, None without any. Raises UsageError."""
    if where is program is function is None:
        return None
    return Where(
        method,
        _texts("where", where),
        [identifiers.program(one) for one in _texts("program", program)],
        [identifiers.function(one) for one in _texts("function", function)],
    )


def _texts(name: str, value: Texts | None) -> list[str]:
    """Return the texts of an option that the commands repeat. Raises UsageError, also for an empty list."""
    if value is None:
        return []
    several: Sequence[str] = value if isinstance(value, list | tuple) else [cast("str", value)]
    if not several:
        raise UsageError(f"{name} is empty, so no row can have it", f"{name}=None is no filter")
    return [text(name, one) for one in several]


def height(name: str, value: Height) -> int:
    """Return a height. Raises UsageError."""
    if isinstance(value, str):
        return parse_height(value)
    return integer(name, value, 0, HIGHEST)


def counted_height(name: str, value: Height) -> int:
    """Return a height, negative from the end of the chain. Raises UsageError."""
    return parse_start(value) if isinstance(value, str) else _bound(name, value)


def lookup(value: Height) -> Height:
    """Return the height of one block, or LATEST. Raises UsageError, which says what an ID is."""
    if isinstance(value, str) and value.strip() == LATEST:
        return LATEST
    if isinstance(value, str):
        check_kind(value, "height", TextKind.HEIGHT)
    return height("height", value)


def of_one_block(heights: Sequence[object], options: Mapping[str, object]) -> bool:
    """Return whether these arguments of `transactions` name one block, and no range.

    Raises UsageError for an option of ranges with one block, and TypeError for an unknown one.
    """
    if "height" not in options and (len(heights) != 1 or not options.keys().isdisjoint(("start", "end"))):
        return False
    more = next((name for name in _BOUNDS if name in options), None)
    if more:
        raise UsageError(f"transactions(height) reads one block, without {more}=")
    check_names("transactions", options, ("height", "where"))
    return True


def _bound(name: str, value: int) -> int:
    """Return a bound of a range; below 0 it counts back from the tip. Raises UsageError."""
    return integer(name, value, -HIGHEST, HIGHEST)


def integer(name: str, value: int, low: int, high: int) -> int:
    """Return `value` as an int, of whatever integer type it is. Raises UsageError."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        given = str(value) if isinstance(value, float) else values.shown(value)  # 5.0, which is no 5
        raise UsageError(f"invalid {name} {given}: expected an int from {low} to {high}")
    return number


def flag(name: str, value: bool) -> bool:
    """Return a switch as a bool, of whatever boolean type it is. Raises UsageError for a text: "no" is true as well."""
    if isinstance(value, str | bytes) or value not in (True, False):
        raise UsageError(f"invalid {name} {values.shown(value)}: expected True or False")
    return bool(value)


def text(name: str, value: str) -> str:
    """Return a text. Raises UsageError."""
    if not isinstance(value, str):
        raise UsageError(f"invalid {name} {values.shown(value)}: expected a str")
    return value


def location(name: str, value: Location) -> str:
    """Return a URL or the path of a folder as text. Raises UsageError."""
    return text(name, os.fspath(value) if isinstance(value, os.PathLike) else value)


def encoded(params: object) -> msgspec.Raw | None:
    """Return the parameters of a request as JSON. Raises UsageError if they cannot be."""
    try:
        return None if params is None else msgspec.Raw(msgspec.json.encode(params))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"invalid params: JSON cannot hold them: {excerpt(str(error), 120)}") from None


def headers(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return HTTP headers. Raises UsageError, which never repeats a value: it may be a secret."""
    if not isinstance(given, Mapping | None):
        raise UsageError("invalid headers: expected a mapping of names to values")
    checked: dict[str, str] = {}
    for name, value in (given or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError("invalid headers: expected names and values of type str")
        checked |= [values.checked_header(name, value.strip())]
    return checked


def _seconds(name: str, value: Time) -> float:
    """Return a time as seconds since 1970; a datetime without a zone is UTC, as times of the service are, a date
    its midnight, and a timedelta an age."""
    if isinstance(value, str):
        return parse_time(value, time.time(), name)
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if value != value or (number is None and not isinstance(value, date | timedelta)) or abs(number or 0) >= _MOST:
        scaled = 0 if number is None else number / 1000
        raise UsageError(  # also for pandas.NaT, a datetime without a time
            f"invalid {name} {values.shown(value)}: expected a datetime, a date, a timedelta (an age), seconds since"
            " 1970 or a text",
            f"if it is in milliseconds, use {name}={scaled:.0f}" if _MOST / 1000 <= abs(scaled) < _MOST else "",
        )
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    if isinstance(value, timedelta):
        return time.time() - value.total_seconds()
    return float(value)


def processes(workers: int | None) -> int:
    """Return how many processes compare rows. Raises UsageError."""
    from chainq.process.pool import cores
    from chainq.wallet.scan import MOST_WORKERS

    return cores() if workers is None else integer("workers", workers, 1, MOST_WORKERS)


def view_keys(given: str | Sequence[str]) -> "list[ViewKey]":
    """Return valid view keys. Raises UsageError, which repeats none."""
    from chainq.wallet import keys

    texts = [given] if isinstance(given, str) or not isinstance(given, Sequence) else given
    return keys.checked((f"view key {number}", text) for number, text in enumerate(texts, 1))
