"""The loop of `--follow`, where a signal is lost."""

import signal
import time
from contextlib import suppress

import pytest

from chainq.process import signals
from chainq.process.signals import Interrupted
from harness.program import Program
from harness.services import Moving, Serve


def test_a_swallowed_signal_ends_it(chainq: Program, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose signal was lost somewhere does not poll again, although no row comes that it could write."""
    service = Moving(5)

    def sleep(_: float) -> None:
        assert signals._State.ending is None
        with suppress(Interrupted):
            signals._on_signal(signal.SIGTERM, None)

    monkeypatch.setattr(signals._State, "ending", None)
    monkeypatch.setattr(time, "sleep", sleep)
    ran = chainq("blocks", "--start", "6", "--follow", "--lag", "0", url=serve(service))
    assert (ran.code, ran.out) == (-signal.SIGTERM, b"")
    assert service.calls == ["latest/block"]
