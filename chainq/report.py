"""What is said on stderr while a run goes on: calls (`-v`), retries worth knowing of, warnings. Never on stdout."""

import sys
import threading

from chainq.rpc import Report
from chainq.safe import printable

WORTH_SAYING = 1.0  # seconds of waiting, below which a retry is not told


class Reporter:
    """Writes lines to stderr, whole, from any thread."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self._quiet, self._verbose = quiet, verbose
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        """Write one line; a stderr that is closed or gone is no reason to stop."""
        with self._lock:
            try:
                sys.stderr.write(printable(text) + "\n")
                sys.stderr.flush()
            except (OSError, ValueError, AttributeError):
                return

    def warn(self, text: str) -> None:
        """Write a warning, unless the user wants none."""
        if not self._quiet:
            self.line(f"chainq: warning: {text}")

    def call(self, report: Report) -> None:
        """Take note of one attempt of a call."""
        if self._verbose:
            rows = "" if report.rows is None else f" {report.rows} rows"
            wait = "" if report.wait is None else f", again in {report.wait:.1f} s"
            self.line(
                f"chainq: {report.method}{' ' + report.where if report.where else ''}:{rows} {report.size} bytes"
                f" {report.seconds * 1000:.0f} ms attempt {report.attempt}: {report.outcome}{wait}"
            )
        elif report.wait is not None and report.wait >= WORTH_SAYING:
            self.warn(f"{report.method}: {report.outcome}; trying again in {report.wait:.0f} s")
