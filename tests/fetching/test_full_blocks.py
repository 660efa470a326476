"""The names of the full-block method, tried by several threads at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.config import dialect_cache
from chainq.demo.chain import Chain
from chainq.demo.registry import Reply
from chainq.demo.service import DemoTransport, Service
from chainq.fetching.calls import Calls, ServiceDialect
from chainq.fetching.witness import Witness
from chainq.heights.range import HeightRange
from chainq.transport.base import ServiceOptions
from chainq.transport.connection import Connection

URL = "http://service.invalid/"


def test_threads_that_meet_an_unknown_name_all_get_full_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tries the names, the others wait; and what it finds is remembered for the next run."""
    remembered: dict[str, str] = {}
    monkeypatch.setattr(dialect_cache, "remember", remembered.__setitem__)
    monkeypatch.setattr(dialect_cache, "remembered", remembered.get)
    together = threading.Barrier(4)
    calls: list[bytes] = []

    class Aleo(Service):
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
