"""Checks blocks against their own hashes in worker processes: rows in, findings out.

It uses processes, not threads, because the SDK holds the interpreter's lock.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

from chainq.hashes.check import Checked, check_row
from chainq.hashes.trees import Hashes, hashes
from chainq.process import Closing
from chainq.process.pool import Workers
from chainq.process.threads import in_order
from chainq.process.worker import Say

AT_ONCE = {True: 2, False: 32}  # full blocks, and summaries, in a message: about a twentieth of a second
AHEAD = 4  # messages in progress or queued per worker
OWN = 4  # messages handled in this process: a few blocks are done before a worker has started


class BlockChecks(Closing):
    """Checks blocks in up to `workers` processes, in this one alone for 1. A context manager, which ends them.

    Raises UsageError without aleo-sdk.
    """

    def __init__(self, workers: int) -> None:
        hashes()
        self._size, self._sent = workers, count(1)
        self._workers = Workers(_ready)

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    def check(self, blocks: Sequence[bytes], *, full: bool) -> Iterator[Checked]:
        """Yield the findings in each of the blocks, `full` ones or summaries, in order.

        Raises the errors of the check, such as WorkerDiedError.
        """
        if self._size == 1:  # as far as it is read
            yield from (check_row(block, full=full) for block in blocks)
            return
        parts = (blocks[start : start + AT_ONCE[full]] for start in range(0, len(blocks), AT_ONCE[full]))
        jobs = (partial(self._check, (full, part)) for part in parts)
        for found in in_order(self._size, jobs, AHEAD * self._size):
            yield from found

    def _check(self, job: tuple[bool, Sequence[bytes]]) -> list[Checked]:
        return _check(None, job) if next(self._sent) <= OWN else self._workers.call(_check, job)


def _ready(_say: Say) -> Hashes:
    """Prepare a worker process for its first block."""
    return hashes()


def _check(_ready: Hashes | None, job: tuple[bool, Sequence[bytes]]) -> list[Checked]:
    full, blocks = job
    return [check_row(block, full=full) for block in blocks]
