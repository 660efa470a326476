"""What a new method of the service needs: one entry in the catalogue, and one in the sample service for `demo:`."""

import json
import subprocess
import sys

import pytest

from harness.belief import besides_belief
from harness.program import Program, Ran

ENTRY = """
import sys
from chainq.catalog import methods
from chainq.catalog.methods import END, PAGE, START, Column, Kind, Method, Param, Role, Shape

method = Method(
    command="counts",
    name="records/count",
    group="Records",
    purpose="number of records of each height",
    params=(START, END, PAGE, Param("countsPerRequest", "number", Role.SIZE, "rows of a page")),
    shape=Shape.ROWS,
    columns=(
        Column("height", "number", "block height", Kind.HEIGHT, brief=True),
        Column("count", "number", "records of the block", Kind.NUMBER, brief=True),
    ),
    example="chainq counts --start 12345 --end 12346",
    first_heights=100,
    page_size=1000,
    height="height",
    order="height",
)
methods.METHODS += (method,)
methods.BY_COMMAND[method.command] = methods.BY_NAME[method.name] = method
"""
SAMPLE = """
from chainq.demo.registry import Item
from chainq.demo.results import Results
from chainq.demo.service import DIALECTS, _listed

DIALECTS["chain"][method.name] = DIALECTS["aleo"][method.name] = _listed("counts", "countsPerRequest")
honest = Results.rows
row = Item(12345, 0, b'{"height":12345,"count":7}')


def rows(book, ask):
    if ask.handler != "counts":
        return honest(book, ask)
    return ask.cut([row] if row.height in ask.heights else [])


Results.rows = rows
"""
RUN = "from chainq.__main__ import main; main()"
DOCUMENT = """
import json
from chainq import _docgen
print(json.dumps(_docgen.due()))
"""


def code(program: Program, text: str, *words: str) -> Ran:
    """Run Python code in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", text, *words],
        env=program.environment(),
        cwd=program.home,
        capture_output=True,
        timeout=60,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr.decode())


def run(program: Program, *words: str, sample: str = SAMPLE) -> Ran:
    """Run chainq with the new method."""
    return code(program, ENTRY + sample + RUN, *words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--help", ["counts"]),
        ("counts --help", ["records/count", "--start"]),
        ("counts --columns help", ["height", "count"]),
        ("counts --start 12345 --end 12346 --table --url demo:", ["12345", "1 row"]),
    ],
)
def test_it_has_a_command(line: str, words: list[str], chainq: Program) -> None:
    """It is listed, has a help page with its limits and options, names its columns, and has tables."""
    ran = run(chainq, *line.split())
    assert ran.code == 0, ran.err
    assert [word for word in words if word.encode() not in ran.out] == []


def test_its_sample_row_is_served(chainq: Program) -> None:
    """demo: answers with the sample row, inside its range and in no other, through all that a command does."""
    ran = run(chainq, "counts", "--start", "12000", "--end", "13000", "--url", "demo:")
    ran = besides_belief(ran, "counts", due=True)  # no other method counts records
    assert (ran.code, ran.out, ran.err) == (0, b'{"height":12345,"count":7}\n', "")
    assert run(chainq, "counts", "--start", "0", "--end", "12345", "--url", "demo:").out == b""


def test_without_a_sample_row_it_is_an_unknown_method(chainq: Program) -> None:
    """A method that the sample chain lacks is a JSON-RPC error of its service, as on a server that lacks it."""
    ran = run(chainq, "counts", "--start", "0", "--end", "9", "--url", "demo:", sample="")
    assert (ran.code, ran.out) == (3, b"")
    assert "-32601" in ran.err


@pytest.mark.parametrize(("sample", "finding", "exit_code"), [(SAMPLE, "yes", 0), ("", "no", 3)])
def test_doctor_checks_it(sample: str, finding: str, exit_code: int, chainq: Program) -> None:
    """doctor calls every method of the catalogue."""
    ran = run(chainq, "doctor", "--json", "--url", "demo:", sample=sample)
    assert ran.code == exit_code, ran.err
    checks = {check["check"]: check["finding"] for check in json.loads(ran.out)["checks"]}
    assert (checks["counts"], checks["records"]) == (finding, "yes")


def test_its_documents_are_generated(chainq: Program) -> None:
    """It gets a man page and a place in the reference."""
    ran = code(chainq, ENTRY + SAMPLE + DOCUMENT)
    assert ran.code == 0, ran.err
    texts = json.loads(ran.out)
    assert "records/count" in texts["man/chainq-counts.1"]
    assert "counts" in texts["docs/reference.md"]
