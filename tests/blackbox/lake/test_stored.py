"""--url DEST: commands answer from the files of an export, with the rows that the service would send."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from chainq import Client
from chainq.catalog.tables import CHAIN, TABLES
from harness.lake.damages import rewrite
from harness.lake.exports import Exports
from harness.lake.lake import Lake, file_of
from harness.models.search import some
from harness.running.jobs import said
from harness.running.program import Program, Servers, one_line
from harness.running.truth import Truth

parquet = pytest.importorskip("pyarrow.parquet")

COMMANDS = ("blocks", "full-blocks", "records", "transitions", "ownership")
END = 2700
TIP = ("--tip", str(END - 1))


@pytest.fixture
def made(exports: Exports) -> Path:
    """A data set of the five commands, up to the tip, and blocks 0 to 99, so that block 0 is known."""
    return exports("lists")


@pytest.fixture
def lake(chainq: Program, exports: Exports) -> str:
    """A copy of it."""
    return str(exports.copy("lists", chainq.home / "lake"))


@pytest.mark.parametrize(
    "words",
    [
        ("blocks", "2430:2601"),
        ("full-blocks", "2560:2620", "--reverse"),
        ("transitions", "--last", "60"),
        ("records", "2420:", "--limit", "7", "--reverse"),
        ("records", "2690:2750"),
        ("records", "2700:2800"),
        ("block", "2500", "latest", "5"),
        ("latest",),
        ("show", "2500", "--json"),
    ],
    ids=" ".join,
)
def test_the_same_bytes_as_from_the_service(
    chainq: Program, server: Servers, made: Path, words: tuple[str, ...]
) -> None:
    """Every digit, and the order of fields and rows, of a service that keeps to the published interface."""
    there, stored = chainq(*words, url=server(*TIP)), chainq(*words, url=str(made))
    assert stored.code == there.code == 0, (there.err, stored.err)
    assert stored.out == there.out
    assert stored.err == there.err


def test_receipts_name_the_hash_of_the_same_bytes(chainq: Program, made: Path) -> None:
    """The SHA-256 in a receipt, of the rows as they were sent, is that of the rows as they are read."""
    for command in COMMANDS:
        for receipt in Lake(made).receipts(command):
            ran = chainq(command, f"{receipt['start']}:{receipt['end']}", "--jsonl", url=str(made))
            assert hashlib.sha256(ran.out).hexdigest() == receipt["sha256"], receipt


@pytest.mark.parametrize("bounds", [(2400, 2500), (2437, 2441), (2480, 2650)])
def test_ownership_of_any_heights(chainq: Program, made: Path, truth: Truth, bounds: tuple[int, int]) -> None:
    """Rows have no heights: within a partition those of the records at these heights."""
    ran = chainq("ownership", f"{bounds[0]}:{bounds[1]}", "--jsonl", url=str(made))
    assert sorted(ran.rows) == sorted(truth.rows("ownership", *bounds)), ran.err


def test_ownership_of_a_partition_without_rows(chainq: Program, server: Servers) -> None:
    """Its file has no rows, and is whole: commands and exports of it go on."""
    url = server("--tip", "3000")
    words = ("export", "blocks", "ownership", "2996:3000", "--partition", "1", "-q")
    assert chainq(*words, "--to", "lake", url=url).code == 0
    there, ran = (chainq("ownership", "2996:3000", "--jsonl", url=where) for where in (url, "lake"))
    assert (ran.code, sorted(ran.rows)) == (0, sorted(there.rows)), ran.err
    assert chainq("ownership", "2998", url="lake").rows == []
    again = chainq(*words, "--to", "copy", url="lake")
    assert again.code == 0, again.err


def test_tables_of_full_blocks(chainq: Program, server: Servers, truth: Truth, exports: Exports) -> None:
    """Blocks lack what full blocks lack; transactions have all but row ids."""
    exports.copy("chain", chainq.home / "lake")
    shutil.rmtree(chainq.home / "lake" / "blocks")
    for name in ("lake", "without"):
        if name == "without":  # neither a table of blocks nor one of transactions: full blocks hold both
            shutil.copytree(chainq.home / "lake", chainq.home / name)
            shutil.rmtree(chainq.home / name / "transactions")
        due = [json.loads(row) for row in truth.rows("blocks", 2410, 2430)]
        found = chainq("blocks", "2410:2430", "--jsonl", url=name)
        lacking = ("id", "coinbase_reward")
        assert [json.loads(row) for row in found.rows] == [
            {key: value for key, value in row.items() if key not in lacking} for row in due
        ]
        heights = ("2410", "2411", "2430:2440")
        there = [json.loads(row) for row in chainq("transactions", *heights, "--jsonl", url=server(*TIP)).rows]
        ran = chainq("transactions", *heights, "--jsonl", url=name)
        assert ran.code == 0, ran.err
        own = [json.loads(row) for row in ran.rows]
        assert [{**row, "block_id": 0} for row in own] == [
            {"block_id": 0, **{key: value for key, value in row.items() if key not in ("id", "block_id")}}
            for row in there
        ]
    assert chainq("blocks", "2410:2412", "--csv", url="lake").err == ""


def test_a_footer_that_was_changed(chainq: Program, lake: str) -> None:
    """It says of another row group that it has the heights: nothing is read by it."""
    rewrite(Path(lake), "records", 2500, cuts=range(100, 500, 100))
    path = file_of(Path(lake), "records", 2500)
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    wrong = data[footer:]
    for height in range(2540, 2560):
        wrong = wrong.replace(height.to_bytes(8, "little"), (2590).to_bytes(8, "little"))
    assert wrong != data[footer:], "statistics of the heights"
    path.write_bytes(data[:footer] + wrong)
    ran = chainq("records", "2545:2555", "--jsonl", url=lake)
    assert "its footer was changed after it was written" in one_line(ran, 6)


@pytest.mark.parametrize("command", some(["records", "full-blocks"], "records"))
def test_heights_that_span_row_groups(chainq: Program, server: Servers, lake: str, command: str) -> None:
    """Rows of one height in several row groups: all of them, in their order, from either end."""
    path = file_of(Path(lake), command, 2500)
    rewrite(Path(lake), command, 2500, cuts=range(3, parquet.read_metadata(path).num_rows, 3))
    for words in ((command, "2480:2620"), (command, "2480:2620", "--reverse"), (command, "2533:2534")):
        assert chainq(*words, "--jsonl", url=lake).out == chainq(*words, "--jsonl", url=server(*TIP)).out


def test_belief_is_told_and_strict_refuses(chainq: Program, lake: str) -> None:
    """The grade that receipts name is that of the rows."""
    rewrite(Path(lake), "records", 2500, receipt={"proof": {"order": 3, "belief": 1}})
    ran = chainq("records", "2490:2620", "-v", url=lake)
    assert ran.code == 0, ran.err
    assert "records heights 2500-2599: nothing proves that these are all rows" in ran.err
    assert "proof: belief" in ran.err
    ran = chainq("records", "2490:2620", "--strict", "--jsonl", url=lake)
    said(ran, 6, "nothing proves that these are all rows")
    assert ran.rows == chainq("records", "2490:2500", "--jsonl", url=lake).rows


def test_python_reads_files(made: Path, truth: Truth) -> None:
    """Client takes the folder as its URL."""
    with Client(str(made)) as client:
        assert client.tip_height() == END - 1
        assert list(client.records(2450, 2460)) == [json.loads(row) for row in truth.rows("records", 2450, 2460)]
        assert {batch.proof.grade.value for batch in client.batches("records", 2400, END)} <= {"order", "witness"}


def test_doctor_names_what_an_export_lacks(chainq: Program, exports: Exports) -> None:
    """The tables that it has not are no fault of a server."""
    ran = chainq("doctor", "--json", url=str(exports("chain")))
    assert ran.code == 0, ran.err
    checks = {one["check"]: one for one in json.loads(ran.out)["checks"]}
    lacking = [name for name, one in checks.items() if one["finding"] == "not in this export"]
    assert lacking == [table for table in TABLES if table not in CHAIN]
    assert "chainq export ownership 2400:2450 --to" in checks["ownership"]["meaning"]
