"""The sample chain and its service keep what they promise; every test states its promise in one line."""

import gzip
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from chainq.demo import ids, layout
from chainq.demo.callers import occurrences
from chainq.demo.chain import BARE_ERA, WEIGHT_JUMP, WEIGHT_OUTLIER, Chain
from chainq.demo.faults import Faults
from chainq.demo.programs import PROGRAMS, source
from chainq.demo.server import DemoServer, serve
from chainq.demo.service import Service
from chainq.demo.transport import DemoTransport
from chainq.demo.wire import DIALECTS

CHAIN = Chain(newest=50_000)
QUIET = Service(CHAIN, shuffle=False)
HEIGHTS = [0, 50, 150, 300, 600, 640, 1_220, 1_221, 2_345, 4_242, 4_999]


def fields(text: str) -> list[str]:
    return text.split()


SUMMARY = fields(
    "id height block_hash previous_hash previous_state_root transactions_root round coinbase_target "
    "proof_target last_coinbase_target last_coinbase_timestamp timestamp coinbase_reward finalize_root "
    "network ratifications_root solutions_root subdag_root cumulative_weight cumulative_proof_target"
)
FULL_BLOCK = fields("block_hash previous_hash header authority ratifications transactions aborted_transaction_ids")
METADATA = fields(
    "network round height cumulative_weight cumulative_proof_target coinbase_target proof_target "
    "last_coinbase_target last_coinbase_timestamp timestamp"
)
BATCH_HEADER = fields(
    "version batch_id author round timestamp transmission_ids previous_certificate_ids "
    "last_election_certificate_ids signature"
)
RECORD = fields(
    "record_ciphertext program_id block_id height id timestamp block_hash transition_id transaction_id "
    "function_name output_index"
)
TRANSITION = fields("id program function inputs outputs tpk tcm")
OPEN = fields("transition_id transaction_id program function_name height tpk tcm timestamp")


def post(service: Service, method: str, id_: Any = 1, **params: Any) -> bytes:
    return service.answer(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()).body


def ask(service: Service, method: str, **params: Any) -> Any:
    return json.loads(post(service, method, **params))["result"]


def refusal(service: Service, method: str, **params: Any) -> Any:
    return json.loads(post(service, method, **params))["error"]["code"]


def paged(service: Service, method: str, start: int, end: int, page: int, size: int) -> list[dict[str, Any]]:
    word = "transitionsPerRequest" if method.startswith("transitions") else "recordsPerRequest"
    rows: list[dict[str, Any]] = ask(service, method, start=start, end=end, page=page, **{word: size})
    return rows


