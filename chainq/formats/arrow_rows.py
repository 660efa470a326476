"""Rows as Arrow record batches of one schema, with a column `extra` for all that the schema has no place for.

`extra` is a JSON object of what a row holds beside its columns, by dotted paths and as it was sent: fields that the
catalogue does not know, and values that the type of their column cannot hold, which is then null
there. So no server can make a file fail or change a digit of it, and no field is lost.

Columns that `--columns` names have no such place: there a value that does not fit is an error.

The types of columns:

- Heights, row ids and other columns that the catalogue types as numbers: int64, whether sent as a number or as a string
  of digits. Times: timestamps in UTC.
- Targets, weights and amounts: decimal128(38, 0). decimal256 would hold 2^128-1, which has 39 digits, but duckdb reads
  that as a double (3.402823669209385e+38).
- Results of a query: doubles, decimals of their own size, booleans, dates, and timestamps, in UTC if DuckDB has a zone.
  Their arrays and objects are JSON text, whatever the column is called.
- Arrays and objects of known shape (`chainq.catalog.nested`): lists and structs. Members that the shape does not name
  are in the member `other` as JSON text, as sent.
- Objects whose keys are data, and unknown fields: their JSON text, as sent. Other columns: strings.

Values are read column by column, in loops of C where there are many: ten times as fast as one by one. A value that does
not fit raises ValueError and is never rounded. Rejected: writing the whole column as strings instead, which would give
two files of one command different types.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column, Kind
from chainq.catalog.nested import AMOUNT, INTEGER, OTHER, SHAPES, UNTYPED, Shape
from chainq.formats.protocol import unfit
from chainq.rows.fields import Picker, text_of
from chainq.rows.raw_json import items, members
from chainq.text.sanitize import excerpt, printable

EXTRA = "extra"
MORE = f"more unknown fields and values that do not fit go to the column {EXTRA}"
"""A warning that stands for others (`protocol.few`)."""
_BATCH = 2_000  # rows that are Python objects at a time; more are not faster, and take more memory
NULL = Raw(b"null")
Read = Callable[[Sequence[Raw]], list[Any]]
_DIGITS = 38  # of decimal128
_YEARS = range(-62_135_596_800, 253_402_300_800)  # seconds of the years 1 to 9999, which every reader can show


class Type(NamedTuple):
    """How values become what pyarrow takes for `arrow`, their type in the file; ValueError if one does not fit.

    `cast`: they are read as texts, which pyarrow casts.
    """

    read: Read
    arrow: Any
    cast: bool = False

    def array(self, sent: Sequence[Raw], pyarrow: Any) -> Any:
        """Return the values as an array. Raises ValueError or OverflowError if one does not fit."""
        if self.cast:
            return pyarrow.array(self.read(sent), pyarrow.string()).cast(self.arrow)
        return pyarrow.array(self.read(sent), self.arrow)

    def fits(self, value: Raw, pyarrow: Any) -> bool:
        """Return whether the type can hold a value."""
        try:
            self.array([value], pyarrow)
        except (ValueError, OverflowError):
            return False
        return True


def type_of(column: Column, pyarrow: Any) -> Type:
    """Return the type of a column."""
    if column.type == "unknown" or (column.kind is Kind.DATA and column.path not in SHAPES):
        return Type(json_texts, pyarrow.string())
    if column.kind is Kind.DATA:
        return _nested(SHAPES[column.path], pyarrow)
    if column.kind is Kind.TIME:
        return Type(milliseconds, pyarrow.timestamp("ms", tz="UTC"))
    if (computed := _computed(column, pyarrow)) is not None:
        return Type(words, computed, cast=True)
    if column.type == "number" or column.kind is Kind.HEIGHT:
        return _nested(INTEGER, pyarrow)
    return _nested(AMOUNT if column.kind is Kind.NUMBER else None, pyarrow)


def _computed(column: Column, pyarrow: Any) -> Any:
    """Return the type of a column that a query computed, None if it is a number or a text; its note is its type in
    DuckDB."""
    if column.type == "time":
        zone, unit = "UTC" if "ZONE" in column.note else None, "ns" if "NS" in column.note else "us"
        return pyarrow.date32() if column.note == "DATE" else pyarrow.timestamp(unit, tz=zone)
    if sized := re.fullmatch(r"decimal\((\d+),(\d+)\)", column.type):
        return pyarrow.decimal128(int(sized[1]), int(sized[2]))
    return {"boolean": pyarrow.bool_(), "double": pyarrow.float64()}.get(column.type)


def _nested(shape: Shape, pyarrow: Any) -> Type:
    """Return the type of a shape: of a text, if it is neither a number nor nested."""
    if isinstance(shape, dict):
        inner = {name: _nested(one, pyarrow) for name, one in shape.items() if one != UNTYPED}
        arrow = pyarrow.struct([*((name, one.arrow) for name, one in inner.items()), (OTHER, pyarrow.string())])
        return Type(_objects({name: one.read for name, one in inner.items()}), arrow)
    if isinstance(shape, list):
        item = _nested(shape[0], pyarrow)
        return Type(_arrays(item.read), pyarrow.list_(item.arrow))
    if shape == INTEGER:
        return Type(integers, pyarrow.int64())
    return Type(integers, pyarrow.decimal128(_DIGITS, 0)) if shape == AMOUNT else Type(texts, pyarrow.string())


def _arrays(read: Read) -> Read:
    """Return what reads arrays, given what reads their items, which are read together."""

    def read_arrays(sent: Sequence[Raw]) -> list[list[Any] | None]:
        found = [None if value == NULL else items(value) for value in sent]
        values = iter(read([item for array in found for item in array or ()]))
        return [None if array is None else list(islice(values, len(array))) for array in found]

    return read_arrays


def _objects(reads: dict[str, Read]) -> Read:
    """Return what reads objects, given what reads each known member; what else one has is in `other`."""

    def read_objects(sent: Sequence[Raw]) -> list[dict[str, Any] | None]:
        found = [None if value == NULL else members(value) for value in sent]
        some = [one for one in found if one is not None]
        columns = [read([one.pop(name, NULL) for one in some]) for name, read in reads.items()]
        others = [json_object(one.items()) if one else None for one in some]
        rows = zip(*columns, others, strict=True)
        return [None if one is None else dict(zip((*reads, OTHER), next(rows), strict=True)) for one in found]

    return read_objects


def integers(sent: Sequence[Raw]) -> list[int | None]:
    """Return whole numbers, sent as numbers or as strings. Raises ValueError."""
    joined = b",".join(sent)
    if joined.translate(None, b'"0123456789-,nul') or b'"n' in joined:
        raise ValueError
    found: list[int | None] = _decoded(list[int | None], joined.replace(b'"', b""))
    if len(found) != len(sent):  # a string with a comma in it
        raise ValueError
    return found


def milliseconds(sent: Sequence[Raw]) -> list[int | None]:
    """Return times in milliseconds, given seconds since 1970. Raises ValueError."""
    found = integers(sent)
    if not all(one is None or one in _YEARS for one in found):
        raise ValueError
    return [None if one is None else one * 1000 for one in found]


def texts(sent: Sequence[Raw]) -> list[str | None]:
    """Return the characters of strings, and the digits of numbers. Raises ValueError."""
    try:
        return _decoded(list[str | None], b",".join(sent))
    except ValueError:  # not only strings, or half of a surrogate pair
        if any(bytes(value)[:1] in (b"{", b"[", b"t", b"f") for value in sent):
            raise
        return words(sent)


def json_texts(sent: Sequence[Raw]) -> list[str | None]:
    """Return values as they were sent. Raises ValueError."""
    return [None if value == NULL else bytes(value).decode() for value in sent]


def words(sent: Sequence[Raw]) -> list[str | None]:
    """Return values as texts, whatever they are."""
    return [None if value == NULL else text_of(value) for value in sent]


def json_object(pairs: Iterable[tuple[str, Raw]]) -> str:
    """Return a JSON object of values as they were sent. Raises ValueError if they are not UTF-8."""
    # Names are encoded by json, since msgspec refuses half of a surrogate pair.
    return f"{{{','.join(f'{json.dumps(name)}:{bytes(value).decode()}' for name, value in pairs)}}}"


def _decoded(kind: Any, joined: bytes) -> list[Any]:
    try:
        found: list[Any] = msgspec.json.decode(b"[%b]" % joined, type=kind)
        return found
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


class ArrowRows:
    """Turns rows into record batches. `warn` is called once for each path whose values go to `extra`, if not `known`.

    The schema depends on the columns alone. `strict`: other fields are left out, and there is no column `extra`;
    OutputError is raised for a value that does not fit.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        pyarrow: Any,
        warn: Callable[[str], None] = lambda _: None,
        known: Collection[str] = (),
        *,
        strict: bool = False,
    ) -> None:
        self._arrow, self._warn, self._warned = pyarrow, warn, set(known)
        self._types = {column.path: type_of(column, pyarrow) for column in columns}
        fields = [(name, kind.arrow) for name, kind in self._types.items()]
        self.schema = pyarrow.schema(fields if strict else [*fields, (EXTRA, pyarrow.string())])
        self._strict, self._pick = strict, Picker(list(self._types), None if strict else self._on_unknown)
        self._extra: dict[str, Raw] = {}  # of the row that is read

    def batches(self, rows: Sequence[Raw]) -> list[Any]:
        """Return the rows as record batches. Raises OutputError."""
        return [self._batch(rows[start : start + _BATCH]) for start in range(0, len(rows), _BATCH)]

    def _batch(self, rows: Sequence[Raw]) -> Any:
        picked, extras = [], []
        for row in rows:
            self._extra = {}
            picked.append(self._pick(row))
            extras.append(self._extra)
        columns = [[NULL if value is None else value for value in column] for column in zip(*picked, strict=True)]
        arrays = [
            self._array(path, kind, values, extras)
            for (path, kind), values in zip(self._types.items(), columns, strict=True)
        ]
        if not self._strict:
            texts = [json_object(extra.items()) if extra else None for extra in extras]
            arrays.append(self._arrow.array(texts, self._arrow.string()))
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _on_unknown(self, path: str, value: Raw) -> None:
        self._note(path, f"unknown field {path!r}: it")
        self._extra[path] = value

    def _array(self, path: str, kind: Type, values: list[Raw], extras: list[dict[str, Raw]]) -> Any:
        """Return the values of a column as an array; those that do not fit are null, and in `extras`."""
        try:
            return kind.array(values, self._arrow)
        except (ValueError, OverflowError):
            fitting = [value if kind.fits(value, self._arrow) else NULL for value in values]
        for value, fit, extra in zip(values, fitting, extras, strict=True):
            if value != fit:
                shown = excerpt(str(kind.arrow), 40)
                if self._strict:
                    raise unfit(path, bytes(value), shown)
                self._note(path, f"a value of {path!r} does not fit {shown}: as sent it")
                extra[path] = value
        return kind.array(fitting, self._arrow)

    def _note(self, path: str, note: str) -> None:
        if path not in self._warned:
            self._warned.add(path)
            self._warn(printable(f"{note} goes to the column {EXTRA}"))
