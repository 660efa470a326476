"""Rows as Arrow record batches of one schema, with a column `extra` for all that the schema has no place for.

`extra` is a JSON object of what a row holds beside its columns, by dotted paths and as it was sent: fields that the
catalogue does not know, and values that the type of their column (`parquet_types`) cannot hold, which is then null
there. So no server can make a file fail or change a digit of it, and no field is lost.

Columns that `--columns` names have no such place: there a value that does not fit is an error.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column
from chainq.formats import parquet_types as read
from chainq.formats.parquet_types import Type, type_of
from chainq.rows.fields import object_of
from chainq.text.sanitize import excerpt, printable

EXTRA = "extra"
MORE = f"more unknown fields and values that do not fit go to the column {EXTRA}"
"""A warning that stands for others (`protocol.few`)."""
READ_AT_ONCE = 2_000  # rows that pyarrow reads at a time; more are not faster, and take more memory
_BATCH = 512  # rows that are Python objects at a time
# The ways to read values that pyarrow's own reader can replace.
_FLAT = (read.integer, read.milliseconds, read.amount, read.wide_amount, read.text)
_LONGEST = 2**20  # bytes of a row; pyarrow takes time by the square of the number of fields that it does not know
_INTEGER = "^(?:0|-?[1-9][0-9]{0,%d})$"  # a cast to decimals does not check how many digits there are
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_Tree = dict[str, Any]  # the number of a column by its path, a key for each step


class MisfitError(ValueError):
    """A value that the type of its column cannot hold, where there is no other place for it."""

    def __init__(self, path: str, value: bytes, reason: ValueError) -> None:
        super().__init__(str(reason))
        self.path, self.value, self.reason = path, value, reason


class ArrowRows:
    """Turns rows into record batches. `warn` is called once for each path whose values go to `extra`, if not `known`.

    The schema depends on the columns alone. `wide`: amounts have up to 76 digits (`parquet_types`). `strict`: columns
    are fields of the row itself, other fields are left out, and there is no column `extra`; MisfitError is raised for a
    value that does not fit.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        pyarrow: Any,
        warn: Callable[[str], None] = lambda _: None,
        known: Collection[str] = (),
        *,
        wide: bool = False,
        strict: bool = False,
    ) -> None:
        self._arrow, self._strict = pyarrow, strict
        self._kinds = {column.path: type_of(column, pyarrow, wide=wide) for column in columns}
        self._types = list(self._kinds.values())
        fields = [(name, kind.arrow) for name, kind in self._kinds.items()]
        self.schema = pyarrow.schema(fields if strict else [*fields, (EXTRA, pyarrow.string())])
        dotted = not strict and any("." in name for name in self._kinds)
        self._flat = not dotted and all(kind.read in _FLAT for kind in self._types)
        self._unknown = False  # whether a row had an unknown field; the next ones are likely to have it too
        self._tree: _Tree = {}
        for number, name in enumerate(self._kinds):
            *steps, last = [name] if strict else name.split(".")
            branch = self._tree
            for step in steps:
                branch = branch.setdefault(step, {})
            branch[last] = number
        self._warn = warn
        self._warned = set(known)

    def batches(self, rows: Sequence[Raw]) -> list[Any]:
        """Return the rows as record batches."""
        made = []
        for start in range(0, len(rows), READ_AT_ONCE):
            some = rows[start : start + READ_AT_ONCE]
            made += self._read_json(some) or [self._batch(some[at : at + _BATCH]) for at in range(0, len(some), _BATCH)]
        return made

    def _read_json(self, rows: Sequence[Raw]) -> list[Any] | None:
        """Return the rows as pyarrow's own JSON reader reads them, ten times as fast as value by value.

        None if any value does not fit its type. Numbers that were sent as strings are read as strings, then cast, so
        that each is checked. pyarrow reads past unknown fields if there are any, and msgspec collects those.
        """
        if not self._flat or max(map(len, rows)) > _LONGEST:
            return None
        from pyarrow import json as reader

        first = object_of(rows[0])
        self._unknown |= not first.keys() <= self._tree.keys()
        kinds = [self._sent_type(kind, first.get(name, Raw(b""))) for name, kind in self._kinds.items()]
        schema = self._arrow.schema(zip(self._kinds, kinds, strict=True))
        past = "ignore" if self._unknown or self._strict else "error"
        lines = b"\n".join(rows)
        try:
            table = reader.read_json(
                self._arrow.BufferReader(lines),
                read_options=reader.ReadOptions(block_size=max(len(lines), 1)),
                parse_options=reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior=past),
            )
            table.validate(full=True)  # raises if text is not UTF-8
            columns = [self._cast(table[name], kind) for name, kind in self._kinds.items()]
        except (self._arrow.ArrowException, KeyError, OverflowError):
            return None
        if table.num_rows != len(rows):
            return None
        if not self._strict:
            extra = map(self._unknown_of, rows) if self._unknown else [None] * len(rows)
            columns.append(self._arrow.array(extra, self._arrow.string()))
        batches: list[Any] = self._arrow.table(columns, schema=self.schema).to_batches()
        return batches

    def _sent_type(self, kind: Type, first: Raw) -> Any:
        """Return the type as which pyarrow reads a column, given its first value; decimals as strings only."""
        if bytes(first)[:1] == b'"' or kind.read in (read.text, read.amount, read.wide_amount):
            return self._arrow.string()
        return self._arrow.int64()

    def _cast(self, column: Any, kind: Type) -> Any:
        """Return a column in its type. Raises ArrowInvalid if a value does not fit."""
        from pyarrow import compute

        if kind.read is read.text:
            return column
        if self._arrow.types.is_string(column.type):
            later_digits = 75 if kind.read is read.wide_amount else 37
            if compute.all(compute.match_substring_regex(column, _INTEGER % later_digits)).as_py() is False:
                raise self._arrow.ArrowInvalid("not a whole number")
        if kind.read is read.milliseconds:
            column = column.cast(self._arrow.int64())
            low, high = compute.min_max(column).as_py().values()
            if low is not None and not read.SECONDS[0] <= low <= high <= read.SECONDS[1]:
                raise self._arrow.ArrowInvalid("not a time")
            column = column.cast(self._arrow.timestamp("s", tz="UTC"))
        return column.cast(kind.arrow)

    def _unknown_of(self, row: Raw) -> str | None:
        """Return the fields of a row that are no columns, as `extra` has them."""
        found = object_of(row)
        unknown = [key for key in found if key not in self._tree]
        if not unknown:
            return None
        return _object([self._unknown_field(key, bytes(found[key])) for key in unknown])

    def _batch(self, rows: Sequence[Raw]) -> Any:
        """Return a few rows as one batch, value by value."""
        columns: list[list[Any]] = [[None] * len(rows) for _ in self._types]
        extras: list[str | None] = [None] * len(rows)
        for at, row in enumerate(rows):
            extra: list[bytes] = []
            self._spread(bytes(row), self._tree, "", at, columns, extra)
            if extra:
                extras[at] = _object(extra)
        arrays = [self._array(values, kind) for values, kind in zip(columns, self._types, strict=True)]
        if not self._strict:
            arrays.append(self._arrow.array(extras, self._arrow.string()))
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _array(self, values: list[Any], kind: Type) -> Any:
        if kind.read is read.instant:
            return self._arrow.array(values, self._arrow.string()).cast(kind.arrow)
        return self._arrow.array(values, kind.arrow)

    def _spread(
        self, sent: bytes, tree: _Tree, path: str, at: int, columns: list[list[Any]], extra: list[bytes]
    ) -> None:
        """Put the members of an object into row `at` of their columns, and what has no place into `extra`."""
        for key, value in object_of(sent).items():
            step, inner = tree.get(key), bytes(value)
            if isinstance(step, int):
                try:
                    columns[step][at] = _read(self._types[step], inner)
                    continue
                except ValueError as reason:  # it does not fit, or it is text that no file can hold
                    if self._strict:
                        raise MisfitError(path + key, inner, reason) from None
                    kind = self._types[step].arrow
                    self._note(
                        path + key, f"a value of {path + key!r} does not fit {excerpt(str(kind), 40)}: as sent it"
                    )
            elif isinstance(step, dict) and inner[:1] == b"{":
                self._spread(inner, step, f"{path}{key}.", at, columns, extra)
                continue
            elif (isinstance(step, dict) and inner == b"null") or self._strict:
                continue
            else:
                extra.append(self._unknown_field(path + key, inner))
                continue
            extra.append(_pair(path + key, inner))

    def _unknown_field(self, path: str, value: bytes) -> bytes:
        self._unknown = True
        self._note(path, f"unknown field {path!r}: it")
        return _pair(path, value)

    def _note(self, path: str, note: str) -> None:
        if path not in self._warned:
            self._warned.add(path)
            self._warn(printable(f"{note} goes to the column {EXTRA}"))


def _pair(path: str, value: bytes) -> bytes:
    try:
        name = msgspec.json.encode(path)
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can write
        name = json.dumps(path).encode()
    return name + b":" + value


def _object(pairs: list[bytes]) -> str:
    return f"{{{b','.join(pairs).decode()}}}"


def _read(kind: Type, sent: bytes) -> Any:
    """Return a value as pyarrow takes it. Raises ValueError if its type cannot hold it."""
    value = kind.read(sent)
    if _SURROGATE.search(sent):
        msgspec.json.encode(value)  # raises for half a surrogate pair, wherever it is
    return value
