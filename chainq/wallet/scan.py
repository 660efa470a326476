"""Matches batches of rows on several cores: blocks of rows as bytes, results in the order of the rows.

It uses processes, because the SDK holds the interpreter's lock, so two threads are not faster than one.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from chainq.process import Closing
from chainq.process.pool import Workers
from chainq.process.progress import UNSEEN, Progress
from chainq.process.threads import in_order
from chainq.query import Batch
from chainq.text.humanize import counted
from chainq.wallet.ownership import Findings, Matcher, matcher
from chainq.wallet.records import Key, key_of

BLOCK = 256  # rows, about a fifteenth of a second for one key
AHEAD = 8  # blocks in progress or queued per worker, so that it has work while a response is awaited
OWN_BLOCKS = 4  # matched in this process: a short scan ends before a worker has started
MOST_WORKERS = 256
_NOTHING = Findings([], [])


class Scanned(NamedTuple):
    """A batch and what is known about its rows."""

    batch: Batch
    findings: Findings

    @property
    def owned(self) -> dict[Key, int]:
        """The records that keys own, each with the number of its key."""
        return {key_of(self.batch.rows[number]): key for number, key in self.findings.owned}

    @property
    def malformed(self) -> dict[Key, str]:
        """The records whose rows are malformed, and what is wrong with them."""
        return {key_of(self.batch.rows[number]): problem for number, problem in self.findings.malformed}


class Scanner(Closing):
    """Matches rows with view keys in up to `workers` processes. A context manager, which ends them.

    `progress`: shows the progress of the batch that is yielded next.
    """

    def __init__(self, view_keys: Sequence[str], workers: int, progress: Progress = UNSEEN) -> None:
        self._view_keys, self._size, self._progress = list(view_keys), workers, progress
        self._compared = self._found = 0  # rows
        self._workers = Workers(partial(matcher, self._view_keys))

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    def scan(self, batches: Iterator[Batch], *, check: Callable[[], None]) -> Iterator[Scanned]:
        """Yield each batch with what is known about its rows, in order; a few blocks are in progress at any time.

        `check`: called after each block, ends the scan by an error, although batches that have arrived would take
        longer to match.
        Raises the errors of `batches`, after everything before them is yielded.
        """
        waiting: deque[tuple[Batch, int]] = deque()  # each with the number of its blocks
        results = in_order(self._size, self._jobs(batches, waiting), AHEAD * self._size)
        parts: list[Findings] = []
        for part in results:
            check()
            parts.append(part)
            batch, blocks = waiting[0]
            self._count(part, len(batch.rows) * len(parts) // blocks)
            if len(parts) == blocks:
                self._compared += len(batch.rows)
                waiting.popleft()
                yield Scanned(batch, _joined(parts))
                parts = []

    def _count(self, part: Findings, ahead: int) -> None:
        """Show how many rows are compared, with how many keys, and how many are found; `ahead`: of the batch."""
        self._found += len(part.owned)
        rows, keys = counted(self._compared + ahead, "row"), counted(len(self._view_keys), "key")
        self._progress.show(f"{rows} compared with {keys}, {self._found:,} found")

    def _jobs(self, batches: Iterator[Batch], waiting: deque[tuple[Batch, int]]) -> Iterator[Callable[[], Findings]]:
        sent = 0
        try:
            for batch in batches:
                starts = range(0, len(batch.rows), BLOCK)
                waiting.append((batch, max(1, len(starts))))
                if not starts:
                    yield lambda: _NOTHING
                for start in starts:
                    block = b"[" + b",".join(map(bytes, batch.rows[start : start + BLOCK])) + b"]"
                    sent += 1
                    if self._size == 1 or sent <= OWN_BLOCKS:
                        yield partial(self._matcher.match, block)
                    else:
                        yield partial(self._workers.call, Matcher.match, block)
        except Exception as error:  # raised after the rows before it
            yield partial(_raise, error)

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self._view_keys)


def _joined(parts: Sequence[Findings]) -> Findings:
    """Return the findings of consecutive blocks as those of their batch."""
    return Findings(
        [(at * BLOCK + number, key) for at, part in enumerate(parts) for number, key in part.owned],
        [(at * BLOCK + number, why) for at, part in enumerate(parts) for number, why in part.malformed],
    )


def _raise(error: Exception) -> Findings:
    raise error
