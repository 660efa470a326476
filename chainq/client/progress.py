"""The progress bar of a client, on stderr or in a notebook's output; rich draws it."""

from collections.abc import Iterator

from chainq.process.progress import Bar
from chainq.query import Batch
from chainq.text.sanitize import printable
from chainq.transport.base import Report


class Progress:
    """Draws a bar while a range is read that takes longer than a second."""

    def __init__(self) -> None:
        self._bar: Bar | None = None  # any thread may use it, also after its end

    def count(self, report: Report) -> None:
        """Count one attempt of a request; called from any thread."""
        if bar := self._bar:
            again, why = report.attempt > 1, printable(report.outcome)
            bar.called(report.size, again=again, wait=report.wait, why=why, held=report.rate_limited)

    def follow(self, batches: Iterator[Batch], heights: int) -> Iterator[Batch]:
        """Yield the batches of a range of that many heights and show how far they have come."""
        self._bar = bar = Bar(heights)
        try:
            for batch in batches:
                yield batch
                bar.wrote(len(batch.heights) if batch.heights else 0, len(batch.rows))
        finally:
            self._bar = None
            bar.close()
