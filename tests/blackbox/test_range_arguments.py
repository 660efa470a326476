"""Ranges as one argument: H, A:B, A:, :B, latest; for commands of a range, and for those of single heights."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from harness.program import Program, Servers, one_line
from harness.services import witnessed
from harness.truth import Truth, difference

TIP = 3_000_000
LAST = TIP + 1


@pytest.mark.parametrize(
    ("word", "start", "end"),
    [
        ("12345", 12_345, 12_346),
        ("12K", 12_000, 12_001),
        ("12K:12_003", 12_000, 12_003),
        ("2.999999M:", TIP - 1, LAST),
        (":3", 0, 3),
        ("latest", TIP, LAST),
        ("2999999:latest", TIP - 1, LAST),
        ("-3:", TIP - 2, LAST),
        ("-5:-3", TIP - 4, TIP - 2),
        (":-3000000", 0, 1),
        (":-2999998", 0, 3),
    ],
)
def test_one_argument_means_these_heights(
    word: str, start: int, end: int, chainq: Program, server: Servers, truth: Truth
) -> None:
    """Bounds are written as for --start and --end; as an end, `latest` is through the tip."""
    ran = chainq("blocks", word, url=server())
    assert (ran.code, ran.err) == (0, "")
    assert difference(ran.rows, truth.groups("blocks", start, end)) == ""


def test_every_command_of_a_range_takes_it(chainq: Program, server: Servers, truth: Truth) -> None:
    """After the address too, and beside other options."""
    for command in ("blocks", "full-blocks", "records", "ownership", "transitions"):
        ran = chainq(command, "640:643", "--reverse", url=server())
        assert (ran.code, ran.err) == (0, "")
        assert sorted(ran.rows) == sorted(truth.rows(command, 640, 643))
    address = truth.chain.addresses[3]
    ran = chainq("address-transactions", address, "640:2K", url=server())
    assert difference(ran.rows, truth.groups("address-transactions", 640, 2000, address)) == ""


@pytest.mark.parametrize(
    "words", [["--end", "latest"], ["--start", "2999998", "--end", "latest"], ["--start", "latest"]]
)
def test_latest_as_an_option(words: list[str], chainq: Program, server: Servers, truth: Truth) -> None:
    """`--end latest` is through the tip, `--start latest` the block at the tip."""
    ran = chainq("blocks", *words, "--reverse", "--limit", "3", url=server())
    start = TIP if words[:2] == ["--start", "latest"] else TIP - 2
    assert (ran.code, ran.err) == (0, "")
    assert ran.rows == truth.rows("blocks", start, LAST)[::-1]


def test_end_latest_begins_at_the_first_block(chainq: Program, server: Servers) -> None:
    """As --end with a number does."""
    ran = chainq("blocks", "--end", "latest", "--limit", "2", "--columns", "height", url=server())
    assert ran.rows == [b'{"height":"0"}', b'{"height":"1"}']


@pytest.mark.parametrize(
    "option", [["--start", "5"], ["--end", "5"], ["--last", "5"], ["--since", "2h"], ["--until", "2h"]]
)
def test_2_a_range_and_options_exclude_each_other(option: list[str], chainq: Program, nowhere: str) -> None:
    """It is said which option, and nothing is called."""
    said = one_line(chainq("records", "1:5", *option, url=nowhere), 2)
    assert f"the range 1:5 cannot be combined with {option[0]}" in said
    said = one_line(chainq("records", "-5:", *option, url=nowhere), 2)
    assert f"the range -5: cannot be combined with {option[0]}" in said


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("5:3", "starts after its end"),
        ("1:2:3", "expected a height or a range"),
        ("a:5", "invalid height 'a'"),
        ("5:x", "invalid height 'x'"),
        ("5-10", "'5-10': expected a "),
        ("", "invalid "),
    ],
)
def test_2_what_is_no_range(word: str, words: str, chainq: Program, nowhere: str) -> None:
    """The message says what was expected."""
    for command in ("records", "transactions"):
        assert words in one_line(chainq(command, word, url=nowhere), 2)


def test_2_a_negative_height_alone(chainq: Program, nowhere: str) -> None:
    """It could be meant as a count or as a place: the message names the option for the last blocks."""
    for command in ("blocks", "block", "transactions"):
        assert "--last" in one_line(chainq(command, "-5", url=nowhere), 2)


@pytest.mark.parametrize("words", [["7:7"], ["--start", "7", "--end", "7"], ["-3:-3"]])
def test_an_empty_range_says_that_its_end_is_exclusive(words: list[str], chainq: Program, server: Servers) -> None:
    """Where start equals end there are no rows, exit 0, and a warning why."""
    ran = chainq("records", *words, url=server())
    assert (ran.code, ran.out) == (0, b"")
    assert "--end is exclusive" in one_line(ran, 0)
    assert chainq("records", *words, "-q", url=server()) == (0, b"", "")


def test_a_height_above_the_tip(chainq: Program, server: Servers) -> None:
    """It is named as the height that it is."""
    ran = chainq("records", "3000100", url=server())
    assert (ran.code, ran.out) == (0, b"")
    assert "block 3000100 does not exist: the tip is 3000000" in one_line(ran, 0)


def test_the_rest_is_named_in_the_same_form(chainq: Program, server: Servers) -> None:
    """After a failure the message has a range to put in the place of the one that was given."""
    ran = chainq("blocks", "700:900", url=server("--fault", "missing-height:777"))
    assert ran.code == 6
    assert "resume with 700:900" in ran.err


def transactions(truth: Truth, *heights: int) -> list[Any]:
    return [json.loads(row) for height in heights for row in truth.transactions(height)]


def test_transactions_and_blocks_of_ranges(chainq: Program, server: Servers, truth: Truth) -> None:
    """Several ranges and heights, in the order given; a range ends with the tip, and is never one object."""
    url = server()
    ran = chainq("transactions", "640:643", "12345", "5:7", url=url)
    assert (ran.code, ran.err) == (0, "")
    assert [json.loads(row) for row in ran.rows] == transactions(truth, 640, 641, 642, 12345, 5, 6)
    ran = chainq("block", "640:642", "5", "-2:", "latest", url=url)
    assert ran.rows == [truth.block(height) for height in (640, 641, 5, TIP - 1, TIP, TIP)]
    assert [row["height"] for row in json.loads(chainq("block", "5:6", "--json", url=url).out)] == ["5"]
    assert json.loads(chainq("block", "5", "--json", url=url).out)["height"] == "5"


@pytest.mark.parametrize(
    ("words", "heights"),
    [
        (("--start", "640", "--end", "643"), (640, 641, 642)),
        (("--last", "2"), (TIP - 1, TIP)),
        (("--start", "-1"), (TIP,)),
        (("--since", "2024-05-13T05:19:45"), (TIP - 1, TIP)),
    ],
)
def test_transactions_take_range_options(
    words: tuple[str, ...], heights: tuple[int, ...], chainq: Program, server: Servers, truth: Truth
) -> None:
    """As commands with a range do, instead of heights as arguments."""
    ran = chainq("transactions", *words, url=server())
    assert (ran.code, ran.err) == (0, "")
    assert [json.loads(row) for row in ran.rows] == transactions(truth, *heights)


def test_2_transactions_take_arguments_or_options(chainq: Program, nowhere: str) -> None:
    """Not both, and not neither."""
    assert "5 cannot be combined with --last" in one_line(chainq("transactions", "5", "--last", "3", url=nowhere), 2)
    assert "missing argument HEIGHT..." in one_line(chainq("transactions", url=nowhere), 2)
    calls = [json.loads(row) for row in chainq("transactions", "--last", "3", "--dry-run", url=nowhere).rows]
    assert [call.get("params") for call in calls] == [None, {"blockId": "each height from tip-2 to tip"}]


def test_a_range_of_lookups_ends_with_the_tip(chainq: Program, server: Servers, truth: Truth) -> None:
    """What lies beyond is not looked up one by one, and a warning says so; an empty range says that it is."""
    ran = chainq("block", "2999999:9M", url=server())
    assert ran.rows == [truth.block(TIP - 1), truth.block(TIP)]
    assert "the end 9000000 is not reached: the tip is 3000000" in one_line(ran, 0)
    assert "--end is exclusive" in one_line(chainq("transactions", "7:7", url=server()), 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("records", "4M"), "block 4000000 does not exist: the tip is 3000000"),
        (("records", "4M:5M"), "no blocks in that range: the tip is 3000000"),
        (("records", "2999999:5M"), "the end 5000000 is not reached: the tip is 3000000"),
        (
            ("records", "--since", "2024-05-13T05:19", "--until", "2024-05-14"),
            "00:00:00Z is not reached: the tip is 3000000, of 2024-05-13 05:",
        ),
        (("sql", "2999999:5M", "select * from blocks"), "the end 5000000 is not reached: the tip is 3000000"),
        (("records", "4M", "--limit", "1"), "block 4000000 does not exist: the tip is 3000000"),
        (("blocks", "4M:5M", "--limit", "3"), "no blocks in that range: the tip is 3000000"),
        (("blocks", "2999999:5M", "--limit", "3"), "the end 5000000 is not reached: the tip is 3000000"),
        (("blocks", "2M:5M", "--limit", "3", "--reverse"), "the end 5000000 is not reached: the tip is 3000000"),
    ],
)
def test_a_range_beyond_the_tip_says_so(words: tuple[str, str], said: str, chainq: Program, server: Servers) -> None:
    """It is no error, because the service takes such a range; a warning says why rows are missing."""
    assert said in one_line(chainq(*words, url=server()), 0)


def test_ranges_on_standard_input(chainq: Program, server: Servers, truth: Truth) -> None:
    """A line may be a range."""
    ran = chainq("block", "-", url=server(), stdin=b"5\n7:9\n")
    assert ran.rows == [truth.block(5), truth.block(7), truth.block(8)]


def test_a_dry_run_of_ranges(chainq: Program, nowhere: str) -> None:
    """The calls of a range that is known, and words where it depends on the tip. `-v` says why they go beyond it."""
    ran = chainq("records", "5:7", "--dry-run", "-v", url=nowhere)
    assert "requests go on to height 37 to prove heights 5-6 complete" in ran.err
    (call,) = map(json.loads, ran.rows)
    assert (call["params"]["start"], call["params"]["end"]) == (
        5,
        38,
    )  # with heights beyond, whose rows prove the others
    ran = chainq("block", "5:7", "9", "-2:", "--dry-run", "--dialect", "chain", url=nowhere)
    calls = [(call["method"], *call.get("params", {}).values()) for call in map(json.loads, ran.rows)]
    assert calls == [
        ("latest/block",),
        ("block", 5),
        ("block", 6),
        ("block", 9),
        ("block", "each height from tip-1 to tip"),
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("records", "0:5000", "--page", "0"), [(0, 5000)]),
        (("blocks", "0:100K", "--limit", "1005"), [(0, 1000), (1000, 1005)]),
        (("blocks", "0:100K", "--limit", "5", "--reverse"), [(99_995, 100_000)]),
        (("records", "0:500", "--limit", "5"), [(0, 531)]),
        (("records", "0:5000", "--limit", "0"), []),
    ],
)
def test_a_dry_run_has_only_calls_that_the_run_makes(
    words: tuple[str, ...], expected: list[tuple[int, int]], chainq: Program
) -> None:
    """--page is one call, and --limit stops after the calls that it needs. A response may ask for more."""

    def heights(calls: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
        return [(params["start"], params["end"]) for params in calls]

    dry = chainq(*words, "--dry-run", url="demo:")
    assert heights(json.loads(line)["params"] for line in dry.rows) == expected
    with witnessed() as (url, calls):
        assert chainq(*words, url=url).code == 0
    assert {*expected} <= {*heights(call.params for call in calls if call.method != "latest/block")}


def test_a_dry_run_refuses_a_range_too_long_for_one_page(chainq: Program, truth: Truth, nowhere: str) -> None:
    """As the run does."""
    words = ("address-transactions", truth.chain.addresses[0], "0:60K", "--page", "0", "--dry-run")
    assert "--page sends one request" in one_line(chainq(*words, url=nowhere), 2)


def test_transactions_have_the_height_of_their_block(chainq: Program, server: Servers, truth: Truth) -> None:
    """First in csv and in a table; in jsonl, where rows are the server's bytes, only by --columns."""
    url = server()
    words = ("transactions", "640:642")
    heights = [str(height) for height in (640, 641) for _ in truth.transactions(height)]
    rows = list(csv.DictReader(io.StringIO(chainq(*words, "--csv", url=url).out.decode())))
    assert next(iter(rows[0])) == "height"
    assert [row["height"] for row in rows] == heights
    assert [row["transaction_id"] for row in rows] == [row["transaction_id"] for row in transactions(truth, 640, 641)]
    found = [json.loads(row) for row in chainq(*words, url=url).rows]
    assert found == json.loads(chainq(*words, "--json", url=url).out)
    assert ["height" in row for row in found] == [False] * len(rows)
    picked = chainq(*words, "--columns", "index,height", url=url)
    assert [str(json.loads(row)["height"]) for row in picked.rows] == heights
    table = chainq(*words, "--table", url=url).out.decode().splitlines()
    assert table[0].split()[0] == "height"
    assert [line.split()[0] for line in table[1 : len(heights) + 1]] == heights


def test_a_range_of_lookups_asks_for_the_tip_once(chainq: Program) -> None:
    """However many ranges there are; and not at all for single heights."""
    with witnessed() as (url, calls):
        assert chainq("block", "5:7", "8:9", "-1:", url=url).code == 0
        assert [call.method for call in calls].count("latest/block") == 1
        calls.clear()
        assert chainq("block", "5", "6", url=url).code == 0
        assert [call.method for call in calls] == ["block", "block"]


def test_a_limit_that_is_reached_says_nothing_of_the_tip(chainq: Program, server: Servers) -> None:
    """Where the range ends plays no part then."""
    for limit in ("0", "2"):
        ran = chainq("blocks", "2999999:5M", "--limit", limit, url=server())
        assert (ran.code, ran.err, len(ran.rows)) == (0, "", int(limit))
