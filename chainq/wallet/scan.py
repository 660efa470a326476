"""Matches batches of rows on several cores: blocks of rows as bytes, results in the order of the rows.

It uses processes, because the SDK holds the interpreter's lock, so two threads are not faster than one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
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

    def scan(self, batches: Iterable[Batch], *, check: Callable[[], None]) -> Iterator[Scanned]:
        """Yield each batch with what is known about its rows, in order; a few blocks are in progress at any time.

        `check`: called after each block, ends the scan by an error, although batches that have arrived would take
        longer to match.
        Raises the errors of `batches`, after everything before them is yielded.
        """
        found, keys = Findings([], []), counted(len(self._view_keys), "key")
        for batch, start, part in in_order(self._size, self._jobs(batches), AHEAD * self._size):
            check()
            found.owned.extend((start + number, key) for number, key in part.owned)
            found.malformed.extend((start + number, why) for number, why in part.malformed)
            self._compared += len(batch.rows[start : start + BLOCK])
            self._found += len(part.owned)
            self._progress.show(f"{counted(self._compared, 'row')} compared with {keys}, {self._found:,} found")
            if start + BLOCK >= len(batch.rows):
                yield Scanned(batch, found)
                found = Findings([], [])

    def _jobs(self, batches: Iterable[Batch]) -> Iterator[Callable[[], tuple[Batch, int, Findings]]]:
        sent = 0
        for batch in batches:
            for start in range(0, max(1, len(batch.rows)), BLOCK):
                block = b"[" + b",".join(map(bytes, batch.rows[start : start + BLOCK])) + b"]"
                sent += 1
                yield partial(self._match, batch, start, block, self._size == 1 or sent <= OWN_BLOCKS)

    def _match(self, batch: Batch, start: int, block: bytes, here: bool) -> tuple[Batch, int, Findings]:
        """Return the findings in a block of a batch, by this process or a worker."""
        match = self._matcher.match if here else partial(self._workers.call, Matcher.match)
        return batch, start, match(block)

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self._view_keys)
