"""`chainq verify --witness URL`: a second service, in any dialect, is compared row by row."""

import json
import re
from pathlib import Path

import pytest

from harness.program import Program, Servers, one_line
from harness.search import some

PLANTS = {
    41: ("lost-record", {"records"}),
    51: ("altered-transition", {"transitions"}),
    61: ("doubled-ownership", {"ownership"}),
    71: ("lost-transaction", {"transactions"}),
    81: ("altered-block", {"blocks"}),
    91: ("link", {"blocks", "full-blocks"}),
    101: ("altered-ownership", {"ownership"}),
    108: ("count", {"full-blocks", "transactions"}),
}
SWITCHES = [word for height, (kind, _) in PLANTS.items() for word in ("--fault", f"{kind}:{height}")]


@pytest.mark.parametrize("dialect", some(["chain", "aleo"], "aleo"))
def test_every_difference_is_named_and_nothing_else(dialect: str, program: Program, server: Servers) -> None:
    """A clean service and a witness with single wrong rows: each is named with its height and both values."""
    witness = server("--tip", "330", "--dialect", dialect, *SWITCHES)
    ran = program("verify", "30:130", "--full", "--witness", witness, "--jsonl", url=server("--tip", "330"))
    assert ran.code == 6, ran.err
    found = [json.loads(row) for row in ran.rows]
    assert {row["check"] for row in found} == {"differs"}
    seen = {height: {row["command"] for row in found if row["height"] == height} for height in PLANTS}
    assert seen == {height: commands for height, (_, commands) in PLANTS.items()}
    assert {row["height"] for row in found} == set(PLANTS)
    assert all(row["expected"] != row["found"] for row in found)
    (lost,) = (row for row in found if row["height"] == 41)
    assert lost["expected"] is None
    assert lost["found"].startswith("here: record au1")
    (doubled,) = (row for row in found if row["height"] == 61)
    assert (doubled["expected"].startswith("witness: "), doubled["found"]) == (True, "here: once")
    assert doubled["expected"].endswith(" 2 times")
    right = {row["height"] for row in found if row["repair"] is None}
    assert right == PLANTS.keys() - {91, 108}, "the full blocks are the same, and contain the rows of the service"
    assert f"compared with the witness {witness} at heights 30-129, differs at heights 41, 51, 61, 71, 81" in ran.err
    assert ": by the full blocks, which are the same on both sides, the witness is wrong in 7 of 1" in ran.err
    sure = program("verify", "30:90", "--full", "--witness", witness, url=server("--tip", "330"))
    assert sure.err.endswith(", the witness is wrong\n")


def test_equal_services_have_no_difference(program: Program, server: Servers) -> None:
    """The order of rows inside a height is no difference, nor is the dialect."""
    ran = program("verify", "30:60", "--witness", server("--dialect", "aleo", "--seed", "0"), url=server())
    assert (ran.code, ran.out) == (0, b"")
    assert ": no findings in " in ran.err
    assert ran.err.endswith("; the same as the witness at heights 30-59\n")


def test_the_witness_may_be_a_profile(program: Program, server: Servers, tmp_path: Path) -> None:
    """Its URL and its dialect are those of the profile."""
    config = tmp_path / "config"
    (config / "chainq").mkdir(parents=True)
    other = server("--dialect", "aleo", "--seed", "0")
    (config / "chainq" / "config.toml").write_text(f'[profiles.second]\nurl = "{other}"\ndialect = "aleo"\n')
    own = {"XDG_CONFIG_HOME": str(config)}
    ran = program("verify", "30:33", "--witness", "second", url=server(), env=own)
    assert ran.code == 0, ran.err
    assert ran.err.endswith("; the same as the witness at heights 30-32\n")
    said = one_line(
        program("verify", "30:33", "--witness", "second", url=other, env={"XDG_CONFIG_HOME": str(config)}), 2
    )
    assert "agrees with itself" in said


def test_lag_is_no_difference(program: Program, server: Servers) -> None:
    """Blocks that the witness does not have yet are not compared, and a warning says so."""
    ran = program("verify", "30:60", "--witness", server("--tip", "49"), url=server("--tip", "330"))
    assert (ran.code, ran.out) == (0, b"")
    assert "warning: the chain of the witness ends at height 49: later heights are not compared" in ran.err
    assert ran.err.endswith("; the same as the witness at heights 30-49; not compared with it: heights 50-59\n")
    ran = program("verify", "50:60", "--witness", server("--tip", "49"), url=server("--tip", "330"))
    assert (ran.code, ran.out) == (6, b"")
    assert ran.err.endswith("; not compared with the witness, whose chain ends before these heights\n")


@pytest.mark.parametrize("other", ["http://h:80/", "HTTP://H", "http://h/?"])
def test_2_a_server_is_not_its_own_witness(other: str, program: Program) -> None:
    """It would agree with itself, however its URL is written."""
    said = one_line(program("verify", "5:6", "--witness", other, url="http://h"), 2)
    assert said.endswith("--witness names the server to verify, which agrees with itself; name another server\n")


def test_an_export_is_not_its_own_witness(program: Program, server: Servers) -> None:
    """Also by a link or as a URL."""
    export = ("export", "full-blocks", "0:5", "--to", "lake", "-q")
    assert program(*export, url=server()).code == 0
    (program.home / "link").symlink_to("lake")
    for other in ("link", "./lake/", f"file://{program.home}/link"):
        said = one_line(program("verify", "2:3", "--witness", other, url="lake"), 2)
        assert "agrees with itself" in said


def test_another_chain_differs_at_every_height(program: Program, server: Servers) -> None:
    """A witness of another chain: no hash agrees, which is one finding per block, and no other row is compared."""
    ran = program("verify", "30:33", "--witness", server("--seed", "7"), url=server())
    assert ran.code == 6
    rows = [json.loads(row) for row in ran.rows]
    assert [(row["height"], row["command"]) for row in rows] == [(at, "full-blocks") for at in (30, 31, 32)]
    assert all(re.fullmatch(r"witness: full-block 3\d: block_hash=ab1\w+", row["expected"]) for row in rows)


def test_a_witness_that_cannot_be_reached_is_exit_4(program: Program, server: Servers, nowhere: str) -> None:
    """Without the witness nothing is said to agree with it."""
    one_line(program("verify", "30:33", "--witness", nowhere, "--retries", "0", url=server()), 4)
