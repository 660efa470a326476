"""SIGINT, SIGTERM and SIGHUP as an exception, deferred while rows are being written so that rows stay complete.

The process then ends by the signal itself (`die`), so that shells and cron see what happened.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

GRACE = 0.5  # seconds; a reader that takes no byte for so long after a signal has stalled
AFTER_IMPORT = 0.01  # seconds between two looks whether an import has ended
MAX_PERIODS = 10  # of GRACE, for a write under way whose reader is slow but does read


class Interrupted(BaseException):
    """A signal asks the run to end. `mid_write`: a write was broken off, perhaps in the middle of a row."""

    def __init__(self, number: int, mid_write: bool = False) -> None:
        super().__init__(signal.Signals(number).name)
        self.number, self.mid_write = number, mid_write


class PipeClosed(Exception):  # noqa: N818  # not an error: the reader has read enough
    """Nobody reads the output any more.

    Not a BrokenPipeError: Typer would catch that and exit with 1, where the shell expects SIGPIPE.
    """


class _State:
    deferring = False
    pending: int | None = None  # the signal that came meanwhile
    ending: int | None = None  # the signal that the run is ending by
    progress = False  # whether the reader took bytes since the last alarm
    periods = 0  # of GRACE since `pending` came


def _on_signal(number: int, frame: FrameType | None) -> None:
    # A second signal (an impatient Ctrl-C; timeout(1) sends each twice) changes nothing: a write has GRACE, or
    # MAX_PERIODS of it while its reader reads, and cleaning up has GRACE after that.
    if _State.ending is not None:
        signal.setitimer(signal.ITIMER_REAL, GRACE)
    elif not _State.deferring and not _importing(frame):
        raise _interrupted(number)
    elif _State.pending is None:
        _State.pending, _State.progress, _State.periods = number, False, 0
        signal.setitimer(signal.ITIMER_REAL, GRACE if _State.deferring else AFTER_IMPORT)


def _importing(frame: FrameType | None) -> bool:
    """Return whether the frame belongs to an import: modules turn an exception into another one, or are left half
    loaded by it, so that what follows fails in other ways."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _on_alarm(_: int, frame: FrameType | None) -> None:
    if _State.ending is not None:
        die(_State.ending)
    if _State.pending is None:
        return
    if not _State.deferring:  # the signal came during an import
        number, _State.pending = _State.pending, None
        _on_signal(number, frame)
    else:
        _State.periods += 1
        if not _State.progress or _State.periods == MAX_PERIODS:
            raise _interrupted(_State.pending, mid_write=True)
        _State.progress = False
        signal.setitimer(signal.ITIMER_REAL, GRACE)


def note_progress() -> None:
    """Note that the reader took some of the output, so that a write under way gets more time."""
    _State.progress = True


def _interrupted(number: int, mid_write: bool = False) -> Interrupted:
    _State.ending = number
    return Interrupted(number, mid_write)


def install() -> None:
    """Make the signals raise Interrupted in the main thread; those that are ignored (nohup, `&`) stay ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)
    signal.signal(signal.SIGALRM, _on_alarm)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer signals to the end of the block; one that comes meanwhile is raised there."""
    if (number := _taken()) is not None:  # it came during an import
        raise _interrupted(number)
    _State.deferring = True
    try:
        yield
    finally:
        _State.deferring = False
        number = _taken()
    if number is not None:
        raise _interrupted(number)


def _taken() -> int | None:
    """Return the pending signal, which is none then, and stop its alarm."""
    number, _State.pending = _State.pending, None
    if number is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return number


def die(number: int) -> NoReturn:
    """End the process by the signal."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})  # blocked by some parents; `pause` would then wait for ever
    os.kill(os.getpid(), number)
    signal.pause()  # another thread may take the signal
    raise SystemExit(128 + number)
