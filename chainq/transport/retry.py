"""How often a call is retried, and how long to wait before each attempt."""

import random

from chainq.transport.failures import TransientFailure

MAX_WAIT = 120.0  # seconds of one call, all waits together that the service asked for (429, Retry-After)


class RetryBudget:
    """The attempts of one call: how many were made, and how long to wait before the next."""

    def __init__(self, retries: int) -> None:
        self._retries = retries
        self.attempts = self._failures = self._refusals = 0
        self._waited = 0.0

    def wait_after(self, failure: TransientFailure) -> float | None:
        """Return the seconds before the next attempt; None where this one was the last.

        A 429 counts against MAX_WAIT and not against the retries: the service works, and wants fewer calls.
        """
        if failure.rate_limited:
            wait = failure.retry_after if failure.retry_after is not None else 2.0**self._refusals
            self._refusals += 1
            self._waited += wait
            return wait if self._waited <= MAX_WAIT else None
        self._failures += 1
        self._waited += failure.retry_after or 0.0
        if self._failures > self._retries or self._waited > MAX_WAIT:
            return None
        backoff = random.uniform(0, min(0.3 * 2.0**self._failures, 30.0))  # noqa: S311  # jitter is no secret
        return max(failure.retry_after or 0.0, backoff)
