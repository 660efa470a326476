"""Faults of ranges, pages, rows, tips and reorgs: each does what is documented, and other rows are the chain's."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import Faults
from chainq.demo.fork import Fork
from chainq.demo.request_faults import STALE_BLOCKS
from chainq.demo.service import Service
from harness.sample import CHAIN, QUIET, ask, paged, post

Rows = list[dict[str, Any]]
SHUFFLED = Service(CHAIN)


def faulty(*faults: str, chain: Chain = CHAIN) -> Service:
    return Service(chain, Faults(*faults), shuffle=False)


def records(service: Service, start: int, end: int, page: int = 0, size: int = 10_000) -> Rows:
    return paged(service, "records/all", start, end, page, size)


def heights(rows: Rows) -> list[int]:
    return [int(row["height"]) for row in rows]


def tally(results: Callable[[], Any], calls: int = 200) -> Counter[Any]:
    return Counter(json.dumps(results()) for _ in range(calls))


WHOLE = records(QUIET, 600, 700)


# --- ranges


def test_a_clamped_range_serves_only_its_first_heights() -> None:
    service = faulty("clamp-heights:10")
    assert records(service, 600, 700) == records(QUIET, 600, 610)
    assert records(service, 600, 605) == records(QUIET, 600, 605)
    assert sorted(heights(ask(service, "getBlocks", start=600, end=700))) == [*range(600, 610)]


def test_a_wide_range_can_be_empty() -> None:
    service = faulty("empty-above:50")
    assert records(service, 600, 651) == []
    assert records(service, 600, 650) == records(QUIET, 600, 650)
    assert ask(service, "block", block=5)


def test_the_start_can_be_excluded_and_the_end_included() -> None:
    assert records(faulty("exclusive-start"), 600, 700) == records(QUIET, 601, 700)
    assert records(faulty("inclusive-end"), 600, 700) == records(QUIET, 600, 701)
    assert records(faulty("inclusive-end", "exclusive-start"), 600, 700) == records(QUIET, 601, 701)
    address = {"address": CHAIN.addresses[0], "start": 600}
    more = ask(faulty("inclusive-end"), "getPublicTransactionsForAddress", **address, end=609)
    assert more == ask(QUIET, "getPublicTransactionsForAddress", **address, end=610)


@pytest.mark.parametrize("method", ["records/all", "records/isOwner"])
def test_a_row_of_the_next_height_can_leak_in(method: str) -> None:
    service = faulty("neighbor-rows")
    assert paged(service, method, 600, 650, 0, 10_000) == [
        *paged(QUIET, method, 600, 650, 0, 10_000),
        paged(QUIET, method, 650, 651, 0, 10_000)[0],
    ]
    assert paged(service, method, 600, 650, 0, 10) == paged(QUIET, method, 600, 650, 0, 10)


# --- pages


def test_a_hidden_cap_is_the_real_page_size() -> None:
    service = faulty("row-cap:50")
    assert records(service, 600, 700) == WHOLE[:50]
    assert records(service, 600, 700, 1) == WHOLE[50:100]
    assert records(service, 600, 700, 1, 20) == WHOLE[20:40]


def test_pages_can_start_by_the_size_that_was_requested() -> None:
    service = faulty("row-cap:50", "offset-by-asked")
    assert records(service, 600, 700, 0, 80) == WHOLE[:50]
    assert records(service, 600, 700, 1, 80) == WHOLE[80:130]
    assert records(service, 600, 700, 1) == []


def test_a_cap_can_vary() -> None:
    service = faulty("row-cap:50", "cap-varies")
    lengths = Counter(len(records(service, 600, 700)) for _ in range(100))
    assert set(lengths) == {50, 100}
    assert 25 < lengths[50] < 75


def test_a_cap_can_count_bytes() -> None:
    sizes = [len(json.dumps(row, separators=(",", ":"))) + 1 for row in WHOLE]
    cap = 1 + sum(sizes[:20]) + 5
    rows = records(faulty(f"byte-cap:{cap}"), 600, 700)
    assert rows == WHOLE[:20]
    assert records(faulty("byte-cap:10"), 600, 700) == WHOLE[:1]
    assert records(faulty("byte-cap:536870912"), 600, 700) == WHOLE
    assert len(ask(faulty("byte-cap:5000"), "getBlocks", start=0, end=100)) == 5


def test_a_server_may_not_read_the_page_size() -> None:
    service = faulty("ignore-page-size")
    assert len(records(service, 777, 778, 0, 5)) == 10_000
    busy = {"address": CHAIN.addresses[0], "start": 0, "end": 50_000, "transitionsPerRequest": 1}
    assert len(ask(service, "getPublicTransactionsForAddress", **busy)) > 10_000
    assert ask(service, "getPublicTransactionsForAddress", **busy, page=1) == []


def test_a_server_may_have_one_page_or_repeat_it() -> None:
    assert records(faulty("no-pages"), 600, 700, 0, 50) == WHOLE[:50]
    assert records(faulty("no-pages"), 600, 700, 1, 50) == []
    assert records(faulty("repeat-pages"), 600, 700, 7, 50) == WHOLE[:50]


def test_pages_can_end_at_a_result_window() -> None:
    service = faulty("result-window:120")
    assert [records(service, 600, 700, page, 50) for page in range(4)] == [
        WHOLE[:50],
        WHOLE[50:100],
        WHOLE[100:120],
        [],
    ]
    assert records(service, 600, 602) == records(QUIET, 600, 602)


# --- rows


def test_results_of_ranges_can_be_empty_now_and_then() -> None:
    service = faulty("empty-rate:0.3")
    found = tally(lambda: records(service, 600, 605))
    assert set(found) == {"[]", json.dumps(records(QUIET, 600, 605))}
    assert 30 < found["[]"] < 90
    assert all(ask(service, "block", block=5) for _ in range(50))


def test_rows_can_come_twice() -> None:
    rows = records(faulty("duplicate-rate:0.2"), 600, 700)
    counts = Counter(row["id"] for row in rows)
    assert set(counts) == {row["id"] for row in WHOLE}
    assert set(counts.values()) == {1, 2}
    assert 0.1 < sum(count == 2 for count in counts.values()) / len(WHOLE) < 0.3


def test_rows_can_be_in_no_order_of_height() -> None:
    service = faulty("shuffle-heights")
    rows = records(service, 600, 700)
    assert heights(rows) != sorted(heights(rows))
    assert sorted(rows, key=lambda row: row["id"]) == WHOLE
    assert records(service, 600, 700) != rows


def test_a_block_can_be_missing_and_a_link_broken() -> None:
    service = faulty("missing-height:7", "link:9")
    for rows in (ask(service, "getBlocks", start=5, end=11), ask(service, "getChainBlocks", start=5, end=11)):
        hashes = [CHAIN.block_hash(height) for height in (5, 6, 8, 9, 10)]
        assert [row["block_hash"] for row in rows] == hashes
        assert rows[3]["previous_hash"] != rows[2]["block_hash"]
        assert rows[4]["previous_hash"] == rows[3]["block_hash"]
    assert ask(service, "block", block=7) == []


def test_a_height_can_be_dense() -> None:
    for dense in ((300, 1), (300, 50), (300, 25_001), (0, 3), (777, 4)):
        chain = Chain(tip=900, dense=dense)
        height, count = dense
        rows = records(Service(chain, shuffle=False), height, height + 1, size=100_000)
        assert len({row["record_ciphertext"] for row in rows}) == len(rows) == count
        for other in {299, 301, 450, 776, 778, 850} - {height}:
            assert chain.records.count(other) == CHAIN.records.count(other)
            assert chain.transactions.count(other) == CHAIN.transactions.count(other)


# --- tip and reorgs


def test_the_tip_can_be_stale() -> None:
    service = faulty("stale-tip-rate:0.3", chain=Chain(tip=500))
    found = Counter(int(ask(service, "latest/block")["height"]) for _ in range(200))
    assert set(found) == {500, 500 - STALE_BLOCKS}
    assert 30 < found[500 - STALE_BLOCKS] < 90
    assert ask(faulty("stale-tip-rate:1", chain=Chain(tip=-1)), "latest/block") is None
    assert ask(faulty("stale-tip-rate:1", chain=Chain(tip=4)), "latest/block")["height"] == "0"


def test_a_replica_can_be_behind_the_tip_that_it_names() -> None:
    service = faulty("lag-blocks:3", chain=Chain(tip=640))
    assert ask(service, "latest/block")["height"] == "640"
    assert ask(service, "block", block=638) == []
    assert ask(service, "block", block=637)
    assert records(service, 600, 641) == records(QUIET, 600, 638)
    assert heights(ask(service, "getBlocks", start=635, end=641)) == [635, 636, 637]


def test_records_can_be_written_after_their_block() -> None:
    tip = [640]
    service = Service(CHAIN, Faults("late-records:3"), shuffle=False, tip=lambda: tip[0])
    seen = [records(service, 639, 650) for _ in range(5)]
    assert seen == [records(QUIET, 639, 640)] * 3 + [records(QUIET, 639, 641)] * 2
    tip[0] = 642
    assert len(ask(service, "getBlocks", start=640, end=650)) == 3
    seen = [records(service, 639, 650) for _ in range(5)]
    assert seen == [records(QUIET, 639, 641)] * 3 + [records(QUIET, 639, 643)] * 2


def test_a_reorg_replaces_the_blocks_from_a_height_on() -> None:
    """After the given number of calls the blocks below the height are the same, those from it on others, linked to
    them and consistent in all methods."""
    service = faulty("reorg-at:620", "reorg-after:2", chain=Chain(tip=640))
    before, again, after = (ask(service, "getBlocks", start=615, end=630) for _ in range(3))
    assert before == again
    assert after[:5] == before[:5]
    assert not {row["block_hash"] for row in before[5:]} & {row["block_hash"] for row in after[5:]}
    assert [row["previous_hash"] for row in after[1:]] == [row["block_hash"] for row in after[:-1]]
    assert [row["block_hash"] for row in ask(service, "getChainBlocks", start=615, end=630)] == [
        row["block_hash"] for row in after
    ]
    old, new = records(QUIET, 615, 630), records(service, 615, 630)
    assert [row for row in new if row["height"] < 620] == [row for row in old if row["height"] < 620]
    assert heights(new) == heights(old)
    ids = [{row["transaction_id"] for row in rows if row["height"] >= 620} for rows in (old, new)]
    assert not ids[0] & ids[1]
    for row in new[-3:]:
        assert row["block_hash"] == after[row["height"] - 615]["block_hash"]
        whole = ask(service, "chainTransaction", id=row["transaction_id"])
        assert row["record_ciphertext"] in json.dumps(whole)
    assert ask(service, "chainTransaction", id=old[-1]["transaction_id"]) is None
    assert ask(service, "chainTransaction", id=old[0]["transaction_id"])


def test_a_fork_from_the_first_block_on_is_another_chain() -> None:
    fork = Service(Fork(CHAIN, 0))
    assert ask(fork, "block", block=0) != ask(QUIET, "block", block=0)
    assert post(fork, "records/isOwner", start=0, end=9) != post(QUIET, "records/isOwner", start=0, end=9)
    transitions = ask(fork, "transitionsWithoutRecordInputs", start=5, end=9)
    assert len(transitions) == len(ask(SHUFFLED, "transitionsWithoutRecordInputs", start=5, end=9))
