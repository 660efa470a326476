"""Rows as `--typed` prints them: numbers that a service sends as strings, and times that a person reads."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.formats.protocol import Writer
from chainq.rows.fields import integer_of, seconds_of
from chainq.rows.raw_json import members

_EXACT = 2**53  # up to which JSON readers that have only doubles keep every digit (RFC 8259, section 6)


class WithTypes:
    """Writes rows whose heights, row ids and other numbers are numbers, and whose times are RFC 3339, in UTC.

    A string of more digits than a double holds stays one, and so does what is not of its column's kind.
    """

    def __init__(self, writer: Writer, columns: Sequence[Column]) -> None:
        self._writer = writer
        self._kinds: dict[str, Any] = {}  # by name; of an object a dict again
        for column in columns:
            if column.kind in (Kind.HEIGHT, Kind.NUMBER, Kind.TIME) and "[]" not in column.path:
                *outer, name = column.path.split(".")
                inner = self._kinds
                for step in outer:
                    inner = inner.setdefault(step, {})
                inner[name] = column.kind
        self.close = writer.close

    def write(self, rows: Sequence[Raw]) -> None:
        """Write the next rows."""
        self._writer.write([_typed(row, self._kinds) for row in rows])


def _typed(value: Raw, kind: Any) -> Raw:
    """Return a value of a kind; of an object, its members of theirs."""
    if isinstance(kind, dict):
        try:
            inner = members(value)
        except ValueError:
            return value
        inner |= {name: _typed(inner[name], of) for name, of in kind.items() if name in inner}
        return Raw(msgspec.json.encode(inner))
    if kind is Kind.TIME:
        seconds = seconds_of(value)
        try:
            return value if seconds is None else Raw(b'"%b"' % _rfc3339(seconds).encode())
        except (ValueError, OverflowError):  # beyond the year 9999
            return value
    number = integer_of(value) if bytes(value)[:1] == b'"' else None
    return value if number is None or abs(number) > _EXACT else Raw(b"%d" % number)


def _rfc3339(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