@lru_cache
def whole_blocks(start: int, end: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = ask(QUIET, "getChainBlocks", start=start, end=end)
    return blocks


def transitions_of(confirmed: dict[str, Any]) -> list[dict[str, Any]]:
    inner = confirmed["transaction"]
    found = list(inner.get("execution", {}).get("transitions", []))
    return [*found, inner["fee"]["transition"]] if "fee" in inner else found


def calls(start: int, end: int) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    for block in whole_blocks(start, end):
        for confirmed in block["transactions"]:
            for transition in transitions_of(confirmed):
                yield block["header"]["metadata"]["height"], confirmed, transition


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def is_bech32m(text: str) -> bool:
    # BIP 350 written out, apart from its limit of 90 characters; data must fill whole bytes with zero padding
    prefix, _, data = text.rpartition("1")
    alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    values = [alphabet.index(c) for c in data]
    check = 1
    for value in [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, term in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= term if top >> bit & 1 else 0
    bits = "".join(f"{value:05b}" for value in values[:-6])
    padding = len(bits) % 8
    return check == 0x2BC830A3 and padding < 5 and not int(bits[len(bits) - padding :] or "0", 2)


# --- texts


def test_every_bech32m_text_of_all_eras_has_a_valid_checksum() -> None:
    found = set()
    for height in HEIGHTS:
        for text in texts(whole_blocks(height, height + 1)):
            if match := re.fullmatch(r"(a[a-z]|sr|aleo|record|ciphertext|proof|sign|verifier)1[a-z0-9]{58,}", text):
                assert is_bech32m(text), text
                found.add(match[1])
    assert found == {"ab", "sr", "at", "au", "aleo", "record", "ciphertext", "proof", "sign"}
    assert is_bech32m(ids.KEY.text(7))
    assert not is_bech32m(CHAIN.addresses[0][:-1] + "q")


def test_ids_have_the_lengths_of_real_ones() -> None:
    assert {len(CHAIN.block_hash(h)) for h in range(-1, 9)} == {61}
    assert len(CHAIN.transaction_id(5, 0)) == len(CHAIN.transition_id(5, 0, 0)) == 61
    assert {len(address) for address in CHAIN.addresses} == {63}


@pytest.mark.parametrize("coder", [ids.TRANSACTION, ids.RECORD, ids.ADDRESS])
def test_a_text_gives_back_its_word_and_nothing_else_does(coder: ids.Coder) -> None:
    for word in (0, 1, 0x0123_4567_89AB_CDEF, ids.WORD):
        text = coder.text(word)
        assert coder.word(text) == word
        assert coder.word(text[:-1] + ("q" if text[-1] != "q" else "p")) is None
        assert coder.word(text[:30] + ("q" if text[30] != "q" else "p") + text[31:]) is None
        assert coder.word(text.upper()) is None
        assert coder.word(text[:9]) is None
        assert coder.word("zz1" + text[3:]) is None


def test_mixing_can_be_undone() -> None:
    for number in (0, 1, 12_345, ids.WORD):
        assert ids.unmix(ids.mix(number, 99), 99) == number


def test_field_and_group_elements_are_decimals_below_the_order() -> None:
    for word in (0, 1, ids.WORD):
        assert ids.field(word).removesuffix("field") == ids.group(word).removesuffix("group")
        assert int(ids.field(word)[:-5]) == ids.element(word) < ids.FIELD_ORDER


# --- shapes


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
    assert CHAIN.records.count(layout.HUGE) == 25_000
    assert CHAIN.records.count(layout.FAR_HUGE) == 12_000
    assert not any(CHAIN.records.count(height) for height in layout.EMPTY)
    ordinary = [CHAIN.records.count(height) for height in range(5_000, 5_000 + layout.PERIOD)]
    assert 5 < sum(ordinary) / len(ordinary) < 7
    assert min(ordinary) == 0
    assert max(ordinary) == 40
    (wide,) = [
        r for r in paged(QUIET, "transitionsWithoutRecordInputs", 2_345, 2_346, 0, 99) if len(r["program"]) > 9e4
    ]
    assert wide["function_name"] == "run"
    assert "\n" in wide["program"]


# --- links and consistency


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
def test_a_record_is_an_output_of_its_transaction_which_stands_in_its_block(height: int) -> None:
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
        assert transition["outputs"][record["output_index"]]["type"] == "record"
        assert transition["outputs"][record["output_index"]]["value"] == record["record_ciphertext"]
        assert (transition["program"], transition["function"]) == (record["program_id"], record["function_name"])
        assert record["block_id"] == summary["id"]
        assert record["block_hash"] == summary["block_hash"]


def test_the_records_of_a_range_are_all_record_outputs_of_its_blocks() -> None:
    made = [
        output["value"]
        for _, _, transition in calls(0, 776)
        for output in transition["outputs"]
        if output["type"] == "record"
    ]
    rows = paged(QUIET, "records/all", 0, 776, 0, 10_000)
    assert Counter(row["record_ciphertext"] for row in rows) == Counter(made)
    assert len({row["record_ciphertext"] for row in rows}) == len(rows)
    assert [row["id"] for row in rows] == list(range(rows[0]["id"], rows[0]["id"] + len(rows)))
    assert [row["height"] for row in rows] == sorted(row["height"] for row in rows)


def test_transitions_without_record_inputs_are_exactly_those() -> None:
    wanted = {
        transition["id"]: (confirmed["transaction"]["id"], transition["tpk"], source(transition["program"]))
        for _, confirmed, transition in calls(0, 776)
        if not any(part["type"] in ("record", "external_record") for part in transition["inputs"])
    }
    rows = paged(QUIET, "transitionsWithoutRecordInputs", 0, 776, 0, 10_000)
    assert {row["transition_id"]: (row["transaction_id"], row["tpk"], row["program"]) for row in rows} == wanted
    assert len(rows) == len(wanted)


@pytest.mark.parametrize("program", [*PROGRAMS, "nowhere.aleo"])
def test_the_transactions_of_a_function_are_those_that_really_call_it(program: str) -> None:
    service = Service(Chain(newest=775))
    for function in [*PROGRAMS.get(program, {}), "nothing"]:
        wanted = [
            (height, confirmed["transaction"]["id"])
            for height, confirmed, transition in calls(0, 776)
            if (transition["program"], transition["function"]) == (program, function)
        ]
        rows: list[dict[str, Any]] = []
        for page in range(9):
            rows += ask(
                service,
                "chainTransactionsForProgram",
                programId=program,
                functionName=function,
                page=page,
                maxTransactions=999,
            )
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
    places = [CHAIN.find_transaction(row["transaction"]["id"]) for row in rows]
    assert {place[0] for place in places if place} <= set(layout.HELLO)
    assert None not in places
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
    assert list(occurrences(number, 300, 500)) == [at for at in occurrences(number, 0, 776) if 300 <= at[0] < 500]


def test_a_transaction_id_leads_to_its_place_and_others_lead_nowhere() -> None:
    for height in (0, 777, 1_220, 123_457, 2_000_000, 2_999_999):
        for index in range(CHAIN.transactions.count(height)):
            assert CHAIN.find_transaction(CHAIN.transaction_id(height, index)) == (height, index)
    assert Chain(seed=1).find_transaction(CHAIN.transaction_id(777, 0)) is None
    for unknown in ("", "at1", "at1é", ids.TRANSACTION.text(5), CHAIN.transaction_id(777, 0)[:-1] + "b"):
        assert ask(QUIET, "chainTransaction", id=unknown) is None


def test_counting_agrees_with_walking_on_both_sides_of_every_stretch() -> None:
    for tally in (layout.tally("records"), layout.tally("open"), layout.tally("calls", "credits.aleo/split")):
        for stretch in layout.stretches():
            for height in range(max(0, stretch.start - 2), stretch.start + 3):
                assert tally.before(height + 1) == tally.before(height) + tally.count(height)
                for position in {0, tally.count(height) - 1} if tally.count(height) else ():
                    assert tally.locate(tally.before(height) + position) == (height, position)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    params = {"start": 600, "end": 650}
    for method in ("getBlocks", "getChainBlocks", "records/all"):
        first = post(Service(Chain(newest=900)), method, **params)
        assert first == post(Service(Chain(newest=5_000)), method, **params)
        assert first != post(Service(Chain(seed=7, newest=900)), method, **params)


def test_no_two_records_of_the_huge_block_are_alike() -> None:
    rows = paged(QUIET, "records/all", 777, 778, 0, 30_000)
    assert len({row["record_ciphertext"] for row in rows}) == len({row["id"] for row in rows}) == 25_000
    assert len({(row["transition_id"], row["output_index"]) for row in rows}) == 25_000


# --- order and paging


def test_pages_over_a_shuffled_height_lose_rows_but_one_big_page_is_whole() -> None:
    service = Service(CHAIN)
    walked = [row["id"] for page in range(40) for row in paged(service, "records/all", 777, 778, page, 700)]
    assert len(walked) == 25_000
    assert len(set(walked)) < 25_000
    whole = paged(service, "records/all", 770, 780, 0, 100_000)
    assert len({row["id"] for row in whole}) == len(whole) == CHAIN.records.before(780) - CHAIN.records.before(770)
    assert len({row["height"] for row in whole}) > 5
    assert [row["height"] for row in whole] == sorted(row["height"] for row in whole)


def test_the_order_inside_a_height_changes_from_call_to_call() -> None:
    service = Service(CHAIN)
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


# --- limits and errors


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("getBlocks", {"start": 0, "end": 1_001}, -32602),
        ("getChainBlocks", {"start": 0, "end": 1_001}, -32602),
        ("getBlocks", {"start": 5, "end": 4}, -32602),
        ("getBlocks", {"start": "5", "end": 9}, -32602),
        ("getBlocks", {"start": 5.0, "end": 9}, -32602),
        ("getBlocks", {"start": True, "end": 9}, -32602),
        ("getBlocks", {"start": -1, "end": 9}, -32602),
        ("getBlocks", {"start": 5}, -32602),
        ("block", {}, -32602),
        ("chainTransaction", {"id": 7}, -32602),
        (
            "chainTransactionsForProgram",
            {"programId": "a", "functionName": "b", "page": 0, "maxTransactions": 1_000},
            -32602,
        ),
        ("getPublicTransactionsForAddress", {"address": "x", "start": 0, "end": 50_001}, -32602),
        ("blocks", {"start": 0, "end": 1}, -32601),
    ],
)
def test_calls_beyond_the_limits_are_refused(method: str, params: dict[str, Any], code: int) -> None:
    assert refusal(QUIET, method, **params) == code


