"""Ranges: their grammar, what a run asks for, and what it does not ask for. Calls are counted by the server."""

import json
from math import ceil

import pytest

from harness.running.program import Program, Servers
from harness.running.truth import Truth, difference
from harness.servers.services import witnessed

NEWEST = 3_000_000


@pytest.mark.parametrize(
    ("command", "start", "end"),
    [
        ("blocks", 500, 1700),
        ("full-blocks", 640, 660),
        ("records", 800, 1700),
        ("ownership", 800, 1700),
        ("transitions", 800, 1700),
        ("address-transactions", 0, 3000),
    ],
)
def test_reverse_gives_the_newest_heights_first(
    command: str, start: int, end: int, chainq: Program, server: Servers, truth: Truth
) -> None:
    """--reverse turns the heights round; every row still comes exactly once, also of rows without a height."""
    subject = (truth.chain.addresses[0],) if command == "address-transactions" else ()
    ran = chainq(command, *subject, "--start", str(start), "--end", str(end), "--reverse", url=server())
    assert ran.code == 0
    assert difference(ran.rows, truth.groups(command, start, end, *subject)[::-1]) == ""


def test_an_address_without_a_range_is_asked_for_on_the_whole_chain(chainq: Program, server: Servers) -> None:
    """address-transactions without a range covers the chain from block 0 to the newest, over its limit a call."""
    short = Truth(tip=60_000)
    address = short.chain.addresses[3]
    ran = chainq("address-transactions", address, url=server("--tip", "60000"))
    assert ran.code == 0
    assert difference(ran.rows, short.groups("address-transactions", 0, 60_001, address)) == ""


def test_limit_stops_after_so_many_rows(chainq: Program, server: Servers, truth: Truth) -> None:
    """--limit N prints the first N rows of the same answer, --limit 0 none."""
    for limit in (0, 1, 7, 40):
        for command in ("blocks", "records"):
            ran = chainq(command, "--start", "640", "--end", "700", "--limit", str(limit), url=server())
            assert (ran.code, ran.rows) == (0, truth.rows(command, 640, 700)[:limit])


@pytest.mark.parametrize("command", ["blocks", "full-blocks", "records", "transitions"])
def test_reverse_with_a_limit_is_cheap_on_a_long_chain(command: str, chainq: Program) -> None:
    """--reverse --limit 20 takes a handful of calls on a chain of three million blocks."""
    with witnessed() as (url, calls):
        ran = chainq(command, "--end", "3M", "--reverse", "--limit", "20", url=url)
    assert (ran.code, len(ran.rows)) == (0, 20)
    heights = [json.loads(row) for row in ran.rows]
    top = heights[0]["header"]["metadata"]["height"] if command == "full-blocks" else int(heights[0]["height"])
    assert NEWEST - 3 < top < NEWEST
    assert len(calls) <= 4, calls


@pytest.mark.parametrize(
    "words",
    [
        ("records", "0:5000", "--page", "0"),
        ("blocks", "0:100K", "--limit", "1005"),
        ("blocks", "0:100K", "--limit", "5", "--reverse"),
        ("records", "0:500", "--limit", "5"),
        ("records", "0:5000", "--limit", "0"),
    ],
)
def test_a_dry_run_has_only_calls_that_the_run_makes(words: tuple[str, ...], chainq: Program) -> None:
    """--page is one call, and --limit stops after the calls that it needs. A response may ask for more."""
    with witnessed() as (url, calls):
        dry = [json.loads(line) for line in chainq(*words, "--dry-run", url=url).rows]
        assert (calls, bool(dry)) == ([], words[-1] != "0" or "--page" in words)
        assert chainq(*words, url=url).code == 0
    assert all((call["method"], call["params"]) in calls for call in dry)
    assert len(calls) <= len(dry) + 1


def test_page_size_is_what_calls_ask_for_at_first(chainq: Program, truth: Truth) -> None:
    """--page-size goes out as it stands, and the rows are whole all the same."""
    with witnessed() as (url, calls):
        ran = chainq("records", "--start", "640", "--end", "700", "--page-size", "100", url=url)
    assert difference(ran.rows, truth.groups("records", 640, 700)) == ""
    assert calls[0].params["recordsPerRequest"] == 100
    assert len(calls) > 1


def test_blocks_of_a_range_take_one_call_a_thousand(chainq: Program, truth: Truth) -> None:
    """n heights of blocks take ceil(n / 1000) calls, and none for the newest block where the range is fixed."""
    for start, end in ((0, 3_000), (5, 4_321)):
        with witnessed() as (url, calls):
            ran = chainq("blocks", "--start", str(start), "--end", str(end), url=url)
        assert difference(ran.rows, truth.groups("blocks", start, end)) == ""
        assert [call.method for call in calls] == ["getBlocks"] * ceil((end - start) / 1000)
        assert max(call.params["end"] - call.params["start"] for call in calls) == 1000


def test_the_tip_check_is_asked_for_once_and_only_when_needed(chainq: Program) -> None:
    """One latest/block where the range counts from the end, none where it is fixed."""
    for words, count in (
        (["blocks", "--start", "-2500"], 1),
        (["records", "--last", "1500"], 1),
        (["blocks"], 1),
        (["blocks", "--start", "2999000", "--end", "3010000"], 1),
        (["block", "latest", "5", "latest"], 1),
        (["block", "5:7", "8:9", "3000000:"], 1),
        (["records", "--start", "0", "--end", "700"], 0),
        (["records", "--end", "700"], 0),
        (["block", "5"], 0),
    ):
        with witnessed() as (url, calls):
            assert chainq(*words, url=url).code == 0
        assert [call.method for call in calls].count("latest/block") == count, words
