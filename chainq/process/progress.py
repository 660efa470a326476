"""The progress bar on stderr, drawn by rich, which is loaded only when a bar is drawn."""

import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 1.0  # seconds; shorter runs get no bar


class Bar:
    """The progress of one run. `total`: how many heights, or other units. `shown`: whether a bar may be drawn."""

    def __init__(self, total: int, *, shown: bool, unit: str = "heights") -> None:
        self._total, self._shown, self._unit = total, shown, unit
        self._began = time.monotonic()
        self._done = self._rows = self._bytes = self._retries = 0
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def called(self, size: int, again: bool) -> None:
        """Count one attempt of a request: the bytes received, and whether it is a retry."""
        self._bytes += size
        self._retries += again
        self._draw()

    def wrote(self, units: int, rows: int) -> None:
        """Count heights, or other units, and rows that are written."""
        self._done += units
        self._rows += rows
        self._draw()

    def line(self, text: str) -> bool:
        """Print a line above the bar; return False if no bar is drawn."""
        if self._progress is None:
            return False
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)
        return True

    def close(self) -> str | None:
        """Remove the bar; return the totals in words if one was drawn."""
        if self._progress is None:
            return None
        self._progress.stop()
        self._progress = None
        seconds = time.monotonic() - self._began
        retries = f", retries: {self._retries:,}" if self._retries else ""
        return (
            f"{self._done:,} {self._unit}, {self._rows:,} rows in {seconds:.1f} s"
            f" ({self._rows / seconds:,.0f} rows/s), {self._bytes / 1e6:,.1f} MB{retries}"
        )

    def _draw(self) -> None:
        if not self._shown or (self._progress is None and time.monotonic() - self._began < DELAY):
            return
        values: dict[str, Any] = {
            "rows": f"{self._rows:,} rows",
            "pace": f"{self._rows / (time.monotonic() - self._began):,.0f} rows/s",
            "size": f"{self._bytes / 1e6:,.1f} MB",
            "retries": f"retries: {self._retries:,}" if self._retries else "",
        }
        if self._progress is None:
            self._progress, self._task = _begin(self._total, values)
        if self._task is not None:
            self._progress.update(self._task, completed=self._done, **values)


def _begin(total: int, values: dict[str, Any]) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    names = ("rows", "pace", "size", "retries")
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
    return progress, progress.add_task("", total=total, **values)
