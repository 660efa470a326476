"""`chainq verify` against services that hold single rows wrongly: each is found, and nothing else is."""

import json
import os
import random
import re
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.plants import KINDS
from chainq.demo.service import Service
from chainq.verify.findings import CHECKS
from harness.planted import Plant
from harness.planted import planted as wrong
from harness.program import DIALECT, Program, Ran, Servers, one_line
from harness.search import some
from harness.services import Moving, serving

SEEDS = range(int(os.environ.get("CHAINQ_TEST_SEEDS", "1")))
TIP = 210  # above all that is planted
CHAIN = Chain(tip=TIP)
MUST = {
    "lost": {(0, "missing")},
    "doubled": {(0, "doubled")},
    "altered": {(0, "altered")},
    "misplaced": {(0, "missing"), (1, "misplaced")},
    "altered-ownership": {(0, "missing")},  # the fields that can be compared identify the row
    **{kind: {(0, kind)} for kind in ("link", "time", "round", "checksum", "count")},
}
"""What is found of each plant: how many heights above it, and by which check."""
MAY = {
    "altered-ownership": {(0, "unexpected"), (0, "doubled")},  # doubled: as another record of its transition
    "time": {(0, "altered")},  # other rows have the time that the block should have
    "count": {(0, "altered")},
}
"""What may be found beside it."""
COMMANDS = {
    "record": {"records"},
    "ownership": {"ownership"},
    "transition": {"transitions"},
    "transaction": {"transactions"},
    "block": {"blocks"},
    "": {"blocks", "full-blocks", "records", "transitions", "transactions"},
}
"""By what is planted: whose rows show it."""


def plantable(plant: Plant) -> bool:
    """Whether the block has what the plant needs."""
    try:
        Service(CHAIN, wrong(plant))
    except ValueError:
        return False
    return True


