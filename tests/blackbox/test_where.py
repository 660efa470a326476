"""--where, --program and --function: rows are proved complete, and then those that do not pass are left out."""

import csv
import io
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from chainq import Client, UsageError
from chainq.catalog.methods import METHODS, Method
from chainq.demo.faults import Faults
from harness.jobs import FIRST, Job, said
from harness.program import Program, Servers
from harness.services import Moving, serving
from harness.truth import Truth

Passes = Callable[[Any], bool]
SPAN = (2400, 2520)


def passing(truth: Truth, command: str, passes: Passes, start: int = SPAN[0], end: int = SPAN[1]) -> list[bytes]:
    """The rows of a range that pass, byte for byte as the chain has them."""
    return [row for row in truth.rows(command, start, end) if passes(json.loads(row))]


def calls(block: Any) -> list[tuple[str, str]]:
    """The programs and functions of the calls in a full block, those that pay fees too."""
    transactions = [one["transaction"] for one in block["transactions"]]
    transitions = [call for one in transactions for call in one.get("execution", {}).get("transitions", [])]
    transitions += [one["fee"]["transition"] for one in transactions if "fee" in one]
    return [(call["program"], call["function"]) for call in transitions]


@pytest.mark.parametrize(
    ("command", "expression", "passes"),
    [
        (
            "records",
            "output_index > 0 and program_id ~ token",
            lambda r: r["output_index"] > 0 and "token" in r["program_id"],
        ),
        (
            "records",
            "program_id = credits.aleo and not function_name ~ ^transfer",
            lambda r: r["program_id"] == "credits.aleo" and not r["function_name"].startswith("transfer"),
        ),
        (
            "records",
            'function_name != "split" AND program_id !~ "^(token|tile)"',
            lambda r: r["function_name"] != "split" and not re.match("token|tile", r["program_id"]),
        ),
        (
            "blocks",
            "coinbase_reward = null",
            lambda r: r["coinbase_reward"] is None,
        ),
        (
            "blocks",
            "coinbase_reward != null and timestamp > 0",
            lambda r: r["coinbase_reward"] is not None,
        ),
        (
            "transitions",
            "program = token_registry.aleo",
            lambda r: r["program"].count("program token_registry.aleo;"),
        ),
        (
            "transitions",
            "program ~ ^token and function_name ~ mint",
            lambda r: re.search("^program token", r["program"], re.MULTILINE) and "mint" in r["function_name"],
        ),
        (
            "full-blocks",
            "header.metadata.height < 2410 or header.metadata.round < 0",
            lambda r: r["header"]["metadata"]["height"] < 2410,
        ),
        (
            "full-blocks",
            "transactions[].status = rejected",
            lambda r: any(one["status"] == "rejected" for one in r["transactions"]),
        ),
        (
            "full-blocks",
            "transactions[].status != rejected",
            lambda r: all(one["status"] != "rejected" for one in r["transactions"]),
        ),
        (
            "full-blocks",
            "transactions ~ token_registry",
            lambda r: "token_registry" in json.dumps(r["transactions"]),
        ),
    ],
)
def test_the_rows_that_pass_are_printed(
    command: str, expression: str, passes: Passes, chainq: Program, server: Servers, truth: Truth
) -> None:
    """These rows and no others, as the server sent them."""
    end = SPAN[1] if command != "full-blocks" else 2440
    due = passing(truth, command, passes, SPAN[0], end)
    ran = chainq(command, "--start", str(SPAN[0]), "--end", str(end), "--where", expression, url=server())
    assert (ran.code, ran.err, sorted(ran.rows)) == (0, "", sorted(due))


@pytest.mark.parametrize(
    ("command", "function", "passes"),
    [
        ("records", "split", lambda r: (r["program_id"], r["function_name"]) == ("credits.aleo", "split")),
        ("transitions", "split", lambda r: "program credits.aleo;" in r["program"] and r["function_name"] == "split"),
        ("full-blocks", "split", lambda r: ("credits.aleo", "split") in calls(r)),
        ("full-blocks", "fee_private", lambda r: ("credits.aleo", "fee_private") in calls(r)),
    ],
)
def test_program_and_function(
    command: str, function: str, passes: Passes, chainq: Program, server: Servers, truth: Truth
) -> None:
    """--program and --function are conditions on the right columns; in a full block one call must meet both."""
    end = SPAN[1] if command != "full-blocks" else 2440
    words = (command, f"{SPAN[0]}:{end}", "--program", "credits.aleo", "--function", function, "-q")
    ran = chainq(*words, url=server())
    assert (ran.code, ran.err) == (0, "")
    assert sorted(ran.rows) == sorted(passing(truth, command, passes, SPAN[0], end))
    both = chainq(*words, "--where", "height < 0" if command != "full-blocks" else "block_hash = null", url=server())
    assert (both.code, both.out) == (0, b"")


