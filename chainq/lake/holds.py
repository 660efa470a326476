"""Shares HTTP 429 refusals between workers: when a method is refused to one, the others pause it.

The service counts calls per client address, whichever process makes them. When it refuses a method to one worker, the
others pause that method for slightly longer than the refused worker waits. Its next call then shows whether to keep
waiting, so the other workers need not probe the limit themselves.
"""

from chainq.lake.job import Hold
from chainq.transport.base import Report

LONGER = 1.0  # seconds: longer than most calls take


class Holds:
    """Decides, from the reports of all workers, which refusals make the other workers pause."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}  # by method

    def heard(self, report: Report, now: float) -> Hold | None:
        """Return the hold for all workers but the one that reports this call. `now`: by any steady clock."""
        if not report.rate_limited or report.wait is None:
            return None
        if now < self._until.get(report.method, 0.0):  # it was in progress, or its worker already has the hold
            return None
        self._until[report.method] = now + report.wait
        return Hold(report.method, report.wait + LONGER)

    def current(self, now: float) -> list[Hold]:
        """Return the holds for a worker that starts now."""
        return [Hold(method, until + LONGER - now) for method, until in self._until.items() if until + LONGER > now]
