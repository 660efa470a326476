"""Faults of lists: each is wrong in the one way that its help says, and all other rows are the chain's."""

import json
from contextlib import ExitStack
from functools import cache
from itertools import groupby
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import Faults
from chainq.demo.fork import Fork
from chainq.demo.registry import FAULTS, LISTS
from chainq.demo.row_faults import POOL, POOL_EMPTY
from chainq.demo.service import Service
from harness.sample import CHAIN, QUIET, ask, paged, post, refusal

Rows = list[dict[str, Any]]
METHODS = ("records/all", "records/isOwner", "transitionsWithoutRecordInputs")
HELLO: dict[str, Any] = {"programId": "hello_hello.aleo", "functionName": "hello"}


def wrong(*faults: str, chain: Chain = CHAIN, shuffle: bool = False) -> Service:
    return Service(chain, Faults(*faults), shuffle=shuffle)


def records(service: Service, start: int, end: int, page: int = 0, size: int = 10_000) -> Rows:
    return paged(service, "records/all", start, end, page, size)


def hello(service: Service, page: int = 0, size: int = 999) -> Rows:
    rows: Rows = ask(service, "chainTransactionsForProgram", **HELLO, page=page, maxTransactions=size)
    return rows


def heights(rows: Rows) -> list[int]:
    return [int(row["height"]) for row in rows]


WHOLE = records(QUIET, 600, 700)
PER_HEIGHT = [[*rows] for _, rows in groupby(WHOLE, key=lambda row: row["height"])]


# --- ranges


@pytest.mark.parametrize("method", METHODS)
def test_ranges_can_be_shifted(method: str) -> None:
    assert paged(wrong("shift-up"), method, 600, 650, 0, 999) == paged(QUIET, method, 601, 651, 0, 999)
    assert paged(wrong("shift-down"), method, 600, 650, 0, 999) == paged(QUIET, method, 599, 649, 0, 999)
    assert paged(wrong("shift-down"), method, 0, 2, 0, 999) == paged(QUIET, method, 0, 1, 0, 999)


@pytest.mark.parametrize("method", METHODS)
def test_the_last_height_can_be_left_out_and_the_next_range_leak_in(method: str) -> None:
    assert paged(wrong("last-height"), method, 600, 650, 0, 999) == paged(QUIET, method, 600, 649, 0, 999)
    assert paged(wrong("last-height"), method, 640, 641, 0, 999) == []
    assert paged(wrong("next-range"), method, 600, 610, 0, 999) == paged(QUIET, method, 600, 620, 0, 999)
    assert paged(wrong("next-range"), method, 600, 610, 0, 9) == paged(QUIET, method, 600, 610, 0, 9)


def test_the_end_can_count_for_the_first_page_only() -> None:
    service = wrong("end-ignored", chain=Chain(tip=640))
    assert records(service, 600, 610, 0, 10) == WHOLE[:10]
    assert records(service, 600, 610, 1, 100) == records(Service(Chain(tip=640), shuffle=False), 600, 641, 1, 100)
    assert len(records(wrong("end-ignored"), 600, 601, 1, 100)) == 100


def test_address_transactions_have_the_faults_of_ranges_too() -> None:
    address = {"address": CHAIN.addresses[0], "transitionsPerRequest": 999}
    method = "getPublicTransactionsForAddress"
    moved = ask(wrong("shift-up"), method, **address, start=600, end=650)
    assert moved == ask(QUIET, method, **address, start=601, end=651)
    first = ask(wrong("first-block"), method, **address, start=600, end=650)
    assert 0 < len(first) < len(moved)
    assert first == ask(QUIET, method, **address, start=600, end=650)[: len(first)]


# --- the rows of a range


def test_heights_can_be_sorted_as_text_and_in_descending_order() -> None:
    rows = records(wrong("text-order"), 95, 105)
    assert heights(rows) == sorted(heights(rows), key=str) != sorted(heights(rows))
    assert sorted(rows, key=lambda row: row["id"]) == records(QUIET, 95, 105)
    assert records(wrong("text-order"), 95, 105, 0, 5) == rows[:5]
    assert records(wrong("newest-first"), 600, 700, 1, 50) == WHOLE[::-1][50:100]


def test_only_the_first_block_with_rows_can_come() -> None:
    assert records(wrong("first-block"), 600, 700) == PER_HEIGHT[0]
    assert records(wrong("first-block"), 40_000, 40_010) == []
    assert records(wrong("first-block", "short-pages"), 600, 700, 0, len(PER_HEIGHT[0])) == PER_HEIGHT[0][:-1]


def test_a_height_can_be_cut_in_wider_ranges() -> None:
    assert records(wrong("height-cap:2"), 600, 700) == [row for rows in PER_HEIGHT for row in rows[:2]]
    assert records(wrong("height-cap:2"), 640, 641) == records(QUIET, 640, 641)


