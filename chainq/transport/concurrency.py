"""Limits concurrent requests: fewer while responses time out, more again when they do not."""

import threading
from collections import deque


class ConcurrencyLimit:
    """Slots for at most `most` concurrent requests. Threads share it.

    A service that is slow because of many requests recovers when there are fewer. A timeout halves the limit; as many
    successes as the limit raise it by one (additive increase, multiplicative decrease, as in TCP: RFC 5681, section
    3.1).
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._taken = 0
        self._lowered_at = float("-inf")
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def limit(self) -> int:
        """The number of requests that may be in progress now."""
        return int(self._limit)

    def acquire(self) -> None:
        """Wait for a slot, and take it."""
        turn = object()
        with self._changed:
            self._waiting.append(turn)
            try:
                while self._waiting[0] is not turn or self._taken >= self.limit:
                    self._changed.wait()
                self._taken += 1
            finally:  # also if a signal ends the wait
                self._waiting.remove(turn)
                self._changed.notify_all()

    def release(self) -> None:
        """Give a slot back."""
        with self._changed:
            self._taken -= 1
            self._changed.notify_all()

    def timed_out(self, sent_at: float, now: float) -> None:
        """Record that a request sent at `sent_at` timed out."""
        with self._changed:
            if sent_at > self._lowered_at:  # not one of those sent before the limit was lowered
                self._limit = float(max(1, self.limit // 2))
                self._lowered_at = now

    def succeeded(self) -> None:
        """Record that a request got a response."""
        with self._changed:
            if self._limit < self._most:
                before = self.limit
                self._limit += 1 / self._limit
                if self.limit > before:
                    self._changed.notify_all()
