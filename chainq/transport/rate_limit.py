"""When the next request may be sent: the user's own rate, and the methods that the service wants fewer calls of."""

import threading


class RateLimiter:
    """Spaces requests by `rate` (per second, None for no limit), and holds back methods. Threads share it.

    A token bucket that holds one token. `now` is always the time by `time.monotonic`.
    """

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._next_at = 0.0  # when `rate` allows the next request
        self._open_at: dict[str, float] = {}  # method -> when it may be called again

    def wait(self, method: str, now: float) -> float:
        """Return the seconds until a request of this method may be sent; where that is 0, the token is taken."""
        with self._lock:
            due = max(self._open_at.get(method, 0.0), self._next_at if self._rate else 0.0)
            if due <= now and self._rate:
                self._next_at = now + 1 / self._rate
        return max(0.0, due - now)

    def hold_back(self, method: str, until: float) -> None:
        """Let no request of a method be sent before that time."""
        with self._lock:
            self._open_at[method] = max(self._open_at.get(method, 0.0), until)
