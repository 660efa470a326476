"""When the next request may be sent: the user's own rate, and methods that the service refused with HTTP 429.

Source: docs/protocol.md, "Rate limits": a window of a minute for each client address and method, no Retry-After.
"""

import threading

from chainq import tuning
from chainq.defaults import PATIENCE


class _Method:
    """The state of one method: when it may be called again, and its refusals and successes so far."""

    def __init__(self) -> None:
        self.open_at = 0.0  # by the last refusal
        self.next_at = 0.0  # by the spacing of calls
        self.refusals = 0  # since the last success, those of calls under way at the same time counted once
        self.waited = 0.0  # seconds, for these refusals
        self.successes = 0  # since the refusals before
        self.slow_calls = 0  # successes until calls need no spacing any more
        self.interval = 0.0  # seconds between spaced calls

    def slow_down(self) -> None:
        """Space the first calls after a refusal."""
        self.slow_calls, self.successes = self.successes // 2, 0
        self.interval = min(1.0, tuning.REFUSED[-1] / max(1, self.slow_calls))


class RateLimiter:
    """Spaces requests by `rate` (per second, None for no limit), and holds back methods. Threads share it.

    A method that was refused waits as long as the service asks (Retry-After), or by REFUSED, whichever is longer:
    a service that asks for no wait at all is not called at full speed. The wait is the method's and not the call's, so
    that many calls at a time learn from one refusal.

    Then the first calls are spaced: half as many as the last window allowed, over the longest wait. Of two runs that
    share a limit, one would otherwise use up each new window while the other waits, and that one would give up.

    `now` is always the time by `time.monotonic`.
    """

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._next_at = 0.0  # when `rate` (a token bucket that holds one token) allows the next request
        self._turn_at = 0.0  # of the next call that comes
        self._methods: dict[str, _Method] = {}

    def turn(self, now: float) -> float:
        """Return the turn of a call by `rate`: the time before which it waits, for calls that came earlier."""
        with self._lock:
            turn = max(now, self._turn_at)
            self._turn_at = turn + 1 / self._rate if self._rate else 0.0
        return turn

    def wait(self, name: str, now: float, turn: float = 0.0) -> float:
        """Return the seconds until a request of this method may be sent; if that is 0, it counts as sent.

        `turn`: of its call.
        """
        with self._lock:
            method = self._methods.get(name)
            due = max(turn, self._next_at, *((method.open_at, method.next_at) if method else ()))
            if due > now:
                return due - now
            if self._rate:
                self._next_at = now + 1 / self._rate
            if method and (method.refusals or method.slow_calls):
                method.next_at = now + method.interval
        return 0.0

    def refused(self, name: str, retry_after: float | None, now: float) -> float | None:
        """Record a refusal. Return the seconds until the method may be called again, None when PATIENCE is used up."""
        with self._lock:
            method = self._methods.setdefault(name, _Method())
            if method.refusals and now < method.open_at:  # sent before the refusal that counted
                return method.open_at - now
            if not method.refusals:
                method.slow_down()
            wait = max(retry_after or 0.0, tuning.REFUSED[min(method.refusals, len(tuning.REFUSED) - 1)])
            left = PATIENCE - method.waited
            if left <= 0 or (retry_after or 0.0) > left:
                return None
            wait = min(wait, left)
            method.refusals += 1
            method.waited += wait
            method.open_at = now + wait
        return wait

    def hold_back(self, name: str, seconds: float, now: float) -> None:
        """Record that the method was refused to another process of the same run, and wait as long.

        It counts as a refusal, but not towards PATIENCE: the other process finds out whether the service recovers.
        """
        with self._lock:
            method = self._methods.setdefault(name, _Method())
            if not method.refusals:
                method.slow_down()
                method.refusals = 1
            method.open_at = max(method.open_at, now + seconds)

    def succeeded(self, name: str) -> None:
        """Record that a call of the method got a response."""
        with self._lock:
            method = self._methods.setdefault(name, _Method())
            method.refusals, method.waited = 0, 0.0
            method.successes += 1
            method.slow_calls = max(0, method.slow_calls - 1)
            if not method.slow_calls:
                method.next_at = 0.0
