"""Checks blocks against their own hashes in worker processes: rows in, findings out.

It uses processes, not threads, because the SDK holds the interpreter's lock.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from chainq.hashes.check import Checked, check_block, check_row, check_summary
from chainq.hashes.trees import Hashes, hashes
from chainq.process import Closing
from chainq.process.pool import Workers
from chainq.process.threads import Pool
from chainq.process.worker import Say

Block = bytes | Mapping[str, Any]
"""A block as a service sent it, or as `json.loads` returns it."""
AT_ONCE = {True: 2, False: 32}  # full blocks, and summaries, in a message: about a twentieth of a second
OWN = 4  # messages handled in this process: a few blocks are done before a worker has started


class BlockChecks(Closing):
    """Checks blocks in up to `workers` processes, in this one alone for 1. A context manager, which ends them.

    Raises UsageError without aleo-sdk.
    """

    def __init__(self, workers: int) -> None:
        hashes()
        self._alone, self._begun = workers == 1, 0
        self._workers, self._threads = Workers(_ready), Pool[Hashable](workers)
        self._finished: dict[Hashable, object] = {}

    def close(self) -> None:
        """End the processes."""
        self._threads.close()
        self._workers.close()

    def begin(self, key: Hashable, blocks: Sequence[Block], *, full: bool) -> None:
        """Start checking blocks, `full` ones or summaries; `result` returns the findings by the same key."""
        self._begun += 1
        if self._alone or self._begun <= OWN:
            self._finished[key] = _check(None, (full, blocks))
        else:
            self._threads.submit(key, partial(self._workers.call, _check, (full, blocks)))

    def result(self, key: Hashable) -> list[Checked]:
        """Return the findings in each of the blocks. Raises the errors of the check, such as WorkerDiedError."""
        while key not in self._finished:
            other, outcome = self._threads.wait()
            self._finished[other] = outcome
        outcome = self._finished.pop(key)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome  # type: ignore[return-value]  # of `_check`

    def check(self, blocks: Sequence[Block], *, full: bool) -> Iterator[Checked]:
        """Yield the findings in each of the blocks, in order."""
        if self._alone:  # as far as it is read
            yield from (_checked(block, full=full) for block in blocks)
            return
        starts = range(0, len(blocks), AT_ONCE[full])
        for start in starts:
            self.begin(start, blocks[start : start + AT_ONCE[full]], full=full)
        for start in starts:
            yield from self.result(start)


def _ready(_say: Say) -> Hashes:
    """Prepare a worker process for its first block."""
    return hashes()


def _check(_ready: Hashes | None, job: tuple[bool, Sequence[Block]]) -> list[Checked]:
    full, blocks = job
    return [_checked(block, full=full) for block in blocks]


def _checked(block: Block, *, full: bool) -> Checked:
    if isinstance(block, bytes):
        return check_row(block, full=full)
    return check_block(block) if full else check_summary(block)
