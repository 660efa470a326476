"""Faults of time, refusals and the envelope; none is on by default."""

import json
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from chainq.demo import service as services
from chainq.demo.faults import Faults
from chainq.demo.service import DemoTransport, Service
from harness.calls import fails, request
from harness.readings import readings
from harness.sample import CHAIN, ask, post, refusal


def test_the_rate_limit_counts_each_method_by_itself_and_ends_with_its_window() -> None:
    now = [0.0]
    service = Service(CHAIN, Faults("rate-limit:2", "rate-window:60.0"))
    service._memory.clock = lambda: now[0]
    latest = b'{"jsonrpc":"2.0","id":1,"method":"latest/block"}'
    assert [service.respond(latest).status for _ in range(4)] == [200, 200, 429, 429]
    reply = service.respond(latest)
    assert reply.body == b"Too many requests, please try again later"
    assert reply.content_type.startswith("text/html")
    assert not reply.headers
    assert ask(service, "block", block=5)
    now[0] = 60.0
    assert service.respond(latest).status == 200
    polite = Service(CHAIN, Faults("rate-limit:1", "retry-after:3"))
    polite.respond(latest)
    assert polite.respond(latest).headers == {"Retry-After": "3"}


@pytest.mark.parametrize("fault", ["fail-rate", "truncate-rate", "wrong-id-rate"])
def test_random_faults_hit_their_share_and_always_the_same_calls(fault: str) -> None:
    latest = b'{"jsonrpc":"2.0","id":1,"method":"latest/block"}'

    def hits(seed: int) -> list[bool]:
        service = Service(CHAIN, Faults(f"{fault}:0.3", f"seed:{seed}"))
        replies = [service.respond(latest) for _ in range(400)]
        return [r.status == 503 or r.cut or json.loads(r.body)["id"] != 1 for r in replies]

    assert 80 < sum(hits(0)) < 160
    assert hits(0) == hits(0) != hits(1)


def test_heavy_queries_time_out_and_narrower_ranges_succeed() -> None:
    service = Service(CHAIN, Faults("heavy-rows:100"))
    error = json.loads(post(service, "records/all", start=600, end=700))["error"]
    assert error == {"code": 0, "message": "Defined query timeout of 5000ms exceeded when running query."}
    assert ask(service, "records/all", start=600, end=605)
    assert refusal(service, "getBlocks", start=0, end=101) == 0
    assert len(ask(service, "getBlocks", start=0, end=100)) == 100
    assert len(ask(service, "records/all", start=777, end=778, recordsPerRequest=100)) == 100


def test_a_database_that_restarts_has_its_own_error_code() -> None:
    """The first calls get HTTP 200 and error "57P01", those after them their results."""
    service = Service(CHAIN, Faults("database-down:2"))
    codes = [json.loads(post(service, "block", block=5)).get("error", {}).get("code") for _ in range(4)]
    assert codes == ["57P01", "57P01", None, None]


class FakeTime:
    """Stands for the module `time`: sleeping takes no time, and is counted."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    made = FakeTime()
    monkeypatch.setattr(services, "time", made)
    return made


def test_a_slow_response_meets_the_deadline(clock: FakeTime) -> None:
    """In process a response that takes too long ends at the deadline, and one that does not arrives whole."""
    call = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "latest/block"})
    with fails("ReadTimeout"):
        DemoTransport(Service(CHAIN, Faults("latency:60"))).call(request(call, clock.now + 0.25))
    assert clock.now == 1_000.25
    quick = DemoTransport(Service(CHAIN, Faults("latency:0.001")))
    assert json.loads(quick.call(request(call, clock.now + 60)).body)["id"] == 1
    assert clock.now == pytest.approx(1_000.251)


def test_other_words_are_refused(golden: Callable[[Path, str], None]) -> None:
    """What names no fault, or a value that it cannot have."""
    file = Path(__file__).parent / "faults.txt"
    golden(file, readings(file, lambda text: Faults("row-cap:5", text), ValueError))