def test_a_range_with_many_rows_can_be_empty_whatever_the_page_size() -> None:
    service, count = wrong("range-empty:100"), len(records(QUIET, 600, 610))
    assert count <= 100
    assert records(service, 600, 610) == records(QUIET, 600, 610)
    assert records(service, 600, 700, 0, 5) == []


def test_a_transaction_can_be_listed_once() -> None:
    found = [row["transaction_id"] for row in records(wrong("distinct"), 600, 700)]
    assert found == [*dict.fromkeys(row["transaction_id"] for row in WHOLE)]
    owned = paged(wrong("distinct"), "records/isOwner", 600, 700, 0, 999)
    assert [row["transition_id"] for row in owned] == [*dict.fromkeys(row["transition_id"] for row in WHOLE)]
    assert [row["transaction"]["id"] for row in hello(wrong("distinct"))] == [
        *dict.fromkeys(row["transaction"]["id"] for row in hello(QUIET))
    ]


def test_ownership_rows_can_be_behind_records() -> None:
    chain = Chain(tip=640)
    service, quiet = wrong("ownership-behind:5", chain=chain), Service(chain, shuffle=False)
    assert records(service, 600, 641) == records(quiet, 600, 641)
    behind = paged(service, "records/isOwner", 600, 641, 0, 999)
    assert behind == paged(quiet, "records/isOwner", 600, 636, 0, 999)


def test_rows_can_be_cached_across_a_reorg() -> None:
    """The blocks are the new ones, and so are the rows of heights that nobody asked for before."""
    chain = Chain(tip=640)
    service = wrong("cached-rows", "reorg-at:620", "reorg-after:2", chain=chain)
    old, new = Service(chain, shuffle=False), Service(Fork(chain, 620), shuffle=False)
    assert records(service, 600, 630) == records(old, 600, 630)
    ask(service, "latest/block")
    assert records(service, 610, 641) == records(old, 610, 630) + records(new, 630, 641)
    assert records(service, 619, 622) == records(old, 619, 622) != records(new, 619, 622)
    assert paged(service, "records/isOwner", 619, 622, 0, 99) == paged(new, "records/isOwner", 619, 622, 0, 99)
    assert ask(service, "block", block=625) == ask(new, "block", block=625) != ask(old, "block", block=625)


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


# --- pages


def test_pages_can_begin_in_the_wrong_place() -> None:
    skipped, repeated, late = wrong("page-0-skipped"), wrong("repeated-page:2"), wrong("late-pages")
    assert [records(skipped, 600, 700, page, 50) for page in (0, 1)] == [WHOLE[50:100]] * 2
    assert [records(repeated, 600, 700, page, 50) for page in range(4)] == [
        WHOLE[:50],
        WHOLE[50:100],
        WHOLE[50:100],
        WHOLE[150:200],
    ]
    assert [records(late, 600, 700, page, 50) for page in (0, 1)] == [WHOLE[:50], WHOLE[51:101]]
    assert [records(wrong("page-0-empty"), 600, 700, page, 50) for page in (0, 1)] == [[], WHOLE[50:100]]
    rows = hello(QUIET)
    assert [hello(wrong("page-0-empty"), page, 10) for page in (0, 1)] == [[], rows[10:20]]
    assert [hello(late, page, 10) for page in (0, 1)] == [rows[:10], rows[11:21]]


def test_a_page_can_be_made_of_the_parts_of_shards() -> None:
    """Two shards give half of the page size each, so rows of the fuller one are missing in between."""
    sides = [[row for row in WHOLE if row["height"] % 2 == side] for side in (0, 1)]
    for page in (0, 1):
        part = slice(25 * page, 25 * page + 25)
        due = sorted(sides[0][part] + sides[1][part], key=lambda row: row["id"])
        assert records(wrong("shards:2"), 600, 700, page, 50) == due
    assert records(wrong("shards:2"), 600, 700) == WHOLE
    assert len(records(wrong("shards:8"), 600, 700, 0, 1)) == 8  # no shard can give less than a row


# --- the rows of a page


def test_a_heavy_page_can_be_empty() -> None:
    count = len(WHOLE)
    assert records(wrong(f"heavy-empty:{count}"), 600, 700) == WHOLE
    assert records(wrong(f"heavy-empty:{count - 1}"), 600, 700) == []
    assert records(wrong(f"heavy-empty:{count - 1}"), 600, 700, 0, 50) == WHOLE[:50]


