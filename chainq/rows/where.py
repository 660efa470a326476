"""`Where`: filters the rows to print (`--where`, `--program`, `--function`) after they are proved complete.

The grammar of `--where`:

    expression = term {"or" term}             term = factor {"and" factor}
    factor     = "not" factor | "(" expression ")" | field operator value
    operator   = "=" "==" "!=" "<" "<=" ">" ">=" "~" "!~"
    value      = a number | null | a word | a text in single or double quotes

Rejected: libraries for expressions. None compares the strings of digits that services send as exact numbers, and the
start of a program with one takes longer than this takes to read most ranges.
"""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Column, Kind, Method
from chainq.catalog.nested import column_by_end, known_column
from chainq.errors import UsageError
from chainq.rows.fields import Picker, array_of, text_of
from chainq.rows.transaction import program_id
from chainq.text.sanitize import quoted

Values = Sequence[Raw | None]
Test = Callable[[Values], bool]
Compare = Callable[[Raw | None], bool]
"""Returns whether a value meets a comparison; null meets none."""


class Field(NamedTuple):
    """A field that an expression names: what reads its values in a row, several for `a[].b`, from those that were
    picked; and their kind, None if unknown."""

    name: str
    read: Callable[[Values], Values]
    kind: Kind | None


DEEPEST = 100  # `not` and `(` of an expression; Python's stack allows a few hundred
_TOKEN = re.compile(
    r"""\s*(?:(?P<operator>!=|==|<=|>=|!~|[=<>~])|(?P<bracket>[()])|(?P<text>'[^']*'|"[^"]*")"""
    r"""|(?P<word>[^\s()'"\u2018-\u201f=!<>~,&;]+)|(?P<other>\S)|(?P<end>$))"""
)
_LITERAL = re.compile(r"([-+]?[0-9][0-9_]*(?:\.[0-9]+)?)(?:[eE]([-+]?[0-9]{1,6})|([KkMm]))?")
_NUMBER = re.compile(rb'"?(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"?')
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_NUMBERS = (Kind.NUMBER, Kind.HEIGHT, Kind.TIME)
_EXPONENTS = {"K": 3, "M": 6}


class _Token(NamedTuple):
    """A part of the expression: its kind (a group of _TOKEN), its text, and where it begins, from 0."""

    kind: str
    text: str
    at: int

    @property
    def key(self) -> str:
        """Return the word in lower case, or the bracket; empty for other kinds."""
        return self.text.lower() if self.kind in ("word", "bracket") else ""


