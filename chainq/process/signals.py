"""SIGINT, SIGTERM and SIGHUP as an exception, held back while rows are being written so that no row is cut.

The process ends by the signal itself (`die`), so that shells and cron see what happened.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

GRACE = 0.5  # seconds without a byte taken after which a reader has stalled: it must not hold us
PERIODS = 10  # of GRACE that a slow reader gets for a write under way


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
    ending: int | None = None  # the signal that the run is ending by
    moving = False  # whether output went on since the last look
    periods = 0  # of GRACE since the signal that is pending


def _on_signal(number: int, _: FrameType | None) -> None:
    # A second signal (an impatient Ctrl-C; timeout(1) sends each twice) hurries nothing: a write has GRACE, or PERIODS
    # of it while its reader goes on, and then the cleaning up has GRACE.
    if _State.ending is not None:
        signal.setitimer(signal.ITIMER_REAL, GRACE)
    elif not _State.holding:
        raise _interrupted(number)
    elif _State.pending is None:
        _State.pending, _State.moving, _State.periods = number, False, 0
        signal.setitimer(signal.ITIMER_REAL, GRACE)


def _on_alarm(_: int, __: FrameType | None) -> None:
    if _State.ending is not None:
        die(_State.ending)
    if _State.holding and _State.pending is not None:
        _State.periods += 1
        if not _State.moving or _State.periods == PERIODS:
            raise _interrupted(_State.pending, cut=True)
        _State.moving = False
        signal.setitimer(signal.ITIMER_REAL, GRACE)


def moved() -> None:
    """Take note that the reader took some of the output."""
    _State.moving = True


def _interrupted(number: int, cut: bool = False) -> Interrupted:
    _State.ending = number
    return Interrupted(number, cut)


def install() -> None:
    """Have these signals raise Interrupted in the main thread; one that is ignored (nohup, `&`) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
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
        raise _interrupted(number)


def die(number: int) -> NoReturn:
    """End the process by that signal."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})  # a parent may have blocked it; `pause` would wait for ever
    os.kill(os.getpid(), number)
    signal.pause()  # another thread may take the signal
    raise SystemExit(128 + number)
