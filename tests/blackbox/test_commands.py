"""Each of the eleven commands, in each format, prints what the service holds: the installed program, real sockets."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from chainq.catalog.methods import BY_COMMAND, METHODS
from chainq.demo.chain import DEFAULT_TIP
from harness.belief import besides_belief
from harness.program import Program, Ran, Servers, one_line
from harness.services import witnessed
from harness.truth import Groups, Truth, difference, split


@dataclass(frozen=True)
class Case:
    """A command with its arguments, and the rows that are due. `single`: the answer is one object by nature.

    `key`: a column that is told in full in a table, and that differs from row to row where that can be.
    """

    command: str
    args: Callable[[Truth], tuple[str, ...]]
    due: Callable[[Truth], Groups]
    key: str
    single: bool = False


def ranged(command: str, start: int, end: int, key: str) -> Case:
    def args(truth: Truth) -> tuple[str, ...]:
        subject = (truth.chain.addresses[0],) if command == "address-transactions" else ()
        return (*subject, "--start", str(start), "--end", str(end))

    def due(truth: Truth) -> Groups:
        address = truth.chain.addresses[0] if command == "address-transactions" else ""
        return truth.groups(command, start, end, address)

    return Case(command, args, due, key)


CASES = {
    case.command: case
    for case in (
        ranged("blocks", 95, 205, "height"),
        Case("block", lambda _: ("4242",), lambda t: [[t.block(4242)]], "height", single=True),
        Case("latest", lambda _: (), lambda t: [[t.block(t.tip)]], "height", single=True),
        ranged("full-blocks", 197, 203, "header.metadata.height"),
        Case("transactions", lambda _: ("640",), lambda t: [[row] for row in t.transactions(640)], "transaction_id"),
        Case(
            "transaction",
            lambda t: (t.transaction_id(640, 1),),
            lambda t: [[t.transaction(640, 1)]],
            "transaction.id",
            single=True,
        ),
        Case(
            "program-transactions",
            lambda _: ("hello_hello.aleo", "hello"),
            lambda t: [[row] for row in t.program_transactions("hello_hello.aleo", "hello")],
            "transaction.id",
        ),
        ranged("records", 630, 650, "id"),
        ranged("ownership", 630, 650, "owner_x"),
        ranged("transitions", 2340, 2350, "transition_id"),
        ranged("address-transactions", 0, 3000, "transaction_id"),
    )
}
each_command = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


Runs = dict[tuple[str, str], Ran]
FORMATS = {
    "jsonl": ("--jsonl",),
    "json": ("--json",),
    "csv": ("--csv",),
    "table": ("--table",),
    "keys": ("--table", "--no-trunc"),
}


@pytest.fixture(scope="module")
def runs(program: Program, server: Servers, truth: Truth) -> Runs:
    """Every command in every format over a socket, and once from the built-in chain."""
    jobs: dict[tuple[str, str], Callable[[], Ran]] = {}
    for case in CASES.values():
        words = (case.command, *case.args(truth))
        for name, flags in FORMATS.items():
            chosen = ("--columns", case.key) if name == "keys" and not case.single else ()
            jobs[case.command, name] = partial(program, *words, *flags, *chosen, url=server())
        jobs[case.command, "demo"] = partial(program, *words, "--jsonl", url="demo:")
    return {name: job() for name, job in jobs.items()}


def keyed(row: bytes, path: str) -> Any:
    """The value at a dotted path, numbers as their digits; None where the row has none."""
    value = json.loads(row, parse_int=str, parse_float=str)
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def cell(row: bytes, path: str) -> str:
    """What a CSV cell says of a value: a string itself, null nothing, arrays and objects as compact JSON."""
    value: Any = json.loads(row)
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def mapped(groups: Groups, made: Callable[[bytes], Any]) -> list[list[bytes]]:
    return [[json.dumps(made(row)).encode() for row in group] for group in groups]


def test_every_command_of_the_catalogue_is_tried() -> None:
    """No method of the catalogue is left out below."""
    assert list(CASES) == [method.command for method in METHODS]
    assert len(CASES) == 11


@each_command
def test_jsonl_over_a_socket_is_what_the_service_holds(case: Case, runs: Runs, truth: Truth) -> None:
    """jsonl prints each row once, a line each, byte for byte."""
    ran = runs[case.command, "jsonl"]
    assert (ran.code, besides_belief(ran, case.command).err) == (0, "")
    assert difference(ran.rows, case.due(truth)) == ""


@each_command
def test_jsonl_of_the_built_in_chain_is_the_same(case: Case, runs: Runs, truth: Truth) -> None:
    """demo: answers every method in process, with the same rows."""
    ran = runs[case.command, "demo"]
    assert (ran.code, besides_belief(ran, case.command).err) == (0, "")
    assert difference(ran.rows, case.due(truth)) == ""


@each_command
def test_json_is_one_array_or_one_object(case: Case, runs: Runs, truth: Truth) -> None:
    """json prints one array of the same rows; one object for latest, and for block or transaction with one argument."""
    ran = runs[case.command, "json"]
    assert (ran.code, besides_belief(ran, case.command).err) == (0, "")
    text = ran.out.replace(b"\n", b"")  # between tokens only: inside strings a line break is an escape
    assert difference([text] if case.single else split(text), case.due(truth)) == ""


@each_command
def test_csv_has_every_documented_column(case: Case, runs: Runs, truth: Truth) -> None:
    """csv is RFC 4180 with the header first, nested objects as dotted columns, data as JSON, null empty."""
    ran = runs[case.command, "csv"]
    assert ran.code == 0
    assert all(" is left out of csv; " in line for line in besides_belief(ran, case.command).err.splitlines())
    assert ran.out.endswith(b"\r\n")
    lines = list(csv.reader(io.StringIO(ran.out.decode(), newline=""), strict=True))
    paths = [column.path for column in BY_COMMAND[case.command].columns]
    assert lines[0] == paths
    added = {column.path: case.args(truth)[0] for column in BY_COMMAND[case.command].columns if column.computed}
    due = mapped(case.due(truth), lambda row: [added.get(path) or cell(row, path) for path in paths])
    assert difference([json.dumps(line).encode() for line in lines[1:]], due) == ""


@each_command
def test_table_shows_every_row(case: Case, runs: Runs, truth: Truth) -> None:
    """A table shows each row's key in full where --no-trunc asks for it, in order, without control characters."""
    ran = runs[case.command, "keys"]
    assert ran.code == 0
    shown = ran.out.decode()
    assert shown.replace("\n", "").isprintable()
    keys = [[str(keyed(row, case.key)) for row in group] for group in case.due(truth)]
    if case.single:
        assert keys[0][0] in shown
        return
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[0] == case.key.rpartition(".")[2] or lines[0] == case.key
    count = sum(map(len, keys))
    cells = [line.encode() for line in lines[1 : 1 + count]]
    assert difference(cells, [[key.encode() for key in group] for group in keys]) == ""


