"""Block times: parses `--since` and `--until`, and finds the first block at or after a time.

Pure: callers pass in block times.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from chainq.errors import UsageError
from chainq.text.sanitize import quoted

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(min|mo|[smhdwy])\s*")
_AGE = re.compile(rf"(?:{_PART.pattern})+")  # also as chainq prints ages: `3 min`, `2y 5mo`
_AGO = r"([0-9]+(?:\.[0-9]+)?|an?)\s*(second|minute|hour|day|week|month|year)s?(?:\s+ago)?"
_UNIX = r"[0-9]{9,11}"  # eight digits are a date (ISO 8601), fewer a number without its unit
_UNIT = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400, "w": 604_800, "mo": 2_629_746, "y": 31_556_952}
_DATE_TIME = (
    r"(?P<year>[0-9]{4})-?(?P<month>[0-9]{2})-?(?P<day>[0-9]{2})"
    r"(?:[t ](?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2}))?)?|$)"
)
_DAYS = {"today": 0, "yesterday": 1}
TIMES = "a date (2024-06-02), a time (2024-06-02T11:36), an age (90m, 2h, 7d), '2 days ago', yesterday, today or now"
"""The ways to write a time that messages name."""


def parse_age(text: str, option: str) -> float:
    """Return the seconds of an age such as `90m`, `2h`, `7d`. Raises UsageError, which names the option."""
    if not _AGE.fullmatch(text.strip()):
        expected = f"expected a number with a unit ({', '.join(_UNIT)}), such as 90s, 90m, 2h or 7d"
        raise UsageError(f"invalid --{option} {quoted(text)}: {expected}")
    return sum(float(number) * _UNIT[unit] for number, unit in _PART.findall(text))


def format_age(seconds: float) -> str:
    """Return the shortest age that `parse_age` reads as so many seconds.

    >>> format_age(600), format_age(0)
    ('10m', '0s')
    """
    units = reversed(_UNIT.items())
    return next(f"{seconds / size:.15g}{unit}" for unit, size in units if size == 1 or (seconds and not seconds % size))


def is_time(text: str) -> bool:
    """Return whether `parse_time` reads a text."""
    try:
        parse_time(text, 0, "since")
    except UsageError:
        return False
    return True


def parse_time(text: str, now: float, option: str) -> float:
    """Return the seconds since 1970 of a time as a person writes it; `now` is the current time.

    An RFC 3339 date or time (a date is its first second, and a time without an offset is UTC), `yesterday` or `today`
    likewise, `now`, seconds since 1970, or an age before now such as `90m`, `7d`, `2 days` or `2 days ago`.
    Raises UsageError, which names the option.

    >>> parse_time("2024-06-02T11:36:49Z", 0, "since") == parse_time("1717328209", 0, "since")
    True
    """
    words = text.strip().lower()
    if words == "now":
        return now
    if _AGE.fullmatch(words):
        return now - parse_age(words, "since")
    if match := re.fullmatch(_AGO, words):
        number = 1 if match[1].startswith("a") else float(match[1])
        return now - number * _UNIT["mo" if match[2] == "month" else match[2][0]]
    if re.fullmatch(_UNIX, words):
        return float(words)
    if words in _DAYS:
        return (now // _UNIT["d"] - _DAYS[words]) * _UNIT["d"]
    try:
        time = datetime.fromisoformat(text.strip())
        # The digits after the sixth of a second are cut: a time with more is after what is left of it.
        more = re.search(r"[.,][0-9]{6}[0-9]*[1-9]", text) and 1e-6
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() + (more or 0)
    except (ValueError, OverflowError):
        reason = _beyond_calendar(words) or f"expected {TIMES}, or seconds since 1970"
        raise UsageError(f"invalid --{option} {quoted(text)}: {reason}") from None


def _beyond_calendar(text: str) -> str:
    """Return which part of a date or time is too large or 0; empty if it is not written as one.

    >>> _beyond_calendar("2024-06-31"), _beyond_calendar("2024-13-01")
    ('2024-06 has 30 days', 'a month is 01 to 12, not 13')
    """
    found = re.match(_DATE_TIME, text)
    if not found:
        return ""
    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    for unit, lowest, highest in (("month", 1, 12), ("hour", 0, 23), ("minute", 0, 59), ("second", 0, 59)):
        if found[unit] and not lowest <= int(found[unit]) <= highest:
            return f"a {unit} is {lowest:02} to {highest}, not {found[unit]}".replace("a hour", "an hour")
    from calendar import monthrange

    days = monthrange(max(1, year), month)[1]
    return "" if 1 <= day <= days else f"{found['year']}-{found['month']} has {days} days"


def first_at(time: float, tip_height: int, time_of: Callable[[int], int], lowest: int = 0) -> int:
    """Return the lowest height from `lowest` whose block time is `time` or later; `tip_height` + 1 if there is none.

    `tip_height` is -1 for a chain without blocks; `time_of` returns the block time of a height. The search interpolates
    between known times, and bisects every third step: block times are even for long stretches, but interpolation alone
    would crawl past a stall, or from a genesis long before the second block.
    """
    if tip_height < 0 or time_of(tip_height) < time:
        return tip_height + 1
    low, high = lowest, tip_height
    low_time, high_time = time_of(low), time_of(high)
    if low_time >= time:
        return low
    step = 0
    while high - low > 1:  # time_of(low) < time <= time_of(high)
        step += 1
        if step % 3 == 0 or high_time <= low_time:
            guess = (low + high) // 2
        else:
            guess = low + int((high - low) * (time - low_time) / (high_time - low_time))
        guess = min(max(guess, low + 1), high - 1)
        guess_time = time_of(guess)
        if guess_time < time:
            low, low_time = guess, guess_time
        else:
            high, high_time = guess, guess_time
    return high
