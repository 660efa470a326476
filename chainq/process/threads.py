"""Threads that work concurrently and pass results to the thread that waits for them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")


class Pool(Generic[K]):
    """At most `size` threads, started as needed.

    Daemon threads, not concurrent.futures: that joins its threads when the interpreter ends, so that a run that was
    interrupted would wait for calls that nobody wants any more.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._busy = 0
        self._started = 0
        self._todo: SimpleQueue[tuple[K, Callable[[], object]] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[K, object]] = SimpleQueue()

    def submit(self, token: K, work: Callable[[], object]) -> None:
        """Run `work` in a thread; `wait` returns `token` with the outcome. Raises RuntimeError if the system has no
        thread left."""
        if self._started < min(self._busy + 1, self._size):
            threading.Thread(target=self._run, name=f"chainq-call-{self._started}", daemon=True).start()
            self._started += 1
        self._busy += 1
        self._todo.put((token, work))

    def wait(self, seconds: float | None = None) -> tuple[K, object]:
        """Return the next finished work as (token, result); the result of failed work is its exception.

        Raises queue.Empty if none is finished after so many seconds, and RuntimeError if no work is under way: better
        than to wait for ever.
        """
        if not self._busy:
            raise RuntimeError("no work is under way that could be waited for")
        token, outcome = self._done.get(timeout=seconds)
        self._busy -= 1
        return token, outcome

    def close(self) -> None:
        """End the threads, each after the work that it has begun; work not begun is dropped."""
        # Not `while not empty()`: a thread may take the last one in between, and `get` would wait for ever.
        with suppress(Empty):
            while True:
                self._todo.get_nowait()
        for _ in range(self._started):
            self._todo.put(None)

    def _run(self) -> None:
        while (task := self._todo.get()) is not None:
            token, work = task
            try:
                outcome: object = work()
            except BaseException as error:  # raised by the thread that waits
                outcome = error
            self._done.put((token, outcome))
            del task, work, outcome


def in_order(size: int, jobs: Iterator[Callable[[], T] | None], ahead: int) -> Iterator[T]:
    """Run jobs concurrently in `size` threads, and yield their results in the order of the jobs.

    At most `ahead` jobs are in progress or finished and not yet yielded. A job of None means that there is none yet:
    the jobs in progress are finished first. Raises the exception of a job, or of `jobs`, in its turn.
    """
    pool: Pool[int] = Pool(size)
    finished: dict[int, object] = {}
    sent = given = 0
    more = True
    try:
        while more or given < sent:
            job = None
            if more and sent - given < ahead:
                try:
                    job = next(jobs)
                except Exception as error:
                    more = False
                    if not isinstance(error, StopIteration):
                        finished[sent], sent = error, sent + 1
            if job is not None:
                pool.submit(sent, job)
                sent += 1
            elif given < sent:
                while given not in finished:
                    token, outcome = pool.wait()
                    finished[token] = outcome
                result = finished.pop(given)
                given += 1
                if isinstance(result, BaseException):
                    raise result
                yield result  # type: ignore[misc]  # of a job; errors are distinguished above
    finally:
        pool.close()
