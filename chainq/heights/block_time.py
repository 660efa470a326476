"""Block times: parses `--since` and `--until`, and finds the first block at or after a time.

Pure: callers pass in block times.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from chainq.errors import UsageError
from chainq.text.sanitize import quoted

_AGE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw]|seconds?|minutes?|hours?|days?|weeks?)(?: ago)?")
_UNIX = r"[0-9]{9,11}"  # eight digits are a date (ISO 8601), fewer a number without its unit
_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800}
_DAYS = {"today": 0, "yesterday": 1}
TIMES = "a date (2024-06-02), a time (2024-06-02T11:36), an age (90m, 2h, 7d), '2 days ago', yesterday, today or now"
"""The ways to write a time that messages name."""


def parse_age(text: str, option: str) -> float:
    """Return the seconds of an age such as `90m`, `2h`, `7d`. Raises UsageError, which names the option."""
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        expected = f"expected a number with a unit ({', '.join(_UNIT)}), such as 90s, 90m, 2h or 7d"
        raise UsageError(f"invalid --{option} {quoted(text)}: {expected}")
    return float(match[1]) * _UNIT[match[2][0]]


def format_age(seconds: float) -> str:
    """Return the shortest age that `parse_age` reads as so many seconds.

    >>> format_age(600), format_age(0)
    ('10m', '0s')
    """
    units = reversed(_UNIT.items())
    return next(f"{seconds / size:.15g}{unit}" for unit, size in units if size == 1 or (seconds and not seconds % size))


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
        return now - parse_age(words, option)
    if re.fullmatch(_UNIX, words):
        return float(words)
    if words in _DAYS:
        return (now // _UNIT["d"] - _DAYS[words]) * _UNIT["d"]
    try:
        time = datetime.fromisoformat(text.strip())  # which drops digits beyond microseconds
        beyond = 1e-6 * bool(re.search(r"[.,]\d{6}\d*[1-9]", text))
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() + beyond
    except (ValueError, OverflowError):
        raise UsageError(f"invalid --{option} {quoted(text)}: expected {TIMES}, or seconds since 1970") from None


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
