"""When the next request may be sent: the user's own rate, and methods that the service refused with HTTP 429.

Source: docs/protocol.md, "Rate limits": a window of a minute for each client address and method, no Retry-After.
"""

import math
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from chainq.defaults import PATIENCE
from chainq.tuning import REFUSED, SPACING


@dataclass
class _Method:
    """The state of one method: when it may be called again, and its refusals so far."""

    open_at: float = -math.inf  # by the last refusal
    next_at: float = -math.inf  # by the spacing of calls
    refusals: int = 0  # since the last success, those of calls under way at the same time counted once
    waited: float = 0.0  # seconds, for these refusals


class RateLimiter:
    """Spaces requests by `rate` (per second, None for no limit), and holds back methods. Threads share it.

    A method that was refused waits as long as the service asks (Retry-After), or by REFUSED, whichever is longer:
    a service that asks for no wait at all is not called at full speed. The wait is the method's and not the call's, so
    that many calls at a time learn from one refusal.

    Then calls are spaced for as long as the longest wait. Of two runs that share a limit, one would otherwise use up
    each new window while the other waits, and that one would give up.

    `now`: the time, as `time.monotonic`.
    """

    def __init__(self, rate: float | None, now: Callable[[], float]) -> None:
        self._spacing, self._now = 1 / rate if rate else 0.0, now
        self._lock = threading.Lock()
        self._next_at = 0.0  # when `rate` (a token bucket that holds one token) allows the next request
        self._methods: defaultdict[str, _Method] = defaultdict(_Method)

    def turn(self) -> float:
        """Take the next turn by `rate`, and return the seconds until then."""
        with self._lock:
            now = self._now()
            turn = max(now, self._next_at)
            self._next_at = turn + self._spacing
        return turn - now

    def wait(self, name: str) -> float:
        """Return the seconds until a request of this method may be sent; if that is 0, it counts as sent."""
        with self._lock:
            now, method = self._now(), self._methods[name]
            due = max(method.open_at, method.next_at)
            if due <= now < method.open_at + REFUSED[-1]:
                method.next_at = now + SPACING
        return max(0.0, due - now)

    def refused(self, name: str, retry_after: float = 0.0) -> float | None:
        """Record a refusal. Return the seconds until the method may be called again, None when PATIENCE is used up."""
        with self._lock:
            now, method = self._now(), self._methods[name]
            if now < method.open_at:  # sent before the refusal that counted
                return method.open_at - now
            left = PATIENCE - method.waited
            if left <= 0 or retry_after > left:
                return None
            wait = min(left, max(retry_after, REFUSED[min(method.refusals, len(REFUSED) - 1)]))
            method.refusals += 1
            method.waited += wait
            method.open_at = now + wait
        return wait

    def hold_back(self, name: str, seconds: float) -> None:
        """Record that the method was refused to another process of the same run, and wait as long.

        It does not count towards PATIENCE: the other process finds out whether the service recovers.
        """
        with self._lock:
            method = self._methods[name]
            method.open_at = max(method.open_at, self._now() + seconds)

    def succeeded(self, name: str) -> None:
        """Record that a call of the method got a response."""
        with self._lock:
            method = self._methods[name]
            method.refusals, method.waited = 0, 0.0
