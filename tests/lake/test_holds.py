"""What a worker says to the others: which refusals (HTTP 429) make them wait."""

from chainq.lake.workers import LONGER, Holds
from chainq.transport.base import Report


def refusal(wait: float | None, method: str = "m") -> Report:
    """A call that was refused, and is made again after `wait` seconds."""
    return Report(method, "", 0, 0.1, 1, "HTTP 429", None, wait, rate_limited=True)


def test_the_others_wait_longer_than_the_worker_that_was_refused() -> None:
    """So its next call tells whether the service gives way. A refusal of a call that was under way is no news, unlike
    a second one and one of another method; other reports hold nothing back."""
    holds = Holds()
    for report, now, hold in (
        (refusal(2.0), 100.0, ("m", 2.0 + LONGER)),
        (refusal(1.5), 100.5, None),
        (refusal(2.0, "other"), 100.5, ("other", 2.0 + LONGER)),
        (refusal(4.0), 102.0, ("m", 4.0 + LONGER)),
        (Report("m", "", 9, 0.1, 1, "ok", 3), 200.0, None),
        (Report("m", "", 0, 0.1, 1, "HTTP 503", None, 2.0), 200.0, None),
        (refusal(None), 200.0, None),
    ):
        assert holds.of(report, now) == hold
