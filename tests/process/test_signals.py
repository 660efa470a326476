"""Signals during a write, and signals that code swallows. The tests ring the alarm themselves; no time passes."""

import signal
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from chainq.process import signals
from chainq.process.signals import Interrupted, awaiting_reader, raise_if_ending, signals_deferred


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No timer runs, and each test starts with no signal pending."""
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    for name, value in (
        ("deferring", False),
        ("pending", None),
        ("ending", None),
        ("awaiting", False),
    ):
        monkeypatch.setattr(signals._State, name, value)


def write_under_signal(alarms: int, *, to_file: bool = False, signals_sent: int = 1) -> None:
    """Write while a signal is pending and the alarm rings `alarms` times."""
    with signals_deferred(), nullcontext() if to_file else awaiting_reader():
        for _ in range(signals_sent):
            signals._on_signal(signal.SIGTERM, None)
        for _ in range(alarms):
            signals._on_alarm(signal.SIGALRM, None)


@pytest.mark.parametrize(("alarms", "to_file"), [(9, True), (0, False)])
def test_rows_are_finished(alarms: int, to_file: bool) -> None:
    """For a file, what takes long is to make the rows, or a slow disk; a reader may take the rest until the alarm."""
    with pytest.raises(Interrupted) as caught:
        write_under_signal(alarms, to_file=to_file)
    assert not caught.value.mid_write


def test_a_second_signal_ends_what_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a write to a file system that hangs."""
    deaths: list[int] = []
    monkeypatch.setattr(signals, "die", deaths.append)
    for alarms in (0, 1):
        with pytest.raises(Interrupted):
            write_under_signal(alarms, to_file=True, signals_sent=2)
        assert deaths == [signal.SIGTERM] * alarms
        signals._State.ending = None


def test_a_reader_that_takes_too_long_is_not_waited_for() -> None:
    """The write is broken off."""
    with pytest.raises(Interrupted) as caught:
        write_under_signal(1)
    assert caught.value.mid_write


def test_the_time_of_a_run_is_over() -> None:
    """An alarm without a signal is the end of the run's time; a write is finished before."""
    with pytest.raises(Interrupted, match="--deadline"):
        signals._on_alarm(signal.SIGALRM, None)
    signals._State.ending = None
    finished = False
    with pytest.raises(Interrupted, match="--deadline"), signals_deferred():
        signals._on_alarm(signal.SIGALRM, None)
        finished = True
    assert finished


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
