"""Durations and sizes in words."""

import pytest

from chainq.text.humanize import duration, in_bytes

DAY = 86_400


@pytest.mark.parametrize(
    "words",
    [
        {-1: "0 seconds", 1.9: "1 second", 59: "59 seconds", 60: "1 minute", 3599: "59 minutes"},
        {3600: "1 hour", DAY - 1: "23 hours", DAY: "1 day", 2_629_745: "30 days", 2_629_746: "1 month"},
        {79_711_683: "30 months"},
    ],
)
def test_seconds_in_words(words: dict[float, str]) -> None:
    """The largest unit that fits."""
    assert {seconds: duration(seconds) for seconds in words} == words


def test_sizes() -> None:
    """Powers of 1,000."""
    assert [in_bytes(size) for size in (1, 900, 1_500_000_000)] == ["1 byte", "900 bytes", "1.5 GB"]
