"""Checks blocks against their own hashes in worker processes: rows in, findings out.

It uses processes, not threads, because the SDK holds the interpreter's lock.
"""

from collections.abc import Iterator, Sequence

from chainq.hashes.check import Checked, check_row
from chainq.hashes.trees import Hashes, hashes
from chainq.process.pool import Ordered

AT_ONCE = {True: 2, False: 32}  # full blocks, and summaries, in a message: about a twentieth of a second
Job = tuple[bool, Sequence[bytes]]


class BlockChecks(Ordered[Hashes, Job, list[Checked]]):
    """Checks blocks in up to `workers` processes. Raises UsageError without aleo-sdk."""

    def __init__(self, workers: int) -> None:
        hashes()
        super().__init__(hashes, _check, workers, own=4, ahead=4)

    def check(self, blocks: Sequence[bytes], *, full: bool) -> Iterator[Checked]:
        """Yield the findings in each of the blocks, `full` ones or summaries, in order.

        Raises the errors of the check, such as WorkerDiedError.
        """
        parts = (blocks[start : start + AT_ONCE[full]] for start in range(0, len(blocks), AT_ONCE[full]))
        for _, found in self.results((None, (full, part)) for part in parts):
            yield from found


def _check(_: Hashes, job: Job) -> list[Checked]:
    full, blocks = job
    return [check_row(block, full=full) for block in blocks]