@pytest.mark.parametrize("method", [method for method in METHODS if method.filtered], ids=lambda method: method.command)
def test_the_example_of_the_help(method: Method, chainq: Program, server: Servers) -> None:
    """It has columns of its command, and leaves some rows out; the operators are named beside it."""
    page = " ".join(chainq(method.command, "--help").out.decode().split())
    assert f"'{method.condition}'. Operators: = != < <= > >= ~ !~ and or not ( )." in page
    words = (method.command, "2400:2500", "-q")
    passed, read = (len(chainq(*words, *more, url=server()).rows) for more in (("--where", method.condition), ()))
    assert 0 < passed < read


def test_filters_that_are_repeated(chainq: Program, server: Servers, truth: Truth) -> None:
    """Every --where must be met; of several --program, or several --function, any may be met."""
    words, url = ("records", f"{SPAN[0]}:{SPAN[1]}", "-q"), server()
    ids, names = ("credits.aleo", "token_registry.aleo"), ("split", "transfer_public_to_private", "join")
    anyone = [f"--program={one}" for one in ids] + [f"--function={one}" for one in names]
    due = passing(truth, "records", lambda r: r["program_id"] in ids and r["function_name"] in names)
    assert {json.loads(row)["program_id"] for row in due} == {*ids}
    assert sorted(chainq(*words, *anyone, url=url).rows) == sorted(due)
    both = ("--where", "output_index > 0 or height < 2500", "--where", "program_id ~ token or id < 0")
    due = passing(
        truth, "records", lambda r: (r["output_index"] > 0 or r["height"] < 2500) and "token" in r["program_id"]
    )
    assert sorted(chainq(*words, *both, url=url).rows) == sorted(due)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_limit_counts_rows_that_pass(reverse: bool, chainq: Program, server: Servers) -> None:
    """--limit stops after so many rows that pass, wherever the range ends."""
    words = ("records", "2400:", "--where", "function_name = mint", "--limit", "7", *(["--reverse"] if reverse else []))
    url = server("--tip", "3000")
    ran = chainq(*words, url=url)
    due = passing(Truth(3000), "records", lambda r: r["function_name"] == "mint", 2400, 3001)
    heights = [json.loads(row)["height"] for row in ran.rows]
    assert len(heights) == 7
    assert heights == [json.loads(row)["height"] for row in due[:: -1 if reverse else 1]][:7]
    assert (ran.code, ran.err) == (0, "")


def test_formats_and_columns(chainq: Program, server: Servers, truth: Truth, tmp_path: Path) -> None:
    """The filter may name columns that are not printed; a file of rows that passed claims no range for itself."""
    due = [json.loads(row) for row in passing(truth, "records", lambda r: r["output_index"] > 0)]
    words = ("records", f"{SPAN[0]}:{SPAN[1]}", "--where", "output_index > 0", "-q")
    url = server()
    table = csv.reader(io.StringIO(chainq(*words, "--columns", "height,id", "--csv", url=url).out.decode()))
    assert [*table] == [["height", "id"], *([str(row["height"]), str(row["id"])] for row in due)]
    assert [json.loads(row) for row in chainq(*words, url=url).rows] == due
    assert json.loads(chainq(*words, "--json", url=url).out) == due
    file = tmp_path / "some.parquet"
    assert chainq(*words, "-o", str(file), url=url).code == 0
    assert parquet.read_table(file)["id"].to_pylist() == [row["id"] for row in due]
    whole = tmp_path / "all.parquet"
    chainq(*words[:2], "-q", "-o", str(whole), url=url)
    ranged = [b"chainq.heights" in parquet.read_metadata(path).metadata for path in (whole, file)]
    assert ranged == [True, False]


def test_a_checkpoint_belongs_to_its_filter(chainq: Program, truth: Truth) -> None:
    """Run by run the file gets the rows that pass; another filter is refused, and changes nothing."""
    service = Moving(FIRST + 60)
    with serving(service) as url:
        words = ("records", "--start", str(FIRST), "--program", "credits.aleo", "--where", "output_index = 0")
        job = Job(chainq, url, *words)
        for tip in (FIRST + 60, FIRST + 63, FIRST + 150):
            service.tip = tip
            said(job(), 0)
        assert job() == (0, b"", "")  # a run that finds nothing new has nothing to say
        first = passing(truth, "records", lambda r: r["output_index"] == 0, FIRST, FIRST + 151)
        due = [row for row in first if json.loads(row)["program_id"] == "credits.aleo"]
        assert sorted(job.out.read_bytes().splitlines()) == sorted(due)
        before = job.files()
        for other in (["--where", "output_index = 1"], ["--program", "wrapped_credits.aleo"], ["--function", "split"]):
            said(job(*other), 2, "was made with other arguments", other[0][2:])
        job.words = words[:3]
        said(job(), 2, "was made with other arguments", "program")
        assert job.files() == before


def test_blocks_with_a_checkpoint(chainq: Program, truth: Truth) -> None:
    """Blocks that are left out still link the runs: no reorg is seen where there was none."""
    service = Moving(FIRST + 20)
    with serving(service) as url:
        job = Job(chainq, url, "blocks", "--start", str(FIRST), "--where", "height ~ 7$", "-q")
        for tip in range(FIRST + 20, FIRST + 60, 7):
            service.tip = tip
            said(job(), 0)
    assert job.out.read_bytes().splitlines() == passing(
        truth, "blocks", lambda r: r["height"][-1] == "7", FIRST, service.tip + 1
    )


