"""What `chainq verify` says of a fault, and of what it did not compare: heights, columns and the order of rows."""

import json
from typing import Any

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import Faults
from chainq.demo.service import Service
from harness.program import DIALECT, Program, Ran, one_line
from harness.services import serving

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

OWN = "row ids, each database's own: "
CHAIN = Chain(tip=99)


def served(*plants: str, chain: Chain = CHAIN) -> Any:
    """A server of the chain with these plants."""
    return serving(Service(chain, Faults(*plants), DIALECT))


def findings(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(row) for row in ran.rows]


def checks(ran: Ran) -> set[tuple[str, int | None, str]]:
    return {(row["command"], row["height"], row["check"]) for row in findings(ran)}


def test_rows_that_the_witness_doubles_are_found(program: Program) -> None:
    """They are the rows here as well, but not as often."""
    plants = {"record": 45, "ownership": 48, "transition": 51, "block": 57}
    with served() as url, served(*(f"doubled-{row}:{height}" for row, height in plants.items())) as other:
        ran = program("verify", "40:63", "--full", "--witness", other, "--jsonl", url=url)
    assert ran.code == 6, ran.err
    assert {(row["check"], row["found"]) for row in findings(ran)} == {("doubled", "witness: 2 times")}
    rows = {row["command"].removesuffix("s"): row["height"] for row in findings(ran)}
    assert rows == plants


def test_ownership_rows_that_the_witness_lacks_have_their_heights(program: Program) -> None:
    """Full blocks say of which block they are."""
    with served() as url, served("lost-ownership:48") as other:
        ran = program("verify", "40:60", "--full", "--witness", other, "--jsonl", url=url)
    assert checks(ran) == {("ownership", 48, "differs")}, ran.err


def test_heights_above_the_tip_of_the_witness_stay_open(program: Program) -> None:
    """They are compared with their full blocks only."""
    with served() as url, served(chain=Chain(tip=49)) as other:
        ran = program("verify", "40:60", "--full", "--witness", other, url=url)
    assert ran.code == 0, ran.err
    assert "\nchainq: open: heights 50-59, above the tip of http://127.0.0.1:" in ran.err


@pytest.mark.parametrize(
    ("command", "columns", "said"),
    [
        ("blocks", "height,block_hash,previous_hash", "all columns of blocks; the file lacks previous_state_root, "),
        ("full-blocks", "block_hash,transactions", "all columns of full-blocks; the file lacks previous_hash, header."),
        ("records", "record_ciphertext", "the rows of blocks or of full-blocks, and there are none"),
    ],
)
def test_hashes_need_columns(command: str, columns: str, said: str, program: Program) -> None:
    """A file without what hashes are made of is refused: nothing would be checked."""
    pytest.importorskip("aleo")
    assert program(command, "20:22", "-o", "cut.csv", "--columns", columns, url="demo:").code == 0
    code = 6 if command == "records" else 2
    assert f"--hashes needs {said}" in one_line(program("verify", "cut.csv", "--hashes", "-w", "1"), code)


@pytest.mark.parametrize(
    ("command", "swapped", "heights", "left"),
    [
        ("transactions", True, "100:101", f"{OWN}id, block_id; the order of rows, which have no heights"),
        ("blocks", False, "100:103", f"{OWN}id"),
        ("full-blocks", False, "100:103", "nothing"),
    ],
)
def test_what_a_file_does_not_show_stays_open(
    command: str, swapped: bool, heights: str, left: str, program: Program
) -> None:
    """A file without a finding names what was not compared."""
    start, end = heights.split(":")
    words = (start,) if command == "transactions" else (heights,)
    assert program(command, *words, "-o", "open.jsonl", url="demo:").code == 0
    rows = (program.home / "open.jsonl").read_text("utf-8").splitlines()
    (program.home / "open.jsonl").write_text("\n".join(rows[::-1] if swapped else rows), "utf-8")
    ran = program("verify", "open.jsonl", "--start", start, "--end", end, url="demo:")
    assert (ran.code, ran.out) == (0, b""), ran.err
    assert f"\nchainq: open: {left}\n" in ran.err


def test_columns_that_a_file_lacks_stay_open(program: Program) -> None:
    """Only those that the service has values in."""
    columns = "height,block_hash,previous_hash,round,timestamp,network,proof_target,coinbase_target,cumulative_weight"
    words = ("100:103", "-o", "cut.csv", "--columns", columns)
    assert program("blocks", *words, url="demo:").code == 0
    ran = program("verify", "cut.csv", "--start", "100", "--end", "103", url="demo:")
    lacking = "previous_state_root, transactions_root, last_coinbase_target, last_coinbase_timestamp, coinbase_reward"
    lacking = f"{lacking}, finalize_root, ratifications_root, solutions_root"
    assert ran.err.splitlines()[1] == f"chainq: open: columns that the file lacks: {lacking}"


