"""What a worker says to the others: which refusals (HTTP 429) make them wait, and warnings once."""

from collections.abc import Callable

import pytest

from chainq.fetching.reading import Note
from chainq.lake.worker import Hold
from chainq.lake.workers import LONGER, Listener, Relay
from chainq.transport.base import Report

Heard = Callable[[Report, float], Hold | None]


class Listening(Listener):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def warn(self, text: str) -> None:
        """A warning."""
        self.said.append(f"warning: {text}")

    def trace(self, text: str) -> None:
        """A step of the run."""
        self.said.append(text)


@pytest.fixture
def heard() -> Heard:
    """Which hold a report at a time leads to."""
    relay = Relay(Listener())
    return lambda report, now: relay.heard(1, report, now)


def refusal(wait: float | None, method: str = "m") -> Report:
    """A call that was refused, and is made again after `wait` seconds."""
    return Report(method, "", 0, 0.1, 1, "HTTP 429", None, wait, rate_limited=True)


def test_the_others_wait_longer_than_the_worker_that_was_refused(heard: Heard) -> None:
    """So its next call tells whether the service gives way; a second refusal is news again."""
    assert heard(refusal(2.0), 100.0) == ("m", 2.0 + LONGER)
    assert heard(refusal(4.0), 102.0) == ("m", 4.0 + LONGER)


def test_refusals_of_calls_under_way_are_no_news(heard: Heard) -> None:
    """All workers are told already; another method is another matter."""
    assert heard(refusal(2.0), 100.0)
    assert heard(refusal(1.5), 100.5) is None
    assert heard(refusal(2.0, "other"), 100.5) == ("other", 2.0 + LONGER)


def test_other_reports_hold_nothing_back(heard: Heard) -> None:
    """A success, a failure that is retried, and the last refusal of all."""
    assert heard(Report("m", "", 9, 0.1, 1, "ok", 3), 1.0) is None
    assert heard(Report("m", "", 0, 0.1, 1, "HTTP 503", None, 2.0), 1.0) is None
    assert heard(refusal(None), 1.0) is None


def test_a_warning_is_passed_on_once() -> None:
    """Although every worker sends it; steps of the run name their worker."""
    listening = Listening()
    relay = Relay(listening)
    for worker in (1, 2):
        relay.heard(worker, Note("odd"), 0.0)
        relay.heard(worker, Note("step", warning=False), 0.0)
    assert listening.said == ["warning: odd", "worker 1: step", "worker 2: step"]
