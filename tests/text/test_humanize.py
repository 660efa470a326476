"""Counts and times in words."""

from collections.abc import Callable

import pytest

from chainq.text.humanize import age, duration

DAY = 86_400


@pytest.mark.parametrize(
    ("worded", "words"),
    [
        (duration, {-1: "0 seconds", 1.9: "1 second", 59: "59 seconds", 60: "1 minute", 3599: "59 minutes"}),
        (duration, {3600: "1 hour", DAY - 1: "23 hours", DAY: "1 day", 2_629_745: "30 days", 2_629_746: "1 month"}),
        (duration, {31_556_952: "1 year", 79_711_683: "2 years 6 months"}),
        (age, {0: "0 s", 59: "59 s", 180: "3 min", 7 * 3600: "7 h", 12 * DAY: "12 d", 160 * DAY: "5 mo"}),
        (age, {370 * DAY: "1 y", 884 * DAY: "2y 5mo"}),
    ],
)
def test_seconds_in_words(worded: Callable[[float], str], words: dict[float, str]) -> None:
    """The largest unit that fits, years with months."""
    assert {seconds: worded(seconds) for seconds in words} == words
