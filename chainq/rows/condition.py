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
from chainq.errors import Phrase, UsageError
from chainq.heights.bounds import meant_height
from chainq.rows.comparison import LONGEST_MEANT, NUMBER, ORDERS, Equals, Matches, Numeric, is_null
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
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "==": "==", "!=": "!="}
_MEANT = {"=>": ">=", "=<": "<=", "<>": "!=", "=~": "~", "~=": "~", "===": "="}
_OPERATORS = "=, !=, <, <=, >, >=, ~ or !~"
_INSTEAD = {
    "in": "{0} = A or {0} = B",
    "like": "{0} ~ TEXT",
    "ilike": "{0} ~ '(?i)TEXT'",
    "contains": "{0} ~ TEXT",
    "matches": "{0} ~ REGEX",
    "between": "{0} >= A and {0} <= B",
    "is": "{0} = null or {0} != null",
    "eq": "{0} = VALUE",
    "ne": "{0} != VALUE",
}
"""What is written in place of words of SQL and of other programs after the field `{0}`."""
_NUMBERS = (Kind.NUMBER, Kind.CREDITS, Kind.HEIGHT, Kind.TIME)
_UNQUOTED = re.compile(r".+?(?=\s+(?:and|or)\s|$)", re.IGNORECASE)
"""A value without quotes that goes on after its first word."""
_OTHERS = re.compile(r"[&;]|\s[\w.\[\]]+\s*[=<>!~]|^(and|or|not)\b", re.IGNORECASE)
"""What is in the rest of an expression if it is another condition that `and` or `or` does not join."""
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


def parse(expression: str, field: Callable[[str, int], Field], sought: "list[Equals]") -> Test:
    """Return the test that an expression means. `field`: returns a field, by its name and its place (from 1).

    `sought` gets each comparison with a text. Raises UsageError, with the place of the mistake.
    """
    return _Parser(expression, field, sought).parse()


