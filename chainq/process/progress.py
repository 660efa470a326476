"""The progress bar on stderr. A thread of its own draws it, so that a run that waits for its first response shows that,
too; rich, which takes 40 ms to load, is loaded once a bar is due.
"""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live

DELAY = 1.0  # seconds without a row on the same terminal; shorter runs get no bar
PERIOD = 0.2  # seconds between two drawings
SILENCE = 5.0  # seconds without news, after which they are shown
UNSURE = 10.0  # seconds in which nothing is said of the time left: chunks still grow
LENGTH = 20  # columns of the bar
ROOM = 3  # columns left free at the end of a line: "^C" there must not begin another one


class Progress:
    """The progress of one run, which any thread counts; drawn on stderr between `start` and `close`, after DELAY."""

    def __init__(self) -> None:
        self._total: int | None = None
        self._unit, self._below, self._waits = "heights", "", ""
        self._done = self._rows = self._bytes = self._retries = 0
        self._began = self._counted_from = self._heard = self._waits_until = self._hidden_until = time.monotonic()
        self._live: Live | None = None
        self._drawn = self._shared = False  # the first: at any time
        self._lock = threading.RLock()  # a signal may come while it is held
        self._closed = threading.Event()
        self._closed.set()

    def start(self, *, shared: bool = False) -> None:
        """Draw from now on. `shared`: others print to the terminal with `print` meanwhile, which moves their lines
        above the bar."""
        self._shared = shared
        self._began = self._counted_from = self._heard = self._waits_until = time.monotonic()
        self._hidden_until = self._began + DELAY
        self._closed.clear()
        with suppress(RuntimeError):  # no thread is left; the run matters more than its bar
            threading.Thread(target=self._run, name="chainq-progress", daemon=True).start()

    def begin(self, total: int | None, unit: str = "heights") -> None:
        """Count `total` units from now on, or without a total; the rows, the bytes and the time go on."""
        with self._lock:
            if total is not None or unit != self._unit:
                self._done, self._counted_from = 0, time.monotonic()
            self._total, self._unit, self._below = total, unit, ""

    def called(self, size: int, *, again: bool) -> None:
        """Count one attempt of a request: the bytes received, and whether it is a retry."""
        with self._lock:
            self._heard = time.monotonic()
            self._bytes += size
            self._retries += again

    def wrote(self, units: int, rows: int) -> None:
        """Count units and rows that are written."""
        with self._lock:
            self._heard = time.monotonic()
            self._done += rows if self._unit == "rows" else units
            self._rows += rows

    def show(self, text: str) -> None:
        """Show the work in progress below the bar, until the next call."""
        self._below = text

    def waits(self, seconds: float, words: str) -> None:
        """Show that the run waits `seconds`, after words such as `next poll in`."""
        with self._lock:
            self._waits, self._waits_until = words, time.monotonic() + seconds

    def print_above(self, text: str) -> bool:
        """Print a line above the bar; return False if no bar is drawn."""
        with self._lock:
            if self._live is None:
                return False
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        return True

    @contextmanager
    def aside(self, *, whole: bool) -> Iterator[None]:
        """Remove the bar from the terminal while something else is written there, and right after it.

        `whole`: the written text ends a line; else there is no bar until the next time.
        """
        with self._lock:
            self._erase()
            try:
                yield
            finally:
                self._hidden_until = time.monotonic() + (DELAY if whole else math.inf)

    def close(self) -> str | None:
        """Remove the bar; return the totals in words if one was drawn and anything was counted."""
        self._closed.set()
        with self._lock:
            self._erase()
            drawn, self._drawn = self._drawn, False
            if not drawn or not (self._done or self._rows):
                return None
        return (f"{self._done:,} {self._unit}, " if self._unit != "rows" else "") + self._totals()

    def _run(self) -> None:
        """Draw until the end, or until nobody can see it."""
        with suppress(OSError, ValueError):  # a terminal that is gone
            while not self._closed.wait(PERIOD):
                with self._lock:
                    if not self._closed.is_set() and time.monotonic() >= self._hidden_until:
                        self._draw()

    def _draw(self) -> None:
        from rich.text import Text

        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            shared, console = self._shared, Console(stderr=True)
            self._live = Live(
                console=console, auto_refresh=False, transient=True, redirect_stdout=shared, redirect_stderr=shared
            )
            self._live.start()
            self._drawn = True
        width = max(1, self._live.console.width - ROOM)
        lines = "\n".join(line[:width] for line in self._lines(time.monotonic()))
        self._live.update(Text(lines, no_wrap=True), refresh=True)

    def _erase(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _lines(self, now: float) -> Iterator[str]:
        """Yield what is drawn: how far the run has come, what it waits for, and the work in progress."""
        yield "  ".join(self._words(now - self._counted_from))
        if (left := self._waits_until - now) > 0:
            yield f"{self._waits} {math.ceil(left)} s"
        elif (silent := now - max(self._heard, self._waits_until)) >= SILENCE:
            yield f"nothing new for {silent:.0f} s"
        if self._below:
            yield self._below

    def _words(self, seconds: float) -> Iterator[str]:
        """Yield the words of the first line; a terminal that is too narrow cuts the last ones."""
        total = "" if self._total is None else f"/{self._total:,}"
        yield f"{self._done:,}{total} {self._unit}"
        if self._total:
            share = min(self._done / self._total, 1.0)
            yield ("━" * int(LENGTH * share)).ljust(LENGTH, "─")
            yield f"{int(100 * share)}%"
            if share and seconds >= UNSURE:
                yield f"{timedelta(seconds=int(seconds / share - seconds))} left"
        yield self._totals()

    def _totals(self) -> str:
        seconds = max(time.monotonic() - self._began, 0.001)
        rate, retries = self._rows / seconds, f", retries: {self._retries:,}" if self._retries else ""
        return f"{self._rows:,} rows in {seconds:.1f} s ({rate:,.0f} rows/s), {self._bytes / 1e6:,.1f} MB{retries}"


UNSEEN = Progress()
