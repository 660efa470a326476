"""What is said on stderr while a run goes on: calls (`-v`), retries worth knowing of, warnings, progress."""

import os
import sys
import threading
from contextlib import suppress

from chainq.cli.progress import Bar
from chainq.text.sanitize import printable
from chainq.transport.base import Report

_GONE = (OSError, ValueError, AttributeError)  # what a stderr raises that is closed or gone
WORTH_SAYING = 1.0  # seconds of waiting, below which a retry is not told


class Reporter:
    """Writes lines to stderr, whole, from any thread."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet, self._verbose = quiet, verbose
        self._lock = threading.RLock()
        self._bar: Bar | None = None

    def line(self, text: str) -> None:
        """Write one line; a stderr that is closed or gone is no reason to stop."""
        with self._lock:
            try:
                if not (self._bar and self._bar.line(printable(text))):
                    sys.stderr.write(printable(text) + "\n")
                    sys.stderr.flush()
            except _GONE:
                return

    def warn(self, text: str) -> None:
        """Write a warning, unless the user wants none."""
        if not self.quiet:
            self.line(f"chainq: warning: {text}")

    def call(self, report: Report) -> None:
        """Take note of one attempt of a call."""
        with self._lock, suppress(*_GONE):
            if self._bar:
                self._bar.called(report.size, report.attempt > 1)
        if self._verbose:
            rows = "" if report.rows is None else f" {report.rows} rows"
            wait = "" if report.wait is None else f", again in {report.wait:.1f} s"
            self.line(
                f"chainq: {report.method}{' ' + report.where if report.where else ''}:{rows} {report.size} bytes"
                f" {report.seconds * 1000:.0f} ms attempt {report.attempt}: {report.outcome}{wait}"
            )
        elif report.wait is not None and report.wait >= WORTH_SAYING:
            self.warn(f"{report.method}: {report.outcome}; trying again in {report.wait:.0f} s")

    def begin(self, heights: int, *, rows_on_terminal: bool) -> None:
        """A range of so many heights begins; where rows go to the terminal, no bar may stand among them."""
        shown = not self.quiet and not rows_on_terminal and _is_terminal(2)
        self._bar = Bar(heights, shown=shown) if shown else None

    def wrote(self, heights: int, rows: int) -> None:
        """So many heights and rows have been written."""
        with self._lock, suppress(*_GONE):
            if self._bar:
                self._bar.wrote(heights, rows)

    def end(self) -> None:
        """The range has ended, well or not: take the bar away and say the totals."""
        totals = None
        with self._lock, suppress(*_GONE):
            bar, self._bar = self._bar, None
            totals = bar.close() if bar else None
        if totals:
            self.line(f"chainq: {totals}")


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False
