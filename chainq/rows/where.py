"""`Where`: filters the rows to print (`--where`, `--program`, `--function`) after they are proved complete."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.columns import column_by_end, known_column
from chainq.catalog.methods import Column, Kind, Method
from chainq.catalog.nested import AMOUNT, INTEGER, SHAPES
from chainq.errors import UsageError
from chainq.rows.comparison import equals
from chainq.rows.condition import Field, Read, Test, Values, parse
from chainq.rows.fields import Picker
from chainq.rows.raw_json import items
from chainq.rows.transaction import program_id
from chainq.text.sanitize import quoted

_FLAT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Where:
    """A condition on the rows of one method.

    `expressions`: as `condition` reads them, all of which must be met, and `check`: their fields must be in the
    catalogue. `programs`, `functions`: what the method's columns for them have is one of these; if a row has many
    calls, one of them must be of both. `given`: what was stated, by name, as text. Raises UsageError.
    """

    def __init__(
        self,
        method: Method,
        expressions: Sequence[str] = (),
        programs: Sequence[str] = (),
        functions: Sequence[str] = (),
        *,
        check: bool = True,
    ) -> None:
        self._method, self._check = method, check
        names = {"program": programs, "function": functions}
        self.given = {name: ",".join(sorted(set(texts))) for name, texts in names.items() if texts}
        if expressions:
            one = len(expressions) == 1
            self.given["where"] = expressions[0] if one else " and ".join(f"({text})" for text in expressions)
        self._paths: dict[str, int] = {}
        tests = [self._calls(programs, functions)] if programs or functions else []
        tests += [parse(expression, self._field) for expression in expressions]
        self._test: Test = lambda values: all(test(values) for test in tests)
        self._unseen = {path: place for path, place in self._paths.items() if "[]" not in path}
        self._pick = Picker([*self._paths])
        self._computed = [
            self._paths[column.path] for column in method.columns if column.computed and column.path in self._paths
        ]
        self._decode = None if self._computed else _decoder([*self._paths])

    @property
    def paths(self) -> list[str]:
        """The fields that the condition reads."""
        return [*self._paths]

    @property
    def unseen(self) -> list[str]:
        """The fields that no row had so far, not even as null."""
        return [*self._unseen]

    def rows(self, rows: Sequence[Raw], height: int | None = None) -> list[Raw]:
        """Return the rows that meet the condition. `height`: that was looked up, for rows without one."""
        found = [row for row in rows if self.passes(row, height)]
        # A row holds on to the whole response that it came in.
        return found if len(found) == len(rows) else [row.copy() for row in found]

    def passes(self, row: Raw, height: int | None = None) -> bool:
        """Return whether a row meets the condition."""
        values = self._values(row, height)
        if self._unseen:
            self._unseen = {path: place for path, place in self._unseen.items() if values[place] is None}
        return self._test(values)

    def _values(self, row: Raw, height: int | None) -> Values:
        if self._decode is not None:
            try:
                return msgspec.structs.astuple(self._decode(row))
            except msgspec.DecodeError:  # lone surrogates
                pass
        values = self._pick(row)
        for place in self._computed:
            values[place] = None if height is None else Raw(b"%d" % height)
        return values

    def _field(self, name: str, place: int) -> Field:
        """Return the reader of a field. Raises UsageError for a name that is not in the catalog."""
        if name == "program_id" and self._method.program == "program":  # the column that chainq makes of it
            name = self._method.program
        column = known_column(name, self._method.sent)
        if column is None and self._check:
            column = column_by_end(name, self._method.sent)
        if column is None and (self._check or not name.isprintable()):
            known = ", ".join(one.path for one in self._method.sent)
            unknown = f"unknown field {quoted(name)} at character {place}; the columns are {known}"
            raise UsageError(f"invalid --where: {unknown}")
        path = column.path if column else name
        if column is None or not self._check:
            return Field(path, self._reader(path), None)
        return Field(path, self._reader(path), column.kind, _other(column))

    def _reader(self, path: str) -> Read:
        place = self._paths.setdefault(path, len(self._paths))
        if "[]" in path:
            return lambda values: _leaves(values[place])
        column = known_column(path, self._method.sent)
        if path == self._method.program and column is not None and column.kind is Kind.TEXT:
            return lambda values: [program_id(values[place])]
        return lambda values: [values[place]]

    def _calls(self, programs: Sequence[str], functions: Sequence[str]) -> Test:
        """Return the test that a row has a call of one of each, or of either if the other is empty."""
        sought = [list(map(equals, texts)) for texts in (programs, functions)]
        wanted = [tests for tests in sought if tests]
        kinds = [
            [self._reader(path) for path, tests in zip(paths, sought, strict=True) if tests]
            for paths in self._method.called
        ]
        # Both fields of a kind come from the same items, so the values of a call are at the same place in each.
        return lambda values: any(
            all(any(test(value) for test in tests) for tests, value in zip(wanted, call, strict=True))
            for readers in kinds
            for call in zip(*(read(values) for read in readers), strict=True)
        )


def _other(column: Column) -> str:
    """Return that a column is an array or an object, and what to compare with a number instead; empty for others."""
    if column.kind is not Kind.DATA:
        return ""
    if "array" not in column.type:
        return "an object, not a number"
    shape = SHAPES[column.path][0]
    items = shape if isinstance(shape, dict) else {}
    numbers = [f"{column.path}[].{name}, or " for name in items if items[name] in (INTEGER, AMOUNT)]
    name = f'"{column.path}"' if "." in column.path else column.path
    return f"an array, not a number; use {''.join(numbers[:1])}len({name}) in chainq sql"


def _decoder(paths: list[str]) -> Any:
    """Return a decoder of only some fields, in a fifth of a Picker's time; None for nested fields."""
    if not all(map(_FLAT.fullmatch, paths)):
        return None
    fields: list[tuple[str, Any, Any]] = [(f"f{number}", Raw, None) for number in range(len(paths))]
    rename = {f"f{number}": path for number, path in enumerate(paths)}
    return msgspec.json.Decoder(msgspec.defstruct("Fields", fields, rename=rename, gc=False)).decode


def _leaves(value: Raw | None) -> Values:
    """Return the values in an array and in the arrays inside it; any other value is returned alone."""
    sent = b"" if value is None else bytes(value)
    return [leaf for item in items(sent) for leaf in _leaves(item)] if sent[:1] == b"[" else [value]
