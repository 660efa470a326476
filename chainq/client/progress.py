"""The progress bar of a client, on stderr or in a notebook's output; rich draws it."""

import threading
from collections.abc import Iterator

from chainq.process.progress import Bar
from chainq.query import Batch
from chainq.text.sanitize import printable
from chainq.transport.base import Report


class Progress:
    """Draws a bar while a range is read that takes longer than a second."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bar: Bar | None = None

    def count(self, report: Report) -> None:
        """Count one attempt of a request; called from any thread."""
        with self._lock:
            if self._bar:
                self._bar.called(
                    report.size,
                    again=report.attempt > 1,
                    wait=report.wait,
                    why=printable(report.outcome),
                    held=report.rate_limited,
                )

    def follow(self, batches: Iterator[Batch], heights: int) -> Iterator[Batch]:
        """Yield the batches of a range of that many heights and show how far they have come."""
        bar = Bar(heights)
        with self._lock:
            self._bar = bar
        try:
            for batch in batches:
                yield batch
                with self._lock:
                    bar.wrote(len(batch.heights) if batch.heights else 0, len(batch.rows))
        finally:
            with self._lock:
                self._bar = None
                bar.close()
