"""Human-readable counts, ages and times."""

from collections.abc import Iterable
from datetime import UTC, datetime


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 row`, `2,345 rows`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def counts(numbers: Iterable[tuple[str, int]]) -> str:
    """Return counts of things: `state roots of older blocks: 1, block hashes: 2,345`."""
    return ", ".join(f"{what}: {number:,}" for what, number in numbers)


def utc(seconds: float) -> str:
    """Return seconds since 1970 as a time in UTC; as they are if no calendar has it."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).isoformat(' ')[:19]}Z"
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f}"


_UNITS = {2_629_746: "month", 86_400: "day", 3600: "hour", 60: "minute", 1: "second"}
"""Units of durations by their seconds; a month is a twelfth of a year."""


def duration(seconds: float) -> str:
    """Return a duration in the largest unit that it fills: `45 seconds`, `3 minutes`, `7 hours`, `30 months`."""
    size = next((size for size in _UNITS if seconds >= size), 1)
    return counted(max(int(seconds), 0) // size, _UNITS[size])


def in_credits(microcredits: int) -> str:
    """Return an amount of microcredits in credits, with every digit: `1,000.273388`."""
    whole, part = divmod(microcredits, 1_000_000)
    return f"{whole:,}.{part:06}"


def in_bytes(count: int) -> str:
    """Return a number of bytes in the largest unit that it fills, which is a power of 1,000: `900 bytes`, `1.5 GB`."""
    from rich.filesize import decimal

    return decimal(count)
