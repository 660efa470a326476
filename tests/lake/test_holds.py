"""Which refusals (HTTP 429) of one worker the others are told of."""

from chainq.lake.holds import LONGER, Holds
from chainq.lake.job import Hold
from chainq.transport.base import Report


def refusal(wait: float | None, method: str = "m") -> Report:
    """A call that was refused, and is made again after `wait` seconds."""
    return Report(method, "", 0, 0.1, 1, "HTTP 429", None, wait, rate_limited=True)


def test_the_others_wait_longer_than_the_worker_that_was_refused() -> None:
    """So its next call tells whether the service gives way; a second refusal is news again."""
    holds = Holds()
    assert holds.heard(refusal(2.0), 100.0) == Hold("m", 2.0 + LONGER)
    assert holds.heard(refusal(4.0), 102.0) == Hold("m", 4.0 + LONGER)


def test_refusals_of_calls_under_way_are_no_news() -> None:
    """All workers are told already; another method is another matter."""
    holds = Holds()
    assert holds.heard(refusal(2.0), 100.0)
    assert holds.heard(refusal(1.5), 100.5) is None
    assert holds.heard(refusal(2.0, "other"), 100.5) == Hold("other", 2.0 + LONGER)


def test_a_worker_that_begins_later_is_told() -> None:
    """What is left of a hold, and nothing once it is over."""
    holds = Holds()
    holds.heard(refusal(2.0), 100.0)
    assert holds.current(101.5) == [Hold("m", 0.5 + LONGER)]
    assert holds.current(102.0 + LONGER) == []


def test_other_reports_hold_nothing_back() -> None:
    """A success, a failure that is retried, and the last refusal of all."""
    holds = Holds()
    assert holds.heard(Report("m", "", 9, 0.1, 1, "ok", 3), 1.0) is None
    assert holds.heard(Report("m", "", 0, 0.1, 1, "HTTP 503", None, 2.0), 1.0) is None
    assert holds.heard(refusal(None), 1.0) is None
