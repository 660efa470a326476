"""The loop of `--follow` by itself, without a service."""

import signal
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.fetching.tip import Tip
from chainq.process import signals
from chainq.process.progress import UNSEEN
from chainq.process.signals import Interrupted
from chainq.query import Query
from chainq.resume import follow
from chainq.resume.checkpoint import Position
from chainq.resume.settings import ResumeSettings


def test_a_swallowed_signal_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose signal was lost somewhere does not poll again, although no row comes that it could write."""
    polls: list[object] = []

    def sleep(_: float) -> None:
        assert len(polls) == 1
        with suppress(Interrupted):
            signals._on_signal(signal.SIGTERM, None)

    monkeypatch.setattr(signals._State, "ending", None)
    monkeypatch.setattr(time, "sleep", sleep)

    def tip(**_: bool) -> Tip:
        polls.append(1)
        return Tip(0, "", "", None)

    service = SimpleNamespace(blocks=SimpleNamespace(tip=tip))
    start = Position(0)
    journal = SimpleNamespace(
        position=start,
        last=None,
        reached=start,
        begin=lambda *_: "writer",
        checkpoint=None,
        succeeded=lambda *_: None,
        note_state=lambda: None,
    )
    rounds = SimpleNamespace(
        service=service,
        query=Query(BY_COMMAND["records"]),
        settings=ResumeSettings(follow=True),
        journal=journal,
        warn=lambda _: None,
        progress=UNSEEN,
        written=0,
        left=None,
        run=lambda *_: None,
    )
    loop = follow._Polls(cast("Any", rounds), lambda _: None)
    with pytest.raises(Interrupted):
        loop.run(cast("Any", None))
    assert len(polls) == 1