@each_command
def test_table_by_default_has_a_line_for_each_row(case: Case, runs: Runs, truth: Truth) -> None:
    """The table that a person gets has a heading and a line for each row, within 80 characters."""
    ran = runs[case.command, "table"]
    assert ran.code == 0
    lines = ran.out.decode().splitlines()
    assert max(map(len, lines)) <= 80
    if not case.single:
        count = sum(map(len, case.due(truth)))
        first = min((column for column in BY_COMMAND[case.command].columns if column.brief), key=lambda c: c.brief).path
        assert lines[0].split()[0] in (first, first.rpartition(".")[2])
        assert all(line.strip() for line in lines[: 1 + count])
        assert f"{count:,} row" in "\n".join(lines[1 + count :])


def test_many_names_keep_their_order(chainq: Program, server: Servers, truth: Truth) -> None:
    """Forty transactions asked for eight at a time come out in the order given."""
    places = [(height, 0) for height in range(660, 620, -1) if truth.transactions(height)]
    ids = [truth.transaction_id(*place) for place in places]
    ran = chainq("transaction", *ids, url=server())
    assert (ran.code, ran.rows) == (0, [truth.transaction(*place) for place in places])


def test_latest_is_an_alarm(chainq: Program) -> None:
    """With --max-age an old tip is exit 8 with its age, and nothing on stdout; one request, also of a young tip."""
    with witnessed() as (url, calls):
        old = chainq("latest", "--max-age", "10m", url=url)
        assert re.search(r"block \d+ is \d+ years?.* old, older than --max-age 10m", one_line(old, 8))
        assert old.out == b""
        young = chainq("latest", "--max-age", "90000d", "--text", url=url)
        assert (young.code, young.out, young.err) == (0, b"%d\n" % DEFAULT_TIP, "")
    assert len(calls) == 2
    for age in ("soon", "0", "1ms"):
        line = one_line(chainq("latest", "--max-age", age, url="http://127.0.0.1:9/"), 2)
        assert f"invalid --max-age '{age}': expected a number with a unit" in line


def test_a_verbose_server_logs_every_call_with_its_status(chainq: Program, server: Servers) -> None:
    """What `serve -v` prints is text of a stranger: one line for a call, and nothing that acts on a terminal."""
    with server.process("-v") as (url, process):
        assert process.stderr is not None
        assert chainq("block", "5", url=url).code == 0
        assert re.fullmatch(r'200 \{.*"method":"block".*\}\n', process.stderr.readline().decode())
        assert chainq("rpc", "\x1b[2J", url=url).code == 3
        logged = process.stderr.readline().decode()
        assert logged.startswith("200 ")
        assert logged[:-1].isprintable()


@pytest.mark.parametrize("option", ["--csv", "--jsonl", "--text", "--table"])
def test_transitions_have_the_id_of_their_program(option: str, chainq: Program, truth: Truth) -> None:
    """The service sends the source text; `--columns program_id` is the ID in every format, also with a checkpoint."""
    sources = [json.loads(row)["program"] for row in truth.rows("transitions", 10_000, 10_003)]
    due = [re.findall(r"(?m)^program ([a-z_]+\.aleo);", source)[0] for source in sources]
    assert len(set(due)) > 1
    given = ("transitions", "10000:10003", "--columns", "program_id,height", option)
    for more in ((), ("--checkpoint", "kept")) if option != "--table" else ((),):
        ran = chainq(*given, *more, url="demo:")
        assert ran.code == 0, ran.err
        found = re.findall(r"[a-z_]+\.aleo", ran.out.decode())
        assert sorted(found) == sorted(due)
    for every in ("all", "*"):
        ran = chainq("transitions", "10000", "--columns", every, "--jsonl", url="demo:")
        assert ran.code == 0, ran.err
        assert '"program_id"' not in ran.out.decode()
