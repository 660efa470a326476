"""The sample service pages, refuses and wraps results as deployed servers do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chainq.catalog.methods import BY_NAME
from chainq.demo.chain import Chain
from chainq.demo.results import DIALECTS
from chainq.demo.service import SampleService
from harness.models.readings import readings
from harness.running.sample import CHAIN, QUIET, ask, paged, post, refusal


@pytest.mark.search
def test_pages_over_a_shuffled_height_lose_rows_but_one_big_page_is_whole() -> None:
    service = SampleService(CHAIN)
    walked = [row["id"] for page in range(40) for row in paged(service, "records/all", 777, 778, page, 700)]
    assert len(walked) == 25_000
    assert len(set(walked)) < 25_000
    whole = paged(service, "records/all", 770, 780, 0, 100_000)
    assert len({row["id"] for row in whole}) == len(whole) == CHAIN.records.before(780) - CHAIN.records.before(770)
    assert len({row["height"] for row in whole}) > 5
    assert [row["height"] for row in whole] == sorted(row["height"] for row in whole)


def test_the_order_inside_a_height_changes_from_call_to_call() -> None:
    service = SampleService(CHAIN)
    orders = {post(service, "records/all", start=640, end=650) for _ in range(9)}
    assert len(orders) > 1
    heights = {tuple(row["height"] for row in ask(service, "getBlocks", start=5, end=50)) for _ in range(5)}
    assert len(heights) == 5
    assert {tuple(sorted(order)) for order in heights} == {tuple(sorted(map(str, range(5, 50))))}


def test_pages_of_an_unshuffled_service_join_to_the_whole() -> None:
    whole = paged(QUIET, "records/isOwner", 600, 776, 0, 10_000)
    parts = [row for page in range(20) for row in paged(QUIET, "records/isOwner", 600, 776, page, 97)]
    assert parts == whole
    busy = {"address": CHAIN.addresses[0], "start": 0, "end": 50_000}
    rows = ask(QUIET, "getPublicTransactionsForAddress", **busy, transitionsPerRequest=50_000)
    second = ask(QUIET, "getPublicTransactionsForAddress", **busy, transitionsPerRequest=100, page=1)
    assert second == rows[100:200]


def test_calls_beyond_the_limits_are_refused(golden: Callable[[Path, str], None]) -> None:
    file = Path(__file__).parent / "limits.txt"
    golden(file, readings(file, lambda call: refusal(QUIET, call[0], **call[1])))


def test_calls_at_the_limits_and_past_the_tip_succeed() -> None:
    tip = CHAIN.tip
    assert len(ask(QUIET, "getBlocks", startHeight=0, endHeight=1_000)) == 1_000
    assert [row["height"] for row in ask(QUIET, "getBlocks", start=tip - 1, end=tip + 900)] == [str(tip - 1), str(tip)]
    for method in ("getBlocks", "records/all", "records/isOwner", "transitionsWithoutRecordInputs"):
        assert ask(QUIET, method, start=9, end=9) == []
        assert ask(QUIET, method, start=tip + 1, end=tip + 9) == []
    assert ask(QUIET, "block", block=tip + 1) == []
    assert ask(QUIET, "transactions", blockId=tip + 1) == []
    assert ask(QUIET, "latest/block")["height"] == str(tip)
    assert ask(QUIET, "getPublicTransactionsForAddress", address="aleo1x", start=0, end=50_000) == []
    assert len(ask(QUIET, "records/all", start=777, end=778)) == 10_000
    assert len(post(QUIET, "records/all", start=0, end=2**63)) > 1_000_000


def test_an_empty_database_has_no_latest_block() -> None:
    service = SampleService(Chain(tip=-1))
    assert ask(service, "latest/block") is None
    assert ask(service, "getBlocks", start=0, end=10) == []
    assert ask(service, "records/all", start=0, end=10) == []


def test_a_chain_may_grow_between_calls() -> None:
    tip = [10]
    service = SampleService(CHAIN, tip=lambda: tip[0])
    assert ask(service, "latest/block")["height"] == "10"
    new = CHAIN.transaction_id(11, 0)
    assert ask(service, "chainTransaction", id=new) is None
    tip[0] += 1
    assert ask(service, "latest/block")["height"] == "11"
    assert ask(service, "chainTransaction", id=new)["transaction"]["id"] == new


def envelope(body: bytes) -> Any:
    reply = QUIET.respond(body)
    assert reply.status == 200
    return json.loads(reply.body)


@pytest.mark.parametrize(
    "body",
    [b"[]", b"5", b'"x"', b'{"id":1,"method":"block"}', b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":{}}'],
)
def test_a_bad_envelope_is_an_invalid_request(body: bytes) -> None:
    assert envelope(body)["error"]["code"] == -32600


def test_malformed_bodies_get_html() -> None:
    for body in (b"{", b"", b"\xff"):
        reply = QUIET.respond(body)
        assert reply.status == 400
        assert reply.content_type.startswith("text/html")
        assert b"<html>" in reply.body


def test_the_aleo_dialect_has_its_own_names_and_habits() -> None:
    service = SampleService(CHAIN, dialect="aleo", shuffle=False)
    assert len(ask(service, "blocks", startHeight=5, endHeight=9)) == 4
    assert refusal(service, "getBlocks", start=5, end=9) == 0
    body = b'{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[5,9]}'
    assert len(json.loads(service.respond(body).body)["result"]) == 4
    assert ask(service, "getAleoBlocks", start=5, end=6) == ask(QUIET, "getChainBlocks", start=5, end=6)
    rows = ask(QUIET, "transactions", blockId=5)
    assert ask(service, "transactions", blockId=CHAIN.block_row(5)) == rows
    assert ask(service, "transactions", blockId=5) == []
    assert ask(service, "aleoTransaction", id=rows[0]["transaction_id"])["index"] == 0
    called = {"programId": "credits.aleo", "functionName": "split", "page": 0}
    assert len(ask(service, "aleoTransactionsForProgram", **called, maxTransactions=1_000)) == 1_000
    assert refusal(service, "aleoTransactionsForProgram", **called, maxTransactions=1_001) == -32602
    arguments = {"address": CHAIN.addresses[0], "start": 0, "end": 20_000}
    many = ask(service, "getPublicTransactionsForAddress", **arguments, transitionsPerRequest=3)
    assert len(many) > 1_000
    assert len(ask(service, "getPublicTransactionsForAddress", **arguments, transactionsPerRequest=3)) == 3
    assert len(ask(service, "records/isOwner", start=777, end=778)) == 25_000
    assert refusal(service, "chainTransaction", id="x") == -32601
    assert DIALECTS["chain"].keys() == BY_NAME.keys()
