"""Ranges: what is under way while rows are used."""

import json
import threading

import pytest

from chainq import Client
from chainq.demo.service import DemoTransport
from chainq.transport.base import Request, Response

LONGEST = 30  # seconds until a call that does not come fails the test


@pytest.fixture
def later_call(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when the sample chain is asked for records behind the first chunk."""
    answer, seen = DemoTransport.call, threading.Event()

    def call(self: DemoTransport, request: Request) -> Response:
        if json.loads(request.body).get("params", {}).get("start", 0) > 400:
            seen.set()
        return answer(self, request)

    monkeypatch.setattr(DemoTransport, "call", call)
    return seen


def test_the_next_rows_are_requested_while_the_first_ones_are_used(later_call: threading.Event) -> None:
    """A table takes as long to draw as the service takes to respond."""
    with Client("demo:") as client:
        next(iter(client.records(0, 6_000)))
        assert later_call.wait(LONGEST)


def test_with_a_limit_nothing_is_requested_that_may_not_be_needed(later_call: threading.Event) -> None:
    """Each call is one of few that a service allows."""
    with Client("demo:") as client:
        rows = list(client.records(0, 6_000, limit=20))
    assert len(rows) == 20
    assert not later_call.is_set()
