"""SIGINT, SIGTERM, SIGHUP and the end of a run's time as an exception.

It is deferred while rows are being made and written, so that rows stay complete; only a write whose reader has
stalled is broken off, and a write to a regular file only by a second signal, seconds later.

Python drops an exception that is raised while a generator or an object is being deallocated. A signal whose exception
is dropped is raised again a moment later (`_on_unraisable`); and one that other code swallowed is raised at the next
write or poll (`raise_if_ending`). So no signal is lost.

The process then ends by the signal itself (`die`), so that shells and cron see what happened.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from chainq import errors

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

GRACE = 0.5  # seconds; a reader that takes no byte for so long after a signal has stalled
MOMENT = 0.01  # seconds until a signal that came during an import, or whose exception was dropped, is raised again
TICK = 0.2  # seconds of processor time between looks at the clock of a run that has a time to end
OVERDUE = signal.SIGVTALRM
PIPE = signal.SIGPIPE
STOPPED = "stopped by "  # begins the message of a run that a signal stopped; its name follows
MAX_PERIODS = 10  # of GRACE, for a write under way whose reader is slow but does read


class Interrupted(BaseException):
    """A signal asks the run to end; its text says which, or that the time of the run is over. `mid_write`: a write was
    broken off, perhaps in the middle of a row."""

    def __init__(self, number: int, mid_write: bool = False) -> None:
        super().__init__(
            errors.overdue(_State.limit) if number == OVERDUE else f"{STOPPED}{signal.Signals(number).name}"
        )
        self.number, self.mid_write = number, mid_write


class PipeClosed(Exception):  # noqa: N818  # not an error: the reader has read enough
    """Nobody reads the output any more.

    Not a BrokenPipeError: Typer would catch that and exit with 1, but the shell expects SIGPIPE.
    """


class _State:
    deferring = False
    pending: int | None = None  # the signal that came meanwhile
    insisted = False  # whether another one came while it was pending
    ending: int | None = None  # the signal that the run is ending by
    awaiting = False  # a reader that takes what is written
    progress = False  # whether the reader took bytes since the last alarm
    periods = 0  # of GRACE since `pending` came
    limit = ""  # of the run's time, as the user wrote it


def _on_signal(number: int, frame: FrameType | None) -> None:
    # A second signal (an impatient Ctrl-C; timeout(1) sends each twice) always ends the run, but not at once: a write
    # has GRACE, or MAX_PERIODS of it while its reader reads or if it is to a file, and cleaning up has GRACE.
    if _State.ending is not None:
        signal.setitimer(signal.ITIMER_REAL, GRACE)
    elif not _State.deferring and not _importing(frame):
        raise _interrupted(number)
    elif _State.pending is None:
        _postpone(number, GRACE if _State.deferring else MOMENT)
    else:
        _State.insisted = True


def _postpone(number: int, seconds: float) -> None:
    """Keep the signal pending; the alarm looks after it in so many seconds."""
    _State.pending, _State.insisted, _State.progress, _State.periods = number, False, False, 0
    signal.setitimer(signal.ITIMER_REAL, seconds)


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
    if not _State.deferring:  # the signal came during an import, or its exception was dropped
        number, _State.pending = _State.pending, None
        _on_signal(number, frame)
    else:
        _State.periods += 1
        late = _State.periods >= MAX_PERIODS
        if _State.awaiting and (late or not _State.progress):
            raise _interrupted(_State.pending, mid_write=True)
        if _State.insisted and late:
            die(_State.pending)
        _State.progress = False
        signal.setitimer(signal.ITIMER_REAL, GRACE)


@contextmanager
def awaiting_reader() -> Iterator[None]:
    """Break off the write in this block if a signal came and the reader stalls (GRACE, MAX_PERIODS)."""
    _State.awaiting = _State.progress = True
    try:
        yield
    finally:
        _State.awaiting = False


def note_progress() -> None:
    """Record that the reader took some of the output, so a write in progress gets more time."""
    _State.progress = True


def _on_unraisable(dropped: "UnraisableHookArgs") -> None:
    """Postpone a signal whose exception Python drops; print other exceptions as usual."""
    if isinstance(dropped.exc_value, Interrupted):
        _State.ending = None
        _postpone(dropped.exc_value.number, MOMENT)
    else:
        sys.__unraisablehook__(dropped)


def _interrupted(number: int, mid_write: bool = False) -> Interrupted:
    _taken()
    _State.ending = number
    return Interrupted(number, mid_write)


def install() -> None:
    """Make the signals raise Interrupted in the main thread; those that are ignored (nohup, `&`) stay ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)
    signal.signal(signal.SIGALRM, _on_alarm)
    sys.unraisablehook = _on_unraisable


def end_at(until: float, limit: str) -> float:
    """Return the time, of time.monotonic; raise Interrupted by OVERDUE if the main thread still computes after it.
    `limit`: the duration as the user wrote it.

    Waiting for a service ends by itself then (`transport.connection`), and is given GRACE to. This is for what takes
    long between requests: a thread ends waits for other threads and processes, such as those of a query. While the
    main thread computes, as for an expression of `--where`, no other thread may get its turn, but the timer does.
    """
    import threading

    def on_tick(number: int, frame: FrameType | None) -> None:
        if _State.ending is None and time.monotonic() > until + GRACE:
            _on_signal(number, frame)

    def end_waiting() -> None:
        signal.siginterrupt(OVERDUE, True)
        signal.pthread_kill(main, OVERDUE)

    _State.limit = limit
    signal.signal(OVERDUE, on_tick)
    signal.siginterrupt(OVERDUE, False)  # ticks must not interrupt libraries in other threads
    signal.setitimer(signal.ITIMER_VIRTUAL, TICK, TICK)
    main = threading.get_ident()
    late = threading.Timer(min(until + 2 * GRACE - time.monotonic(), threading.TIMEOUT_MAX), end_waiting)
    late.daemon = True
    late.start()
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
        number = _taken()
    if number is not None:
        raise _interrupted(number)


def _taken() -> int | None:
    """Return and clear the pending signal, and stop its alarm."""
    number, _State.pending = _State.pending, None
    if number is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return number


def die(number: int) -> NoReturn:
    """End the process by the signal; if it does not take, as for process 1 of a container, with 128 + its number."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})  # blocked by some parents
    os.kill(os.getpid(), number)
    if os.getpid() > 1:
        time.sleep(GRACE)  # another thread may take the signal
    os._exit(128 + number)
