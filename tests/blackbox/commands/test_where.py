"""--where, --program and --function: rows are proved complete, and then those that do not pass are left out."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyarrow import parquet

from chainq import Client, UsageError
from chainq.catalog.methods import METHODS, Method
from harness.running.jobs import FIRST, Job, said
from harness.running.program import Program, Servers
from harness.running.truth import Truth
from harness.servers.services import Moving, serving

Passes = Callable[[Any], bool]
SPAN = (2400, 2520)


def passing(truth: Truth, command: str, passes: Passes, start: int = SPAN[0], end: int = SPAN[1]) -> list[bytes]:
    """The rows of a range that pass, byte for byte as the chain has them."""
    return [row for row in truth.rows(command, start, end) if passes(json.loads(row))]


@pytest.mark.parametrize(
    "method", [method for method in METHODS if method.condition], ids=lambda method: method.command
)
def test_the_example_of_the_help(method: Method, chainq: Program, server: Servers) -> None:
    """It has columns of its command, and leaves some rows out; the operators are named beside it."""
    page = " ".join(chainq(method.command, "--help").out.decode().split())
    assert f"'{method.condition}'. Operators: = != < <= > >= ~ !~ and or not ( )." in page
    words = (method.command, "2400:2500", "-q")
    passed, read = (len(chainq(*words, *more, url=server()).rows) for more in (("--where", method.condition), ()))
    assert 0 < passed < read


def test_a_file_of_rows_that_passed_claims_no_range(chainq: Program, server: Servers, truth: Truth) -> None:
    """As others do for themselves (`tests/golden/commands/filters-by-column.txt` has the rows that pass)."""
    due = [json.loads(row) for row in passing(truth, "records", lambda r: r["output_index"] > 0)]
    words, url = ("records", f"{SPAN[0]}:{SPAN[1]}", "-q"), server()
    assert [json.loads(row) for row in chainq(*words, "--where", "output_index > 0", url=url).rows] == due
    for name, more in (("some.parquet", ("--where", "output_index > 0")), ("all.parquet", ())):
        assert chainq(*words, *more, "-o", name, url=url).code == 0
        metadata = parquet.read_metadata(chainq.home / name).metadata
        assert (b"chainq.heights" in metadata) == (name == "all.parquet")
    assert parquet.read_table(chainq.home / "some.parquet")["id"].to_pylist() == [row["id"] for row in due]


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


def test_following_with_a_limit(chainq: Program, truth: Truth) -> None:
    """--follow ends after --limit rows that pass, however many polls that takes."""
    service = Moving(FIRST)
    service.hook = lambda method: setattr(service, "tip", service.tip + (method == "latest/block"))
    with serving(service) as url:
        words = ("--follow", "--interval", "0.01", "--start", str(FIRST), "--limit", "9")
        ran = chainq("records", *words, "--where", "output_index > 0", url=url)
    due = passing(truth, "records", lambda r: r["output_index"] > 0, FIRST, service.tip + 1)
    assert (ran.code, ran.rows) == (0, due[:9])


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
    """Heights without a row that passes are in the picture, at the ends of the range, too."""
    pytest.importorskip("plotille", reason="charts need the extra chainq[chart]")
    counts = [len(truth.rows("records", height, height + 1)) for height in range(140, 160)]
    words = ("records", "100:300", "--format", "chart", "--where", "height >= 140 and height < 160", *reverse)
    ran = chainq(*words, url="demo:", env={"COLUMNS": "80"})
    assert ran.out.decode().splitlines()[-1] == f"blocks 100 to 299: lowest 0, highest {max(counts)}"
