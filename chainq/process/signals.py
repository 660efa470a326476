"""SIGINT, SIGTERM, SIGHUP and the end of a run's time as an exception.

It is deferred while rows are being made and written, so that rows stay complete; only a write whose reader takes
longer is broken off, and a write to a regular file only by a second signal.

Python drops an exception that is raised while a generator or an object is being deallocated, and other code may swallow
it. It is raised again at the next write or poll (`raise_if_ending`).

The process then ends by the signal itself (`die`), so that shells and cron see what happened.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from chainq import errors

GRACE = 0.5  # seconds for cleaning up, and for computing once the time of a run is over
READER = 3.0  # seconds for a write under way after a signal: a slow reader takes the rest in them, others have stalled
MOMENT = 0.01  # seconds until a signal that came during an import is raised
OVERDUE = signal.SIGALRM
PIPE = signal.SIGPIPE


class Interrupted(BaseException):
    """A signal asks the run to end; its text says which, or that the time of the run is over. `mid_write`: a write was
    broken off, perhaps in the middle of a row."""

    def __init__(self, number: int, mid_write: bool = False) -> None:
        stopped = f"stopped by {signal.Signals(number).name}"
        super().__init__(errors.overdue(_State.limit) if number == OVERDUE else stopped)
        self.number, self.mid_write = number, mid_write


class PipeClosed(Exception):  # noqa: N818  # not an error: the reader has read enough
    """Nobody reads the output any more.

    Not a BrokenPipeError: Typer would catch that and exit with 1, but the shell expects SIGPIPE.
    """


class _State:
    deferring = False
    pending: int | None = None  # the signal that came meanwhile
    ending: int | None = None  # the signal that the run is ending by, or must end by if another one came meanwhile
    awaiting = False  # a reader that takes what is written
    limit = ""  # of the run's time, as the user wrote it


def _on_signal(number: int, frame: FrameType | None) -> None:
    # A second signal (an impatient Ctrl-C; timeout(1) sends each twice) always ends the run, but not at once.
    if _State.ending is not None:
        signal.setitimer(signal.ITIMER_REAL, GRACE)
    elif not _State.deferring and not _importing(frame):
        raise _interrupted(number)
    elif _State.pending is None:
        _State.pending = number
        signal.setitimer(signal.ITIMER_REAL, READER if _State.deferring else MOMENT)
    else:
        _State.ending = _State.pending


def _importing(frame: FrameType | None) -> bool:
    """Return whether the frame belongs to an import: modules turn an exception into another one, or are left half
    loaded by it, so that what follows fails in other ways."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _on_alarm(_: int, frame: FrameType | None) -> None:
    if _State.awaiting and _State.pending is not None:
        raise _interrupted(_State.pending, mid_write=True)
    if _State.ending is not None:
        die(_State.ending)
    if _State.pending is None:  # the time of the run is over
        _on_signal(OVERDUE, frame)
    elif not _State.deferring:  # the signal came during an import
        number, _State.pending = _State.pending, None
        _on_signal(number, frame)
    else:
        signal.setitimer(signal.ITIMER_REAL, READER)


@contextmanager
def awaiting_reader() -> Iterator[None]:
    """Break off the write in this block if a signal came and the reader takes longer than READER."""
    _State.awaiting = True
    try:
        yield
    finally:
        _State.awaiting = False


def _interrupted(number: int, mid_write: bool = False) -> Interrupted:
    signal.setitimer(signal.ITIMER_REAL, 0)  # or it would end the process while it cleans up
    _State.pending, _State.ending = None, number
    return Interrupted(number, mid_write)


def install() -> None:
    """Make the signals raise Interrupted in the main thread; those that are ignored (nohup, `&`) stay ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)
    signal.signal(signal.SIGALRM, _on_alarm)


def end_at(until: float, limit: str) -> float:
    """Return the time, of time.monotonic; raise Interrupted by OVERDUE if the main thread still computes after it.
    `limit`: the duration as the user wrote it.

    Waiting for a service ends by itself then (`transport.connection`), and is given GRACE to. This is for what takes
    long between requests.
    """
    _State.limit = limit
    signal.setitimer(signal.ITIMER_REAL, min(max(until + GRACE - time.monotonic(), MOMENT), 1e9))
    return until


def raise_if_ending() -> None:
    """Raise Interrupted if a signal came before: one that is pending, or whose exception was swallowed.

    Called if nothing is being cleaned up yet: before each write and each poll.
    """
    number = _State.pending if _State.ending is None else _State.ending
    if number is not None:
        raise _interrupted(number)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer signals to the end of the block; one that comes meanwhile is raised there, an earlier one at once."""
    raise_if_ending()
    _State.deferring = True
    try:
        yield
    finally:
        _State.deferring = False
    raise_if_ending()


def die(number: int) -> NoReturn:
    """End the process by the signal; if it does not take, as for process 1 of a container, with 128 + its number."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})  # blocked by some parents
    os.kill(os.getpid(), number)
    if os.getpid() > 1:
        time.sleep(GRACE)  # another thread may take the signal
    os._exit(128 + number)
