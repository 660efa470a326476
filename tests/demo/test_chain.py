"""The sample chain is consistent: links, IDs that lead back, and rows that agree with the blocks."""

from collections import Counter
from itertools import pairwise

import pytest

from chainq.demo import bodies, ids, pattern
from chainq.demo.chain import DYNAMIC_FROM, Chain
from chainq.demo.layout import occurrences
from chainq.demo.pattern import PROGRAMS
from chainq.demo.service import SampleService
from chainq.rows.block import RECORDS
from harness.running.sample import (
    CHAIN,
    HEIGHTS,
    QUIET,
    ask,
    calls,
    paged,
    post,
    transitions_of,
    whole_blocks,
    with_dense,
)


def test_blocks_are_linked_and_their_times_and_row_ids_grow() -> None:
    rows = ask(QUIET, "getBlocks", start=0, end=1_000)
    full = whole_blocks(0, 776)
    assert [row["block_hash"] for row in rows[:776]] == [block["block_hash"] for block in full]
    for before, row in pairwise(rows):
        assert row["previous_hash"] == before["block_hash"]
        assert int(row["timestamp"]) > int(before["timestamp"])
        assert row["id"] > before["id"]
        assert row["id"] != int(row["height"])
    assert len({row["block_hash"] for row in rows}) == 1_000


def test_row_ids_of_blocks_can_be_turned_back() -> None:
    rows = {CHAIN.block_row(height): height for height in [*range(200), 2_999_999]}
    for row in range(min(rows) - 5, CHAIN.block_row(199) + 1):
        assert CHAIN.height_of_row(row) == rows.get(row)
    assert CHAIN.height_of_row(CHAIN.block_row(2_999_999)) == 2_999_999


@pytest.mark.parametrize("height", HEIGHTS)
def test_a_record_is_an_output_of_its_transaction_in_its_block(height: int) -> None:
    records = paged(QUIET, "records/all", height, height + 1, 0, 10_000)
    owners = paged(QUIET, "records/isOwner", height, height + 1, 0, 10_000)
    summary = ask(QUIET, "block", block=height)[0]
    inside = {row["transaction"]["id"]: row for row in whole_blocks(height, height + 1)[0]["transactions"]}
    listed = ask(QUIET, "transactions", blockId=height)
    assert [row["transaction_id"] for row in listed] == list(inside)
    assert {row["block_id"] for row in listed} <= {summary["id"]}
    assert [(r["transition_id"], r["output_index"]) for r in owners] == [
        (r["transition_id"], r["output_index"]) for r in records
    ]
    for record in records:
        whole = ask(QUIET, "chainTransaction", id=record["transaction_id"])
        assert whole["finalizedAt"] == summary["timestamp"] == record["timestamp"]
        assert {key: value for key, value in whole.items() if key != "finalizedAt"} == inside[record["transaction_id"]]
        (transition,) = [t for t in transitions_of(whole) if t["id"] == record["transition_id"]]
        assert transition["outputs"][record["output_index"]]["type"] in RECORDS
        assert transition["outputs"][record["output_index"]]["value"] == record["record_ciphertext"]
        assert (transition["program"], transition["function"]) == (record["program_id"], record["function_name"])
        assert record["block_id"] == summary["id"]
        assert record["block_hash"] == summary["block_hash"]


def test_new_blocks_show_all_types_of_inputs_and_outputs() -> None:
    """From DYNAMIC_FROM on, and on no block before; all that has a second ID, and no other, has `dynamic_id`."""
    new = ("record_with_dynamic_id", "external_record_with_dynamic_id", "record_dynamic")
    for start, due in ((DYNAMIC_FROM - 60, set()), (DYNAMIC_FROM, set(new))):
        for name in ("inputs", "outputs"):
            blocks = (bodies.block(Chain(), height) for height in range(start, start + 60))
            confirmed = [one for block in blocks for one in block["transactions"]]
            parts = [part for one in confirmed for transition in transitions_of(one) for part in transition[name]]
            assert {part["type"] for part in parts} & set(new) == due
            assert all(("dynamic_id" in part) == (part["type"] in new[:2]) for part in parts)


