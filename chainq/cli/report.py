"""Prints to stderr during a run: requests (`-v`), long waits, warnings, progress."""

import os
import shutil
import sys
import threading
from contextlib import suppress

from chainq.cli.spelling import spelled
from chainq.process.progress import Bar
from chainq.text.sanitize import printable
from chainq.transport.base import Report

_GONE = (OSError, ValueError, AttributeError)  # what writing to a closed stderr raises
LONG_WAIT = 1.0  # seconds; a shorter wait for a retry is not reported


class Reporter:
    """Prints whole lines to stderr, from any thread."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet, self._verbose = quiet, verbose
        self._lock = threading.RLock()
        self._bar: Bar | None = None
        self._limited = False  # a service refused requests with HTTP 429; the user was warned
        self._status = ""  # what stands on the last line of the terminal, to be overwritten

    def line(self, text: str) -> None:
        """Print one line; a closed stderr is ignored."""
        shown = printable(spelled(text))
        with self._lock:
            try:
                self._show_status("")
                if not (self._bar and self._bar.line(shown)):
                    sys.stderr.write(shown + "\n")
                    sys.stderr.flush()
            except _GONE:
                return

    def warn(self, text: str) -> None:
        """Print a warning, unless `--quiet`."""
        if not self.quiet:
            self.line("chainq: warning: " + text)

    def note(self, text: str) -> None:
        """Print what is good to know and no warning, unless it is empty or `--quiet`."""
        if text and not self.quiet:
            self.line("chainq: " + text)

    def trace(self, text: str) -> None:
        """Print a step of the run with `--verbose`."""
        if self._verbose:
            self.line("chainq: " + text)

    def call(self, report: Report) -> None:
        """Count one attempt of a request; print it with `--verbose`, or if the wait for its retry is long."""
        with self._lock, suppress(*_GONE):
            if self._bar:
                self._bar.called(report.size, report.attempt > 1)
            if report.outcome == "ok":
                self._show_status("")
        if self._verbose:
            rows = "" if report.rows is None else f" {report.rows} rows"
            wait = "" if report.wait is None else f", retrying in {report.wait:.1f} s"
            self.line(
                f"chainq: {report.method}{' ' + report.where if report.where else ''}:{rows} {report.size} bytes"
                f" {report.seconds * 1000:.0f} ms attempt {report.attempt}: {spelled(report.outcome)}{wait}"
            )
        elif report.wait is not None and report.rate_limited:
            self._warn_limited(report.method, report.wait)
        elif report.wait is not None and report.wait >= LONG_WAIT:
            self.warn(f"{report.method}: {spelled(report.outcome)}; retrying in {report.wait:.0f} s")

    def _warn_limited(self, method: str, wait: float) -> None:
        """Say that the service refused a request with HTTP 429: one line, on a terminal updated with each wait.

        Not so where rows or a bar stand on the same terminal.
        """
        with self._lock, suppress(*_GONE):
            text = f"chainq: warning: {method}: HTTP 429"
            if not self.quiet and not self._bar and _is_terminal(2) and not _is_terminal(1):
                self._show_status(f"{text}, retrying in {wait:.0f} s")
            elif not self._limited and not self.quiet:
                self.line(
                    f"{text}, the service limits the rate of calls; chainq waits and continues, --rate N avoids it"
                )
            self._limited = True

    def _show_status(self, text: str) -> None:
        """Overwrite the line of the status, in place; remove it where `text` is empty."""
        if text or self._status:
            sys.stderr.write("\r\x1b[K" + printable(text)[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()
        self._status = text

    def begin(self, total: int, *, rows_on_terminal: bool, unit: str = "heights") -> None:
        """Start the progress of that many heights, or other units; no bar is drawn among rows on a terminal."""
        shown = not self.quiet and not rows_on_terminal and _is_terminal(2)
        self._bar = Bar(total, shown=shown, unit=unit) if shown else None

    def wrote(self, units: int, rows: int) -> None:
        """Count heights, or other units, and rows that are written."""
        with self._lock, suppress(*_GONE):
            if self._bar:
                self._bar.wrote(units, rows)

    def end(self) -> None:
        """End the progress: remove the bar and print the totals."""
        totals = None
        with self._lock, suppress(*_GONE):
            self._show_status("")
            bar, self._bar = self._bar, None
            totals = bar.close() if bar else None
        if totals:
            self.line(f"chainq: {totals}")


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False
