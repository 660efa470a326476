"""When a call may be sent: by the user's own rate, after HTTP 429 for its method, and after its own failures.

Source: docs/protocol.md, "Rate limits": a window of a minute for each client address and method, no Retry-After.
"""

import math
import random
import threading
import time
from collections import defaultdict
from dataclasses import dataclass

from chainq import tuning
from chainq.defaults import PATIENCE, TIMEOUT
from chainq.errors import OverdueError, overdue
from chainq.options import ServiceOptions
from chainq.transport.failures import LIMITED, TOO_HEAVY, Failure


@dataclass
class _Method:
    """The state of one method: when it may be called again, and how long it was held back."""

    open_at: float = -math.inf  # by the last refusal
    next_at: float = -math.inf  # by the spacing of calls
    waited: float = 0.0  # seconds, for refusals since the last success; those of calls under way count once


class RateLimiter:
    """Spaces requests by `rate` (per second, None for no limit), and holds back methods. Threads share it.

    A method that was refused waits as long as the service asks (Retry-After), or REFUSED longer than in all waits
    before, whichever is more: a service that asks for no wait at all is not called at full speed. The wait is the
    method's and not the call's, so that many calls at a time learn from one refusal.

    Then calls are spaced for as long as the longest wait. Of two runs that share a limit, one would otherwise use up
    each new window while the other waits, and that one would give up.
    """

    def __init__(self, rate: float | None) -> None:
        self._spacing = 1 / rate if rate else 0.0
        self._lock = threading.Lock()
        self._next_at = 0.0  # when `rate` (a token bucket that holds one token) allows the next request
        self._methods: defaultdict[str, _Method] = defaultdict(_Method)

    def turn(self) -> float:
        """Take the next turn by `rate`, and return the seconds until then."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next_at)
            self._next_at = turn + self._spacing
        return turn - now

    def wait(self, name: str) -> float:
        """Return the seconds until a request of this method may be sent; if that is 0, it counts as sent."""
        with self._lock:
            now, method = time.monotonic(), self._methods[name]
            due = max(method.open_at, method.next_at)
            if due <= now < method.open_at + tuning.LONGEST_REFUSED:
                method.next_at = now + tuning.SPACING
        return max(0.0, due - now)

    def refused(self, name: str, retry_after: float = 0.0) -> float | None:
        """Record a refusal. Return the seconds until the method may be called again, None when PATIENCE is used up."""
        with self._lock:
            now, method = time.monotonic(), self._methods[name]
            if now < method.open_at:  # sent before the refusal that counted
                return method.open_at - now
            left = PATIENCE - method.waited
            if left <= 0 or retry_after > left:
                return None
            wait = min(left, max(retry_after, min(method.waited + tuning.REFUSED, tuning.LONGEST_REFUSED)))
            method.waited += wait
            method.open_at = now + wait
        return wait

    def hold_back(self, name: str, seconds: float) -> None:
        """Record that the method was refused to another process of the same run, and wait as long.

        It does not count towards PATIENCE: the other process finds out whether the service recovers.
        """
        with self._lock:
            method = self._methods[name]
            method.open_at = max(method.open_at, time.monotonic() + seconds)

    def succeeded(self, name: str) -> None:
        """Record that a call of the method got a response."""
        with self._lock:
            self._methods[name].waited = 0.0


class Attempts:
    """The attempts of one call.

    `made`: how many there were. `divisible`: whether the caller can ask for less. `seconds`: how long one may take.

    Refusals for the rate (`RateLimiter`) do not count, because the service works but allows fewer calls; unless there
    are to be no retries at all.
    """

    def __init__(self, options: ServiceOptions, limiter: RateLimiter, method: str, divisible: bool) -> None:
        self._options, self._limiter = options, limiter
        self.method, self.divisible = method, divisible
        self.seconds = TIMEOUT if options.timeout is None else options.timeout
        self.made = self._failures = self._timeouts = 0

    def begin(self) -> float:
        """Count an attempt, and return its deadline by `time.monotonic`. Raises OverdueError if the run has none."""
        self.made += 1
        return time.monotonic() + min(self.seconds, self.left())

    def left(self) -> float:
        """Return the seconds left for the run. Raises OverdueError if there are none."""
        if self._options.until is None:
            return math.inf
        if (left := self._options.until - time.monotonic()) <= 0:
            raise OverdueError(overdue(self._options.deadline))
        return left

    def wait(self, failure: Failure, *, known: bool) -> float | None:
        """Return the seconds before the next attempt, None if there is none. `known`: the server has sent JSON-RPC.

        Half of each wait is fixed, so that five retries outlast a restart of seven seconds; the other half is random,
        so that many clients do not come back at once. Rejected: full jitter, whose five waits may add up to none.
        """
        meaning, retries = failure.meaning, self._options.retries
        if not meaning.again or (meaning is TOO_HEAVY and self.divisible):
            return None
        if meaning is LIMITED and retries:
            return self._limiter.refused(self.method, failure.retry_after)
        if meaning.waits and not (known or self._options.patient):
            return dict(enumerate(meaning.waits[:retries], 1)).get(self.made)
        self._failures += 1
        self._timeouts += meaning.slow and self.divisible
        if self._failures > retries or self._timeouts > 1 or failure.retry_after > PATIENCE:
            return None
        longest = min(tuning.FIRST_BACKOFF * 2.0 ** min(self._failures - 1, 16), tuning.MAX_BACKOFF)
        return max(failure.retry_after, random.uniform(longest / 2, longest))  # noqa: S311  # no secret
