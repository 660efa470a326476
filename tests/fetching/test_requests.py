"""What is requested: how much at a time, how far ahead, and in which dialect."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest
from msgspec import Raw

from chainq import Client
from chainq.catalog.methods import BY_COMMAND
from chainq.config import dialect_cache
from chainq.demo.chain import Chain
from chainq.demo.registry import Reply
from chainq.demo.service import DemoTransport, SampleService
from chainq.errors import GatewayError
from chainq.fetching.calls import Calls, ServiceDialect
from chainq.fetching.pages import _ReadAhead
from chainq.fetching.service import Service
from chainq.fetching.witness import Witness
from chainq.heights.range import HeightRange
from chainq.options import ServiceOptions
from chainq.planning.page_plan import PageRequest
from chainq.query import Query
from chainq.transport.base import ExchangeError, Request, Response
from chainq.transport.connection import Connection

LONGEST = 30  # seconds until a call that does not come fails the test
URL = "http://service.invalid/"
Seen = Callable[[str, dict[str, Any]], None]
Watch = Callable[[Seen], None]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Has a function see the method and the parameters of each request to the sample chain, before it responds."""
    answer = DemoTransport.call

    def watched(seen: Seen) -> None:
        def call(self: DemoTransport, request: Request) -> Response:
            sent = json.loads(request.body)
            seen(sent["method"], sent.get("params", {}))
            return answer(self, request)

        monkeypatch.setattr(DemoTransport, "call", call)

    return watched


def test_the_next_range_does_not_begin_with_short_requests(watch: Watch) -> None:
    """Full blocks of 1,000 heights, at about 30 KB each: four requests of 8 MB, after those of the first range grew."""
    calls: list[str] = []
    watch(lambda method, _: calls.append(method))
    query = Query(BY_COMMAND["full-blocks"])
    with Service(ServiceOptions(url="demo:")) as service:
        assert sum(len(batch.rows) for batch in service.fetch_range(query, HeightRange(1000, 2000))) == 1000
        first = calls.count("getChainBlocks")
        assert sum(len(batch.rows) for batch in service.fetch_range(query, HeightRange(2000, 3000))) == 1000
    assert calls.count("getChainBlocks") - first < min(first, 6)


@pytest.mark.parametrize("limit", [None, 20])
def test_the_next_rows_are_requested_while_the_first_ones_are_used(limit: int | None, watch: Watch) -> None:
    """A table takes as long to draw as the service takes to respond. With a limit nothing is that may not be needed."""
    later = threading.Event()
    watch(lambda _, params: later.set() if params.get("start", 0) > 400 else None)
    with Client("demo:") as client:
        rows = client.records(0, 6_000, limit=limit)
        assert len([*islice(rows, limit or 1)]) == limit or later.wait(LONGEST)
    assert later.is_set() == (limit is None)


@pytest.mark.parametrize(
    ("read", "too_much"),
    [
        (lambda client: client.records(600, 700), lambda params: params.get("end", 0) - params.get("start", 0) > 30),
        (
            lambda client: islice(client.program_transactions("credits.aleo", "mint"), 300),
            lambda params: params.get("maxTransactions", 0) > 40,
        ),
    ],
    ids=["range", "page"],
)
def test_what_times_out_is_divided(
    read: Callable[[Client], Any], too_much: Callable[[Any], bool], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a query that is too heavy is: after one retry less is asked for, and all rows come."""
    monkeypatch.setattr("chainq.transport.attempts.random.uniform", lambda *_: 0.0)
    timed_out: Counter[str] = Counter()

    def slow(_: str, params: dict[str, Any]) -> None:
        if too_much(params):
            timed_out[str(params)] += 1
            raise ExchangeError("ReadTimeout")

    with Client("demo:", dialect="chain") as client:
        due = list(read(client))
        watch(slow)
        assert list(read(client)) == due
    assert set(timed_out.values()) == {2}


def test_threads_that_meet_an_unknown_name_all_get_full_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tries the names, the others wait; and what it finds is remembered for the next run."""
    remembered: dict[str, str] = {}
    monkeypatch.setattr(dialect_cache, "remember", remembered.__setitem__)
    monkeypatch.setattr(dialect_cache, "remembered", remembered.get)
    together = threading.Barrier(4)
    calls: list[bytes] = []

    class Aleo(SampleService):
        def respond(self, body: bytes) -> Reply:
            calls.append(body)
            return super().respond(body)

    transport = DemoTransport(Aleo(Chain(tip=1000), dialect="aleo"))
    with Connection(ServiceOptions(URL), transport=transport) as connection, ThreadPoolExecutor(4) as pool:
        dialect = ServiceDialect("auto", connection, URL)
        access = Calls(connection, dialect, ServiceOptions(URL), print, print, set())
        witness = Witness(access, BY_COMMAND["records"])

        def due(start: int) -> HeightRange:
            together.wait()
            return witness.due(HeightRange(start, start + 5)).heights

        assert list(pool.map(due, range(0, 20, 5))) == [HeightRange(start, start + 5) for start in range(0, 20, 5)]
    assert sum(b"getChainBlocks" in body for body in calls) == 1
    assert remembered == {URL: "aleo"}


def test_no_page_follows_a_failure_while_others_are_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller pages beside the larger ones would fail for their sake, and be sent again and again."""
    begun, released, ended = threading.Barrier(4), threading.Event(), list[int]()

    def send(number: int, _: int) -> list[Raw]:
        begun.wait(20)
        if number:
            released.wait(20)
            ended.append(number)
        raise GatewayError("Timeout acquiring a connection")

    pages = _ReadAhead(send, 4)
    wait, waits = pages.pool.wait, list[None]()

    def watched() -> tuple[tuple[int, int], object]:
        if waits:  # for more than the page that failed
            released.set()
        waits.append(None)
        return wait()

    monkeypatch.setattr(pages.pool, "wait", watched)
    try:
        with pytest.raises(GatewayError):
            pages.get(PageRequest(0, 500, 3))
        assert sorted(ended) == [1, 2, 3]
    finally:
        released.set()
        pages.pool.close()
