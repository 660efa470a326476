"""Faults of ranges, pages and rows: each does what is documented, and other rows are the chain's."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import FAULTS, LISTS, STALE_BLOCKS, Faults
from chainq.demo.service import SampleService
from harness.running.sample import CHAIN, QUIET, ask, paged, post

Rows = list[dict[str, Any]]
METHODS = ("records/all", "records/isOwner", "transitionsWithoutRecordInputs")


def faulty(*faults: str) -> SampleService:
    return SampleService(CHAIN, Faults(*faults), shuffle=False)


def records(service: SampleService, start: int, end: int, page: int = 0, size: int = 10_000) -> Rows:
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


@pytest.mark.parametrize("dialect", ["chain", "aleo"])
def test_a_block_that_is_stored_again_has_one_new_row_id(dialect: str) -> None:
    """In its summary, its records and its transactions, which nobody finds by the old one; its rows come last."""
    service = SampleService(CHAIN, Faults("stored-again:620"), dialect, shuffle=False)
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


def test_records_can_be_written_after_their_block() -> None:
    tip = [640]
    service = SampleService(CHAIN, Faults("late-records:3"), shuffle=False, tip=lambda: tip[0])
    seen = [records(service, 639, 650) for _ in range(5)]
    assert seen == [records(QUIET, 639, 640)] * 3 + [records(QUIET, 639, 641)] * 2
    tip[0] = 642
    assert len(ask(service, "getBlocks", start=640, end=650)) == 3
    seen = [records(service, 639, 650) for _ in range(5)]
    assert seen == [records(QUIET, 639, 641)] * 3 + [records(QUIET, 639, 643)] * 2


@pytest.mark.parametrize(
    ("fault", "method", "span", "due"),
    [
        ("stale-tip-rate:1", "latest/block", (), [640 - STALE_BLOCKS]),
        ("lag-blocks:3", "latest/block", (), [640]),
        ("lag-blocks:3", "getBlocks", (635, 641), [635, 636, 637]),
        ("clamp-heights:2", "getBlocks", (600, 605), [600, 601]),
        ("heavy-rows:2", "getBlocks", (600, 602), [600, 601]),
        ("heavy-rows:2", "getBlocks", (600, 603), []),
    ],
)
def test_other_blocks_come(fault: str, method: str, span: tuple[int, ...], due: list[int]) -> None:
    service = SampleService(Chain(tip=640), Faults(fault), shuffle=False)
    answer = json.loads(post(service, method, **dict(zip(("start", "end"), span, strict=False)))).get("result", [])
    assert heights(answer if span else [answer]) == due


OF_LISTS = [name for name, one in FAULTS.items() if one.argument in ("", "N") and one.of and {*one.of} <= {*LISTS}]


@pytest.mark.parametrize("name", OF_LISTS)
def test_no_row_is_invented(name: str) -> None:
    rows = records(faulty(f"{name}:7" if FAULTS[name].argument else name), 600, 700, 1, 40)
    assert {row["id"] for row in rows} <= {row["id"] for row in records(QUIET, 500, 800)}
