"""How often and how long a call is retried."""

import random

from chainq.transport.failures import Refused

PATIENCE = 120.0  # seconds that the waits which a service asks of one call (429, Retry-After) may add up to


class _Tries:
    """How often one call was tried, and how long to wait before the next time."""

    def __init__(self, retries: int) -> None:
        self._retries = retries
        self.made = self._failures = self._refusals = 0
        self._waited = 0.0

    def wait_after(self, refused: Refused) -> float | None:
        """Seconds before the next attempt; None where it was the last.

        A 429 uses up patience, not retries: the service works, it only wants to be asked less often.
        """
        if refused.limited:
            wait = refused.wait if refused.wait is not None else 2.0**self._refusals
            self._refusals += 1
            self._waited += wait
            return wait if self._waited <= PATIENCE else None
        self._failures += 1
        self._waited += refused.wait or 0.0
        if self._failures > self._retries or self._waited > PATIENCE:
            return None
        backoff = random.uniform(0, min(0.3 * 2.0**self._failures, 30.0))  # noqa: S311  # jitter is no secret
        return max(refused.wait or 0.0, backoff)