class _Parser:
    """Turns an expression into a test. `field`: returns a field, by its name and its place (from 1)."""

    def __init__(self, expression: str, field: Callable[[str, int], Field]) -> None:
        self._expression, self._field = expression, field
        found = ((one.lastgroup or "", one) for one in _TOKEN.finditer(expression))
        self._tokens = [_Token(kind, one[kind], one.start(kind)) for kind, one in found]

    def parse(self) -> Test:
        """Return the test that the expression means. Raises UsageError, with the place of the mistake."""
        if sum(token.key in ("not", "(") for token in self._tokens) > DEEPEST:
            raise _wrong(f"more than {DEEPEST} `not` and `(`")
        test = self._any()
        self._take("and, or, or its end", "end")
        return test

    def _take(self, what: str, *kinds: str, keywords: Sequence[str] = ("and", "or")) -> _Token:
        """Return the next token. Raises UsageError if it is none of `kinds`, or a keyword."""
        token = self._tokens[0]
        if token.kind not in kinds or token.key in keywords:
            raise self._expected(what)
        return self._tokens.pop(0)

    def _taken(self, key: str) -> bool:
        """Return whether the next token is a keyword or a bracket; if so, it is taken."""
        return self._tokens[0].key == key and bool(self._tokens.pop(0))

    def _expected(self, what: str) -> UsageError:
        return _wrong(f"expected {what} {self._place(self._tokens[0])}")

    def _place(self, token: _Token) -> str:
        if token.kind == "end":
            return "at its end"
        return f"at character {token.at + 1}, before {quoted(self._expression[token.at :], 40)}"

    def _any(self) -> Test:
        return self._joined("or", lambda: self._joined("and", self._factor, all), any)

    def _joined(self, word: str, part: Callable[[], Test], holds: Callable[[Iterable[bool]], bool]) -> Test:
        """Return the test of parts with a word between them."""
        tests = [part()]
        while self._taken(word):
            tests.append(part())
        return tests[0] if len(tests) == 1 else lambda values: holds(test(values) for test in tests)

    def _factor(self) -> Test:
        if self._taken("not"):
            return _not(self._factor())
        if not self._taken("("):
            return self._comparison()
        test = self._any()
        if not self._taken(")"):
            raise self._expected("and, or, or )")
        return test

    def _comparison(self) -> Test:
        name = self._take("a field", "word")
        field = self._field(name.text, name.at + 1)
        sign = self._take("=, !=, <, <=, >, >=, ~ or !~", "operator").text
        one = self._matcher(sign, field)
        if one is is_null and sign == "!=":  # of an array: one item is there, or blocks without items would pass
            return lambda values: not all(map(is_null, field.read(values)))
        test: Test = lambda values: any(map(one, field.read(values)))  # noqa: E731  # a def for each would hide that they are alike
        return _not(test) if sign in ("!=", "!~") else test

    def _matcher(self, sign: str, field: Field) -> Compare:
        """Return the test of one value, of the value that follows the sign; `!=` and `!~` as `=` and `~`."""
        number = _number(self._tokens[0])
        numeric = sign in _ORDERS or (field.kind in _NUMBERS and sign not in ("~", "!~"))
        token = self._take("a value", "word", "text", keywords=("and", "or", "not"))
        text = token.text[1:-1] if token.kind == "text" else token.text
        if sign in ("~", "!~"):
            return self._matches(token, text)
        if token.key == "null" and sign not in _ORDERS:
            return is_null
        if number is None and numeric and (sign in _ORDERS or not _NUMBER.fullmatch(text.encode())):
            raise _wrong(f"expected a number after {field.name} {sign} {self._place(token)}")
        if number is not None and field.kind is Kind.DATA:
            raise _wrong(f"{field.name} is an array or an object, not a number")
        return equals(text) if number is None else _compares(sign, number)

    def _matches(self, token: _Token, text: str) -> Compare:
        try:
            pattern = re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            reason = quoted(str(error))[1:-1]
            raise _wrong(f"invalid regular expression {self._place(token)}: {reason}") from None
        return lambda value: not is_null(value) and pattern.search(text_of(value)) is not None


def _number(token: _Token) -> Decimal | None:
    """Return the number that a word is, as heights are written too: 12_345, 12K, 1.5M. In quotes it is a text."""
    found = _LITERAL.fullmatch(token.text) if token.kind == "word" else None
    if found is None:
        return None
    exponent = found[2] or _EXPONENTS.get((found[3] or "").upper(), 0)
    return Decimal(f"{found[1].replace('_', '')}E{exponent}")  # a product would be rounded to 28 digits


def equals(text: str) -> Compare:
    """Return the test whether a value is a text."""
    return lambda value: not is_null(value) and text_of(value) == text


def _compares(sign: str, number: Decimal) -> Compare:
    """Return the test whether a value is a number above, below or equal to another one, with every digit."""
    compare = _ORDERS.get(sign, operator.eq)

    def test(value: Raw | None) -> bool:
        sent = None if value is None else _NUMBER.fullmatch(bytes(value))
        try:
            return sent is not None and bool(compare(Decimal(sent[1].decode()), number))
        except ArithmeticError:  # an exponent beyond any use
            return False

    return test


def is_null(value: Raw | None) -> bool:
    """Return whether a value is null, or its field is missing."""
    return value is None or bytes(value) == b"null"


def _not(test: Test) -> Test:
    return lambda values: not test(values)


def _wrong(what: str) -> UsageError:
    return UsageError(f"invalid --where: {what}")


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
        tests += [_Parser(expression, self._field).parse() for expression in expressions]
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
            raise _wrong(f"unknown field {quoted(name)} at character {place}; the columns are {known}")
        field = self._read(column or Column(name, "unknown"))
        return field if column and self._check else field._replace(kind=None)

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
        kinds = [[self._field(paths[which], 0).read for which, _ in sought] for paths in self._method.called]
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
