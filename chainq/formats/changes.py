"""Changes rows before a format writes them: `--typed`, and what chainq reads off them."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import PROGRAM_ID, Column, Kind
from chainq.formats.protocol import Writer
from chainq.rows.fields import Picker, integer_of, object_of, seconds_of, tree_of
from chainq.rows.raw_json import put_first
from chainq.rows.transaction import program_id
from chainq.text.humanize import utc

_EXACT = 2**53  # up to which JSON readers that have only doubles keep every digit (RFC 8259, section 6)


class Changing:
    """Writes rows as `change` returns them."""

    def __init__(self, writer: Writer, change: Callable[[Raw], Raw]) -> None:
        self._writer, self._change = writer, change
        self.close = writer.close

    def write(self, rows: Sequence[Raw]) -> None:
        """Write the next rows."""
        self._writer.write([self._change(row) for row in rows])


def with_program_id(source: str) -> Callable[[Raw], Raw]:
    """Return what adds to a row the ID of the program whose source text is in the column `source`."""
    pick = Picker([source])
    return lambda row: put_first(row, {PROGRAM_ID: program_id(*pick(row)) or b"null"})


def with_types(columns: Sequence[Column]) -> Callable[[Raw], Raw]:
    """Return what makes numbers of the heights, row ids and other numbers in a row, and RFC 3339, in UTC, of its times.

    A string of more digits than a double holds stays one, and so does what is not of its column's kind.
    """
    typed = (Kind.HEIGHT, Kind.NUMBER, Kind.TIME)
    kinds = tree_of((one.path.split("."), one.kind) for one in columns if one.kind in typed and "[]" not in one.path)
    return lambda row: _typed(row, kinds)


def _typed(value: Raw, kind: Any) -> Raw:
    """Return a value of a kind; of an object, its members of theirs."""
    if isinstance(kind, dict):
        inner = object_of(value)
        inner |= {name: _typed(inner[name], of) for name, of in kind.items() if name in inner}
        return Raw(msgspec.json.encode(inner)) if inner else value
    if kind is Kind.TIME:
        seconds = seconds_of(value)
        text = "" if seconds is None else utc(seconds).replace(" ", "T")
        return Raw(f'"{text}"'.encode()) if "T" in text else value  # some times are beyond the year 9999
    number = integer_of(value) if bytes(value)[:1] == b'"' else None
    return value if number is None or abs(number) > _EXACT else Raw(b"%d" % number)
