"""The progress bar of a client, on stderr or in a notebook's output; rich draws it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from chainq.client.reading import warn
from chainq.process import progress as process
from chainq.query import Batch
from chainq.transport.base import Report


class Progress:
    """Draws a bar, if it is `drawn` at all, while a range is read that takes longer than a second."""

    def __init__(self, *, drawn: bool) -> None:
        self._drawn = drawn
        self._bar: process.Bar | None = None  # any thread may use it, also after its end

    def count(self, report: Report) -> None:
        """Count one attempt of a request; called from any thread."""
        if bar := self._bar:
            bar.called(report.size, again=report.attempt > 1)

    def follow(self, batches: Iterator[Batch], heights: int) -> Iterator[Batch]:
        """Yield the batches of a range of that many heights and show how far they have come."""
        with self.shown(heights) as bar:
            for batch in batches:
                yield batch
                bar.wrote(len(batch.heights) if batch.heights else 0, len(batch.rows))

    @contextmanager
    def shown(self, heights: int | None) -> Iterator[process.Progress]:
        """Return what shows the progress of a call that reads so many heights, until its end."""
        if not self._drawn:
            yield process.UNSEEN
            return
        self._bar = bar = process.Bar(heights, shared=True)
        try:
            yield bar
        finally:
            self._bar = None
            bar.close()

    def warn(self, text: str) -> None:
        """Log a warning, with no bar on the line on which it may be printed."""
        with self._bar.aside(whole=True) if self._bar else nullcontext():
            warn(text)

    @property
    def now(self) -> process.Progress:
        """Return what shows the progress of the call that goes on."""
        return self._bar or process.UNSEEN
