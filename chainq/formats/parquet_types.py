"""The types of Parquet columns, and how a value becomes one of a type without losing a digit.

- Heights, row ids and other columns that the catalogue types as numbers: int64, whether sent as a number or as a string
  of digits. Times: timestamps in UTC.
- Targets, weights and amounts: decimal128(38, 0). decimal256 would hold 2^128-1, which has 39 digits, but duckdb reads
  that as a double (3.402823669209385e+38). `wide` takes it, for pandas, to which both are Decimal objects.
- Results of a query: doubles, decimals of their own size, booleans, dates, and timestamps, in UTC if DuckDB has a zone.
  Their arrays and objects are JSON text, whatever the column is called.
- Arrays and objects of known shape (`chainq.catalog.nested`): lists and structs. Members that the shape does not name
  are in the member `other` as JSON text, as sent.
- Objects whose keys are data, and unknown fields: their JSON text, as sent. Other columns: strings.

A value that does not fit is an error and never rounded. Rejected: writing the whole column as strings instead, which
would give two files of one command different types.
"""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.catalog.nested import AMOUNT, INTEGER, OTHER, SHAPES, Shape
from chainq.rows.fields import text_of
from chainq.rows.raw_json import items, members

Read = Callable[[bytes], Any]
_LIMIT = 1 << 63
SECONDS = (-62_135_596_800, 253_402_300_799)  # of the years 1 to 9999, which every reader can show
_DIGITS, _WIDE = 38, 76  # of decimal128 and decimal256
_INSTANT = re.compile(r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z?)?")
_TRUTH = {b"null": None, b"true": True, b"false": False}


class Type(NamedTuple):
    """How a column's values are read, ValueError for one that does not fit, and its type in the file."""

    read: Read
    arrow: Any


def type_of(column: Column, pyarrow: Any, *, wide: bool = False) -> Type:
    """Return the type of a column; with `wide` amounts are decimal256."""
    if column.type == "unknown" or (column.kind is Kind.DATA and column.path not in SHAPES):
        return Type(json_text, pyarrow.string())
    if column.kind is Kind.DATA:
        return _nested(SHAPES[column.path], pyarrow, wide=wide)
    if column.kind is Kind.TIME:
        return Type(milliseconds, pyarrow.timestamp("ms", tz="UTC"))
    if column.type == "boolean":
        return Type(_TRUTH.__getitem__, pyarrow.bool_())
    if column.type == "time":  # its note is the type in DuckDB
        zone, unit = "UTC" if "ZONE" in column.note else None, "ns" if "NS" in column.note else "us"
        return Type(instant, pyarrow.date32() if column.note == "DATE" else pyarrow.timestamp(unit, tz=zone))
    if column.type == "double":
        return Type(real, pyarrow.float64())
    if sized := re.fullmatch(r"decimal\((\d+),(\d+)\)", column.type):
        return Type(decimal, pyarrow.decimal128(int(sized[1]), int(sized[2])))
    if column.type == "number" or column.kind is Kind.HEIGHT:
        return Type(integer, pyarrow.int64())
    if column.kind is Kind.NUMBER:
        return _amounts(pyarrow, wide=wide)
    return Type(text, pyarrow.string())


def _amounts(pyarrow: Any, *, wide: bool) -> Type:
    return Type(wide_amount, pyarrow.decimal256(_WIDE, 0)) if wide else Type(amount, pyarrow.decimal128(_DIGITS, 0))


def _nested(shape: Shape, pyarrow: Any, *, wide: bool) -> Type:
    if isinstance(shape, dict):
        inner = {name: _nested(one, pyarrow, wide=wide) for name, one in shape.items()}
        fields = [(name, one.arrow) for name, one in inner.items()]
        reads = {name: one.read for name, one in inner.items()}
        return Type(_object(reads), pyarrow.struct([*fields, (OTHER, "string")]))
    if isinstance(shape, list):
        item = _nested(shape[0], pyarrow, wide=wide)
        return Type(_array(item.read), pyarrow.list_(item.arrow))
    if shape == INTEGER:
        return Type(integer, pyarrow.int64())
    return _amounts(pyarrow, wide=wide) if shape == AMOUNT else Type(text, pyarrow.string())


