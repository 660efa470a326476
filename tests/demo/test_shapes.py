"""Rows of the sample service have the documented fields, and the oddities of real ones."""

from itertools import product
from typing import Any

from chainq.demo import ids, pattern
from chainq.demo.chain import BARE_ERA, WEIGHT_JUMP, WEIGHT_OUTLIER
from harness.running.sample import CHAIN, QUIET, ask, calls, paged, post, whole_blocks


def test_blocks_of_older_eras_deviate_as_real_ones_do() -> None:
    """The fields of today are in tests/golden/commands/method-*.txt."""
    today, older = (set(ask(QUIET, "block", block=height)[0]) for height in (5_000, BARE_ERA.start))
    assert today - older
    assert older - today
    assert whole_blocks(50, 51)[0]["authority"]["type"] == "beacon"
    bare = whole_blocks(150, 151)[0]
    assert "authority" not in bare
    assert bare["ratifications"] is None
    assert "signature" in bare
    older = next(iter(whole_blocks(300, 301)[0]["authority"]["subdag"]["subdag"].values()))[0]
    assert "certificate_id" in older
    assert isinstance(older["signatures"], dict)


def test_the_chain_holds_every_oddity_that_deployed_servers_show() -> None:
    seen = set[tuple[Any, ...]]()
    for _, confirmed, transition in calls(0, 776):
        seen |= {("outer", confirmed["type"]), ("inner", confirmed["transaction"]["type"])}
        seen |= {("status", confirmed["status"])}
        seen |= {(name,) for name in ("rejected", "scm") if name in confirmed | transition}
        seen |= {(side, part["type"], "value" in part) for side in ("inputs", "outputs") for part in transition[side]}
    due = {*product(("outer", "inner"), ("execute", "deploy", "fee")), ("rejected",), ("scm",)}
    assert due <= seen
    assert {("status", status) for status in ("accepted", "rejected", None)} <= seen
    assert not {(side, "external_record", True) for side in ("inputs", "outputs")} & seen
    assert {(side, "external_record", False) for side in ("inputs", "outputs")} <= seen
    blocks = whole_blocks(0, 776)
    assert any(not block["transactions"] for block in blocks)
    assert any(block["ratifications"] == [] for block in blocks)
    aborted = next(one[0] for block in blocks if (one := block.get("aborted_transaction_ids")))
    assert ask(QUIET, "chainTransaction", id=aborted) is None


def test_big_integers_are_json_numbers_with_every_digit() -> None:
    for height in (WEIGHT_JUMP, WEIGHT_OUTLIER):
        body = post(QUIET, "getChainBlocks", start=height, end=height + 1)
        assert b'"cumulative_weight":%d,' % CHAIN.weight(height) in body
        assert ask(QUIET, "block", block=height)[0]["cumulative_weight"] == str(CHAIN.weight(height))
    assert CHAIN.weight(WEIGHT_JUMP) == 18741903340503531150 > ids.WORD
    assert len(str(CHAIN.weight(WEIGHT_OUTLIER))) == 39


def test_special_heights_are_as_documented() -> None:
    assert CHAIN.records.count(pattern.HUGE) == 25_000
    assert CHAIN.records.count(pattern.FAR_HUGE) == 12_000
    assert not any(CHAIN.records.count(height) for height in pattern.EMPTY)
    ordinary = [CHAIN.records.count(height) for height in range(5_000, 5_000 + pattern.PERIOD)]
    assert 5 < sum(ordinary) / len(ordinary) < 7
    assert min(ordinary) == 0
    assert max(ordinary) == 40
    (wide,) = [
        r for r in paged(QUIET, "transitionsWithoutRecordInputs", 2_345, 2_346, 0, 99) if len(r["program"]) > 9e4
    ]
    assert wide["function_name"] == "run"
    assert "\n" in wide["program"]
