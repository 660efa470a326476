"""Converts values of a SQL result to JSON exactly as DuckDB computed them, or raises an error.

Python has no infinite dates, months or nanoseconds, and JSON no infinite numbers, so such DuckDB values would change in
conversion. DuckDB therefore writes dates, times and intervals as text, and a number that is not finite becomes text,
too. That is impossible inside arrays and objects, so a value there that would change causes an error.

Rejected: all columns as text, because numbers would lose their type; DuckDB's `to_json`, which rounds large numbers.
"""

import math
import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from chainq.errors import UsageError
from chainq.text.sanitize import excerpt, quoted

_TIMES = ("DATE", "TIME", "INTERVAL")  # how the types of dates and times begin, TIMESTAMP among them
_NESTED = ("STRUCT", "TUPLE", "MAP", "UNION")
_TIME = re.compile(r"([0-9]{4,}-[0-9]{2}-[0-9]{2}) ([0-9:.]+)(\+00)?")
_INFINITE = (date.max, date.min, datetime.max, datetime.min)  # Python's values for infinity


def is_nested(kind: str) -> bool:
    """Return whether values of a type of DuckDB are arrays or objects."""
    return kind.endswith("]") or kind.startswith(_NESTED)


def is_time(kind: str) -> bool:
    """Return whether DuckDB writes the values of a type as text: dates, times and intervals."""
    return kind.startswith(_TIMES) and not is_nested(kind)


def selection(kinds: Sequence[str]) -> str:
    """Return the SELECT list around a query with columns of these types; empty if the query can run unchanged."""
    if not any(map(is_time, kinds)):
        return ""
    return ", ".join(f"#{number}{'::varchar' * is_time(kind)}" for number, kind in enumerate(kinds, 1))


def value_of(value: Any, name: str, kind: str) -> Any:
    """Return a value as msgspec encodes it without a change; a time as ISO 8601 writes it, one in UTC with a Z.

    `name`, `kind`: of its column. Raises UsageError for a value that would change.
    """
    if is_nested(kind):
        return _inner(value, name, kind)
    if isinstance(value, str):
        found = _TIME.fullmatch(value) if kind.startswith("TIMESTAMP") else None
        return f"{found[1]}T{found[2]}{'Z' if found[3] else ''}" if found else value
    return _number(value)


def _number(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _inner(value: Any, name: str, kind: str) -> Any:
    if isinstance(value, dict):
        return {_inner(key, name, kind): _inner(one, name, kind) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_inner(one, name, kind) for one in value]
    zone = isinstance(value, datetime) and value.tzinfo is not None
    plain = value.replace(tzinfo=None) if zone else value
    if isinstance(value, timedelta) or plain in _INFINITE or (isinstance(value, date | time) and "_NS" in kind):
        raise UsageError(
            f"the column {quoted(name)} of type {excerpt(kind, 80)} has a value that JSON cannot hold exactly",
            "cast the dates, times or intervals in it to VARCHAR",
        )
    return _number(value)
