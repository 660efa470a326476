"""Decides how often a call is retried, and how long to wait before each attempt."""

import random

from chainq import tuning
from chainq.transport.failures import TransientFailure


class RetryBudget:
    """The attempts of one call: how many were made, and how long to wait before the next.

    It does not count HTTP 429, which means that the service works but allows fewer calls (`rate_limit`), unless there
    are to be no retries at all. A call that timed out is retried only once if it is `divisible`, because asking for
    less is more likely to help.
    """

    def __init__(self, retries: int, divisible: bool) -> None:
        self._retries, self.divisible = retries, divisible
        self.attempts = self._failures = self._timeouts = 0
        self._waited = 0.0

    def wait_after(self, failure: TransientFailure) -> float | None:
        """Return the seconds before the next attempt, None if this one was the last.

        Half of each wait is fixed, so that five retries outlast a restart of seven seconds; the other half is random,
        so that many clients do not come back at once. Rejected: full jitter, whose five waits may add up to none.
        """
        self._failures += 1
        self._timeouts += failure.timed_out and self.divisible
        self._waited += failure.retry_after or 0.0
        if self._failures > self._retries or self._timeouts > 1 or self._waited > tuning.MAX_WAIT:
            return None
        longest = min(tuning.FIRST_BACKOFF * 2.0 ** min(self._failures - 1, 16), tuning.MAX_BACKOFF)
        return max(failure.retry_after or 0.0, random.uniform(longest / 2, longest))  # noqa: S311  # no secret