@pytest.mark.parametrize("output", ["file", "pipe"])
def test_rows_that_come_late(output: str, chainq: Program, truth: Truth) -> None:
    """Rows that appear after their block are filtered as others are, and come once, over all runs."""
    service = Moving(FIRST, faults=Faults("late-records:30", "lag-blocks:3", "lag-rate:0.5"))
    expression = "output_index > 0 or program_id ~ token"
    with serving(service) as url:
        job = Job(chainq, url, "records", "--start", str(FIRST - 50), "--where", expression, "-q")
        came = []
        for run in range(8):
            if run == 7:
                service.heal()
            service.tip += 30 if run == 7 else run % 3
            ran = job("--lag", "10", out=None if output == "file" else "")
            assert ran.code in (0, 6), ran.err
            came += ran.rows
        end = job.next
    came = job.out.read_bytes().splitlines() if output == "file" else came
    passes = lambda r: r["output_index"] > 0 or "token" in r["program_id"]  # noqa: E731  # as in other tests
    due = passing(truth, "records", passes, FIRST - 50, end)
    assert sorted(came) == sorted(due)


def test_following_with_a_limit(chainq: Program, truth: Truth) -> None:
    """--follow ends after --limit rows that pass, however many polls that takes."""
    service = Moving(FIRST)
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    with serving(service) as url:
        words = ("--follow", "--interval", "0.01", "--start", str(FIRST), "--limit", "9")
        ran = chainq("records", *words, "--where", "output_index > 0", url=url)
    due = passing(truth, "records", lambda r: r["output_index"] > 0, FIRST, service.tip + 1)
    assert (ran.code, ran.rows) == (0, due[:9])


def test_transactions_by_height_and_limit(chainq: Program, server: Servers, truth: Truth) -> None:
    """Transactions have a height to filter by, though rows stay as they were sent; --limit stops after so many."""
    rows = [(height, row) for height in range(2400, 2440) for row in truth.transactions(height)]
    url = server()
    ran = chainq("transactions", "2400:2440", "--where", "height > 2405 and index = 1", url=url)
    due = [row for height, row in rows if height > 2405 and json.loads(row)["index"] == 1]
    assert (ran.code, ran.rows) == (0, due)
    assert chainq("transactions", "2400:2440", "--limit", "3", "-q", url=url).rows == [row for _, row in rows[:3]]


def test_fields_of_this_server_alone(chainq: Program, server: Servers) -> None:
    """--no-check lets a filter name fields that the catalogue does not have; a row without it has null there."""
    ran = chainq("blocks", "5:8", "--where", "flavor = null", "-q", "--no-check", url=server())
    assert (ran.code, len(ran.rows)) == (0, 3)


def test_python(server: Servers, truth: Truth) -> None:
    """The Python API filters by keywords of the same names."""
    due = [json.loads(row)["id"] for row in passing(truth, "records", lambda r: r["function_name"] == "split")]
    with Client(server()) as client:
        found = client.records(*SPAN, program="credits.aleo", function="split", where="height >= 2400")
        assert [row["id"] for row in found] == due
        assert [row["id"] for row in client.records(*SPAN, function="split", limit=2)] == due[:2]
        assert [row["height"] for row in client.blocks(5, 9, where="height > 6")] == ["7", "8"]
        assert [row["index"] for row in client.transactions(672, where="index >= 2")] == [2, 3]
        with pytest.raises(UsageError, match="invalid --where: unknown field 'hieght' at character 1"):
            client.records(*SPAN, where="hieght = 1")
        with pytest.raises(TypeError, match="unexpected keyword argument 'program'"):
            client.blocks(*SPAN, program="credits.aleo")  # type: ignore[call-arg]


@pytest.mark.parametrize("reverse", [(), ("--reverse",)])
def test_a_chart_is_of_the_whole_range(reverse: tuple[str, ...], chainq: Program, truth: Truth) -> None:
    """Heights without a row that passes are in the picture and count in the mean, at the ends of the range, too."""
    pytest.importorskip("plotille", reason="charts need the extra chainq[chart]")
    counts = [len(truth.rows("records", height, height + 1)) for height in range(140, 160)]
    words = ("records", "100:300", "--format", "chart", "--where", "height >= 140 and height < 160", *reverse)
    ran = chainq(*words, url="demo:", env={"COLUMNS": "80"})
    lines = ran.out.decode().splitlines()
    marks = next(line for line, below in pairwise(lines) if below.strip() == "block height").split()
    assert (marks[0], marks[-1]) == ("100", "299")
    assert re.findall(r"mean ([0-9.]+), highest ([0-9]+) at block ([0-9]+)", ran.out.decode()) == [
        (f"{sum(counts) / 200:.6g}", str(max(counts)), str(140 + counts.index(max(counts))))
    ]