@pytest.mark.parametrize("program", [*PROGRAMS, "nowhere.aleo"])
def test_the_transactions_of_a_function_are_those_that_really_call_it(program: str) -> None:
    service = SampleService(Chain(tip=775))
    for function in [*PROGRAMS.get(program, {}), "nothing"]:
        wanted = [
            (height, confirmed["transaction"]["id"])
            for height, confirmed, transition in calls(0, 776)
            if (transition["program"], transition["function"]) == (program, function)
        ]
        called = {"programId": program, "functionName": function, "maxTransactions": 999}
        pages = [ask(service, "chainTransactionsForProgram", **called, page=page) for page in range(9)]
        rows = [row for page in pages for row in page]
        assert len(rows) == len(wanted)
        times = [str(CHAIN.timestamp(height)) for height, _ in wanted]
        assert [row["finalizedAt"] for row in rows] == times
        assert Counter(row["transaction"]["id"] for row in rows) == Counter(id_ for _, id_ in wanted)


def test_one_function_has_a_few_hundred_calls_with_repeated_rows_and_full_heights() -> None:
    params = {"programId": "hello_hello.aleo", "functionName": "hello", "maxTransactions": 999}
    rows = ask(QUIET, "chainTransactionsForProgram", **params, page=0)
    assert len(rows) == 282
    assert max(Counter(row["transaction"]["id"] for row in rows).values()) == 5
    heights = Counter(row["finalizedAt"] for row in rows)
    assert max(heights.values()) == 60
    located = [CHAIN.find_transaction(row["transaction"]["id"]) for row in rows]
    assert {found[0] for found in located if found} <= set(pattern.HELLO)
    assert None not in located
    assert ask(QUIET, "chainTransactionsForProgram", **params, page=1) == []


@pytest.mark.parametrize("number", [0, 1, 2, 57])
def test_address_transactions_are_those_with_the_address_in_a_public_input(number: int) -> None:
    address = CHAIN.addresses[number]
    wanted = [
        confirmed["transaction"]["id"]
        for _, confirmed, transition in calls(0, 776)
        for part in transition["inputs"]
        if part.get("value") == address
    ]
    rows = ask(QUIET, "getPublicTransactionsForAddress", address=address, start=0, end=776)
    assert [row["transaction_id"] for row in rows] == wanted
    assert wanted
    if number == 1:
        assert max(Counter(wanted).values()) == 2
    inputs = [at for at in occurrences(CHAIN.layout, number, 0, 776) if 300 <= at[0] < 500]
    assert list(occurrences(CHAIN.layout, number, 300, 500)) == inputs


def test_a_transaction_id_leads_to_its_place_and_others_lead_nowhere() -> None:
    for height in (0, 777, 1_220, 123_457, 2_000_000, 2_999_999):
        for index in range(CHAIN.transactions.count(height)):
            assert CHAIN.find_transaction(CHAIN.transaction_id(height, index)) == (height, index)
    assert Chain(seed=1).find_transaction(CHAIN.transaction_id(777, 0)) is None
    for unknown in ("", "at1", "at1é", ids.TRANSACTION.text(5), CHAIN.transaction_id(777, 0)[:-1] + "b"):
        assert ask(QUIET, "chainTransaction", id=unknown) is None


@pytest.mark.parametrize("dense", [None, (0, 7), (300, 301), (776, 60), (777, 3), (2_999, 25)])
def test_counting_agrees_with_walking_on_both_sides_of_every_stretch(dense: tuple[int, int] | None) -> None:
    layout = (with_dense(*dense) if dense else CHAIN).layout
    for tally in (layout.records, layout.open_calls, layout.calls("credits.aleo/split")):
        for stretch in layout.stretches:
            for height in range(max(0, stretch.start - 2), stretch.start + 3):
                assert tally.before(height + 1) == tally.before(height) + tally.count(height)
                for position in {0, tally.count(height) - 1} if tally.count(height) else ():
                    assert tally.locate(tally.before(height) + position) == (height, position)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    params = {"start": 600, "end": 650}
    for method in ("getBlocks", "getChainBlocks", "records/all"):
        first = post(SampleService(Chain(tip=900)), method, **params)
        assert first == post(SampleService(Chain(tip=5_000)), method, **params)
        assert first != post(SampleService(Chain(seed=7, tip=900)), method, **params)
