"""Faults of time, refusals and the envelope; none is on by default."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from chainq.demo.faults import Faults
from chainq.demo.service import SampleService
from harness.models.readings import readings
from harness.running.sample import CHAIN, ask


def test_the_rate_limit_counts_each_method_by_itself_and_ends_with_its_window() -> None:
    now = [0.0]
    service = SampleService(CHAIN, Faults("rate-limit:2", "rate-window:60.0"))
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
    polite = SampleService(CHAIN, Faults("rate-limit:1", "retry-after:3"))
    polite.respond(latest)
    assert polite.respond(latest).headers == {"Retry-After": "3"}


@pytest.mark.parametrize("fault", ["fail-rate", "truncate-rate", "wrong-id-rate"])
def test_random_faults_hit_their_share_and_always_the_same_calls(fault: str) -> None:
    latest = b'{"jsonrpc":"2.0","id":1,"method":"latest/block"}'

    def hits(seed: int) -> list[bool]:
        service = SampleService(CHAIN, Faults(f"{fault}:0.3", f"seed:{seed}"))
        replies = [service.respond(latest) for _ in range(400)]
        return [r.status == 503 or r.cut or json.loads(r.body)["id"] != 1 for r in replies]

    assert 80 < sum(hits(0)) < 160
    assert hits(0) == hits(0) != hits(1)


def test_other_words_are_refused(golden: Callable[[Path, str], None]) -> None:
    """What names no fault, or a value that it cannot have."""
    file = Path(__file__).parent / "faults.txt"
    golden(file, readings(file, lambda text: Faults("row-cap:5", text), ValueError))
