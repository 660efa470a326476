"""Counts and times in words."""

import pytest

from chainq.text.humanize import duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 seconds"),
        (1.9, "1 second"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (3599, "59 minutes"),
        (3600, "1 hour"),
        (86_399, "23 hours"),
        (86_400, "1 day"),
        (2_629_745, "30 days"),
        (2_629_746, "1 month"),
        (31_556_952, "1 year"),
        (79_711_683, "2 years 6 months"),
    ],
)
def test_a_duration_in_words(seconds: float, words: str) -> None:
    """The largest unit that fits, years with months."""
    assert duration(seconds) == words