def test_full_pages_can_lack_rows() -> None:
    assert records(wrong("short-pages"), 600, 700, 1, 50) == WHOLE[50:99]
    assert records(wrong("short-pages"), 600, 700) == WHOLE
    assert records(wrong("page-gaps:10"), 600, 700, 0, 50) == [row for at, row in enumerate(WHOLE[:50]) if at % 10 != 9]
    assert records(wrong("page-gaps:10"), 600, 700) == WHOLE
    assert hello(wrong("short-pages"), 1, 20) == hello(QUIET)[20:39]


def test_a_page_can_be_reversed() -> None:
    assert records(wrong("reversed-pages"), 600, 700, 1, 50) == WHOLE[50:100][::-1]


def test_a_long_row_can_hide_those_after_it() -> None:
    sizes = [len(json.dumps(row, separators=(",", ":"))) for row in hello(QUIET)]
    longest = max(sizes)
    place = sizes.index(longest)
    assert hello(wrong(f"long-row-ends:{longest - 1}")) == hello(QUIET)[: place + 1]
    assert hello(wrong(f"long-row-hides:{longest - 1}")) == hello(QUIET)[:place]
    assert hello(wrong(f"long-row-hides:{longest - 1}"), place, 1) == []
    after = next(at for at in range(place, len(sizes)) if sizes[at] < longest)
    assert len(hello(wrong(f"long-row-hides:{longest - 1}"), after, 1)) == 1
    assert records(wrong("long-row-hides:100000"), 600, 700) == WHOLE
    assert records(wrong("long-row-ends:10"), 600, 700) == WHOLE[:1]


def test_heights_can_change_between_text_and_number() -> None:
    rows = records(wrong("text-heights"), 600, 700)
    assert [type(row["height"]) for row in rows[:4]] == [int, str, int, str]
    assert [{**row, "height": int(row["height"])} for row in rows] == WHOLE
    transitions = paged(wrong("text-heights"), METHODS[2], 600, 700, 0, 999)
    assert [type(row["height"]) for row in transitions[:3]] == [str, int, str]


def test_an_empty_list_can_be_null() -> None:
    service = wrong("null-lists")
    assert ask(service, "records/all", start=40_000, end=40_010) is None
    assert ask(service, "block", block=60_000) is None
    assert records(service, 600, 700) == WHOLE


def test_a_pool_of_connections_can_be_used_up() -> None:
    """Pages with rows of a heavy block fail if they are large, or if there are too many calls at a time."""
    service, size = wrong("busy-pool:40"), 40
    at = next(at for at, row in enumerate(hello(QUIET)) if row["finalizedAt"] == str(CHAIN.timestamp(1_220)))
    heavy = {**HELLO, "page": at // size, "maxTransactions": size}
    error = json.loads(post(service, "chainTransactionsForProgram", **HELLO, page=0, maxTransactions=999))["error"]
    assert error == {"code": 0, "message": POOL_EMPTY}
    with ExitStack() as calls:
        for _ in range(POOL):
            calls.enter_context(service.under_way())
        assert len(ask(service, "chainTransactionsForProgram", **heavy)) == size
        calls.enter_context(service.under_way())
        assert refusal(service, "chainTransactionsForProgram", **heavy) == 0
        assert len(hello(service, 0, 5)) == 5  # no row of a heavy block
    assert len(ask(service, "chainTransactionsForProgram", **heavy)) == size
    assert len(records(service, 777, 778)) == 10_000


def test_a_block_can_be_heavy() -> None:
    """Pages with more than two of its rows fail."""
    service = wrong("heavy-block:40")
    at = next(at for at, row in enumerate(hello(QUIET)) if row["finalizedAt"] == str(CHAIN.timestamp(1_220)))
    heavy = [{**HELLO, "page": -(-at // size), "maxTransactions": size} for size in (2, 3)]
    assert len(ask(service, "chainTransactionsForProgram", **heavy[0])) == 2
    assert refusal(service, "chainTransactionsForProgram", **heavy[1]) == 0
    assert len(records(service, 777, 778)) == 10_000


# --- all of them


def test_other_faults_count_what_a_page_gives() -> None:
    """Also of a list with faults of its own: heavy queries, caps, and rows in another order in each call."""
    service = wrong("text-heights", "heavy-rows:50")
    assert len(records(service, 600, 700, 0, 50)) == 50
    assert refusal(service, "records/all", start=600, end=700) == 0
    assert refusal(service, "getBlocks", start=600, end=700) == 0
    assert len(records(wrong("short-pages", "row-cap:20"), 600, 700)) == 19
    shuffled = wrong("distinct", shuffle=True)
    one, other = (records(shuffled, 600, 700) for _ in range(2))
    assert one != other
    assert heights(one) == heights(other)


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
    service = wrong(f"{name}:7" if FAULTS[name].argument else name)
    for page in range(3):
        rows = records(service, 600, 700, page, 40)
        assert {row["id"] for row in rows} <= known_ids()
    assert len(ask(service, "getBlocks", start=600, end=610)) == 10