def planted(seed: int) -> tuple[Plant, ...]:
    """One plant of every kind, some heights apart."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    kinds = rng.sample(KINDS, len(KINDS))
    return tuple(
        next(plant for at in range(8 * (number + 2), 8 * (number + 3)) if plantable(plant := Plant(kind, at)))
        for number, kind in enumerate(kinds)
    )


def findings(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(row) for row in ran.rows]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_planted_fault_is_found_and_nothing_else(seed: int, program: Program) -> None:
    """One wrong row of every kind: each is named by its height and its kind, and exit 6; no other row is named."""
    plants = planted(seed)
    service = Service(CHAIN, wrong(*plants, seed=seed), DIALECT)
    with serving(service) as url:
        ran = program("verify", "--start", "0", "--end", str(TIP + 1), "--full", "--jsonl", url=url)
    assert ran.code == 6, ran.err
    found = findings(ran)
    assert len(found) == len({tuple(row.items()) for row in found})
    assert [int(row["height"]) for row in found] == sorted(int(row["height"]) for row in found)
    for plant in plants:
        here = [row for row in found if int(row["height"]) - plant.height in (0, 1)]
        assert {row["command"] for row in here} <= COMMANDS[plant.row], (plant, here)
        seen = {(int(row["height"]) - plant.height, row["check"]) for row in here}
        must = MUST.get(plant.kind) or MUST[plant.action]
        assert must <= seen <= must | MAY.get(plant.kind, set()), (plant, here)
    near = {plant.height + above for plant in plants for above in (0, 1)}
    assert {int(row["height"]) for row in found} <= near


@pytest.mark.parametrize(("height", "seed"), [(669, 0), (678, 6)])
def test_a_misplaced_record_is_no_fault_of_its_ownership_row(height: int, seed: int, program: Program) -> None:
    """With these seeds, `records` ends a response of `ownership` before a row of the height that the record lacks."""
    plant = Plant("misplaced-record", height)
    with serving(Service(Chain(tip=900), wrong(plant, seed=seed), DIALECT)) as url:
        args = (f"{height - 2}:{height + 6}", "--commands", "ownership", "--jsonl", "-j", "1", "--dialect", DIALECT)
        ran = program("verify", *args, url=url)
    assert (ran.code, ran.out) == (0, b"")


HEIGHTS = int(os.environ.get("CHAINQ_TEST_HEIGHTS", "30"))


@pytest.mark.parametrize(("start", "end"), some([(660, 770), (770, 770 + HEIGHTS)], (660, 770), several=True))
def test_a_clean_chain_has_no_finding(start: int, end: int, program: Program, server: Servers) -> None:
    """Rejected and deployed transactions, and 25,000 records in one block: nothing is wrong."""
    ran = program("verify", "--start", str(start), "--end", str(end), "--jsonl", url=server())
    assert (ran.code, ran.out) == (0, b"")
    assert ran.err.startswith(f"chainq: heights {start}-{end - 1}: no findings in ")


def test_a_table_without_a_finding_is_empty(program: Program) -> None:
    """The verdict says that all is well; that there are no rows would look as if nothing was verified."""
    ran = program("verify", "660:670", "--table", url="demo:")
    assert (ran.code, ran.out) == (0, b"")
    assert "no findings in 10 blocks" in one_line(ran, 0)
    assert ran.err.endswith(" (--witness URL checks them)\n"), "the hashes of the sample chain are made up"


def test_a_finding_is_a_row_in_every_format(program: Program, server: Servers) -> None:
    """The same finding by jsonl, csv and table; the repair is a command that prints the row."""
    url = server("--tip", "330", "--fault", "altered-block:41")
    args = ("verify", "--start", "40", "--end", "43", "--commands", "records")
    ran = program(*args, "--jsonl", url=url)
    (row,) = findings(ran)
    assert (row["height"], row["command"], row["check"]) == (41, "blocks", "altered")
    assert list(row) == ["height", "command", "check", "expected", "found", "repair", "end"]
    field, value = str(row["found"]).split("=")
    fetched = program(*row["repair"].split()[1:], "--dialect", DIALECT)
    assert json.loads(fetched.out)[field] == value
    assert "chainq verify: heights 40-42: 1 finding (1 altered) in " in one_line(ran, 6)
    text = program(*args, "--csv", url=url).out.decode()
    assert text.startswith("height,command,check,expected,found,repair,end\r\n41,blocks,altered,")
    table = program(*args, "--table", url=url).out.decode()
    assert "altered" in table
    assert "41" in table


def test_a_chart_is_of_the_findings_in_the_whole_range(chainq: Program, server: Servers) -> None:
    """Its title says what it counts, and its axis is as long as the range that was verified."""
    pytest.importorskip("plotille", reason="charts need the extra chainq[chart]")
    url = server("--tip", "330", "--fault", "altered-block:41")
    ran = chainq("verify", "20:60", "--format", "chart", url=url)
    lines = [line.strip() for line in ran.out.decode().splitlines()]
    assert lines[:2] == ["findings per block", "findings"]
    below = lines[lines.index("block height") - 1].split()
    assert (below[0], below[-1]) == ("20", "59")
    assert "at block 41" in lines[-1]
    assert chainq("verify", "20:30", "--format", "chart", url=url).out == b"nothing to draw: no findings\n"


def test_a_file_of_findings_is_complete_although_the_exit_is_6(program: Program, server: Servers) -> None:
    """-o FILE appears with the findings."""
    url = server("--tip", "330", "--fault", "lost-record:41")
    ran = program("verify", "--start", "40", "--end", "43", "-o", "found.jsonl", url=url)
    assert ran.code == 6
    (row,) = (program.home / "found.jsonl").read_text().splitlines()
    assert json.loads(row)["check"] == "missing"


@pytest.mark.parametrize(
    ("options", "lists"),
    some(
        [((), 64), (("--sample", "5"), 5), (("--full",), 90), (("--commands", "transactions"), 90)],
        ((), 64),
        (("--commands", "transactions"), 90),
        several=True,
    ),
)
def test_lists_of_transactions_are_sampled(options: tuple[str, ...], lists: int, program: Program) -> None:
    """Each is a call of its own, and the full block says the same: some at random, unless all are wanted."""
    service = Moving(330)
    with serving(service) as url:
        ran = program("verify", "0:90", *options, url=url)
    assert ran.code == 0, ran.err
    assert sum("ransactions" in call for call in service.calls) == lists
    assert (f"the transactions are those of {lists} random heights (--full: of all)" in ran.err) == (lists < 90)


def test_commands_limit_what_is_read(program: Program, server: Servers) -> None:
    """With --commands records no ownership row is missed, and none is requested."""
    url = server("--tip", "330", "--fault", "lost-ownership:41")
    args = ("verify", "--start", "40", "--end", "43")
    assert program(*args, url=url).code == 6
    ran = program(*args, "--commands", "records", "--commands", "transitions", "-v", url=url)
    assert ran.code == 0
    assert "records/all" in ran.err
    assert "isOwner" not in ran.err


def test_columns_of_findings_are_listed_and_picked(program: Program, server: Servers) -> None:
    """--columns help lists them, and --columns prints those that are named."""
    assert program("verify", "--columns", "help").out.startswith(b"height *  ")
    url = server("--tip", "330", "--fault", "lost-record:41")
    ran = program("verify", "40:43", "--columns", "height,check", "--jsonl", url=url)
    assert ran.rows == [b'{"height":41,"check":"missing"}']
    one_line(program("verify", "--columns", "hight", url=url), 2)


def test_bad_commands_are_usage_errors(program: Program, nowhere: str) -> None:
    """A command whose rows no block explains is refused before any request."""
    assert "cannot verify 'latest': expected one of blocks, full-blocks" in one_line(
        program("verify", "--commands", "records,latest", url=nowhere), 2
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("28:35",),
            "heights 28-30: no findings in 3 blocks, 3 full-blocks.*; not verified: heights 31-34, above the tip",
        ),
        (("90",), "no blocks in that range; not verified: height 90, above the tip"),
        (("--start", "29", "--end", "-1"), ""),
        (("29:", "--checkpoint", "c.json", "-o", "f.jsonl"), ""),
        (("--start", "29", "--end", "90", "--checkpoint", "d.json", "-o", "g.jsonl"), ""),
    ],
)
def test_heights_above_the_tip_are_not_verified(
    program: Program, server: Servers, words: tuple[str, ...], said: str
) -> None:
    """An end that the chain does not reach yet is exit code 6; with a checkpoint, the next run goes on."""
    ran = program("verify", *words, "-q", url=server("--tip", "30"))
    assert ran.code == (6 if said else 0), ran.err
    behind = r"(chainq: warning: the end [0-9]+ is not reached[^\n]*\n)?"
    assert re.fullmatch(behind + (f"chainq verify: {said}\n" if said else ""), ran.err), ran.err


def test_a_file_that_cannot_be_written_is_refused_first(program: Program, nowhere: str) -> None:
    """Before any request, which would find no service."""
    words = ("verify", "--last", "5", "-o", "missing/x.csv")
    assert "cannot write missing/x.csv" in one_line(program(*words, url=nowhere), 7)


def test_a_failure_says_where_to_resume(program: Program, server: Servers) -> None:
    """Where the service goes away, the findings so far are printed, and the message has the range that is left."""
    with server.own("--tip", "330", "--fault", "database-down:30:100000") as url:
        ran = program("verify", "--start", "0", "--end", "300", "--retries", "0", "-j", "1", url=url)
    assert ran.code in (3, 4)
    assert " findings so far; resume with --start " in ran.err
    assert ran.err.rstrip().endswith("--end 300")


@pytest.mark.parametrize(
    "faults",
    some(
        [
            ("--fault", "row-cap:700"),
            ("--fault", "duplicate-rate:0.01"),
            ("--fault", "missing-height:41"),
            ("--fault", "link:41"),
            ("--fault", "clamp-heights:50"),
            ("--fault", "null-lists"),
        ],
        ("--fault", "missing-height:41"),
        ("--fault", "clamp-heights:50"),
        ("--fault", "null-lists"),
    ),
)
def test_faults_of_calls_end_in_the_truth_or_in_findings(
    faults: tuple[str, ...], program: Program, server: Servers
) -> None:
    """What the commands cope with is no finding; what they refuse is one, and never an error of verify itself."""
    ran = program("verify", "--start", "0", "--end", "60", url=server("--tip", "330", *faults))
    assert ran.code in (0, 6), ran.err
    checks = {(int(row["height"]), row["check"]) for row in findings(ran)}
    if faults[1] == "missing-height:41":
        assert checks == {(41, "missing")}
        assert "finding" in one_line(ran, 6), "no warning of what the findings say"
    if faults[1] == "link:41":
        assert checks == {(41, "link")}
    if faults[1] == "clamp-heights:50":
        assert " in 60 blocks, 60 full-blocks" in ran.err
        assert "; left out of responses for several heights, and found by a request for each: 10 blocks;" in ran.err
    if faults[1] in ("row-cap:700", "clamp-heights:50", "null-lists"):
        assert checks == set()


def test_the_values_of_check_are_explained(program: Program) -> None:
    """`--columns help` has each one in words."""
    out = program("verify", "--columns", "help").out.decode()
    for check, words in CHECKS.items():
        assert re.search(rf"^{check} +{re.escape(words)}$", out, re.MULTILINE), check


def test_a_reorg_during_the_run_is_named(program: Program, server: Servers) -> None:
    """Rows of two chains contradict each other: the verdict says why, instead of findings above the last common block.

    Findings without a reorg have no such words.
    """
    options = ("--fault", "reorg-at:685", "--fault", "reorg-after:68", "--fault", "lost-record:672")
    with server.own("--tip", "700", *options) as url:
        ran = program("verify", "670:701", "--full", "--jsonl", "-q", url=url)
        assert ran.code == 6, ran.err
        assert [json.loads(row)["height"] for row in ran.rows] == [672]
        assert ran.err.startswith(
            "chainq verify: heights 670-684: 1 finding (1 missing) in 15 blocks, 15 full-blocks, "
        )
        assert ran.err.endswith("; a reorg during this run replaced the blocks from height 685 on: verify again\n")
    with server.own("--tip", "700", "--fault", "reorg-at:685", "--fault", "reorg-after:25") as url:
        ran = program("verify", "670:701", url=url)
        assert (ran.code, ran.out) == (6, b""), ran.err
        again = program("verify", "670:701", url=url)
        assert (again.code, "reorg" in again.err) == (0, False), again.err
    ran = program("verify", "670:701", url=server("--tip", "700", "--fault", "lost-record:690"))
    assert (ran.code, "reorg" in ran.err) == (6, False), ran.err


def test_the_verdict_says_what_was_not_checked(program: Program, server: Servers) -> None:
    """Full blocks are what all other rows are compared with."""
    ran = program("verify", "300:330", "--jsonl", url=server("--tip", "330", "--fault", "lost-record:305"))
    assert ran.code == 6
    assert "; the values in full blocks were not checked (--witness URL or --hashes checks them)" in ran.err
