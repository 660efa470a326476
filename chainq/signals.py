"""SIGINT and SIGTERM as an exception, held back while rows are being written so that no row is cut.

The process ends by the signal itself (`die`), so that shells and cron see what happened.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

GRACE = 0.5  # seconds that a write under way may still take; a reader that has stalled must not hold us


class Interrupted(BaseException):
    """A signal asked the run to end. `cut`: a write had to be broken off, perhaps inside a row."""

    def __init__(self, number: int, cut: bool = False) -> None:
        super().__init__(signal.Signals(number).name)
        self.number, self.cut = number, cut


class PipeClosed(Exception):  # noqa: N818  # no error: the reader has had enough
    """Nobody reads the output any more.

    No BrokenPipeError: Typer would catch that and exit with 1, where the shell expects an end by SIGPIPE.
    """


class _State:
    holding = False
    pending: int | None = None


def _on_signal(number: int, _: FrameType | None) -> None:
    if _State.holding and _State.pending is None:
        _State.pending = number
        signal.setitimer(signal.ITIMER_REAL, GRACE)
    else:
        raise Interrupted(number, cut=_State.holding)


def _on_alarm(_: int, __: FrameType | None) -> None:
    if _State.holding and _State.pending is not None:
        raise Interrupted(_State.pending, cut=True)


def install() -> None:
    """Have SIGINT and SIGTERM raise Interrupted in the main thread; one that is ignored (nohup, `&`) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)
    signal.signal(signal.SIGALRM, _on_alarm)


@contextmanager
def held() -> Iterator[None]:
    """Hold signals back inside the block; one that came is raised at its end."""
    _State.holding = True
    try:
        yield
    finally:
        _State.holding = False
        number, _State.pending = _State.pending, None
        if number is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
    if number is not None:
        raise Interrupted(number)


def die(number: int) -> NoReturn:
    """End the process by that signal."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pause()  # another thread may take the signal
    raise SystemExit(128 + number)
