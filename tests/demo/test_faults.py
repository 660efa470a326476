"""Faults that a test can switch on, each as documented; none is on by default."""

import json
from typing import Any

import pytest

from chainq.demo.faults import Faults
from chainq.demo.service import Service
from harness.sample import CHAIN, QUIET, ask, paged, post, refusal


def test_the_rate_limit_counts_each_method_by_itself_and_ends_with_its_window() -> None:
    now = [0.0]
    service = Service(CHAIN, Faults(rate_limit=2, rate_window=60.0), clock=lambda: now[0])
    latest = b'{"jsonrpc":"2.0","id":1,"method":"latest/block"}'
    assert [service.answer(latest).status for _ in range(4)] == [200, 200, 429, 429]
    reply = service.answer(latest)
    assert reply.body == b"Too many requests, please try again later"
    assert reply.content_type.startswith("text/html")
    assert not reply.headers
    assert ask(service, "block", block=5)
    now[0] = 60.0
    assert service.answer(latest).status == 200
    polite = Service(CHAIN, Faults(rate_limit=1, retry_after=3), clock=lambda: 0.0)
    polite.answer(latest)
    assert polite.answer(latest).headers == {"Retry-After": "3"}


@pytest.mark.parametrize("fault", ["fail_rate", "truncate_rate", "wrong_id_rate"])
def test_random_faults_hit_their_share_and_always_the_same_calls(fault: str) -> None:
    latest = b'{"jsonrpc":"2.0","id":1,"method":"latest/block"}'

    def hits(seed: int) -> list[bool]:
        settings: dict[str, Any] = {fault: 0.3, "fault_seed": seed}
        service = Service(CHAIN, Faults(**settings))
        replies = [service.answer(latest) for _ in range(400)]
        return [r.status == 503 or r.cut or json.loads(r.body)["id"] != 1 for r in replies]

    assert 80 < sum(hits(0)) < 160
    assert hits(0) == hits(0) != hits(1)


def test_heavy_answers_time_out_and_narrower_ranges_succeed() -> None:
    service = Service(CHAIN, Faults(heavy_rows=100))
    error = json.loads(post(service, "records/all", start=600, end=700))["error"]
    assert error == {"code": 0, "message": "Defined query timeout of 5000ms exceeded when running query."}
    assert ask(service, "records/all", start=600, end=605)
    assert refusal(service, "getBlocks", start=0, end=101) == 0
    assert len(ask(service, "getBlocks", start=0, end=100)) == 100
    assert len(ask(service, "records/all", start=777, end=778, recordsPerRequest=100)) == 100


def test_a_hidden_cap_is_the_real_page_size() -> None:
    service = Service(CHAIN, Faults(row_cap=50), shuffle=False)
    whole = paged(QUIET, "records/all", 600, 700, 0, 10_000)
    assert paged(service, "records/all", 600, 700, 0, 10_000) == whole[:50]
    assert paged(service, "records/all", 600, 700, 1, 10_000) == whole[50:100]
    assert paged(service, "records/all", 600, 700, 1, 20) == whole[20:40]


def test_a_server_may_not_read_the_page_size() -> None:
    service = Service(CHAIN, Faults(ignore_page_size=True), shuffle=False)
    assert len(paged(service, "records/all", 777, 778, 0, 5)) == 10_000
    asked = {"address": CHAIN.addresses[0], "start": 0, "end": 50_000, "transitionsPerRequest": 1}
    assert len(ask(service, "getPublicTransactionsForAddress", **asked)) > 10_000
    assert ask(service, "getPublicTransactionsForAddress", **asked, page=1) == []


def test_a_block_can_be_missing_and_a_link_broken() -> None:
    service = Service(CHAIN, Faults(missing_height=7, broken_link=9), shuffle=False)
    for rows in (ask(service, "getBlocks", start=5, end=11), ask(service, "getChainBlocks", start=5, end=11)):
        hashes = [CHAIN.block_hash(height) for height in (5, 6, 8, 9, 10)]
        assert [row["block_hash"] for row in rows] == hashes
        assert rows[3]["previous_hash"] != rows[2]["block_hash"]
        assert rows[4]["previous_hash"] == rows[3]["block_hash"]
    assert ask(service, "block", block=7) == []


def test_faults_are_off_by_default() -> None:
    assert Faults() == Faults(0.0, 0, 60.0, None, 0.0, 0.0, 0.0, 0, 0, False, None, None, False, 0)
