"""Decides how often a call is made, how long to wait before each attempt, and how long each may take."""

import math
import random
from collections.abc import Callable

from chainq import tuning
from chainq.defaults import PATIENCE
from chainq.errors import OverdueError, overdue
from chainq.transport.base import ServiceOptions
from chainq.transport.failures import Failure
from chainq.transport.rate_limit import RateLimiter

Now = Callable[[], float]


class Attempts:
    """The attempts of one call. `made`: how many there were. `divisible`: whether the caller can ask for less.

    Refusals for the rate (`RateLimiter`) do not count, because the service works but allows fewer calls; unless there
    are to be no retries at all.
    """

    def __init__(self, options: ServiceOptions, limiter: RateLimiter, now: Now, method: str, divisible: bool) -> None:
        self._options, self._limiter, self._now = options, limiter, now
        self.method, self.divisible = method, divisible
        self.made = self._failures = self._timeouts = 0
        self._waited = 0.0

    def begin(self) -> float:
        """Count an attempt, and return its deadline by `time.monotonic`. Raises OverdueError if the run has none."""
        self.made += 1
        return self._now() + min(self._options.seconds, self.left())

    def left(self) -> float:
        """Return the seconds left for the run. Raises OverdueError if there are none."""
        if self._options.until is None:
            return math.inf
        if (left := self._options.until - self._now()) <= 0:
            raise OverdueError(overdue(self._options.deadline))
        return left

    def judge(self, failure: Failure, *, known: bool) -> None:
        """Decide the seconds before the next attempt, None if there is none. `known`: the server has sent JSON-RPC."""
        if failure.meaning.again:
            failure.wait = self._wait(failure, known)
            if failure.wait is None and failure.retry_after > PATIENCE:
                failure.error.message += f", it asks to wait {failure.retry_after:g} s"
            elif failure.wait is None and failure.meaning.rate_limited and self._options.retries:
                failure.error.message += f", refused for {PATIENCE:g} s"

    def _wait(self, failure: Failure, known: bool) -> float | None:
        """Half of each wait is fixed, so that five retries outlast a restart of seven seconds; the other half is
        random, so that many clients do not come back at once. Rejected: full jitter, whose five waits may add up to
        none."""
        meaning, retries = failure.meaning, self._options.retries
        if meaning.rate_limited and retries:
            return self._limiter.refused(self.method, failure.retry_after)
        if meaning.waits and not (known or self._options.patient):
            return dict(enumerate(meaning.waits[:retries], 1)).get(self.made)
        self._failures += 1
        self._timeouts += meaning.slow and self.divisible
        self._waited += failure.retry_after
        if self._failures > retries or self._timeouts > 1 or self._waited > PATIENCE:
            return None
        longest = min(tuning.FIRST_BACKOFF * 2.0 ** min(self._failures - 1, 16), tuning.MAX_BACKOFF)
        return max(failure.retry_after, random.uniform(longest / 2, longest))  # noqa: S311  # no secret
