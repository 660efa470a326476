"""What a client shows of its work: a bar, on stderr or in a notebook's output, and lines of the logger `chainq`."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from chainq.errors import UsageError
from chainq.process import progress
from chainq.transport.base import Report, Stopped


class Shown:
    """The bar, if it is `drawn` at all, while a range is read that takes longer than a second; and the log."""

    def __init__(self, *, drawn: bool) -> None:
        self._drawn = drawn
        self._bar: progress.Progress | None = None  # any thread may use it, also after its end

    def called(self, report: Report) -> None:
        """Count one attempt of a request, and log it if it failed and the call goes on; called from any thread."""
        if report.wait is not None or report.hung:
            ends = "" if report.wait is None else f"; retrying in {report.wait:.1f} s"
            log(f"{report.named}: {report.outcome}{ends}", warning=False)
        if bar := self._bar:
            bar.called(report.size, again=report.attempt > 1)

    @contextmanager
    def bar(self, heights: int | None) -> Iterator[progress.Progress]:
        """Return what shows the progress of a call that reads so many heights, until its end."""
        if not self._drawn:
            yield progress.UNSEEN
            return
        self._bar = bar = progress.Progress()
        bar.begin(heights)
        bar.start(shared=True)
        try:
            yield bar
        finally:
            self._bar = None
            bar.close()

    def warn(self, text: str, *, warning: bool = True) -> None:
        """Log what a user should know, with no bar on the line on which it may be printed."""
        with self._bar.aside(whole=True) if self._bar else nullcontext():
            log(text, warning=warning)


def log(text: str, *, warning: bool = True) -> None:
    """Log a line, as a warning or as information."""
    import logging  # takes time to load

    logging.getLogger("chainq").log(logging.WARNING if warning else logging.INFO, "%s", text)


@contextmanager
def while_open() -> Iterator[None]:
    """Raise UsageError for what needs a request of a closed client."""
    try:
        yield
    except Stopped:
        raise UsageError("the client is closed") from None
