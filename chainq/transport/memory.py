"""A limit on the memory of responses, for all calls of a run together."""

import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from chainq.errors import Phrase, TooHeavyError

ROW_BYTES = 80  # that a row takes up beside its text
# Rows can be as short as `{},`, and then take up far more than their text. From this size on they are counted before
# they are split; below, after it, since counting takes as long as a fifth of all else that becomes of a response.
COUNTED_BYTES = 16 * 2**20


class MemoryBudget:
    """At most `max_bytes` of responses, each counted until its last row is freed. Threads share it.

    A call that does not fit fails and does not wait: the calls that hold the memory may be waiting for that call.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._used = 0
        self._lock = threading.Lock()
        # What is given back: from wherever the last row happens to be freed, perhaps while this thread has the lock.
        self._freed: SimpleQueue[int] = SimpleQueue()

    @property
    def used(self) -> int:
        """Return how many bytes are taken."""
        with self._lock:
            return self._count()

    def take(self, count: int) -> None:
        """Take `count` bytes. Raises TooHeavyError if they do not fit."""
        if self._fits(count):
            return
        from chainq.text.humanize import in_bytes

        gc.collect()  # rows may be part of a cycle, and a run need not have collected these
        if not self._fits(count):
            most, used = in_bytes(self.max_bytes), in_bytes(self.used)
            raise TooHeavyError(
                Phrase("response does not fit into the {} of {max_memory}, of which {} are in use", most, used),
                Phrase("raise {max_memory} or lower {concurrency}"),
            )

    def give_back(self, count: int) -> None:
        """Give back `count` bytes. May be called at any time, even by the garbage collector."""
        self._freed.put(count)

    def _fits(self, count: int) -> bool:
        with self._lock:
            if self._count() + count > self.max_bytes:
                return False
            self._used += count
            return True

    def _count(self) -> int:
        try:
            while True:
                self._used -= self._freed.get_nowait()
        except Empty:
            return self._used


class Reservation:
    """The memory of one response: it grows as the response arrives, and ends with `release` or with the last row."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._size = 0

    def grow(self, count: int) -> None:
        """Take `count` more bytes. Raises TooHeavyError if they do not fit."""
        self._budget.take(count)
        self._size += count

    @contextmanager
    def borrowed(self, count: int) -> Iterator[None]:
        """Take `count` bytes for the duration of the block. Raises TooHeavyError if they do not fit."""
        self._budget.take(count)
        try:
            yield
        finally:
            self._budget.give_back(count)

    def check(self, size: int) -> None:
        """Raise TooHeavyError if a response of that size can never fit."""
        if size > self._budget.max_bytes:
            self._budget.take(size)

    def view(self, text: bytes) -> memoryview:
        """Return a view of the complete text, compact JSON. When nothing refers to it any more, all is given back.

        Raises TooHeavyError if the rows in it would not fit.
        """
        if len(text) > COUNTED_BYTES:
            self.check(len(text) + text.count(b",") * ROW_BYTES)
        view = memoryview(text)
        weakref.finalize(view, self.release).atexit = False
        return view

    def release(self) -> None:
        """Give back all of it."""
        size, self._size = self._size, 0
        self._budget.give_back(size)
