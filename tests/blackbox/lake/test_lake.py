"""--lake DEST: what an export proves is read from its files, and only the rest is requested from the service."""

import json
from collections.abc import Iterator

import pytest

from chainq import Client
from harness.lake.damages import rewrite
from harness.lake.exports import Exports
from harness.lake.fork import Fork
from harness.running.jobs import said
from harness.running.program import DIALECT, Program, one_line
from harness.running.truth import Truth
from harness.servers.services import Call, Moving, heights_of, serving, witnessed

COMMANDS = ("blocks", "full-blocks", "records", "transitions", "ownership")
START, END, TIP = 2400, 2700, 2900
STORED = f"{START}:{END}"
Seen = tuple[str, list[Call]]


@pytest.fixture
def lake(exports: Exports) -> str:
    """A data set of the five commands, in partitions of 100 heights."""
    return str(exports("lists"))


@pytest.fixture
def seen() -> Iterator[Seen]:
    """A service and the calls that it sees."""
    with witnessed(TIP) as (url, calls):
        yield url, calls


@pytest.mark.parametrize(
    "words",
    [
        ("blocks", "2490:2610"),
        ("full-blocks", "2490:2610"),
        ("records", STORED),
        ("records", STORED, "--limit", "7", "--reverse"),
        ("transitions", "--start", "2500", "--end", "2600", "--csv"),
        ("ownership", STORED),
        ("block", "2699", "2400", "2510:2520"),
    ],
    ids=" ".join,
)
def test_what_is_stored_takes_no_calls(chainq: Program, lake: str, seen: Seen, words: tuple[str, ...]) -> None:
    """The same bytes as from the service, which sees nothing: not even a request for its tip."""
    url, calls = seen
    ran = chainq(*words, "--lake", lake, url=url)
    assert (ran.code, ran.err, calls) == (0, "", [])
    there = chainq(*words, url=url)
    assert sorted(ran.rows) == sorted(there.rows) if words[0] == "ownership" else ran.out == there.out


@pytest.mark.parametrize(
    ("command", "order"),
    [*((command, ()) for command in COMMANDS), ("records", ("--reverse",)), ("blocks", ("--reverse",))],
)
def test_the_rest_is_requested(
    chainq: Program, lake: str, seen: Seen, truth: Truth, command: str, order: tuple[str, ...]
) -> None:
    """Heights on both sides of what is stored come from the service, and all rows in one piece."""
    url, calls = seen
    ran = chainq(command, "2380:2720", *order, "--lake", lake, url=url)
    assert (ran.code, ran.err) == (0, "")
    rows = truth.rows(command, 2380, 2720)
    assert sorted(ran.rows) == sorted(rows)
    asked = {height for call in calls for height in heights_of(call)}
    assert not asked & set(range(START + 50, END - 50)), "beyond the few that prove where a part ends"
    assert {*range(2380, START), *range(END, 2720)} <= asked
    assert [call.params for call in calls if call.method == "block"] == [{"block": END - 1}], "the link at the seam"
    if command in ("blocks", "full-blocks", "records") and not order:
        assert ran.rows == rows
    elif command != "ownership":
        assert ran.out == chainq(command, "2380:2720", *order, url=url).out


def test_a_limit_counts_over_all_parts(chainq: Program, lake: str, seen: Seen, truth: Truth) -> None:
    """Rows of the service and of files together; what the limit does not reach is not requested."""
    url, calls = seen
    rows = truth.rows("records", 2690, 2720)
    many = len(truth.rows("records", 2690, 2700)) + 3
    ran = chainq("records", "2690:2720", "--limit", str(many), "--lake", lake, url=url)
    assert ran.rows == rows[:many], ran.err
    calls.clear()
    filtered = ("--where", "output_index > 0", "--limit", "5")
    ran = chainq("records", "2690:2720", *filtered, "--lake", lake, url=url)
    assert ran.out == chainq("records", "2690:2720", *filtered, url=url).out


def test_blocks_by_height_from_both(chainq: Program, lake: str, seen: Seen) -> None:
    """In the order given; one that does not exist is exit 1."""
    url, calls = seen
    ran = chainq("block", "2500", "117", "2650", "99999", "--lake", lake, url=url)
    assert "block 99999 not found" in one_line(ran, 1)
    assert [json.loads(row)["height"] for row in ran.rows] == ["2500", "117", "2650"]
    asked = {int(call.params["block"]) for call in calls if call.method == "block"}
    assert asked == {117, 99999, 2599, 2699}, "the others, and the last block of each partition that was read"


@pytest.mark.parametrize("stale", [2699, 2650, 2400])
def test_a_reorg_is_noticed_at_the_seam(chainq: Program, lake: str, stale: int) -> None:
    """No row of one chain is joined to rows of another one. A run that requests nothing cannot know."""
    service = Moving(TIP, Fork(stale))
    with serving(service) as url:
        for words in (("records", "2650:2720"), ("blocks", "2500:2800", "--reverse"), ("full-blocks", "2600:")):
            ran = chainq(*words, "--lake", lake, url=url)
            said(ran, 6, "is not of the service's chain: its block 2699 is ab1")
            assert not any(json.loads(row).get("height") == "2690" for row in ran.rows)
        said(chainq("block", "2690", "2710", "--lake", lake, url=url), 6, "is not of the service's chain")
        service.calls.clear()
        assert chainq("records", "2650:2700", "--lake", lake, url=url).code == 0
        assert service.calls == []


