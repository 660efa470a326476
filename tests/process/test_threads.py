"""Threads: results in order, and errors in turn."""

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from chainq.process.threads import Pool, in_order
from harness.running.program import LONGEST


def fail() -> int:
    raise ValueError("no")


def test_results_come_in_the_order_of_the_jobs() -> None:
    """Whichever is finished first."""
    second = threading.Event()

    def first() -> int:
        assert second.wait(LONGEST)
        return 1

    def other() -> int:
        second.set()
        return 2

    assert list(in_order(2, iter([first, other]), 2)) == [1, 2]


@pytest.mark.parametrize("made", [True, False])
def test_an_error_is_raised_when_its_turn_comes(made: bool) -> None:
    """What was before it is yielded first, whether a job raises it or what makes the jobs."""

    def jobs() -> Iterator[Callable[[], int]]:
        yield from (lambda: 1, lambda: 2)
        yield fail if made else partial(int, fail())

    results = in_order(4, jobs(), 4)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="no"):
        next(results)


def test_no_more_jobs_are_begun_than_wanted() -> None:
    """A job is taken when there is room for its result."""
    taken: list[int] = []

    def jobs() -> Iterator[Callable[[], int]]:
        for number in range(10):
            taken.append(number)
            yield partial(int, number)

    results = in_order(2, jobs(), 3)
    assert next(results) == 0
    assert len(taken) <= 4
    assert list(results) == list(range(1, 10))


def test_waiting_for_nothing_is_an_error() -> None:
    """And not for ever."""
    with pytest.raises(RuntimeError, match="no work"):
        Pool[int](2).wait()
