"""The grammar of `--where`: turns an expression into a test of the values that it names.

    expression = term {"or" term}             term = factor {"and" factor}
    factor     = "not" factor | "(" expression ")" | field operator value
    operator   = "=" "==" "!=" "<" "<=" ">" ">=" "~" "!~"
    value      = a number | null | a word | a text in single or double quotes

Rejected: libraries for expressions. None compares the strings of digits that services send as exact numbers, and the
start of a program with one takes longer than this takes to read most ranges.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import Kind
from chainq.errors import UsageError
from chainq.rows.comparison import NUMBER, ORDERS, Compare, compares, equals, is_null, matches
from chainq.text.sanitize import quoted

Values = Sequence[Raw | None]
Test = Callable[[Values], bool]
Read = Callable[[Values], Values]
"""Returns the values of a field in a row, from the values that were picked from it: several for `a[].b`."""


class Field(NamedTuple):
    """A field that an expression names: its reader, and the kind of its values, None if unknown.

    `other`: that it is an array or an object, and what has numbers instead; empty for other fields.
    """

    name: str
    read: Read
    kind: Kind | None
    other: str = ""


DEEPEST = 50  # nested conditions; Python's stack allows a few hundred
_TOKEN = re.compile(
    r"""\s*(?:(?P<operator>!=|==|<=|>=|!~|[=<>~])|(?P<bracket>[()])|(?P<text>'[^']*'|"[^"]*")|(?P<word>[^\s()'"=!<>~,&;]+))"""
)
_LITERAL = re.compile(r"([-+]?[0-9][0-9_]*(?:\.[0-9]+)?)(?:[eE]([-+]?[0-9]{1,6})|([KkMm]))?")
_OPERATORS = "=, !=, <, <=, >, >=, ~ or !~"
_NUMBERS = (Kind.NUMBER, Kind.HEIGHT, Kind.TIME)
_INVALID = (re.error, RecursionError, OverflowError)
_EXPONENTS = {"K": 3, "M": 6}


class _Token(NamedTuple):
    """A part of the expression: its kind (a group of _TOKEN, or `end`), its text, and where it begins, from 0."""

    kind: str
    text: str
    at: int

    @property
    def keyword(self) -> str:
        """Return the word in lower case, empty if it is not a word."""
        return self.text.lower() if self.kind == "word" else ""


def parse(expression: str, field: Callable[[str, int], Field]) -> Test:
    """Return the test that an expression means. `field`: returns a field, by its name and its place (from 1).

    Raises UsageError, with the place of the mistake.
    """
    return _Parser(expression, field).parse()


