"""The progress bar on stderr: the progress of a run, and the thread that draws it (`progress_drawing`).

A thread draws it, not the calls that report progress, so a run that waits for its first response shows that, too.
rich, which takes 40 ms to load, is loaded once a bar is due.
"""

import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from chainq.process.progress_drawing import Drawing

DELAY = 1.0  # seconds without a row on the same terminal; shorter runs get no bar
PERIOD = 0.2  # seconds between two drawings
SILENCE = 5.0  # seconds without news, after which they are shown
ROWS, HASHES = "rows", "block hashes"
"""Units beside which no rows are counted: these are rows, and those are of rows that were counted before."""


class Progress:
    """Receives progress reports of long work, from any thread. This class shows nothing."""

    @property
    def shown(self) -> bool:
        """Return whether anything is shown, so a total is worth finding out."""
        return False

    def begin(self, total: int | None, unit: str = "heights") -> None:
        """Start to count `total` units. With None, the total is unknown, and the count continues."""

    def wrote(self, units: int, rows: int, passed: int | None = None) -> None:
        """Count units and rows that are written; `passed`: rows that a filter left of these, None without a filter."""

    def ahead(self, units: int, rows: int) -> None:
        """Show the part already done of the units that the next `wrote` will count."""

    def show(self, parts: Sequence[str]) -> None:
        """Show the work in progress below the bar, until the next call."""

    def waits(self, seconds: float, words: str) -> None:
        """Show that the run waits `seconds`, after words such as `next poll in`."""


UNSEEN = Progress()


def heights_of(commands: int) -> str:
    """Return the unit of work that reads the heights of several commands."""
    return "heights" if commands == 1 else f"heights ({commands} commands together)"


class Shown(NamedTuple):
    """What a bar shows. `rate`: rows a second; `size`: bytes received; `waits`, `parts`: lines below it."""

    done: int
    total: int | None
    unit: str
    rows: int
    rate: float
    size: int
    retries: int
    seconds: float
    waits: str
    parts: Sequence[str]


class Bar(Progress):
    """The progress of one run, drawn on stderr once it takes longer than DELAY. For any thread.

    `total`: as `Progress.begin` takes it; heights are counted until another `begin`. `shared`: others print to the
    terminal with `print` meanwhile, which moves their lines above the bar.
    """

    def __init__(self, total: int | None, *, shared: bool = False) -> None:
        self._shared = shared
        self._total, self._unit = total, "heights"
        self._parts: Sequence[str] = ()
        self._done = self._rows = self._bytes = self._retries = 0
        self._began = self._counted_from = self._heard = time.monotonic()
        self._rows_before = 0
        self._ahead = (0, 0)  # units and rows
        self._hidden_until = self._began + DELAY
        self._waits, self._waits_until, self._held = ("", ""), self._began, False
        self._last = ""  # request that ended, in words
        self._drawing: Drawing | None = None
        self._drawn = False  # at any time
        self._lock = threading.RLock()  # a signal may come while it is held
        self._closed = threading.Event()
        with suppress(RuntimeError):  # no thread is left; the run matters more than its bar
            threading.Thread(target=self._run, name="chainq-progress", daemon=True).start()

    def begin(self, total: int | None, unit: str = "heights") -> None:
        """Count other units from now on, or without a total; the rows, the bytes and the time go on."""
        with self._lock:
            if total is not None or unit != self._unit:
                self._done, self._rows_before, self._counted_from = 0, self._rows, time.monotonic()
            self._total, self._unit, self._parts, self._ahead = total, unit, (), (0, 0)
            if self._drawing is not None:
                self._drawing.restart()

    def called(
        self, size: int, *, again: bool, wait: float | None = None, why: str = "", held: bool = False, what: str = ""
    ) -> None:
        """Count one attempt of a request: the bytes received, and whether it is a retry.

        `wait`: seconds to the next attempt after a failure; `why`: the failure; `held`: it holds back the method;
        `what`: the request in words.
        """
        with self._lock:
            self._last = f" after {what}" if what else ""
            self._heard = now = time.monotonic()
            self._bytes += size
            self._retries += again
            if wait is not None:
                self._held = held
                self.waits(wait, *(("held back by the service for",) if held else ("retrying in", f": {why}")))
            elif not self._held or self._waits_until < now:
                self._waits_until, self._held = now, False

    def wrote(self, units: int, rows: int, passed: int | None = None) -> None:
        """Count units and rows that are written."""
        del passed  # which is said at the end
        with self._lock:
            self._heard = time.monotonic()
            self._done += rows if self._unit == ROWS else units
            self._rows += rows
            self._ahead = (0, 0)

    def ahead(self, units: int, rows: int) -> None:
        """Show the part already done of the units that the next `wrote` will count."""
        with self._lock:
            self._heard = time.monotonic()
            self._ahead = (units, rows)

    def show(self, parts: Sequence[str]) -> None:
        """Show the work in progress below the bar."""
        with self._lock:
            self._parts = parts

    def waits(self, seconds: float, words: str, after: str = "") -> None:
        """Show that the run waits, with words before and after the seconds."""
        with self._lock:
            self._waits, self._waits_until = (words, after), time.monotonic() + seconds

    def line(self, text: str) -> bool:
        """Print a line above the bar; return False if no bar is drawn."""
        with self._lock:
            if self._drawing is not None:
                self._drawing.line(text)
            return self._drawing is not None

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
            if not self._drawn or not (self._done or self._rows):
                return None
        seconds = time.monotonic() - self._began
        done = f"{self._done:,} {self._unit}, " if self._unit != ROWS else ""
        retries = f", retries: {self._retries:,}" if self._retries else ""
        return (
            f"{done}{self._rows:,} rows in {seconds:.1f} s ({self._rows / seconds:,.0f} rows/s),"
            f" {self._bytes / 1e6:,.1f} MB{retries}"
        )

    def _run(self) -> None:
        """Draw until the end, or until nobody can see it."""
        wait = min(PERIOD, DELAY)
        with suppress(OSError, ValueError):  # a terminal that is gone
            while not self._closed.wait(wait):
                wait = PERIOD
                with self._lock:
                    if not self._closed.is_set() and time.monotonic() >= self._hidden_until:
                        self._draw()

    def _draw(self) -> None:
        if self._drawing is None:
            from chainq.process.progress_drawing import Drawing

            self._drawing, self._drawn = Drawing(shared=self._shared), True
        self._drawing.draw(self._shown())

    def _erase(self) -> None:
        drawing, self._drawing = self._drawing, None
        if drawing is not None:
            drawing.close()

    def _shown(self) -> Shown:
        now = time.monotonic()
        done, rows = self._done + self._ahead[0], self._rows + self._ahead[1] - self._rows_before
        seconds = max(now - self._counted_from, 0.001)
        waits, left = "", self._waits_until - now
        silent = now - max(self._heard, self._waits_until)
        if left > 0:
            waits = f"{self._waits[0]} {math.ceil(left)} s{self._waits[1]}"
        elif silent >= SILENCE:
            waits = f"nothing new for {silent:.0f} s{self._last}"
        counts = done, self._total, self._unit, rows, rows / seconds, self._bytes, self._retries
        return Shown(*counts, seconds, waits, self._parts)
