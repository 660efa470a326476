"""Human-readable counts, ages and times."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from chainq.errors import Shortfall


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 row`, `2,345 rows`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def counts(numbers: Iterable[tuple[str, int]]) -> str:
    """Return counts of things that are named in the plural; of one, the first noun is in the singular.

    >>> counts([("state roots of older blocks", 1), ("block hashes", 2345)])
    '1 state root of older blocks, 2,345 block hashes'
    """
    plural = re.compile(r"\b(hash|batch|root|ID)(?:es|s)\b")
    named = ((plural.sub(r"\1", what, 1) if number == 1 else what, number) for what, number in numbers)
    return ", ".join(f"{number:,} {what}" for what, number in named)


def utc(seconds: float) -> str:
    """Return seconds since 1970 as a time in UTC; as they are if no calendar has it."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).isoformat(' ')[:19]}Z"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f}"


_MONTH = 2_629_746  # seconds; a twelfth of a year
_SPANS = {
    12 * _MONTH: ("year", "y"),
    _MONTH: ("month", "mo"),
    86_400: ("day", "d"),
    3600: ("hour", "h"),
    60: ("minute", "min"),
    1: ("second", "s"),
}
"""Units by their seconds: the word and the sign of each."""


def _spans(seconds: float) -> list[tuple[int, str, str]]:
    """Return a duration in the largest unit that it fills, with the unit's word and sign; years with their months."""
    whole = max(int(seconds), 0)
    size = next((size for size in _SPANS if whole >= size), 1)
    months = whole % size // _MONTH if size > _MONTH else 0
    return [(whole // size, *_SPANS[size]), *([(months, *_SPANS[_MONTH])] if months else [])]


def age(seconds: float) -> str:
    """Return an age in at most eight characters: `45 s`, `3 min`, `7 h`, `12 d`, `5 mo`, `2y 5mo`."""
    spans = _spans(seconds)
    return " ".join(f"{count}{' ' * (len(spans) == 1)}{sign}" for count, _, sign in spans)


def duration(seconds: float) -> str:
    """Return a duration in words: `45 seconds`, `3 minutes`, `7 hours`, `12 days`, `2 years 6 months`."""
    return " ".join(counted(count, word) for count, word, _ in _spans(seconds))


def in_credits(microcredits: int) -> str:
    """Return an amount of microcredits in credits, with every digit: `1,000.273388`."""
    whole, part = divmod(microcredits, 1_000_000)
    return f"{whole:,}.{part:06}"


def in_bytes(count: int) -> str:
    """Return a number of bytes in the largest unit that it fills: `900 bytes`, `1 KiB`, `1.5 GiB`.

    Units are powers of 1,024, as in `--max-memory 512M`.
    """
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            number = count / 1024**power
            return f"{number:.{4 if number >= 999.5 else 3}g} {unit}"  # never 1e+03
    return counted(count, "byte")


def chain_end(tip: int) -> str:
    """Return where a chain with that tip height ends, -1 for one without blocks."""
    return f"the tip is {tip}" if tip >= 0 else "the chain has no blocks yet"


def end_above(end: int, tip: int) -> Shortfall:
    """Return that the end of a range is above a chain with that tip height."""
    return Shortfall(f"the end {end} is not reached: {chain_end(tip)}")
