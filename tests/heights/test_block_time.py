"""Block times: what `--since` and `--until` accept, and how a height is found by its time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainq.heights.block_time import first_at, format_age, parse_age, parse_time
from harness.readings import readings

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("name", "read"),
    [("times", lambda text: parse_time(text, NOW, "since")), ("ages", lambda text: parse_age(text, "max-age"))],
)
def test_texts(name: str, read: Callable[[str], float], golden: Callable[[Path, str], None]) -> None:
    """A date or time is itself, without an offset in UTC; an age counts back from now, in words too; Unix seconds."""
    file = Path(__file__).parent / f"{name}.txt"
    golden(file, readings(file, read))


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
    """Three million blocks of ten seconds each take a handful of lookups; a chain without blocks takes none."""
    lookups: list[int] = []

    def time_of(height: int) -> int:
        lookups.append(height)
        return 1_600_000_000 + 10 * height + height % 7

    assert first_at(1_600_000_000 + 12_345_678, 3_000_000, time_of) == 1_234_568
    assert len(lookups) <= 10
    assert first_at(0.0, -1, lambda _: pytest.fail("there is no block to look up")) == 0


@pytest.mark.parametrize("text", ["90s", "10m", "90m", "2h", "36h", "5d", "1w", "36500d", "0.5s"])
def test_an_age_is_written_as_it_is_read(text: str) -> None:
    """What `format_age` writes is read as the same number of seconds."""
    assert parse_age(format_age(parse_age(text, "deadline")), "deadline") == parse_age(text, "deadline")
    assert format_age(600) == "10m"