class _Parser:
    def __init__(self, expression: str, field: Callable[[str, int], Field]) -> None:
        self._expression, self._field = expression, field
        self._tokens = self._split()
        self._next = self._depth = 0

    def parse(self) -> Test:
        if self._token.kind == "end":
            raise _wrong("it is empty")
        test = self._any()
        if self._token.kind != "end":
            raise self._expected("and, or, or its end")
        return test

    def _split(self) -> list[_Token]:
        text, tokens, at = self._expression, list[_Token](), 0
        while found := _TOKEN.match(text, at):
            kind = found.lastgroup or ""
            tokens.append(_Token(kind, found[kind], found.start(kind)))
            at = found.end()
            if kind == "word" and (curly := re.search("[\u2018-\u201f]", found[kind])):
                at = found.start(kind) + curly.start()
                raise _wrong(f"unexpected {quoted(curly[0])} at character {at + 1}; write ' or \" around a text")
        rest = text[at:].lstrip()
        at = len(text) - len(rest)
        if rest[:1] in ("'", '"'):
            raise _wrong(f"the quote at character {at + 1} has no end")
        if rest:  # an error where the parser comes to it, which may find another one before
            tokens.append(_Token("other", rest[0], at))
        return [*tokens, _Token("end", "", at)]

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _expected(self, what: str) -> UsageError:
        return _wrong(f"expected {what} {self._place()}")

    def _expected_number(self, after: str, field: Field) -> UsageError:
        return self._expected(f"a number{' (Unix seconds)' * (field.kind is Kind.TIME)} after {after}")

    def _place(self) -> str:
        at = self._token.at
        if self._token.kind == "end":
            return "at its end"
        return f"at character {at + 1}, before {quoted(self._expression[at:], 40)}"

    def _any(self) -> Test:
        return self._joined("or", lambda: self._joined("and", self._factor, all), any)

    def _joined(self, word: str, part: Callable[[], Test], holds: Callable[[Iterable[bool]], bool]) -> Test:
        """Return the test of parts with a word between them."""
        tests = [part()]
        while self._token.keyword == word:
            self._take()
            tests.append(part())
        return tests[0] if len(tests) == 1 else lambda values: holds(test(values) for test in tests)

    def _factor(self) -> Test:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _wrong(f"more than {DEEPEST} conditions inside each other")
        try:
            if self._token.keyword == "not":
                self._take()
                return _not(self._factor())
            if self._token.text == "(" and self._token.kind == "bracket":
                self._take()
                test = self._any()
                if self._token.text != ")" or self._token.kind != "bracket":
                    raise self._expected("and, or, or )" if self._token.kind != "end" else ")")
                self._take()
                return test
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Test:
        if self._token.kind != "word" or self._token.keyword in ("and", "or"):
            raise self._expected("a field")
        name = self._token
        field = self._field(name.text, name.at + 1)
        self._take()
        if self._token.kind != "operator":
            raise self._expected(_OPERATORS)
        sign = self._take().text
        one = self._matcher(sign, field)
        if one is is_null and sign == "!=":  # of an array: one item is there, or blocks without items would pass
            return lambda values: not all(map(is_null, field.read(values)))
        test: Test = lambda values: any(one(value) for value in field.read(values))  # noqa: E731  # a def for each would hide that they are alike
        return _not(test) if sign in ("!=", "!~") else test

    def _matcher(self, sign: str, field: Field) -> Compare:
        """Return the test of one value, of the value that follows the sign; `!=` and `!~` as `=` and `~`."""
        token = self._token
        number, matching = self._number(token), sign in ("~", "!~")
        if token.kind not in ("word", "text") or token.keyword in ("and", "or", "not"):
            raise self._expected("a value")
        text = token.text[1:-1] if token.kind == "text" else token.text
        _check_single(field, numeric=sign in ORDERS or (number is not None and not matching))
        if sign in ORDERS:
            if number is None:
                raise self._expected_number(sign, field)
            self._take()
            return compares(sign, number)
        if matching:
            pattern = self._pattern(text)
            self._take()
            return matches(pattern)
        if (
            token.keyword != "null"
            and number is None
            and field.kind in _NUMBERS
            and not NUMBER.fullmatch(text.encode())
        ):
            raise self._expected_number(f"{field.name} {sign}", field)
        self._take()
        if token.keyword == "null":
            return is_null
        return equals(text) if number is None else compares(sign, number)

    @staticmethod
    def _number(token: _Token) -> Decimal | None:
        """Return the number that a word is, as heights are written too: 12_345, 12K, 1.5M. In quotes it is a text."""
        found = _LITERAL.fullmatch(token.text) if token.kind == "word" else None
        if found is None:
            return None
        exponent = found[2] or _EXPONENTS.get((found[3] or "").upper(), 0)
        return Decimal(f"{found[1].replace('_', '')}E{exponent}")  # a product would be rounded to 28 digits

    def _pattern(self, text: str) -> re.Pattern[str]:
        try:
            return _regex(text)
        except _INVALID as error:
            raise _wrong(f"invalid regular expression {self._place()}: {quoted(str(error))[1:-1]}") from None


def _regex(text: str) -> re.Pattern[str]:
    """Return the regular expression. Raises one of `_INVALID`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of patterns that a later Python may read in another way
        return re.compile(text)


def _check_single(field: Field, *, numeric: bool) -> None:
    """Raise UsageError for an array or an object that is to be compared with a number."""
    if field.other and numeric:
        raise _wrong(f"{field.name} is {field.other}")


def _not(test: Test) -> Test:
    return lambda values: not test(values)


def _wrong(what: str) -> UsageError:
    return UsageError(f"invalid --where: {what}")
