"""What a new method of the service needs: one entry in the catalogue, and one in the sample service for `demo:`."""

import json
import re
import subprocess
import sys

import pytest

from harness.running.program import Program, Ran

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


def run(program: Program, text: str, *words: str) -> Ran:
    """Run Python code with the new method in a process of its own."""
    line = [sys.executable, "-c", ENTRY + text, *words]
    ended = subprocess.run(line, env=program.environment(), cwd=program.home, capture_output=True, timeout=60)
    return Ran(ended.returncode, ended.stdout, ended.stderr.decode())


@pytest.mark.parametrize(
    ("line", "sample", "code", "said"),
    [
        ("--help", SAMPLE, 0, "\n +counts "),
        ("counts --help", SAMPLE, 0, "(?s)records/count.*--start"),
        ("counts --columns help", SAMPLE, 0, "(?s)height.*count"),
        ("counts 12345 --table --url demo:", SAMPLE, 0, "12345 +7\n1 row"),
        ("counts 12000:13000 --url demo:", SAMPLE, 0, r'^\{"height":12345,"count":7\}\nchainq: warning: counts '),
        ("counts 0:12345 --url demo:", SAMPLE, 0, "^chainq: warning: counts .*nothing proves"),
        ("doctor --url demo:", SAMPLE, 0, "methods +12 of 12"),
        # What the sample chain lacks is a JSON-RPC error, as on a server that lacks it.
        ("counts 0:9 --url demo:", "", 3, "^chainq counts: .*-32601"),
        ("doctor --url demo:", "", 3, "(?s)methods +11 of 12.*! +counts +no"),
    ],
)
def test_it_has_a_command(line: str, sample: str, code: int, said: str, chainq: Program) -> None:
    """It is listed, has a help page with its options, names its columns, has rows and tables, and doctor checks it."""
    ran = run(chainq, sample + RUN, *line.split())
    assert ran.code == code, ran.err
    assert re.search(said, ran.out.decode() + ran.err), ran


def test_its_documents_are_generated(chainq: Program) -> None:
    """It gets a man page and a place in the reference."""
    ran = run(chainq, SAMPLE + DOCUMENT)
    assert ran.code == 0, ran.err
    texts = json.loads(ran.out)
    assert "records/count" in texts["man/chainq-counts.1"]
    assert "counts" in texts["docs/reference.md"]
