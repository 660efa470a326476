"""Draws the progress bar with rich: one line that fits the terminal, and below it waits and work in progress."""

import os
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.progress import Progress
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from chainq.process.progress import HASHES, ROWS, Shown

ROOM = 3  # columns left free at the end of a line: "^C" there must not begin another one
LEAST_BAR, MOST_BAR = 6, 50  # columns; a shorter one says less than the share, a longer one changes with the words
UNSURE = 10.0  # seconds in which nothing is said of the time left before a hundredth is done: chunks still grow
NARROW = 70  # columns; a line that is longer has two spaces between its words


class Drawing(Progress):
    """The bar on a terminal or in a notebook, between its first drawing and `close`. Not thread-safe; the caller locks.

    `shared`: `sys.stdout` and `sys.stderr` print above the bar meanwhile.
    """

    def __init__(self, *, shared: bool) -> None:
        self._shown: Shown | None = None
        super().__init__(
            console=Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")) or None),
            auto_refresh=False,
            transient=True,
            redirect_stdout=shared,
            redirect_stderr=shared,
        )
        self._task = self.add_task("", total=None)

    def draw(self, shown: Shown) -> None:
        """Draw over the previous drawing."""
        first, self._shown = self._shown is None, shown
        self.update(self._task, total=shown.total, completed=shown.done)
        if first:
            self.start()
        self.refresh()

    def restart(self) -> None:
        """Reset the measured speed, for other units."""
        self.reset(self._task)

    def line(self, text: str) -> None:
        """Print a line above the bar."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Remove the bar."""
        self.live.stop()  # `stop` would also print an empty line where no bar is visible

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the lines of the bar; rich calls this."""
        if (shown := self._shown) is None:
            return
        width = max(1, self.console.width - ROOM)
        yield self._bar(shown, width)
        if shown.waits:
            yield _cropped(shown.waits, width, "yellow")
        yield from (_cropped(line, width, "dim") for line in wrapped(shown.parts, width))

    def _bar(self, shown: Shown, width: int) -> RenderableType:
        gap = 1 + (width > NARROW)
        words = fitting(self._words(shown), width, gap)
        spare = width - sum(map(len, words)) - gap * len(words)
        if not shown.total or spare < LEAST_BAR:
            return _cropped((" " * gap).join(words), width, "")
        line = Table.grid(padding=(0, gap, 0, 0))
        bar = ProgressBar(total=shown.total, completed=min(shown.done, shown.total), width=min(spare, MOST_BAR))
        line.add_row(Text(words[0]), bar, *map(Text, words[1:]))
        return line

    def _words(self, shown: Shown) -> list[tuple[int, str]]:
        """Return the words in order, each with its rank: if the line is short, the highest rank is dropped first."""
        total = f"/{shown.total:,}" if shown.total is not None else ""
        one = (shown.done if shown.total is None else shown.total) == 1
        words = [(0, f"{shown.done:,}{total} {shown.unit.removesuffix('s') if one else shown.unit}")]
        if shown.total:
            words.append((1, f"{min(100 * shown.done // shown.total, 100)}%"))
        if shown.unit not in (ROWS, HASHES):
            words.append((4, f"{shown.rows:,} row{'s' * (shown.rows != 1)}"))
        if shown.rate >= 1:
            words.append((3, f"{shown.rate:,.0f} rows/s"))
        if shown.size >= 50_000:
            words.append((5, f"{shown.size / 1e6:,.1f} MB"))
        if shown.retries:
            words.append((6, f"retries: {shown.retries:,}"))
        left = self.tasks[0].time_remaining
        if shown.total is None:
            words.append((2, f"for {in_words(shown.seconds)}"))
        elif left is not None and (100 * shown.done >= shown.total or shown.seconds >= UNSURE):
            words.append((2, f"{in_words(left)} left"))
        return words


def fitting(words: list[tuple[int, str]], width: int, gap: int) -> list[str]:
    """Return the words that fit a line beside a short bar, by their ranks, in their order.

    >>> fitting([(0, "5/9 heights"), (2, "7 rows"), (1, "55%")], 26, 2)
    ['5/9 heights', '55%']
    """
    kept: list[tuple[int, str]] = []
    used = LEAST_BAR
    for word in sorted(words):
        used += len(word[1]) + gap
        if kept and used > width:
            break
        kept.append(word)
    return [text for rank, text in words if (rank, text) in kept]


def wrapped(parts: Sequence[str], width: int) -> Iterator[str]:
    """Yield lines of parts in order, each with as many as fit.

    >>> list(wrapped(["ab", "cd", "ef"], 6))
    ['ab  cd', 'ef']
    """
    line = ""
    for part in parts:
        longer = f"{line}  {part}" if line else part
        if line and len(longer) > width:
            yield line
            longer = part
        line = longer
    if line:
        yield line


def in_words(seconds: float) -> str:
    """Return a duration in two units at most.

    >>> in_words(59), in_words(754), in_words(7500)
    ('59 s', '12 min 34 s', '2 h 5 min')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _cropped(text: str, width: int, style: str) -> Text:
    return Text(text[:width], style, no_wrap=True, overflow="crop")
