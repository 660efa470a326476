"""Signals during a write, and signals whose exception is lost. The tests ring the alarm themselves; no time passes."""

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from chainq.process import signals
from chainq.process.signals import Interrupted, awaiting_reader, raise_if_ending, signals_deferred
from harness.program import LONGEST


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No timer runs, and each test starts with no signal pending."""
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    for name, value in (
        ("deferring", False),
        ("pending", None),
        ("insisted", False),
        ("ending", None),
        ("awaiting", False),
        ("progress", False),
        ("periods", 0),
    ):
        monkeypatch.setattr(signals._State, name, value)


def write_under_signal(alarms: int, *, reading: bool, to_file: bool = False) -> None:
    """Write while a signal is pending and the alarm rings `alarms` times; the reader reads before each, or not."""
    with signals_deferred(), nullcontext() if to_file else awaiting_reader():
        signals._on_signal(signal.SIGTERM, None)
        for _ in range(alarms):
            if reading:
                signals.note_progress()
            signals._on_alarm(signal.SIGALRM, None)


def test_rows_for_a_file_are_finished() -> None:
    """What takes long there is to make the rows, or a slow disk: the signal is raised after they count."""
    with pytest.raises(Interrupted) as caught:
        write_under_signal(signals.MAX_PERIODS, reading=False, to_file=True)
    assert not caught.value.mid_write


@pytest.mark.parametrize(("alarms", "ended"), [(signals.MAX_PERIODS - 1, []), (signals.MAX_PERIODS, [signal.SIGTERM])])
def test_a_second_signal_ends_what_does_not_end(monkeypatch: pytest.MonkeyPatch, alarms: int, ended: list[int]) -> None:
    """Such as a write to a file system that hangs."""
    deaths: list[int] = []
    monkeypatch.setattr(signals, "die", deaths.append)
    with pytest.raises(Interrupted), signals_deferred():
        signals._on_signal(signal.SIGTERM, None)
        signals._on_signal(signal.SIGTERM, None)
        for _ in range(alarms):
            signals._on_alarm(signal.SIGALRM, None)
    assert deaths == ended


def test_a_slow_reader_is_waited_for() -> None:
    """While the reader reads, the write is finished; the signal is raised after it, and rows are complete."""
    with pytest.raises(Interrupted) as caught:
        write_under_signal(signals.MAX_PERIODS - 1, reading=True)
    assert not caught.value.mid_write


@pytest.mark.parametrize(("alarms", "reading"), [(1, False), (signals.MAX_PERIODS, True)])
def test_a_stalled_or_endless_reader_is_not_waited_for(alarms: int, reading: bool) -> None:
    """The write is broken off for a reader that reads nothing, or has not finished after MAX_PERIODS."""
    with pytest.raises(Interrupted) as caught:
        write_under_signal(alarms, reading=reading)
    assert caught.value.mid_write


@pytest.mark.parametrize("step", [raise_if_ending, lambda: signals_deferred().__enter__()], ids=["poll", "write"])
def test_a_swallowed_signal_is_raised_at_the_next_step(step: Callable[[], object]) -> None:
    """Code that swallows the exception, whatever its reason, does not keep the run going."""
    with pytest.raises(Interrupted):
        signals._on_signal(signal.SIGTERM, None)
    with pytest.raises(Interrupted) as caught:
        step()
    assert caught.value.number == signal.SIGTERM


def test_an_early_signal_leaves_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The alarm of a signal that was pending is stopped when it is raised: it would end the run during its cleanup."""
    timers: list[float] = []
    monkeypatch.setattr(signal, "setitimer", lambda _, seconds: timers.append(seconds))
    monkeypatch.setattr(signals, "_importing", lambda _: True)
    signals._on_signal(signal.SIGTERM, None)
    monkeypatch.setattr(signals, "_importing", lambda _: False)
    with pytest.raises(Interrupted):
        signals._on_signal(signal.SIGTERM, None)
    assert timers == [signals.MOMENT, 0]


DROPPED = """
import os, signal
from chainq.process import signals

def rows():
    try:
        yield
    finally:
        os.kill(os.getpid(), signal.SIGTERM)  # Python drops what is raised here when the generator is deallocated

signals.install()
try:
    for _ in rows():
        break
    while True:
        signal.pause()
except signals.Interrupted as stop:
    signals.die(stop.number)
"""


def test_a_signal_is_not_lost_while_a_generator_is_closed() -> None:
    """The exception that Python drops is raised again, also where nothing is polled or written, and stderr is quiet."""
    ran = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, timeout=LONGEST, check=False)
    assert (ran.returncode, ran.stderr) == (-signal.SIGTERM, b"")


def test_other_dropped_exceptions_are_printed() -> None:
    """The hook that catches dropped signals hides no bug."""
    code = "from chainq.process import signals\nsignals.install()\nclass Bad:\n def __del__(self): 1 / 0\nBad()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=LONGEST, check=False)
    assert b"ZeroDivisionError" in ran.stderr
