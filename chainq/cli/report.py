"""Prints to stderr during a run: requests (`-v`), long waits, warnings, progress."""

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from chainq.cli import log
from chainq.defaults import PATIENCE
from chainq.errors import Shortfall
from chainq.formats.protocol import Output
from chainq.process.progress import Progress
from chainq.sinks.base import Sink
from chainq.transport.base import Report

if TYPE_CHECKING:
    from chainq.cli.options import ServiceFlags

LARGE = 2**20  # bytes of a response: a run that gets none as large is spared the 3 ms that loading ctypes takes
_FIELDS = ("method", "call", "attempt", "seconds", "rows", "wait")  # of a request in the JSON log
LONG_WAIT = 1.0  # seconds; a shorter wait for a retry is not reported


class Reporter(Progress):
    """Prints whole lines and the progress to stderr, from any thread, as `--quiet` and `--verbose` say."""

    def __init__(self, given: "ServiceFlags | None" = None) -> None:
        super().__init__()
        self.quiet, self._verbose = (given.quiet, given.verbose) if given else (False, False)
        self._rows_apart = True  # not on the same terminal, so that totals are printed at the end
        self._said: set[str] = set()  # of what a user is warned once
        self._failed, self._warned = 0, 0  # attempts in a row, and at which of them the user was warned

    def line(self, text: str, level: str = "info", **fields: object) -> None:
        """Print one line, which JSON shows with a level and fields; a closed stderr is ignored."""
        shown = log.rendered(level, text, **fields)
        with self._lock, suppress(*log.GONE):
            if not self.print_above(shown):
                log.write(shown)

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
        with self._lock:
            self.called(report.size, again=report.attempt > 1)
            self._failed += 1
            if report.outcome == "ok":
                self._failed = self._warned = 0
        if self._verbose:
            self._log_call(report)
        elif report.wait is not None and report.rate_limited:
            ends = f"chainq retries for up to {PATIENCE:g} s; use --rate N to stay below the limit"
            self.warn_once("429", f"{report.method}: HTTP 429, the service limits the rate of calls; {ends}")
        elif report.hung and "hung" not in self._said:
            self.warn_once("hung", f"{report.named}: {report.outcome}")
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
            f"chainq: {_time()}{f'{report.method} {report.where}'.rstrip()}:{'' if log.Lines.json else took}"
            f" {report.outcome}{wait}",
            "debug" if report.outcome == "ok" else "warning",
            heights=re.sub("^heights? ", "", report.where),
            status=report.outcome,
            bytes=report.size,
            **fields,
        )

    def warn_once(self, kind: str, text: str) -> None:
        """Print a warning, unless one of its kind was printed."""
        if kind not in self._said:
            self._said.add(kind)
            self.warn(text)

    def draw(self, *, rows_on_terminal: bool = False) -> None:
        """Have a bar on stderr until `end`, if that is a terminal and the run takes long enough.

        `rows_on_terminal`: rows are written to the same terminal, by what `beside` returns, and no totals follow them.
        """
        if not self.quiet and not log.Lines.json and os.isatty(2):
            self._rows_apart = not rows_on_terminal
            self.start()

    def beside(self, sink: Sink) -> Output:
        """Return what writes to the sink, with no bar meanwhile if both are on one terminal, also behind a pipe."""
        return sink if self._closed.is_set() or (self._rows_apart and not sink.pipe) else _Beside(sink, self)

    def end(self) -> None:
        """End the progress: remove the bar, and print the totals unless an error or a signal ends the run."""
        with suppress(*log.GONE):
            totals = self.close()
            if totals and self._rows_apart and sys.exc_info()[0] is None:
                self.line(f"chainq: {totals}")


def _time() -> str:
    """Return the time of a line of text; a line of JSON has a field for it."""
    return "" if log.Lines.json else f"{log.clock()[11:]} "


class _Beside:
    """Writes to the terminal on which a bar is drawn, or to a pipe that may end there."""

    def __init__(self, sink: Sink, progress: Progress) -> None:
        self._sink, self._progress = sink, progress

    def write(self, data: bytes) -> None:
        """Write where the bar is; it comes back below, unless a pipe may still hold some of the rows."""
        whole = data.endswith(b"\n") and not self._sink.pipe
        with self._progress.aside(whole=whole):
            self._sink.write(data)
