"""History by itself: what is settled, what is looked at again, what is dropped where there are too many positions."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from chainq.heights.range import HeightRange
from chainq.resume.history import POSITIONS, History, Position

STEPS = st.lists(st.tuples(st.integers(1, 90), st.none() | st.lists(st.sampled_from("abc"), max_size=3)), max_size=120)


def added(steps: list[tuple[int, list[str] | None]]) -> tuple[History, list[Position]]:
    """A history of positions so many heights apart, settled or with digests of rows; and all of them."""
    history, every = History([Position(0)]), [Position(0)]
    for blocks, rows in steps:
        position = Position(every[-1].next + blocks, "h", every[-1].length + 9, UNSET if rows is None else rows)
        every.append(position)
        history.add(position)
    return history, every


@given(STEPS)
def test_no_row_is_forgotten_before_it_is_settled(steps: list[tuple[int, list[str] | None]]) -> None:
    """However many positions there are: the first, the last settled one and the last stay, and every digest since."""
    history, every = added(steps)
    at = max(index for index, position in enumerate(every) if position.rows is UNSET)
    assert len(history.positions) <= POSITIONS + 1
    assert [position.next for position in history.positions] == sorted({p.next for p in history.positions})
    assert (history.positions[0].next, history.last) == (0, history.positions[-1])
    assert history.positions[-1].next == every[-1].next
    assert history.settled == every[at]
    assert history.unsettled == HeightRange(every[at].next, every[-1].next)
    assert history.rows == Counter(row for position in every[at + 1 :] for row in position.rows or ())


@given(STEPS, st.integers(0, 11_000))
def test_settling_goes_up_to_a_position(steps: list[tuple[int, list[str] | None]], below: int) -> None:
    """Rows are settled up to the last position at most at a height; going back then leads exactly there."""
    history, _ = added(steps)
    settled, heights = history.settled.next, [position.next for position in history.positions]
    history.settle(below)
    reached = max(settled, max((height for height in heights if height <= below), default=0))
    assert history.settled.next == reached
    history.go_back()
    assert history.positions[-1].next == reached
    assert not history.unsettled
    assert not history.rows


@given(STEPS)
def test_positions_become_one_in_another_output(steps: list[tuple[int, list[str] | None]]) -> None:
    """In another output nothing can be cut back, but the rows that are not settled are still known."""
    history, _ = added(steps)
    before = (history.unsettled, history.rows)
    history.move(70)
    assert (history.unsettled, history.rows) == before
    assert {position.length for position in history.positions} == {70}
    assert len(history.positions) <= 2
    assert history.removable == (not history.rows)


def test_positions_far_from_the_end_are_united_evenly() -> None:
    """Of many unsettled positions neighbours become one, so that some of them stay near the start."""
    history, _ = added([(1, []) for _ in range(1000)])
    gaps = [b.next - a.next for a, b in zip(history.positions, history.positions[1:], strict=False)]
    assert max(gaps) <= 4 * 1000 / POSITIONS


def test_positions_that_are_united_keep_all_rows() -> None:
    """Of both neighbours: late rows are held against them."""
    history, _ = added([(1, ["a", str(number)]) for number in range(1000)])
    assert history.rows == Counter({"a": 1000} | {str(number): 1 for number in range(1000)})
