"""Faults of ranges, pages, rows, tips and reorgs: each does what is documented, and other rows are the chain's."""

import json
from collections import Counter
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import FAULTS, LISTS, STALE_BLOCKS, Faults
from chainq.demo.service import Service
from harness.sample import CHAIN, QUIET, ask, paged, post, with_dense

Rows = list[dict[str, Any]]
METHODS = ("records/all", "records/isOwner", "transitionsWithoutRecordInputs")
ADDRESS: dict[str, Any] = {"address": CHAIN.addresses[0], "transitionsPerRequest": 999}


def faulty(*faults: str, chain: Chain = CHAIN, shuffle: bool = False) -> Service:
    return Service(chain, Faults(*faults), shuffle=shuffle)


def records(service: Service, start: int, end: int, page: int = 0, size: int = 10_000) -> Rows:
    return paged(service, "records/all", start, end, page, size)


def heights(rows: Rows) -> list[int]:
    return [int(row["height"]) for row in rows]


def sizes(rows: Rows) -> list[int]:
    return [len(json.dumps(row, separators=(",", ":"))) for row in rows]


WHOLE = records(QUIET, 600, 700)
PER_HEIGHT = [[*rows] for _, rows in groupby(WHOLE, key=lambda row: row["height"])]
TWENTY = 1 + sum(sizes(WHOLE[:20])) + 20 + 5
"""Bytes in which 20 rows fit, and no more."""

PICKED = [
    ("first-block", (0, 10_000), PER_HEIGHT[0]),
    ("row-cap:50 offset-by-asked", (1, 80), WHOLE[80:130]),
    ("offset-by-asked row-cap:50", (1, 80), WHOLE[80:130]),  # in the order of the registry
    ("late-pages", (1, 50), WHOLE[51:101]),
    ("newest-first", (1, 50), WHOLE[::-1][50:100]),
    ("height-cap:2", (0, 10_000), [row for rows in PER_HEIGHT for row in rows[:2]]),
    ("first-block short-pages", (0, len(PER_HEIGHT[0])), PER_HEIGHT[0][:-1]),
    ("short-pages", (1, 50), WHOLE[50:99]),
    ("short-pages row-cap:20", (0, 10_000), WHOLE[:19]),
    ("page-gaps:10", (0, 50), [row for at, row in enumerate(WHOLE[:50]) if at % 10 != 9]),
    (f"byte-cap:{TWENTY}", (0, 10_000), WHOLE[:20]),
]
"""Faults, a page of the records of 600 to 700 and its size, and the rows that come."""


MOVED = (Path(__file__).parent / "moved.txt").read_text().splitlines()
"""Faults, the heights, page and page size of a call, and those of the call that a server without faults answers so."""


@pytest.mark.parametrize("line", MOVED)
def test_a_call_is_answered_as_another_one(line: str) -> None:
    faults, _, calls = line.rpartition(": ")
    call, due = ([*map(int, numbers.split())] for numbers in calls.split(" = "))
    for method in METHODS:
        answers = [
            paged(service, method, *asked, *(0, 10_000)[len(asked) - 2 :])
            for service, asked in ((faulty(*faults.split()), call), (QUIET, due))
        ]
        assert answers[0] == answers[1]


