"""Signals while rows are written: who is waited for, and who is not. The alarm is rung by the test; no time passes."""

import signal

import pytest

from chainq.process import signals
from chainq.process.signals import Interrupted, held


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No timer runs, and each test begins with nothing under way."""
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    for name, value in (("holding", False), ("pending", None), ("ending", None), ("moving", False), ("periods", 0)):
        monkeypatch.setattr(signals._State, name, value)


def rung(times: int, *, moving: bool) -> None:
    """Write under a signal while the alarm rings so often, the reader taking something before each or nothing."""
    with held():
        signals._on_signal(signal.SIGTERM, None)
        for _ in range(times):
            if moving:
                signals.moved()
            signals._on_alarm(signal.SIGALRM, None)


def test_a_slow_reader_is_waited_for() -> None:
    """While the reader goes on, the write is finished: the signal is raised at its end, and no row is cut."""
    with pytest.raises(Interrupted) as caught:
        rung(signals.PERIODS - 1, moving=True)
    assert not caught.value.cut


@pytest.mark.parametrize(("times", "moving"), [(1, False), (signals.PERIODS, True)])
def test_a_reader_that_stalls_or_never_ends_is_not(times: int, moving: bool) -> None:
    """One that takes nothing, or is not done after so many periods, does not hold the run: the write is broken off."""
    with pytest.raises(Interrupted) as caught:
        rung(times, moving=moving)
    assert caught.value.cut