def _array(item: Read) -> Read:
    """Return what reads an array."""
    return lambda value: None if value == b"null" else [item(bytes(one)) for one in items(value)]


def _object(known: dict[str, Read]) -> Read:
    """Return what reads an object; what it has besides `known` is in `other`."""

    def read(value: bytes) -> dict[str, Any] | None:
        if value == b"null":
            return None
        found = members(value)
        row = {name: read(bytes(found.pop(name, Raw(b"null")))) for name, read in known.items()}
        # Encoded one by one, because msgspec checks no text that it is given raw.
        pairs = (msgspec.json.encode(name) + b":" + bytes(one) for name, one in found.items())
        return {**row, OTHER: (b"{" + b",".join(pairs) + b"}").decode() if found else None}

    return read


def _whole(value: bytes) -> int | None:
    if value == b"null":
        return None
    digits = value[1:-1] if value[:1] == b'"' else value
    plain = digits[1:] if digits[:1] == b"-" else digits
    if not plain.isdigit() or (plain[:1] == b"0" and plain != b"0") or len(plain) > _WIDE:
        raise ValueError("expected a whole number")
    return int(digits)


def integer(value: bytes) -> int | None:
    """Return a whole number of 64 bits, sent as a number or a string. Raises ValueError."""
    number = _whole(value)
    if number is not None and not -_LIMIT <= number < _LIMIT:
        raise ValueError("expected a whole number of 64 bits")
    return number


def milliseconds(value: bytes) -> int | None:
    """Return a time in milliseconds, given seconds since 1970. Raises ValueError."""
    number = _whole(value)
    if number is not None and not SECONDS[0] <= number <= SECONDS[1]:
        raise ValueError("expected seconds since 1970, before the year 10000")
    return None if number is None else number * 1000


def instant(value: bytes) -> str | None:
    """Return a date or time in ISO 8601, which pyarrow casts to its type. Raises ValueError."""
    if value != b"null" and not _INSTANT.fullmatch(text_of(value)):
        raise ValueError("expected a time of the years 1 to 9999; cast it to VARCHAR")
    return text_of(value) or None


def amount(value: bytes, digits: int = _DIGITS) -> int | None:
    """Return a whole number of 38 digits. Raises ValueError."""
    number = _whole(value)
    if number is not None and abs(number) >= 10**digits:
        raise ValueError(f"expected a whole number of at most {digits} digits")
    return number


wide_amount = partial(amount, digits=_WIDE)


def real(value: bytes) -> float | None:
    """Return a floating-point number as DuckDB writes it, `inf` and `nan` as strings. Raises ValueError."""
    return None if value == b"null" else float(text_of(value))


def decimal(value: bytes) -> Decimal | None:
    """Return a number with a fraction, digit for digit. Raises ValueError: for 39 digits, which a hugeint can have."""
    try:
        number = None if value == b"null" else Decimal(text_of(value))
    except InvalidOperation:
        raise ValueError("expected a number") from None
    if number is not None and len(number.as_tuple().digits) > _DIGITS:
        raise ValueError(f"expected a number of at most {_DIGITS} digits; cast it to VARCHAR")
    return number


def text(value: bytes) -> str | None:
    """Return the characters of a string, or the digits of a number. Raises ValueError."""
    if value == b"null":
        return None
    if value[:1] in (b"{", b"[", b"t", b"f"):
        raise ValueError("expected a string or a number")
    return text_of(value)


def json_text(value: bytes) -> str | None:
    """Return a value as it was sent."""
    return None if value == b"null" else value.decode()
