"""Services that are too slow for what is asked of them: after one retry less is asked of them, and all rows come."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import islice

import pytest

from chainq import Client
from chainq.demo.service import DemoTransport
from chainq.transport.base import ExchangeError, Request, Response

Slow = Callable[[dict[str, int]], bool]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[Slow], Counter[str]]:
    """Has the sample chain never answer calls that are too much; returns how often each of them was made."""
    monkeypatch.setattr("chainq.transport.attempts.random.uniform", lambda *_: 0.0)
    answer = DemoTransport.call

    def slow(too_much: Slow) -> Counter[str]:
        timed_out: Counter[str] = Counter()

        def call(self: DemoTransport, request: Request) -> Response:
            params = json.loads(request.body).get("params", {})
            if too_much(params):
                timed_out[str(params)] += 1
                raise ExchangeError("ReadTimeout")
            return answer(self, request)

        monkeypatch.setattr(DemoTransport, "call", call)
        return timed_out

    return slow


def test_a_range_that_times_out_is_divided(slow: Callable[[Slow], Counter[str]]) -> None:
    """As a query that is too heavy is."""
    with Client("demo:", dialect="chain") as client:
        due = [row["id"] for row in client.records(600, 700)]
        timed_out = slow(lambda params: params.get("end", 0) - params.get("start", 0) > 30)
        assert [row["id"] for row in client.records(600, 700)] == due
    assert set(timed_out.values()) == {2}


def test_a_page_that_times_out_is_asked_for_smaller(slow: Callable[[Slow], Counter[str]]) -> None:
    """Until the service can bear it."""
    with Client("demo:", dialect="chain") as client:
        due = [row["transaction"]["id"] for row in islice(client.program_transactions("credits.aleo", "mint"), 300)]
        timed_out = slow(lambda params: params.get("maxTransactions", 0) > 40)
        rows = islice(client.program_transactions("credits.aleo", "mint"), 300)
        assert [row["transaction"]["id"] for row in rows] == due
    assert set(timed_out.values()) == {2}
