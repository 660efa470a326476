"""Rows of the sample service have the documented fields, and the oddities of real ones."""

from collections import Counter
from typing import Any

from chainq.demo import ids, pattern
from chainq.demo.chain import BARE_ERA, WEIGHT_JUMP, WEIGHT_OUTLIER
from harness.sample import (
    BATCH_HEADER,
    CHAIN,
    FULL_BLOCK,
    METADATA,
    OPEN,
    QUIET,
    RECORD,
    SUMMARY,
    TRANSITION,
    ask,
    calls,
    fields,
    paged,
    post,
    whole_blocks,
)


def test_block_summaries_have_the_contracts_fields_in_its_order() -> None:
    for row in ask(QUIET, "getBlocks", start=200, end=400) + ask(QUIET, "block", block=5_000):
        assert list(row) == SUMMARY
        numbers = {key for key, value in row.items() if isinstance(value, int)}
        assert numbers == {"id", "network"}
        assert row["coinbase_reward"] is None or row["coinbase_reward"].isdigit()
    assert list(ask(QUIET, "latest/block")) == SUMMARY
    older = set(ask(QUIET, "block", block=BARE_ERA.start)[0])
    assert set(SUMMARY) - older
    assert older - set(SUMMARY)


def test_full_blocks_have_the_contracts_fields_and_older_eras_deviate_as_real_ones_do() -> None:
    block = whole_blocks(640, 641)[0]
    assert list(block) == FULL_BLOCK
    assert list(block["header"]["metadata"]) == METADATA
    assert all(isinstance(value, int) for value in block["header"]["metadata"].values())
    certificates = [c for row in block["authority"]["subdag"]["subdag"].values() for c in row]
    assert certificates
    for certificate in certificates:
        assert list(certificate) == ["batch_header", "signatures"]
        assert list(certificate["batch_header"]) == BATCH_HEADER
    assert {row["type"] for row in block["ratifications"]} == {"block_reward", "puzzle_reward"}

    assert whole_blocks(50, 51)[0]["authority"]["type"] == "beacon"
    bare = whole_blocks(150, 151)[0]
    assert "authority" not in bare
    assert bare["ratifications"] is None
    assert "signature" in bare
    older = next(iter(whole_blocks(300, 301)[0]["authority"]["subdag"]["subdag"].values()))[0]
    assert "certificate_id" in older
    assert isinstance(older["signatures"], dict)


def test_transactions_have_the_contracts_fields() -> None:
    for _, confirmed, transition in calls(600, 780):
        assert list(confirmed)[:4] == ["status", "type", "index", "transaction"]
        assert list(transition)[:7] == TRANSITION
    row = ask(QUIET, "chainTransaction", id=CHAIN.transaction_id(640, 0))
    assert list(row) == ["status", "type", "index", "transaction", "finalize", "finalizedAt"]
    summary = ask(QUIET, "transactions", blockId=640)[0]
    assert list(summary) == fields("id block_id transaction_id type index status")


def test_rows_of_ranges_have_the_contracts_fields() -> None:
    for row in paged(QUIET, "records/all", 600, 700, 0, 10_000):
        assert list(row) == RECORD
        numbers = [key for key, value in row.items() if isinstance(value, int)]
        assert numbers == ["block_id", "height", "id", "output_index"]
    for row in paged(QUIET, "records/isOwner", 600, 700, 0, 10_000):
        assert list(row) == ["nonce_x", "nonce_y", "owner_x", "transition_id", "output_index"]
    for row in paged(QUIET, "transitionsWithoutRecordInputs", 600, 700, 0, 10_000):
        assert list(row) == OPEN
        assert isinstance(row["height"], str)


def test_the_chain_holds_every_oddity_that_deployed_servers_show() -> None:
    seen = Counter[Any]()
    for height, confirmed, transition in calls(0, 776):
        seen["outer", confirmed["type"]] += 1
        seen["inner", confirmed["transaction"]["type"]] += 1
        seen["status", confirmed["status"]] += 1
        seen["rejected"] += "rejected" in confirmed
        seen["extra"] += "scm" in transition
        for side in ("inputs", "outputs"):
            for part in transition[side]:
                seen[side, part["type"], "value" in part] += 1
        seen["finalize"] += bool(confirmed.get("finalize"))
        assert height < 776
    for kind in ("execute", "deploy", "fee"):
        assert seen["outer", kind]
        assert seen["inner", kind]
    for status in ("accepted", "rejected", None):
        assert seen["status", status]
    for side in ("inputs", "outputs"):
        assert seen[side, "external_record", False]
        assert not seen[side, "external_record", True]
    assert seen["rejected"]
    assert seen["extra"]
    assert seen["finalize"]
    blocks = whole_blocks(0, 776)
    assert any(not block["transactions"] for block in blocks)
    assert any(block["ratifications"] == [] for block in blocks)
    aborted = [id_ for block in blocks for id_ in block.get("aborted_transaction_ids", [])]
    assert aborted
    assert ask(QUIET, "chainTransaction", id=aborted[0]) is None


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
