"""Comparisons of one value of a field with a text, a pattern or a number."""

import operator
import re
from collections.abc import Callable
from decimal import Decimal

from msgspec import Raw

from chainq.rows.fields import text_of

NUMBER = re.compile(rb'"?(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"?')
ORDERS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Compare = Callable[[Raw | None], bool]
"""Returns whether a value meets a comparison; null meets none."""


def equals(text: str) -> Compare:
    """Return the test whether a value is a text."""
    return lambda value: not is_null(value) and text_of(value) == text


def matches(pattern: re.Pattern[str]) -> Compare:
    """Return the test whether a regular expression is found in a value."""
    return lambda value: not is_null(value) and pattern.search(text_of(value)) is not None


def compares(sign: str, number: Decimal) -> Compare:
    """Return the test whether a value is a number above, below or equal to another one."""
    compare: Callable[[Decimal, Decimal], bool] = ORDERS.get(sign, operator.eq)

    def test(value: Raw | None) -> bool:
        found = number_of(value)
        return found is not None and compare(found, number)

    return test


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
