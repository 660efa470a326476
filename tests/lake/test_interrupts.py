"""What the Database of `chainq sql` does with a signal at any moment of a query."""

import time
from typing import Any

import pytest

pytest.importorskip("duckdb")
from chainq.lake.sql import Database  # after the package that may be missing
from chainq.process.signals import GRACE


class Stop(BaseException):
    """As a signal handler raises it."""


@pytest.mark.parametrize("taken", [True, False], ids=["after its result was taken", "before"])
def test_a_signal_while_a_query_runs(monkeypatch: pytest.MonkeyPatch, taken: bool) -> None:
    """It is raised, and the next query has its own result."""
    with Database() as database:
        wait = database._pool.wait

        def interrupted(*given: Any) -> Any:
            monkeypatch.setattr(database._pool, "wait", lambda *_: pytest.fail("waits for what was taken"))
            if taken:
                wait(*given)
            raise Stop

        monkeypatch.setattr(database._pool, "wait", interrupted)
        with pytest.raises(Stop):
            database._interruptible(lambda: 1)
        assert database._interruptible(lambda: 2) == 2


def test_a_query_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not look at interrupts, as while DuckDB parses it, keeps nobody for longer than GRACE."""
    monkeypatch.setattr(time, "monotonic", iter(range(100)).__next__)  # a second for each look at it
    assert GRACE < 1
    release: list[bool] = []

    def endless() -> None:
        while not release:
            time.sleep(0.001)

    def interrupted() -> Any:
        raise Stop

    with Database() as database:
        monkeypatch.setattr(database._pool, "wait", interrupted)
        with pytest.raises(Stop):
            database._interruptible(endless)
        assert database._abandoned  # or closing would wait for it
    release.append(True)