class _Parser:
    def __init__(self, expression: str, field: Callable[[str, int], Field], sought: list[Equals]) -> None:
        self._expression, self._field, self._sought = expression, field, sought
        self._tokens = self._split()
        self._next = self._depth = 0
        self._compared = ("", 0, -1)  # of the last value: its field and operator, where it begins, the token after it
        self._before: Sequence[_Token] = ()  # the field, the operator and the value of the last comparison

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
        if quote := self._to_quote(self._next):
            return _wrong(f"unexpected {quoted(self._token.text)} at character {self._token.at + 1}; {quote}")
        if self._token.kind == "other" or self._token.text in ("|", "||"):
            number = re.match("[0-9,]*", self._expression[self._tokens[self._next - 1].at :])
            meant = meant_height(number[0]) if number and "," in number[0] else ""
            return self._unexpected(self._token, meant or "join conditions with and, or, not")
        return _wrong(f"expected {what} {self._place()}")

    def _to_quote(self, at: int) -> str:
        """Return that the last value needs quotes, with the comparison in that form.

        `at`: of the token that is unexpected; empty unless the value goes on there, and is valid in quotes.
        """
        compared, start, following = self._compared
        found = _UNQUOTED.match(self._expression, start)
        if at != following or self._tokens[at].kind == "end" or found is None or _OTHERS.search(found[0]):
            return ""
        text = found[0].rstrip()
        while text.endswith(")") and text.count(")") > text.count("("):  # of conditions in brackets
            text = text[:-1].rstrip()
        mark = '"' if "'" in text else "'"
        if mark in text or text.count("(") != text.count(")") or len(text) > LONGEST_MEANT:
            return ""
        try:
            _regex(text if compared.endswith("~") else "")
        except _INVALID:
            return ""
        return f"put the text in quotes: {compared} {mark}{text}{mark}"

    def _rewritten(self) -> UsageError | None:
        """Return the error of a value that is in the place of a field, with the form that is valid; None for others."""
        value, sign, other, *more = [*self._tokens[self._next : self._next + 5], *[self._tokens[-1]] * 4][:5]
        if value.kind == "text" and sign.kind == "operator" and self._is_field(value.text[1:-1]):
            meant = f"{value.text[1:-1]} {sign.text} {other.text}"
            return self._unexpected(value, f"write a field without quotes: {meant}")
        if sign.text in _FLIPPED and other.kind == "word" and (value.kind == "text" or self._number(value) is not None):
            meant = f"{other.text} {_FLIPPED[sign.text]} {value.text}"
            meant += f" and {other.text} {more[0].text} {more[1].text}" if more[0].kind == "operator" else ""
            return self._unexpected(value, f"a field comes first: {meant}")
        joined = self._tokens[self._next - 1].keyword if self._next else ""
        ended = sign.kind == "end" or sign.text == ")" or sign.keyword in ("and", "or")
        if joined in ("and", "or") and self._before and ended and value.kind in ("word", "text"):
            field, operator, first = (token.text for token in self._before)
            meant = f"{field} {operator} {first} {joined} {field} {operator} {value.text}"
            return self._unexpected(value, f"repeat the field: {meant}")
        return None

    def _is_field(self, name: str) -> bool:
        try:
            self._field(name, 1)
        except UsageError:
            return False
        return True

    @staticmethod
    def _unexpected(token: _Token, hint: str) -> UsageError:
        return _wrong(f"unexpected {quoted(token.text)} at character {token.at + 1}; {hint}")

    def _expected_value(self, field: Field) -> UsageError:
        error, sign = self._expected("a value"), self._token
        if sign.kind == "bracket" and field.kind not in _NUMBERS and "; " not in error.message:
            error.message += f"; put {sign.text} in quotes"
        return error

    def _expected_number(self, after: str, field: Field) -> UsageError:
        from chainq.heights.block_time import is_time, parse_time

        date = self._token.text.strip("'\"")
        seconds = f" ({date} is {parse_time(date, 0, ''):.0f})" if re.match("[0-9]{4}-", date) and is_time(date) else ""
        hint = Phrase("; times are Unix seconds{}; for blocks by time use {since}", seconds, since=None)
        error = self._expected(f"a number after {after}")
        return UsageError(error.message + hint) if field.kind is Kind.TIME else error

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
        # All of them for each row: what `sought` says of a field is of all rows then.
        return tests[0] if len(tests) == 1 else lambda values: holds([test(values) for test in tests])

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
            raise self._rewritten() or self._expected("a field")
        name = self._token
        try:
            field = self._field(name.text, name.at + 1)
        except UsageError as error:
            raise self._rewritten() or error from None
        self._before = self._tokens[self._next : self._next + 3]
        self._take()
        if self._token.kind != "operator":
            words = (token.keyword for token in self._tokens[self._next : self._next + 2])
            instead = _INSTEAD.get(next((word for word in words if word != "not"), ""))
            hint = f"; use {instead.format(name.text)}" if instead else ""
            raise UsageError(self._expected(_OPERATORS).message + hint)
        sign = self._take().text
        if self._token.kind == "operator" and (meant := _MEANT.get(wrong := sign + self._token.text)):
            raise _wrong(f"unexpected {wrong} at character {self._token.at + 1 - len(sign)}; did you mean {meant}?")
        one = self._matcher(sign, field)
        if one is is_null and sign == "!=":  # of an array: one item is there, or blocks without items would pass
            return lambda values: not all(map(is_null, field.read(values)))
        test: Test = lambda values: any(one(value) for value in field.read(values))  # noqa: E731  # a def for each would hide that they are alike
        return _not(test) if sign in ("!=", "!~") else test

    def _matcher(self, sign: str, field: Field) -> Callable[[Raw | None], bool]:
        """Return the test of one value, of the value that follows the sign; `!=` and `!~` as `=` and `~`."""
        token = self._token
        number, matching = self._number(token), sign in ("~", "!~")
        if token.kind != "text" and (matching or (token.kind == "word" and number is None)):
            self._compared = (f"{field.name} {sign}", token.at, self._next + (token.kind == "word"))
        if token.kind not in ("word", "text") or token.keyword in ("and", "or", "not"):
            raise self._expected_value(field)
        text = token.text[1:-1] if token.kind == "text" else token.text
        _check_single(field, numeric=sign in ORDERS or (number is not None and not matching))
        if sign in ORDERS:
            if number is None:
                raise self._expected_number(sign, field)
            self._take()
            self._sought.append(Numeric(field.name, sign, number, text))
            return self._sought[-1]
        if matching:
            matches = Matches(field.name, text, self._pattern(text))
            self._take()
            if sign == "~":
                self._sought.append(matches)
            return matches
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
        if number is not None:
            self._sought.append(Numeric(field.name, sign, number, text))
        else:
            self._sought.append(Equals(field.name, text))
        return self._sought[-1]

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
            quote = self._to_quote(self._next + 1)
            problem = f"{quoted(str(error))[1:-1]}{'; ' * bool(quote)}{quote}"
            raise _wrong(f"invalid regular expression {self._place()}: {problem}") from None


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
    return UsageError(Phrase("invalid {where}: {}", what, where=None))