def test_a_service_that_lacks_what_is_stored(chainq: Program, lake: str) -> None:
    """Its chain ends below: nothing shows that they are of one chain."""
    with serving(Moving(2600)) as url:
        ran = chainq("records", "2300:2650", "--lake", lake, url=url)
        said(ran, 6, "the service has no such block")


@pytest.mark.parametrize(
    ("tables", "tip", "words", "asked"),
    [
        ("blocks records", 2499, "records 2400:2500", True),
        ("blocks records", 2499, "blocks 2300:2500", False),
        ("chain", TIP, "blocks 2300:2400", True),
        ("chain", TIP, "block 2350", True),
        ("chain", TIP, "full-blocks 2300:2400", False),
        ("ownership", TIP, "ownership 2310:2400", True),
        ("ownership", TIP, "ownership 2300:2400", False),
    ],
)
def test_rows_that_files_do_not_prove_are_requested(
    chainq: Program, seen: Seen, tables: str, tip: int, words: str, asked: bool
) -> None:
    """Records of a partition that was near the tip may lack late rows; blocks that were read off full blocks have no
    row id; ownership rows inside of a partition have no heights."""
    url, calls = seen
    with serving(Moving(tip)) as early:
        to = ("2300:2500", "--partition", "100", "--to", "lake", "-w", "1", "-q")
        assert chainq("export", *tables.split(), *to, url=early).code == 0
    ran = chainq(*words.split(), "--lake", "lake", url=url)
    assert bool(calls) is asked
    assert sorted(ran.rows) == sorted(chainq(*words.split(), url=url).rows), ran.err


def test_belief_is_not_enough_for_strict(chainq: Program, seen: Seen) -> None:
    """What rests on belief is read with the warning of today; with --strict, the service proves it anew."""
    url, calls = seen
    words = ("records", "2300:2400", "--partition", "100", "--to", "lake", "-q")
    assert chainq("export", *words, url=url).code == 0
    rewrite(chainq.home / "lake", "records", 2300, receipt={"proof": {"belief": 1}})
    calls.clear()
    believed = chainq("records", "2300:2400", "--lake", "lake", url=url)
    assert "nothing proves that these are all rows" in one_line(believed, 0)
    assert calls == []
    strict = chainq("records", "2300:2400", "--strict", "--lake", "lake", url=url)
    assert (strict.code, strict.err) == (0, "")
    assert calls


def test_runs_resume(chainq: Program, lake: str, truth: Truth) -> None:
    """A checkpoint over files and service: each row once, whatever lies where."""
    service = Moving(2600)
    with serving(service) as url:
        run = ("--start", "2350", "--checkpoint", "state.json", "-o", "rows.jsonl", "-q", "--lag", "0", "--lake", lake)
        service.tip = 2750
        for tip in (2750, 2820, 2900):
            service.tip = tip
            ran = chainq("records", *run, url=url)
            assert ran.code == 0, ran.err
            rows = (chainq.home / "rows.jsonl").read_bytes().splitlines()
            assert rows == truth.rows("records", 2350, tip + 1)


def test_a_profile_may_name_it(chainq: Program, lake: str, seen: Seen) -> None:
    """For its own host, and for commands that read rows: verify reads the service."""
    url, calls = seen
    chainq.config.parent.mkdir(parents=True)
    chainq.config.write_text(f'[profiles.p]\nurl = "{url}"\nlake = "{lake}"\ndialect = "{DIALECT}"\n')
    assert chainq("records", "2400:2500", "--profile", "p").code == 0
    assert calls == []
    assert chainq("latest", "--profile", "p").code == 0
    assert chainq("verify", "2400:2410", "--profile", "p").code == 0
    assert len(calls) > 2
    with witnessed(TIP) as (other, others):
        assert chainq("records", "2400:2500", "--profile", "p", url=other).code == 0
        assert others


def test_python_reads_it(lake: str, seen: Seen, truth: Truth) -> None:
    """Client takes the same argument."""
    url, calls = seen
    with Client(url, lake=lake, dialect=DIALECT) as client:
        assert list(client.records(2450, 2460)) == [json.loads(row) for row in truth.rows("records", 2450, 2460)]
        assert client.block(2500)["height"] == "2500"
        assert calls == []
        assert sum(len(batch.rows) for batch in client.batches("records", 2650, 2750)) == len(
            truth.rows("records", 2650, 2750)
        )
        assert calls


def test_partitions_that_do_not_link(chainq: Program) -> None:
    """Exports before and after a reorg in one folder: exit 6, whoever reads across."""
    service = Moving(TIP)
    with serving(service) as url:
        words = ("--partition", "100", "--to", "lake", "-q")
        assert chainq("export", "records", "2400:2500", *words, url=url).code == 0
        first = chainq.home / "first"
        (chainq.home / "lake").rename(first)
        service.swap(Fork(2450))
        assert chainq("export", "records", "2500:2600", *words, url=url).code == 0
        for path in [path for path in (chainq.home / "lake").rglob("*") if "000002500" in str(path) and path.is_file()]:
            target = first / path.relative_to(chainq.home / "lake")
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        service.calls.clear()
        for where in (("--lake", "first", "--url", url), ("--url", "first")):
            ran = chainq("records", "2450:2550", *where, "--dialect", DIALECT)
            assert "2500-2599 of first does not follow on the one before it" in one_line(ran, 6)
            assert ran.out == b""
        assert service.calls == []
