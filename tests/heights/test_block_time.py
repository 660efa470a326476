"""Block times: what `--since` and `--until` accept, and how a height is found by its time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainq.errors import UsageError
from chainq.heights.block_time import first_at, format_age, parse_age, parse_time

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", NOW - 90),
        ("90m", NOW - 5400),
        ("2h", NOW - 7200),
        ("1.5h", NOW - 5400),
        ("7d", NOW - 604_800),
        ("2w", NOW - 1_209_600),
        ("2024-06-02", 1_717_286_400),
        ("2024-06-02T11:36:49Z", 1_717_328_209),
        ("2024-06-02T11:36:49", 1_717_328_209),
        ("2024-06-02T13:36:49+02:00", 1_717_328_209),
        ("20240602", 1_717_286_400),
        ("1717328209", 1_717_328_209),
        ("999999999", 999_999_999),
        ("yesterday", 1_699_833_600),
        ("today", 1_699_920_000),
        ("2 days ago", NOW - 172_800),
        ("1 hour ago", NOW - 3600),
        (" 1.5  Hours ago", NOW - 5400),
        ("an hour ago", NOW - 3600),
        ("a week ago", NOW - 604_800),
        ("now", NOW),
        ("2y", NOW - 2 * 31_556_952),
        ("9mo", NOW - 9 * 2_629_746),
        ("2y 5mo", NOW - 29 * 2_629_746),
        ("3 min", NOW - 180),
        ("2 years ago", NOW - 2 * 31_556_952),
        ("1 month ago", NOW - 2_629_746),
        ("2 days", NOW - 172_800),
        ("3hours", NOW - 10_800),
        ("a week", NOW - 604_800),
    ],
)
def test_times_and_ages(text: str, seconds: float) -> None:
    """A date or time is itself, without an offset in UTC; an age counts back from now, in words too; Unix seconds."""
    assert parse_time(text, NOW, "since") == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "5",
        "1717328",
        "-2h",
        "2q",
        "2y ago",
        "12:00",
        "2h ago",
        "2 eras ago",
        "days ago",
        "last week",
    ],
)
def test_no_times(text: str) -> None:
    """What is neither a time nor an age is a usage error with examples."""
    with pytest.raises(
        UsageError, match=r"invalid --since '.*': expected a date \(2024-06-02\), a time .*, today or now"
    ):
        parse_time(text, NOW, "since")
    with pytest.raises(UsageError, match="such as"):
        parse_age(text, "max-age")


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60), st.integers(-5, 10**9 + 5), st.integers(0, 59))
def test_the_first_block_at_a_time(times: list[int], wanted: int, lowest: int) -> None:
    """Whatever the times, the first height at or after one is found, by fewer than two lookups per bisection."""
    times, lowest = sorted(times), min(lowest, len(times) - 1)
    lookups: list[int] = []

    def time_of(height: int) -> int:
        assert height >= lowest
        lookups.append(height)
        return times[height]

    expected = next((height for height, time in enumerate(times) if time >= wanted), len(times))
    assert first_at(wanted, len(times) - 1, time_of, lowest) == max(expected, lowest)
    assert len(lookups) <= 4 + 3 * len(times).bit_length()


def test_few_lookups_on_an_even_chain() -> None:
    """Three million blocks of ten seconds each take a handful of lookups."""
    lookups: list[int] = []

    def time_of(height: int) -> int:
        lookups.append(height)
        return 1_600_000_000 + 10 * height + height % 7

    assert first_at(1_600_000_000 + 12_345_678, 3_000_000, time_of) == 1_234_568
    assert len(lookups) <= 10


def test_a_chain_without_blocks() -> None:
    """On an empty chain every time is past the end, and no block is looked up."""
    assert first_at(0.0, -1, lambda _: pytest.fail("there is no block to look up")) == 0


@pytest.mark.parametrize("text", ["90s", "10m", "90m", "2h", "36h", "5d", "1w", "36500d", "0.5s"])
def test_an_age_is_written_as_it_is_read(text: str) -> None:
    """What `format_age` writes is read as the same number of seconds."""
    assert parse_age(format_age(parse_age(text, "deadline")), "deadline") == parse_age(text, "deadline")
    assert format_age(600) == "10m"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2024-13-01", "a month is 01 to 12, not 13"),
        ("2024-06-31", "2024-06 has 30 days"),
        ("20230229", "2023-02 has 28 days"),
        ("2024-06-00", "2024-06 has 30 days"),
        ("2024-06-02T25:00Z", "an hour is 00 to 23, not 25"),
        ("2024-06-02T11:36:60", "a second is 00 to 59, not 60"),
    ],
)
def test_no_dates_of_the_calendar(text: str, reason: str) -> None:
    """What is written as a date, but does not exist, says which part is wrong."""
    with pytest.raises(UsageError) as caught:
        parse_time(text, 0, "since")
    assert str(caught.value) == f"invalid --since '{text}': {reason}"


def test_a_time_is_exact_beyond_the_sixth_digit() -> None:
    """What `fromisoformat` cuts still counts: blocks have whole seconds, and that of :07 is not from :07.0000001 on."""
    whole = parse_time("2024-06-02T11:36:07Z", NOW, "since")
    assert whole < parse_time("2024-06-02T11:36:07.0000001Z", NOW, "since") < whole + 1e-5
    assert parse_time("2024-06-02T11:36:07.00000000Z", NOW, "since") == whole
    assert whole < parse_time("2024-06-02T11:36:07.9999999", NOW, "since") <= whole + 1
