"""Comparisons of a field with a text, a pattern or a number, which say what was meant if no value met one."""

import operator
import re
from collections.abc import Callable
from decimal import Decimal

from msgspec import Raw

from chainq.rows.fields import text_of
from chainq.text.sanitize import quoted

MOST_SEEN = 200  # values of a field that are kept, for a hint
FEW_SEEN = 5  # of them that are named, if none is like what was sought
LONGEST_NAME = 40  # characters of values of which there are more, for some to be named
LONGEST_MEANT = 80  # characters of such a value that count
NUMBER = re.compile(rb'"?(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"?')
ORDERS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Equals:
    """Tests whether the value of a field equals a text, and suggests other texts if no value did."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self._text = name, text
        self._found, self._seen = False, set[str]()

    def __call__(self, value: Raw | None) -> bool:
        """Return whether a value is that text."""
        if is_null(value):
            return False
        text = text_of(value)
        return self._met(text, met=text == self._text)

    def _met(self, text: str, *, met: bool) -> bool:
        """Return whether a text met the test, and keep it for a hint if not."""
        if met:
            self._found = True
        elif len(self._seen) < MOST_SEEN:
            self._seen.add(text)
        return met

    def hint(self) -> str:
        """Return a note that no value was the text, with similar or all values; empty if one was."""
        from difflib import get_close_matches

        if self._found or not self._seen:
            return ""
        folded = {text[:LONGEST_MEANT].lower(): text for text in sorted(self._seen)}
        sought = self._text[:LONGEST_MEANT].lower()
        near = get_close_matches(sought, folded, 1 if sought in folded else 2, 0.7)
        near = near or [text for text in folded if sought in text][:FEW_SEEN]
        alike = [folded[found] for found in near]
        hint = f"no {self.name} is {quoted(self._text, LONGEST_MEANT)}"
        if alike:
            return f"{hint}: did you mean {' or '.join(quoted(text, LONGEST_MEANT) for text in alike)}?"
        return hint + self._only()

    def _only(self) -> str:
        """Return some of the texts that did not meet the test; empty if they are long, as IDs are."""
        if len(self._seen) > FEW_SEEN and max(map(len, self._seen)) > LONGEST_NAME:
            return ""
        named = [quoted(text, LONGEST_MEANT) for text in sorted(self._seen)[:FEW_SEEN]]
        return f", only {' or '.join(named + ['others'] * (len(self._seen) > FEW_SEEN))}"


class Matches(Equals):
    """Tests whether a regular expression is found in a value, and suggests to ignore case if that would find one."""

    def __init__(self, name: str, text: str, pattern: re.Pattern[str]) -> None:
        super().__init__(name, text)
        self._pattern = pattern

    def __call__(self, value: Raw | None) -> bool:
        """Return whether the expression is found in a value."""
        if is_null(value):
            return False
        text = text_of(value)
        return self._met(text, met=self._pattern.search(text) is not None)

    def hint(self) -> str:
        """Return that no value matched, and what would; empty if one did."""
        if self._found or not self._seen:
            return ""
        hint = f"no {self.name} matches {quoted(self._text, LONGEST_MEANT)}"
        any_case = re.compile(self._pattern.pattern, self._pattern.flags | re.IGNORECASE)
        if len(self._text) > LONGEST_MEANT or not any(map(any_case.search, self._seen)):
            return hint + self._only()
        mark = '"' if "'" in self._text else "'"
        return f"{hint}: case matters; did you mean {self.name} ~ {mark}(?i){self._text}{mark}?"


class Numeric(Equals):
    """Tells whether the value of a field is above, below or equal to a number, and, if none was one, what it is."""

    def __init__(self, name: str, sign: str, number: Decimal, text: str) -> None:
        super().__init__(name, text)
        self._sign, self._number = sign, number
        self._compare: Callable[[Decimal, Decimal], bool] = ORDERS.get(sign, operator.eq)

    def __call__(self, value: Raw | None) -> bool:
        """Return whether a value is a number that compares so."""
        found = number_of(value)
        if not self._found and not is_null(value):
            self._found = found is not None
            self._seen = self._seen or {text_of(value)}
        return found is not None and self._compare(found, self._number)

    def hint(self) -> str:
        """Return that no value was a number; empty if one was, or there was none."""
        if self._found or not self._seen:
            return ""
        hint = f"no {self.name} is a number"
        suffix = re.fullmatch("[0-9]+([a-z][a-z0-9]*)", next(iter(self._seen)))
        if suffix and self._sign not in ORDERS:
            return f"{hint}: did you mean {quoted(self._text + suffix[1], LONGEST_MEANT)}?"
        return hint + (f", and {self._sign} compares numbers" if self._sign in ORDERS else "")


def is_null(value: Raw | None) -> bool:
    """Return whether a value is null, or its field is missing."""
    return value is None or bytes(value) == b"null"


def number_of(value: Raw | None) -> Decimal | None:
    """Return the number in a value, sent as a number or as a string, with every digit; None if there is none."""
    found = None if value is None else NUMBER.fullmatch(bytes(value))
    try:
        return Decimal(found[1].decode()) if found else None
    except ArithmeticError:  # an exponent beyond any use
        return None