@pytest.mark.parametrize(("faults", "page", "due"), PICKED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_page_has_other_rows(faults: str, page: tuple[int, int], due: Rows) -> None:
    assert records(faulty(*faults.split()), 600, 700, *page) == due


# --- ranges


def test_address_transactions_have_the_faults_of_ranges_too() -> None:
    asked = "getPublicTransactionsForAddress"
    for fault, *due in (("shift-up", 601, 651), ("inclusive-end", 600, 651)):
        rows = ask(faulty(fault), asked, **ADDRESS, start=600, end=650)
        assert rows == ask(QUIET, asked, **ADDRESS, start=due[0], end=due[1])
    first = ask(faulty("first-block"), asked, **ADDRESS, start=600, end=650)
    assert 0 < len(first) < len(rows)
    assert first == rows[: len(first)]


def test_blocks_have_the_faults_of_ranges_too() -> None:
    assert sorted(heights(ask(faulty("clamp-heights:10"), "getBlocks", start=600, end=700))) == [*range(600, 610)]
    assert len(ask(faulty("byte-cap:5000"), "getBlocks", start=0, end=100)) == 5
    assert ask(faulty("empty-above:50"), "block", block=5)


# --- rows


def test_a_block_can_be_missing_and_a_link_broken() -> None:
    service = faulty("missing-height:7", "link:9")
    for rows in (ask(service, "getBlocks", start=5, end=11), ask(service, "getChainBlocks", start=5, end=11)):
        hashes = [CHAIN.block_hash(height) for height in (5, 6, 8, 9, 10)]
        assert [row["block_hash"] for row in rows] == hashes
        assert rows[3]["previous_hash"] != rows[2]["block_hash"]
        assert rows[4]["previous_hash"] == rows[3]["block_hash"]
    assert ask(service, "block", block=7) == []


def test_a_height_can_be_dense() -> None:
    for height, count in ((300, 1), (300, 50), (300, 25_001), (0, 3), (777, 4)):
        chain = Chain(tip=900, layout=with_dense(height, count))
        rows = records(Service(chain, shuffle=False), height, height + 1, size=100_000)
        assert len({row["record_ciphertext"] for row in rows}) == len(rows) == count
        for other in {299, 301, 450, 776, 778, 850} - {height}:
            assert chain.records.count(other) == CHAIN.records.count(other)
            assert chain.transactions.count(other) == CHAIN.transactions.count(other)


@pytest.mark.parametrize("dialect", ["chain", "aleo"])
def test_a_block_that_is_stored_again_has_one_new_row_id(dialect: str) -> None:
    """In its summary, its records and its transactions, which nobody finds by the old one; its rows come last."""
    service = Service(CHAIN, Faults("stored-again:620"), dialect, shuffle=False)
    (block,) = ask(service, "block", block=620)
    rows = records(service, 615, 630)
    assert heights(rows)[-1] == 620
    assert sorted(heights(rows)) == heights(records(QUIET, 615, 630))
    assert {row["block_id"] for row in rows if row["height"] == 620} == {block["id"]}
    assert block["id"] > max(row["block_id"] for row in rows if row["height"] != 620)
    found = ask(service, "transactions", blockId=block["id"] if dialect == "aleo" else 620)
    assert {row["block_id"] for row in found} == {block["id"]}
    assert len(found) == CHAIN.transactions.count(620)
    assert dialect == "chain" or ask(service, "transactions", blockId=CHAIN.block_row(620)) == []


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
    """The blocks below the height are the same, those from it on others, linked to them and consistent in all
    methods."""
    service = faulty(chain=Chain(tip=640))
    before = ask(service, "getBlocks", start=615, end=630)
    service.change(service.chain.forked(620))
    after = ask(service, "getBlocks", start=615, end=630)
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
    fork = Service(CHAIN.forked(0))
    assert ask(fork, "block", block=0) != ask(QUIET, "block", block=0)
    assert post(fork, "records/isOwner", start=0, end=9) != post(QUIET, "records/isOwner", start=0, end=9)
    transitions = ask(fork, "transitionsWithoutRecordInputs", start=5, end=9)
    assert len(transitions) == len(ask(QUIET, "transitionsWithoutRecordInputs", start=5, end=9))


# --- all of them


@cache
def known_ids() -> set[int]:
    """The ids of all records of the chain."""
    return {row["id"] for row in records(QUIET, 0, 1_400)}


OF_LISTS = [
    name for name, fault in FAULTS.items() if fault.argument in ("", "N") and fault.of and {*fault.of} <= {*LISTS}
]


@pytest.mark.parametrize("name", OF_LISTS)
def test_no_row_is_invented(name: str) -> None:
    """Whatever comes is a row of the chain; and only lists are wrong."""
    service = faulty(f"{name}:7" if FAULTS[name].argument else name)
    for page in range(3):
        rows = records(service, 600, 700, page, 40)
        assert {row["id"] for row in rows} <= known_ids()
    assert len(ask(service, "getBlocks", start=600, end=610)) == 10
