"""What a new method of the service needs: one entry in the catalogue, and one in the sample service for `demo:`.

`counts` has pages; `burned` has none, and one row for each height; `events` has none, and any number of rows.
"""

import json
import re
import subprocess
import sys

import pytest

from chainq.catalog.methods import METHODS
from harness.running.program import Program, Ran

ALL = len(METHODS) + 3

ENTRY = """
import sys
from chainq.catalog import methods
from chainq.catalog.methods import END, PAGE, START, Column, Kind, Method, Param, Role, Shape

counts = Method(
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
burned = Method(
    command="burned",
    name="getBurned",
    group="Blocks",
    purpose="credits burned at each height",
    params=(START, END),
    columns=(
        Column("height", "number", "block height", Kind.HEIGHT, brief=True),
        Column("total", "number", "in microcredits", Kind.NUMBER, brief=True),
    ),
    example="chainq burned --start 12345 --end 12346",
    height="height",
    single=True,
)
events = Method(
    command="events",
    name="getEvents",
    group="Blocks",
    purpose="events of each height",
    params=(START, END),
    columns=(Column("height", "number", "block height", Kind.HEIGHT, brief=True), Column("event", "string")),
    example="chainq events --start 12345 --end 12346",
    height="height",
)
NEW = (counts, burned, events)
methods.METHODS += NEW
for method in NEW:
    methods.BY_COMMAND[method.command] = methods.BY_NAME[method.name] = method
"""
SAMPLE = """
from chainq.demo.registry import Item
from chainq.demo.results import DIALECTS, SampleMethod, Results, _listed

for dialect in DIALECTS.values():
    dialect["records/count"] = _listed("counts", "countsPerRequest")
    dialect["getBurned"] = SampleMethod("burned", {"start": "start", "end": "end"})
    dialect["getEvents"] = SampleMethod("events", {"start": "start", "end": "end"})
honest = Results.rows


def rows(book, ask):
    if ask.handler == "counts":
        return ask.cut([Item(12345, 0, b'{"height":12345,"count":7}')] if 12345 in ask.heights else [])
    if ask.handler == "burned":
        return [Item(height, 0, b'{"height":%d,"total":5}' % height) for height in ask.heights if height != HOLE]
    if ask.handler == "events":
        row = b'{"height":%d,"event":"%c"}'
        return [Item(height, 0, row % (height, one)) for height in ask.heights for one in b"ab"]
    return honest(book, ask)


Results.rows = rows
"""
HOLE = 777  # a height of which the server has no burned
RUN = "from chainq.__main__ import main; main()"
DOCUMENT = """
import json
from chainq import _docgen
print(json.dumps(_docgen.due()))
"""


def run(program: Program, text: str, *words: str) -> Ran:
    """Run Python code with the new method in a process of its own."""
    line = [sys.executable, "-c", f"HOLE = {HOLE}\n{ENTRY}{text}", *words]
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
        ("burned --last 3 --table --strict --url demo:", SAMPLE, 0, "(?s)2999998 +5\n.*3 rows"),
        ("burned 775:777 --url demo:", SAMPLE, 0, r'^\{"height":775,"total":5\}\n\{"height":776,"total":5\}\n$'),
        ("burned 775:780 --url demo:", SAMPLE, 6, "(?m)^chainq burned: .*missing height 777, though the tip .*resume"),
        ("events 775:777 --text --strict --url demo:", SAMPLE, 0, "^775\ta\n775\tb\n776\ta\n776\tb\n$"),
        ("events --last 1 --text --url demo:", SAMPLE, 0, "^3000000\ta\n3000000\tb\nchainq: warning: events "),
        ("events --last 1 --strict --url demo:", SAMPLE, 6, "^chainq events: .*nothing proves"),
        ("doctor --url demo:", SAMPLE, 0, f"methods +{ALL} of {ALL}"),
        # What the sample chain lacks is a JSON-RPC error, as on a server that lacks it.
        ("counts 0:9 --url demo:", "", 3, "^chainq counts: .*-32601"),
        ("doctor --url demo:", "", 3, f"(?s)methods +{len(METHODS)} of {ALL}.*! +counts +no.*! +burned +no"),
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
