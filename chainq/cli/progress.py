"""The bar on stderr for long ranges: drawn by rich, which is loaded only when there is something to draw."""

import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0  # seconds that a run may take before a bar is worth its place


class Bar:
    """Counts what a run has done, and shows it where a person can see it without it standing in the rows.

    `heights`: how many are wanted. `shown`: whether a bar may be drawn at all.
    """

    def __init__(self, heights: int, *, shown: bool) -> None:
        self._heights, self._shown = heights, shown
        self._began = time.monotonic()
        self._done = self._rows = self._bytes = self._retries = 0
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def called(self, size: int, again: bool) -> None:
        """Take in an attempt of a call: bytes that came, and whether it was a second one."""
        self._bytes += size
        self._retries += again
        self._draw()

    def wrote(self, heights: int, rows: int) -> None:
        """Take in what was written."""
        self._done += heights
        self._rows += rows
        self._draw()

    def line(self, text: str) -> bool:
        """Write a line above the bar; False where no bar is drawn."""
        if self._progress is None:
            return False
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)
        return True

    def close(self) -> str | None:
        """Take the bar away; the totals in words where one was drawn."""
        if self._progress is None:
            return None
        self._progress.stop()
        self._progress = None
        seconds = time.monotonic() - self._began
        again = f", {self._retries} calls again" if self._retries else ""
        return (
            f"{self._done:,} heights, {self._rows:,} rows in {seconds:.1f} s"
            f" ({self._rows / seconds:,.0f} rows/s), {self._bytes / 1e6:,.1f} MB{again}"
        )

    def _draw(self) -> None:
        if not self._shown or (self._progress is None and time.monotonic() - self._began < PATIENCE):
            return
        values: dict[str, Any] = {
            "rows": f"{self._rows:,} rows",
            "pace": f"{self._rows / (time.monotonic() - self._began):,.0f} rows/s",
            "size": f"{self._bytes / 1e6:,.1f} MB",
            "again": f"{self._retries} again" if self._retries else "",
        }
        if self._progress is None:
            self._progress, self._task = _begin(self._heights, values)
        if self._task is not None:
            self._progress.update(self._task, completed=self._done, **values)


def _begin(heights: int, values: dict[str, Any]) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    names = ("rows", "pace", "size", "again")
    progress = Progress(
        MofNCompleteColumn(),
        BarColumn(bar_width=None),
        *(TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in names),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")) or None),
        transient=True,
        expand=True,
    )
    progress.start()
    return progress, progress.add_task("", total=heights, **values)
