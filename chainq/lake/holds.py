"""HTTP 429 for all workers together: what one of them is refused, the others do not try.

The service counts the calls of a client address, whichever process makes them. So when a method is refused to one
worker, the others are told to hold it back for a little longer than that one waits. Its next call then tells whether
there is a need to wait on, and they need not each find out.
"""

from chainq.lake.job import Hold
from chainq.transport.base import Report

LONGER = 1.0  # seconds: longer than most calls take


class Holds:
    """Decides, from the reports of all workers, which refusals hold the others back too."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}  # by method

    def heard(self, report: Report, now: float) -> Hold | None:
        """Return the hold for all workers but the one that reports this call. `now`: by any steady clock."""
        if not report.rate_limited or report.wait is None:
            return None
        if now < self._until.get(report.method, 0.0):  # it was under way, or its worker is told already
            return None
        self._until[report.method] = now + report.wait
        return Hold(report.method, report.wait + LONGER)

    def current(self, now: float) -> list[Hold]:
        """Return the holds for a worker that begins now."""
        return [Hold(method, until + LONGER - now) for method, until in self._until.items() if until + LONGER > now]
