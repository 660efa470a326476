"""Heights as users write them, and bounds resolved by the tip height."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainq.errors import UsageError
from chainq.heights.bounds import Bounds, parse_height, parse_start, resolve
from harness.readings import readings

bounded = settings(max_examples=200, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize(("name", "read"), [("heights", parse_height), ("bounds", parse_start)])
def test_texts(name: str, read: Callable[[str], int], golden: Callable[[Path, str], None]) -> None:
    """Every way to write a height means exactly that number, never one by way of a float; bounds may count back."""
    file = Path(__file__).parent / f"{name}.txt"
    golden(file, readings(file, read))
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


# --- ranges


def unused(*_: Any) -> int:
    raise AssertionError("asked for the tip height or a block time without need")


def test_a_range_on_a_chain_with_a_tip(golden: Callable[[Path, str], None]) -> None:
    """Start is included and end excluded; without an end the range goes through the tip; negative bounds count back.

    The tip is 100 unless a line says so; -1 is a chain without blocks, of which every range from the end is empty.
    """
    file = Path(__file__).parent / "ranges.txt"

    def read(given_: dict[str, Any]) -> tuple[int, int]:
        tip = given_.pop("tip", 100)
        return resolve(Bounds(**given_), lambda: tip, unused)

    golden(file, readings(file, read))


def test_contradictory_bounds(golden: Callable[[Path, str], None]) -> None:
    """Bounds that contradict each other are a usage error before the tip height is asked for."""

    def check(given_: dict[str, Any]) -> None:
        with pytest.raises(UsageError):
            resolve(Bounds(**given_), unused, unused)
        Bounds(**given_).check()

    file = Path(__file__).parent / "contradictions.txt"
    golden(file, readings(file, check))


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
