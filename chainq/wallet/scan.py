"""Matches batches of rows on several cores: blocks of rows as bytes, results in the order of the rows.

It uses processes, because the SDK holds the interpreter's lock, so two threads are not faster than one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from chainq.process.pool import Ordered
from chainq.process.progress import UNSEEN, Progress
from chainq.query import Batch
from chainq.text.humanize import counted
from chainq.wallet.ownership import Findings, Matcher
from chainq.wallet.records import Key, key_of

BLOCK = 256  # rows, about a fifteenth of a second for one key
AHEAD = 8  # blocks in progress or queued per worker, so that it has work while a response is awaited
OWN_BLOCKS = 4  # matched in this process
MOST_WORKERS = 256


class Scanned(NamedTuple):
    """A batch, and the numbers of its rows that keys own, each with the number of the key."""

    batch: Batch
    hits: list[tuple[int, int]]

    @property
    def owned(self) -> dict[Key, int]:
        """The records that keys own, each with the number of its key."""
        return {key_of(self.batch.rows[number]): key for number, key in self.hits}


class Scanner(Ordered[Matcher, bytes, Findings]):
    """Matches rows with view keys in up to `workers` processes.

    `progress`: shows the progress of the batch that is yielded next.
    """

    def __init__(self, view_keys: Sequence[str], workers: int, progress: Progress = UNSEEN) -> None:
        super().__init__(partial(Matcher, view_keys), Matcher.match, workers, OWN_BLOCKS, AHEAD)
        self._keys, self._progress = counted(len(view_keys), "key"), progress
        self._compared = self._found = 0  # rows

    def scan(
        self, batches: Iterable[Batch], *, check: Callable[[], None], report: Callable[[Key, str], None]
    ) -> Iterator[Scanned]:
        """Yield each batch with what is known about its rows, in order; a few blocks are in progress at any time.

        `check`: called after each block, ends the scan by an error, although batches that have arrived would take
        longer to match. `report`: called with each record whose row is malformed, and what is wrong with it.
        Raises the errors of `batches`, after everything before them is yielded.
        """
        hits: list[tuple[int, int]] = []
        for (batch, start), found in self.results(_blocks(batches)):
            check()
            hits += ((start + number, key) for number, key in found.owned)
            for number, why in found.malformed:
                report(key_of(batch.rows[start + number]), f"is malformed, so its owner is unknown: {why}")
            self._compared += len(batch.rows[start : start + BLOCK])
            self._found += len(found.owned)
            self._progress.show(f"{counted(self._compared, 'row')} compared with {self._keys}, {self._found:,} found")
            if start + BLOCK >= len(batch.rows):
                yield Scanned(batch, hits)
                hits = []


def _blocks(batches: Iterable[Batch]) -> Iterator[tuple[tuple[Batch, int], bytes]]:
    """Yield the blocks of rows of batches, each after its batch and the number of its first row."""
    for batch in batches:
        for start in range(0, max(1, len(batch.rows)), BLOCK):
            yield (batch, start), b"[" + b",".join(map(bytes, batch.rows[start : start + BLOCK])) + b"]"
