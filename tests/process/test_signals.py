"""Signals during a write: how long a reader is waited for. The tests ring the alarm themselves; no time passes."""

import signal

import pytest

from chainq.process import signals
from chainq.process.signals import Interrupted, signals_deferred


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No timer runs, and each test starts with no signal pending."""
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    for name, value in (
        ("deferring", False),
        ("pending", None),
        ("ending", None),
        ("progress", False),
        ("periods", 0),
    ):
        monkeypatch.setattr(signals._State, name, value)


def write_under_signal(alarms: int, *, reading: bool) -> None:
    """Write while a signal is pending and the alarm rings `alarms` times; the reader reads before each, or not."""
    with signals_deferred():
        signals._on_signal(signal.SIGTERM, None)
        for _ in range(alarms):
            if reading:
                signals.note_progress()
            signals._on_alarm(signal.SIGALRM, None)


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