def test_another_block_is_one_finding(program: Program) -> None:
    """The other rows of an export are not compared where blocks differ; those of a file without blocks are."""
    with served() as url, served(chain=Chain(tip=99, seed=8)) as other:
        assert program("records", "60:70", "-o", "other.jsonl", url=url).code == 0
        assert program("export", "blocks", "records", "60:70", "--to", "other", url=url).code == 0
        of_file = findings(program("verify", "other.jsonl", "--full", "--jsonl", url=other))
        of_export = program("verify", "other", "--full", "--jsonl", url=other)
    assert {(row["command"], row["check"]) for row in of_file} == {("records", "missing"), ("records", "unexpected")}
    first, last = (findings(of_export)[at]["height"] for at in (0, -1))
    assert {(row["command"], row["check"]) for row in findings(of_export)} == {("blocks", "altered")}
    assert f"; what else differs at heights {first}-{last}, where blocks differ" in of_export.err


@pytest.mark.parametrize("kind", ["csv", "tsv", "json"])
def test_an_empty_file_is_no_file_without_rows(kind: str, program: Program) -> None:
    """Without rows, it would have a header or brackets: its rows are lost."""
    (program.home / f"empty.{kind}").write_bytes(b"")
    ran = program("verify", f"empty.{kind}", "--commands", "blocks", url="demo:")
    assert f"empty.{kind} is empty; " in one_line(ran, 6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lake", "--last", "5"), "--last cannot be combined with an export"),
        (("lake", "--start", "5", "--commands", "blocks"), "--commands and --start cannot be combined with an export"),
        (("demo:",), "a URL with s3://, gs://, az://; name a service with --url"),
        (("rows.jsonl", "--witness", "demo:"), "--witness cannot be combined with a file"),
        (("rows.jsonl", "--last", "5"), "a file takes --start and --end, two heights of at least 0, not --last"),
    ],
)
def test_an_option_that_does_not_apply_is_named(words: tuple[str, ...], said: str, program: Program) -> None:
    """A file and an export have their heights."""
    (program.home / "lake").mkdir(exist_ok=True)
    (program.home / "rows.jsonl").touch()
    assert said in one_line(program("verify", *words, url="demo:"), 2)


@pytest.mark.parametrize("looks", [("--table",), ("--columns", "height,check")])
def test_findings_of_an_export_say_how_to_repair_it(looks: tuple[str, ...], program: Program) -> None:
    """Also where the output has no column of files: the advice names an option that lists them."""
    assert program("export", "blocks", "0:4", "--to", "damaged", "-w", "1", "-q", url="demo:").code == 0
    for path in (program.home / "damaged").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-9])
    ran = program("verify", "damaged", *looks)
    advice = "if the export is at fault, remove the files that --columns file lists, if any, and export again"
    assert ran.err.endswith(f"; {advice}\n")
    assert b".parquet" in program("verify", "damaged", "--columns", "file").out


def test_one_row_is_in_the_singular(program: Program) -> None:
    """In the verdict, and of what is wrong with a row."""
    assert program("blocks", "5:6", "-o", "one.jsonl", url="demo:").code == 0
    assert "compared: height 5, 1 block with the service\n" in program("verify", "one.jsonl", url="demo:").err
    with (program.home / "one.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"height":null,"block_hash":"ab1"}\n')
    ran = program("verify", "one.jsonl", "--jsonl", url="demo:")
    assert "1 row without a valid height" in {row["found"] for row in findings(ran)}
    cut = '{"height":"5","transition_id":null,"output_index":0,"record_ciphertext":"record1"}\n'
    (program.home / "cut.jsonl").write_text(cut, "utf-8")
    assert "1 row without them" in {row["found"] for row in findings(program("verify", "cut.jsonl", url="demo:"))}


def test_a_sample_is_not_said_to_be_all(program: Program) -> None:
    """The heights that were read are more than those that were compared."""
    assert program("blocks", "60:80", "-o", "sampled.csv", url="demo:").code == 0
    ran = program("verify", "sampled.csv", "--sample", "6", url="demo:")
    assert ran.code == 0, ran.err
    assert "compared: heights 60-79, 20 blocks with the service at 6 random heights\n" in ran.err
    assert "; all but these 6 heights (--full)\n" in ran.err