def test_calls_at_the_limits_and_past_the_tip_are_answered() -> None:
    tip = CHAIN.newest
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
    service = Service(Chain(newest=-1))
    assert ask(service, "latest/block") is None
    assert ask(service, "getBlocks", start=0, end=10) == []
    assert ask(service, "records/all", start=0, end=10) == []


def test_a_chain_may_grow_between_calls() -> None:
    tip = [10]
    service = Service(CHAIN, newest=lambda: tip[0])
    assert ask(service, "latest/block")["height"] == "10"
    newest = CHAIN.transaction_id(11, 0)
    assert ask(service, "chainTransaction", id=newest) is None
    tip[0] += 1
    assert ask(service, "latest/block")["height"] == "11"
    assert ask(service, "chainTransaction", id=newest)["transaction"]["id"] == newest


def envelope(body: bytes) -> Any:
    reply = QUIET.answer(body)
    assert reply.status == 200
    return json.loads(reply.body)


@pytest.mark.parametrize(
    "body",
    [b"[]", b"5", b'"x"', b'{"id":1,"method":"block"}', b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":{}}'],
)
def test_a_bad_envelope_is_an_invalid_request(body: bytes) -> None:
    assert envelope(body)["error"]["code"] == -32600


def test_batches_are_answered_as_arrays_and_calls_without_id_not_at_all() -> None:
    call = b'{"jsonrpc":"2.0","id":%s,"method":"latest/block"}'
    silent = b'{"jsonrpc":"2.0","method":"latest/block"}'
    answers = envelope(b"[" + call % b'"a"' + b"," + silent + b",3," + call % b"null" + b"]")
    assert [answer["id"] for answer in answers] == ["a", None, None]
    assert [("result" in answer) for answer in answers] == [True, False, True]
    for body in (silent, b"[" + silent + b"]"):
        assert (QUIET.answer(body).status, QUIET.answer(body).body) == (204, b"")


def test_malformed_and_oversized_bodies_get_html() -> None:
    for body, status in ((b"{", 400), (b"", 400), (b"\xff", 400), (b" " * (150 * 1024 + 1), 413)):
        reply = QUIET.answer(body)
        assert reply.status == status
        assert reply.content_type.startswith("text/html")
        assert b"<html>" in reply.body


def test_the_aleo_dialect_has_its_own_names_and_habits() -> None:
    service = Service(CHAIN, dialect="aleo", shuffle=False)
    assert len(ask(service, "blocks", startHeight=5, endHeight=9)) == 4
    assert refusal(service, "getBlocks", start=5, end=9) == 0
    body = b'{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[5,9]}'
    assert len(json.loads(service.answer(body).body)["result"]) == 4
    assert ask(service, "getAleoBlocks", start=5, end=6) == ask(QUIET, "getChainBlocks", start=5, end=6)
    rows = ask(QUIET, "transactions", blockId=5)
    assert ask(service, "transactions", blockId=CHAIN.block_row(5)) == rows
    assert ask(service, "transactions", blockId=5) == []
    assert ask(service, "aleoTransaction", id=rows[0]["transaction_id"])["index"] == 0
    called = {"programId": "credits.aleo", "functionName": "split", "page": 0}
    assert len(ask(service, "aleoTransactionsForProgram", **called, maxTransactions=1_000)) == 1_000
    assert refusal(service, "aleoTransactionsForProgram", **called, maxTransactions=1_001) == -32602
    asked = {"address": CHAIN.addresses[0], "start": 0, "end": 20_000}
    many = ask(service, "getPublicTransactionsForAddress", **asked, transitionsPerRequest=3)
    assert len(many) > 1_000
    assert len(ask(service, "getPublicTransactionsForAddress", **asked, transactionsPerRequest=3)) == 3
    assert len(ask(service, "records/isOwner", start=777, end=778)) == 25_000
    assert refusal(service, "chainTransaction", id="x") == -32601
    assert len(DIALECTS["chain"]) == 11


# --- faults


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


# --- transports


def test_the_transport_answers_like_a_socket_and_cuts_bodies_like_one() -> None:
    call = {"jsonrpc": "2.0", "id": 4, "method": "block", "params": {"block": 3}}
    with httpx.Client(transport=DemoTransport(QUIET), base_url="http://demo") as client:
        assert client.post("/", json=call).json()["result"][0]["height"] == "3"
        assert client.get("/").status_code == 404
    cut = Service(CHAIN, Faults(truncate_rate=1))
    with httpx.Client(transport=DemoTransport(cut)) as client, pytest.raises(httpx.RemoteProtocolError):
        client.post("http://demo", json=call)
    zipped = Service(CHAIN, Faults(gzip=True))
    with httpx.Client(transport=DemoTransport(zipped)) as client:
        with client.stream("POST", "http://demo", json=call) as response:
            raw = b"".join(response.iter_raw())
        assert response.headers["Content-Encoding"] == "gzip"
        assert json.loads(gzip.decompress(raw))["id"] == 4
        assert client.post("http://demo", json=call, headers={"Accept-Encoding": "identity"}).json()["id"] == 4


def test_threads_may_share_the_transport() -> None:
    service = Service(CHAIN)
    got: list[int] = []

    def work(start: int) -> None:
        with httpx.Client(transport=DemoTransport(service)) as client:
            call = {"jsonrpc": "2.0", "id": 1, "method": "records/all", "params": {"start": start, "end": start + 20}}
            got.extend(row["id"] for row in client.post("http://demo", json=call).json()["result"])

    threads = [threading.Thread(target=work, args=(start,)) for start in range(600, 760, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [row["id"] for row in paged(QUIET, "records/all", 600, 760, 0, 10_000)]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[DemoServer]:
    with DemoServer(Service(CHAIN, getattr(request, "param", Faults())), "127.0.0.1", 0) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def test_a_socket_serves_several_calls_on_one_connection(server: DemoServer) -> None:
    url = f"http://127.0.0.1:{server.port}/"
    opened: list[str] = []

    def trace(name: str, _: Any) -> None:
        opened.append(name)

    with httpx.Client() as client:
        for number in range(3):
            call = {"jsonrpc": "2.0", "id": number, "method": "getBlocks", "params": {"start": 0, "end": 50}}
            response = client.post(url, json=call, extensions={"trace": trace})
            assert response.http_version == "HTTP/1.1"
            assert response.json()["id"] == number
            assert len(response.json()["result"]) == 50
        assert opened.count("connection.connect_tcp.complete") == 1
        silent = client.post(url, json={"jsonrpc": "2.0", "method": "latest/block"})
        assert (silent.status_code, silent.content) == (204, b"")
        assert client.post(url, content=b"{").status_code == 400
        for method in ("GET", "HEAD", "PUT"):
            response = client.request(method, url)
            assert response.status_code == 404
            assert response.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("server", [Faults(truncate_rate=1, gzip=True)], indirect=True)
def test_a_socket_can_break_off_in_the_middle_of_a_body(server: DemoServer) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "getBlocks", "params": {"start": 0, "end": 500}}
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
        httpx.post(f"http://127.0.0.1:{server.port}/", json=call)


def test_serve_says_its_port_and_ends_quietly_when_interrupted(capfd: pytest.CaptureFixture[str]) -> None:
    ports: list[int] = []

    def ready(port: int) -> None:
        ports.append(port)
        raise KeyboardInterrupt

    serve(QUIET, "127.0.0.1", 0, ready=ready)
    assert ports[0] > 0
    assert capfd.readouterr() == ("", "")


def test_importing_the_package_imports_nothing_of_it() -> None:
    text = Path(layout.__file__).with_name("__init__.py").read_text()
    assert "import" not in re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
