"""Heights, ranges and block times as users write them; how a height is found by its time; sets of heights."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainq.errors import UsageError
from chainq.heights.block_time import first_at, format_age, parse_age, parse_time
from chainq.heights.bounds import Bounds, parse_height, parse_start, resolve
from chainq.heights.range import MOST, HeightRange, HeightSet
from harness.models.readings import readings

NOW = 1_700_000_000.0
RANGES = st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda at: HeightRange(at[0], sum(at)))
bounded = settings(max_examples=200, deadline=None, derandomize=True, database=None)


def unused(*_: Any) -> int:
    raise AssertionError("asked for the tip height or a block time without need")


def at_tip(given_: dict[str, Any]) -> tuple[int, int]:
    """The heights of a range on a chain whose tip is 100, unless it says so; -1 is a chain without blocks."""
    tip = given_.pop("tip", 100)
    return resolve(Bounds(**given_), lambda: tip, unused)


def contradiction(given_: dict[str, Any]) -> None:
    """Bounds that are a usage error before the tip height is asked for."""
    with pytest.raises(UsageError):
        resolve(Bounds(**given_), unused, unused)
    Bounds(**given_).check()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("heights", parse_height),
        ("bounds", parse_start),
        ("ranges", at_tip),
        ("contradictions", contradiction),
        ("times", lambda text: parse_time(text, NOW, "since")),
        ("ages", lambda text: parse_age(text, "max-age")),
    ],
)
def test_texts(name: str, read: Callable[[Any], object], golden: Callable[[Path, str], None]) -> None:
    """A height is exactly its number, never one by way of a float; bounds may count back. Of a range the start is
    included and the end excluded. A time without an offset is UTC; an age counts back from now."""
    file = Path(__file__).parent / f"{name}.txt"
    golden(file, readings(file, read))


@pytest.mark.parametrize("read", [parse_height, parse_start])
def test_a_number_of_many_digits_is_refused(read: Callable[[str], int]) -> None:
    """More than Python converts."""
    with pytest.raises(UsageError):
        read("1" + "0" * 5000)


@bounded
@given(st.integers(0, 2**53))
def test_any_height_in_any_unit_is_exact(height: int) -> None:
    """A height written with underscores, in thousands or in millions, is the same height, however large."""
    assert parse_height(f"{height:_}") == height
    assert parse_height(f"{height // 1000}.{height % 1000:03}K") == height
    assert parse_height(f"{height // 10**6:_}.{height % 10**6:06}M") == height
    assert parse_start(f"-{height}") == -height


@bounded
@given(st.text("0123456789_.-kKmMe+ ", max_size=8))
def test_no_text_is_read_as_something_else(text: str) -> None:
    """Whatever is accepted is what its digits and unit say; nothing else ends in another error."""
    try:
        height = parse_height(text)
    except UsageError:
        return
    digits = text.strip().replace("_", "").lower()
    scale = {"k": 3, "m": 6}.get(digits[-1], 0)
    whole, _, fraction = digits.rstrip("km").partition(".")
    assert int(whole + fraction.ljust(scale, "0")[:scale]) == height
    assert not fraction[scale:].strip("0")


def test_times_are_searched_only_where_given() -> None:
    """--since gives the start and --until the end, each by one search."""
    times: list[float] = []

    def first_at(time: float) -> int:
        times.append(time)
        return int(time) // 10

    assert resolve(Bounds(since=500.0), lambda: 100, first_at) == (50, 101)
    assert resolve(Bounds(until=500.0), lambda: 100, first_at) == (0, 50)
    assert resolve(Bounds(since=200.0, until=500.0), lambda: 100, first_at) == (20, 50)
    assert resolve(Bounds(start=-3, until=1000.0), lambda: 100, first_at) == (98, 100)
    assert times == [500.0, 500.0, 200.0, 500.0, 1000.0]


whole = st.integers(-300, 300) | st.none()


@bounded
@given(whole, whole, st.integers(-1, 200), st.booleans())
def test_a_range_never_starts_after_its_end(start: int | None, end: int | None, tip: int, whole: bool) -> None:
    """Whatever the bounds: 0 <= start <= end, or a usage error; the tip height is asked for once at most."""
    calls: list[int] = []

    def tip_height() -> int:
        calls.append(tip)
        return tip

    bounds = Bounds(start=start, end=end, whole=whole)
    try:
        low, high = resolve(bounds, tip_height, unused)
    except UsageError:
        return
    finally:
        assert len(calls) <= (0 if bounds.fixed else 1)
    assert 0 <= low <= high
    if start is not None and start >= 0:
        assert low == start
    if end is not None and end >= 0:
        assert high == end


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


@given(st.lists(st.tuples(st.booleans(), RANGES), max_size=30))
def test_it_is_a_set(steps: list[tuple[bool, HeightRange]]) -> None:
    """Whatever is added and cut off; its ranges are in order, and never touch."""
    heights, plain = HeightSet(), set[int]()
    for add, part in steps:
        if add:
            heights.add(part)
            plain |= {*range(*part.edges)}
        else:
            heights.cut(part.end)
            plain = {height for height in plain if height < part.end}
    assert {height for part in heights for height in range(*part.edges)} == plain
    ranges = [*heights]
    assert all(one.end < other.start for one, other in pairwise(ranges))
    assert all(len(part) for part in ranges)


def test_too_many_ranges_become_fewer() -> None:
    """The two that lie nearest become one, so that no height is lost."""
    heights = HeightSet(HeightRange(10 * at, 10 * at + 1) for at in range(MOST))
    heights.add(HeightRange(8, 9))
    assert len(heights) == MOST
    assert [*heights][:2] == [HeightRange(0, 1), HeightRange(8, 11)]


def test_in_words() -> None:
    """The first few ranges."""
    assert str(HeightSet()) == ""
    assert str(HeightSet([HeightRange(3, 4), HeightRange(7, 9)])) == "height 3, heights 7-8"
    assert str(HeightSet(HeightRange(2 * at, 2 * at + 1) for at in range(7))).endswith("height 8 and 2 more")
    assert str(HeightSet(HeightRange(2 * at, 2 * at + 1) for at in range(6))).endswith("height 8 and 1 more")
