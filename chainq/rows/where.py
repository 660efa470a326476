"""`Where`: filters the rows to print (`--where`, `--program`, `--function`) after they are proved complete."""

from collections.abc import Sequence

from msgspec import Raw

from chainq.catalog.columns import column_by_end, known_column
from chainq.catalog.methods import Column, Kind, Method
from chainq.errors import UsageError
from chainq.rows.condition import Field, Test, Values, equals, parse
from chainq.rows.fields import Picker, array_of
from chainq.rows.transaction import program_id
from chainq.text.sanitize import quoted


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
        self._begun = False
        self._paths: dict[str, int] = {}
        tests = [self._calls(programs, functions)] if programs or functions else []
        tests += [parse(expression, self._field) for expression in expressions]
        self._test: Test = lambda values: all(test(values) for test in tests)
        self._unseen = {path: place for path, place in self._paths.items() if "[]" not in path}
        self._pick = Picker([*self._paths])
        computed = {column.path for column in method.columns if column.computed}
        self._computed = [place for path, place in self._paths.items() if path in computed]

    @property
    def unseen(self) -> list[str]:
        """The fields that no row had so far, not even as null; none before the first row."""
        return [*self._unseen] if self._begun else []

    def rows(self, rows: Sequence[Raw], height: int | None = None) -> list[Raw]:
        """Return the rows that meet the condition. `height`: that was looked up, for rows without one."""
        self._begun |= bool(rows)
        found = [row for row in rows if self.passes(row, height)]
        # A row holds on to the whole response that it came in.
        return found if len(found) == len(rows) else [row.copy() for row in found]

    def passes(self, row: Raw, height: int | None = None) -> bool:
        """Return whether a row meets the condition."""
        values = self._pick(row)
        for place in self._computed:
            values[place] = None if height is None else Raw(b"%d" % height)
        if self._unseen:
            self._unseen = {path: place for path, place in self._unseen.items() if values[place] is None}
        return self._test(values)

    def _field(self, name: str, place: int) -> Field:
        """Return a field. Raises UsageError for a name that is not in the catalog."""
        columns = self._method.sent
        if name == "program_id" and self._method.program == "program":  # the column that chainq makes of it
            name = self._method.program
        column = known_column(name, columns) or (column_by_end(name, columns) if self._check else None)
        if column is None and (self._check or not name.isprintable()):
            known = ", ".join(one.path for one in columns)
            unknown = f"unknown field {quoted(name)} at character {place}; the columns are {known}"
            raise UsageError(f"invalid --where: {unknown}")
        field = self._read(column or self._column(name))
        return field if column and self._check else field._replace(kind=None)

    def _column(self, path: str) -> Column:
        return known_column(path, self._method.sent) or Column(path, "unknown")

    def _read(self, column: Column) -> Field:
        path = column.path
        place = self._paths.setdefault(path, len(self._paths))
        if "[]" in path:
            return Field(path, lambda values: _leaves(values[place]), column.kind)
        if path == self._method.program and column.kind is Kind.TEXT:
            return Field(path, lambda values: [program_id(values[place])], column.kind)
        return Field(path, lambda values: [values[place]], column.kind)

    def _calls(self, programs: Sequence[str], functions: Sequence[str]) -> Test:
        """Return the test that a row has a call of one of each, or of either if the other is empty."""
        sought = [(which, list(map(equals, texts))) for which, texts in enumerate((programs, functions)) if texts]
        kinds = [[self._read(self._column(paths[which])).read for which, _ in sought] for paths in self._method.called]
        # Both fields of a kind come from the same items, so the values of a call are at the same place in each.
        return lambda values: any(
            all(any(test(value) for test in tests) for (_, tests), value in zip(sought, call, strict=True))
            for readers in kinds
            for call in zip(*(read(values) for read in readers), strict=True)
        )


def _leaves(value: Raw | None) -> Values:
    """Return the values in an array and in the arrays inside it; any other value is returned alone."""
    if value is None or bytes(value)[:1] != b"[":
        return [value]
    return [leaf for item in array_of(value) for leaf in _leaves(item)]
