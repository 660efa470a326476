"""Makes rows of JSON from Arrow columns: the inverse of `arrow_rows.py`.

Arrow keeps values, not the way a server wrote them. Rows are therefore written with the types of the published
interface: fields in the order of the catalog, numbers with or without quotes, and `extra` fields back in their place.
A service that follows the interface sends the same bytes. A null value was null or absent; it is omitted unless the
interface allows null.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind, Schema
from chainq.catalog.nested import OTHER, SHAPES, TEXT, Shape
from chainq.formats.arrow_rows import EXTRA
from chainq.rows.raw_json import is_valid, members
from chainq.text.sanitize import excerpt

_AS_NUMBERS = "header.metadata."  # strings by the published interface, numbers in its sample and on servers
_NULL = ("status",)  # of the members of nested objects, sent as null at times (docs/protocol.md, "Values")
_LAST = ("execution", "fee")  # of a transaction: the owner and program of a deployment, in `other`, come before them


class JsonRows:
    """Makes rows from the batches of one table. `derived`: they were extracted from full blocks, so a null column was
    absent."""

    def __init__(self, method: Schema, *, derived: bool = False) -> None:
        self.columns = [column for column in method.columns if not column.computed]
        self._derived = derived
        self._steps = {column.path: column.path.split(".") for column in self.columns}
        self._objects = {".".join(steps[:depth]) for steps in self._steps.values() for depth in range(len(steps))}

    def rows(self, batch: Any) -> list[Raw]:
        """Return the rows of an Arrow table or batch that has all columns of the table and `extra`."""
        columns = [self._values(column, batch.column(column.path)) for column in self.columns]
        extras = batch.column(EXTRA).to_pylist()
        encode, flat = msgspec.json.Encoder().encode, len(self._objects) == 1
        made = []
        for *values, extra in zip(*columns, extras, strict=True):
            fields = {
                path: value for path, value in zip(self._steps, values, strict=True) if extra or value is not None
            }
            made.append(Raw(encode(fields if flat and not extra else self._nested(fields, extra))))
        return made

    def _values(self, column: Column, array: Any) -> list[Any]:
        """Return the values of a column as msgspec encodes them, None for those that are left out."""
        null = Raw(b"null") if not self._derived and "null" in column.type else None
        encode = _encoder(column)
        values = (array.cast("int64") if column.kind is Kind.TIME else array).to_pylist()
        return [null if value is None else encode(value) for value in values]

    def _nested(self, fields: dict[str, Any], extra: str | None) -> dict[str, Any]:
        """Return a row by the steps of its paths; what has no column comes last in its object."""
        row: dict[str, Any] = {}
        for path, value in (fields | (members(extra.encode()) if extra else {})).items():
            steps = self._steps.get(path) or self._place(path.split("."))
            branch = row
            for step in steps[:-1] if value is not None else ():
                branch = branch.setdefault(step, {})
            if value is not None:
                branch[steps[-1]] = value
        return row

    def _place(self, steps: list[str]) -> list[str]:
        """Return the steps of a path that is of no column: a name in the deepest object that there is."""
        depth = max(depth for depth in range(len(steps)) if ".".join(steps[:depth]) in self._objects)
        return [*steps[:depth], ".".join(steps[depth:])]


def _encoder(column: Column) -> Callable[[Any], Any]:
    """Return what makes of a value of a column what msgspec encodes."""
    if column.path in SHAPES and column.kind is Kind.DATA:
        return lambda value: Raw(_nested(SHAPES[column.path], value))
    if column.type == "unknown" or column.kind is Kind.DATA:
        return lambda value: Raw(_json(value))
    text = (lambda value: str(value // 1000)) if column.kind is Kind.TIME else _text
    without_quotes = column.type == "number" or column.path.startswith(_AS_NUMBERS)
    return (lambda value: Raw(text(value).encode())) if without_quotes else text


def _nested(shape: Shape, value: Any) -> bytes:
    """Return a list or struct as JSON; the content of `other` follows the members of a struct."""
    if isinstance(shape, list):
        return b"[" + b",".join(_nested(shape[0], one) for one in value) + b"]"
    if isinstance(shape, dict):
        parts = {}
        for name, inner in shape.items():
            if (sent := value.get(name)) is not None or name in _NULL:
                parts[name] = msgspec.json.encode(name) + b":" + (b"null" if sent is None else _nested(inner, sent))
        if other := value[OTHER]:
            last = [parts.pop(name) for name in _LAST if name in parts]
            return b"{" + b",".join([*parts.values(), _json(other, "{}")[1:-1], *last]) + b"}"
        return b"{" + b",".join(parts.values()) + b"}"
    return msgspec.json.encode(value) if shape == TEXT else _text(value).encode()


def _text(value: str | int | Decimal) -> str:
    """Return a value as text, with all digits."""
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _json(text: str, ends: str = "") -> bytes:
    """Return a text of a file that is JSON, between these characters. Raises ValueError if it is not."""
    sent = text.encode()
    if not is_valid(sent) or (ends and (text[0] + text[-1] != ends or len(text) < 3)):
        raise ValueError(f"invalid JSON in a column: {excerpt(text, 40)}")
    return sent
