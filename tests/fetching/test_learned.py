"""What a range of a method learns sets the lengths of requests for the next one, as in one long range."""

import json

import pytest

from chainq.catalog.methods import BY_COMMAND
from chainq.demo.service import DemoTransport
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.query import Query
from chainq.transport.base import Request, Response, ServiceOptions


def test_the_next_range_does_not_begin_with_short_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full blocks of 1,000 heights, at about 30 KB each: four requests of 8 MB, after those of the first range grew."""
    calls: list[str] = []
    answer = DemoTransport.call

    def call(self: DemoTransport, request: Request) -> Response:
        calls.append(json.loads(request.body)["method"])
        return answer(self, request)

    monkeypatch.setattr(DemoTransport, "call", call)
    query = Query(BY_COMMAND["full-blocks"])
    with Service(ServiceOptions(url="demo:")) as service:
        assert sum(len(batch.rows) for batch in service.fetch_range(query, HeightRange(1000, 2000))) == 1000
        first = calls.count("getChainBlocks")
        assert sum(len(batch.rows) for batch in service.fetch_range(query, HeightRange(2000, 3000))) == 1000
    assert calls.count("getChainBlocks") - first < first
    assert calls.count("getChainBlocks") - first <= 5
