"""Prints to stderr during a run: requests (`-v`), long waits, warnings, progress."""

import os
import re
import sys
import threading
from contextlib import suppress

from chainq.cli import log
from chainq.defaults import PATIENCE
from chainq.errors import Shortfall
from chainq.formats.protocol import Output
from chainq.process.progress import UNSEEN, Bar, Progress
from chainq.sinks.base import Sink
from chainq.text.sanitize import printable
from chainq.transport.base import Report

_GONE = (OSError, ValueError, AttributeError)  # what writing to a closed stderr raises
LARGE = 2**20  # bytes of a response: a run that gets none as large is spared the 3 ms that loading ctypes takes
_FIELDS = ("method", "call", "request_id", "attempt", "seconds", "rows", "wait")  # of a request in the JSON log
LONG_WAIT = 1.0  # seconds; a shorter wait for a retry is not reported


class Reporter(Progress):
    """Prints whole lines and the progress to stderr, from any thread."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet, self._verbose = quiet, verbose
        self._lock = threading.RLock()
        self._bar: Bar | None = None
        self._totals = True  # are printed at the end
        self._hung = False  # a request; the user was warned
        self._limited = False  # a service refused requests with HTTP 429; the user was warned
        self._failed, self._warned = 0, 0  # attempts in a row, and at which of them the user was warned

    def line(self, text: str, level: str = "info", **fields: object) -> None:
        """Print one line, which JSON shows with a level and fields; a closed stderr is ignored."""
        shown = log.rendered(level, printable(text), **fields)
        with self._lock:
            try:
                if not (self._bar and self._bar.line(shown)):
                    sys.stderr.write(shown + "\n")
                    sys.stderr.flush()
            except _GONE:
                return

    def warn(self, text: str) -> None:
        """Print a warning, unless `--quiet` and the warning is not about completeness (`Shortfall`)."""
        if isinstance(text, Shortfall) or not self.quiet:
            self.line("chainq: warning: " + text, "warning")

    def note(self, text: str) -> None:
        """Print what is good to know and no warning, unless it is empty or `--quiet`."""
        if text and not self.quiet:
            self.line("chainq: " + text)

    def trace(self, text: str) -> None:
        """Print a step of the run with `--verbose`."""
        if self._verbose:
            self.line(f"chainq: {_time()}{text}", "debug")

    def call(self, report: Report) -> None:
        """Count one attempt of a request; print it with `--verbose`, or if the wait for its retry is long."""
        if report.size >= LARGE:
            from chainq.process.arenas import share_arenas

            share_arenas()
        with self._lock, suppress(*_GONE):
            if self._bar:
                self._bar.called(report.size, again=report.attempt > 1)
            self._failed += 1
            if report.outcome == "ok":
                self._failed = self._warned = 0
        if self._verbose:
            self._log_call(report)
        elif report.wait is not None and report.rate_limited:
            self._warn_limited(report.method)
        elif report.hung and not self._hung:
            self._hung = True
            self.warn(f"{report.named}: {report.outcome}")
        elif report.wait is not None and report.wait >= LONG_WAIT and self._failed >= 2 * self._warned:
            self._warned = self._failed  # and then not before an outage is twice as long
            self.warn(f"{report.method}: {report.outcome}; retrying in {report.wait:.0f} s")

    def _log_call(self, report: Report) -> None:
        """Print an attempt of a request."""
        rows = "" if report.rows is None else f" {report.rows} row{'s' * (report.rows != 1)}"
        wait = "" if report.wait is None else f", retrying in {report.wait:.1f} s"
        fields = {name: getattr(report, name) for name in _FIELDS}
        took = f"{rows} {report.size} bytes {report.seconds * 1000:.0f} ms attempt {report.attempt}:"
        self.line(
            f"chainq: {_time()}{f'{report.method} {report.where}'.rstrip()}:{'' if log.is_json() else took}"
            f" {report.outcome}{wait}",
            "debug" if report.outcome == "ok" else "warning",
            heights=re.sub("^heights? ", "", report.where),
            status=report.outcome,
            bytes=report.size,
            **fields,
        )

    def _warn_limited(self, method: str) -> None:
        """Say once that the service refused a request with HTTP 429."""
        if not self._limited:
            self._limited = True
            ends = f"chainq retries for up to {PATIENCE:g} s; use --rate N to stay below the limit"
            self.warn(f"{method}: HTTP 429, the service limits the rate of calls; {ends}")

    def draw(self, *, rows_on_terminal: bool = False) -> None:
        """Have a bar on stderr until `end`, if that is a terminal and the run takes long enough.

        `rows_on_terminal`: rows are written to the same terminal, by what `beside` returns, and no totals follow them.
        """
        if not self.quiet and not log.is_json() and os.isatty(2):
            self._bar, self._totals = Bar(None), not rows_on_terminal

    @property
    def _progress(self) -> Progress:
        return self._bar or UNSEEN

    def begin(self, total: int | None, unit: str = "heights") -> None:
        """Start to count that many units. None: nobody knows how many there are, and the count goes on."""
        with suppress(*_GONE):
            self._progress.begin(total, unit)

    def wrote(self, units: int, rows: int) -> None:
        """Count units and rows that are written."""
        self._progress.wrote(units, rows)

    def show(self, text: str) -> None:
        """Show below the bar what is under way, until the next time."""
        self._progress.show(text)

    def waits(self, seconds: float, words: str) -> None:
        """Show that the run waits for so long, after words such as `next poll in`."""
        self._progress.waits(seconds, words)

    def beside(self, sink: Sink) -> Output:
        """Return what writes to the sink, with no bar meanwhile if both are on one terminal, also behind a pipe."""
        apart = self._bar is None or (self._totals and not sink.pipe)
        return sink if apart or self._bar is None else _Beside(sink, self._bar)

    def end(self) -> None:
        """End the progress: remove the bar, and print the totals unless an error or a signal ends the run."""
        totals = None
        with self._lock, suppress(*_GONE):
            bar, self._bar = self._bar, None
            totals = bar.close() if bar else None
        if totals and self._totals and sys.exc_info()[0] is None:
            self.line(f"chainq: {totals}")


def _time() -> str:
    """Return the time of a line of text; a line of JSON has a field for it."""
    return "" if log.is_json() else f"{log.clock()[11:]} "


class _Beside:
    """Writes to the terminal on which a bar is drawn, or to a pipe that may end there."""

    def __init__(self, sink: Sink, bar: Bar) -> None:
        self._sink, self._bar = sink, bar

    def write(self, data: bytes) -> None:
        """Write where the bar is; it comes back below, unless a pipe may still hold some of the rows."""
        whole = data.endswith(b"\n") and not self._sink.pipe
        with self._bar.aside(whole=whole):
            self._sink.write(data)
