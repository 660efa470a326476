"""Reads the arguments of the Python API as the commands read their words, before any request."""

import operator
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from chainq.catalog import identifiers
from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import UsageError
from chainq.heights.bounds import bounds_of, parse_count
from chainq.query import Query
from chainq.rows.where import Where

if TYPE_CHECKING:
    from chainq.wallet.keys import ViewKey

T = TypeVar("T")
Time = date | timedelta | float | str  # a datetime is a date
Height = int | str  # 12345, or as the commands take it: "12K"; of ranges -100, and of these and one block "latest"
Location = str | os.PathLike[str]  # a URL or a folder
Texts = str | Sequence[str]  # one or several
_MOST = 1e11  # seconds since 1970, as in the texts that the commands take: a larger number is in a smaller unit


class RangeOptions(TypedDict, total=False):
    """What every method with a height range takes beside `start` and `end`; `chainq.client` describes them."""

    last: Height | None
    since: Time | None
    until: Time | None
    limit: int | None
    reverse: bool


class WhereOptions(RangeOptions, total=False):
    """What is taken if rows can be left out, too."""

    where: Texts | None


class CallOptions(WhereOptions, total=False):
    """What is taken if rows name the program and the function that was called, too."""

    program: Texts | None
    function: Texts | None


def range_query(
    caller: str,
    start: Height | None,
    end: Height | None,
    options: RangeOptions,
    sent: Mapping[Role, int | str] = MappingProxyType({}),
    command: str = "",
) -> Query:
    """Return the query of a range command: without any bound the newest blocks, of an address the whole chain.

    `caller`: the method that was called, and what it reads unless `command` says so; `sent`: the arguments of each
    request. Raises UsageError, and TypeError for an unknown option.
    """
    method = BY_COMMAND[command or caller.replace("_", "-")]
    filtered = method.condition and not command
    known = RangeOptions if not filtered else CallOptions if method.program else WhereOptions
    check_names(caller, options, known.__annotations__)
    heights = (parsed(str, value) for value in (start, end, options.get("last")))
    times = (_time(name, value) for name, value in (("since", options.get("since")), ("until", options.get("until"))))
    bounds = bounds_of(*heights, *times, whole=method.param(Role.ADDRESS) is not None, now=time.time())
    return Query(
        method,
        sent,
        bounds=bounds,
        reverse=bool(options.get("reverse")),
        limit=most(options.get("limit")),
        where=condition(method, cast("CallOptions", options)),
    )


def check_names(caller: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError for an option that is none of the known ones, as a function without it does."""
    for name in set(options).difference(known):
        raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}")


def condition(method: Method, options: CallOptions) -> Where | None:
    """Return the condition of the filter options, None without any. Raises UsageError, also for an empty list."""
    where, programs, functions = (_texts(options.get(name)) for name in ("where", "program", "function"))
    if not (where or programs or functions):
        return None
    return Where(method, where, list(map(identifiers.program, programs)), list(map(identifiers.function, functions)))


def _texts(value: object) -> list[str]:
    if isinstance(value, Sequence) and not value:
        raise UsageError("a filter is an empty list, so no row can pass it", "None is no filter")
    return [value] if isinstance(value, str) else list(cast("Sequence[str]", value or ()))


def parsed(parse: Callable[[str], T], value: Height | None) -> T | None:
    """Return what `parse` makes of a height or a number, of whatever type it is. Raises UsageError."""
    return None if value is None else parse(written(value))


def written(value: object) -> str:
    """Return a height or a number of whatever type as the commands take it. Raises UsageError."""
    if isinstance(value, str | float):
        return str(value)
    try:
        return str(operator.index(cast("Any", value)))
    except (TypeError, ValueError):  # the second for more digits than Python prints
        raise UsageError(f"invalid height or number of type {type(value).__name__}: expected an int or a str") from None


def most(limit: int | None) -> int | None:
    """Return the number of rows that `limit` allows. Raises UsageError."""
    return None if limit is None else parse_count(written(limit), "limit")


def integer(name: str, value: int, low: int, high: int) -> int:
    """Return `value` as an int, of whatever integer type it is. Raises UsageError."""
    number = operator.index(value)
    if not low <= number <= high:
        raise UsageError(f"invalid {name}: expected an int from {low} to {high}")
    return number


def positive(name: str, value: float | None) -> float | None:
    """Return a rate (requests per second) or a timeout (seconds) as a float. Raises UsageError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-6 <= value <= 1e6:
        raise UsageError(f"invalid {name}: expected a number from 0.000001 to 1000000")
    return float(value)


def _time(name: str, value: Time | None) -> str | float | None:
    """Return a time that is no text as seconds since 1970; a datetime without a zone is UTC, as times of the service
    are, a date its midnight, and a timedelta an age."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        return time.time() - value.total_seconds()
    if isinstance(value, date):
        zoned = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        value = (zoned if zoned.tzinfo else zoned.replace(tzinfo=UTC)).timestamp()
    if not abs(value) < _MOST:  # also for pandas.NaT, a datetime without a time
        raise UsageError(f"invalid {name} {value:.60g}: expected seconds since 1970, a datetime or a text")
    return float(value)


def keys_and_workers(view_key: Texts, workers: int | None) -> "tuple[list[ViewKey], int]":
    """Return valid view keys, and how many processes compare rows. Raises UsageError, which repeats no key."""
    from chainq.process.pool import cores
    from chainq.wallet import keys
    from chainq.wallet.scan import MOST_WORKERS

    texts = [view_key] if isinstance(view_key, str) else view_key
    view_keys = keys.checked((f"view key {number}", text) for number, text in enumerate(texts, 1))
    return view_keys, cores() if workers is None else integer("workers", workers, 1, MOST_WORKERS)
