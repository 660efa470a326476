"""The progress bar of every command whose work is long: when it moves, what it says, and that nothing of it stays."""

import json
import re
import signal
import sys
import threading
from collections.abc import Callable
from io import StringIO
from itertools import product
from typing import Any, NamedTuple

import pytest

from chainq.demo.chain import DEFAULT_TIP
from harness.models.search import some
from harness.running.program import DIALECT, LONGEST, Program, Servers
from harness.running.sample import VIEW_KEY
from harness.running.screen import screen
from harness.servers.services import Moving, Serve, held

pexpect = pytest.importorskip("pexpect", reason="pseudo-terminals need pexpect")

AT_ONCE = (
    "import chainq.process.progress as bar; bar.DELAY *= 0; bar.PERIOD /= 5; bar.SILENCE /= 10;"
    "from chainq.__main__ import main; main()"
)
"""The program with its bar from the first moment on; people see it after a second, and no test waits for that."""
COLUMNS = 200
SOME = r"[1-9][0-9,]*"
FOUND = r"[1-9][0-9,]* rows compared with 1 key, [0-9]+ found"


class Case(NamedTuple):
    """A command, after how many calls the service falls silent, and what the bar says by then.

    `calls`: so many that the first rows are among the responses, in whatever order the parallel calls arrive.
    """

    words: str
    calls: int
    bar: str
    package: str = ""


CASES = {
    "range": Case("records 0:200K --page-size 300 -o x.jsonl", 40, rf"{SOME}/200,000 heights.*rows"),
    "before the first response": Case("records --last 100 -o x.jsonl", 0, r"0 heights .*nothing new for [0-9]+ s"),
    "lookups": Case("transactions 0:2000 -o x.jsonl", 200, rf"{SOME}/2,000 heights"),
    "list": Case("program-transactions credits.aleo transfer_public -o x.jsonl", 40, rf"{SOME} rows .*MB"),
    "checkpoint": Case("records 0:200K --page-size 300 --checkpoint c -o x.jsonl", 40, rf"{SOME}/200,000 heights"),
    "follow": Case(
        "blocks --start -50 --lag 0 --follow --interval 3600 -o x.jsonl", 999, r"50 heights .*next poll in [0-9]+ s"
    ),
    "owned": Case("owned 0:200K --workers 1", 24, rf"[0-9,]+/200,000 heights .*{FOUND}", "aleo"),
    "owned with a checkpoint": Case(
        "owned --start 2900K --workers 1 --checkpoint kept -o x.jsonl", 24, rf"heights .*{FOUND}", "aleo"
    ),
    "balance": Case(
        "balance --start 10K --end 210K --workers 1",
        24,
        r"[0-9,]+/200,000 heights",
        "aleo",
    ),
    "export": Case(
        "export records 0:200K --partition 50K --to lake -w 1",
        12,
        rf"{SOME}/200,000 heights .*0 of 4 partitions",
        "pyarrow",
    ),
    "verify": Case("verify 0:200K --commands records", 12, rf"{SOME}/200,000 heights"),
    "sql": Case("sql --start 0 --end 200K 'select count(*) from records'", 40, rf"{SOME}/200,000 heights", "duckdb"),
}


class Holding(NamedTuple):
    """A service that falls silent after some calls, its URL, the event of that, and the one that ends it."""

    url: str
    silent: threading.Event
    released: threading.Event


@pytest.fixture
def holding(serve: Serve) -> Callable[[int], Holding]:
    """Returns such a service."""

    def after(calls: int) -> Holding:
        service = Moving(DEFAULT_TIP)
        service.chain  # noqa: B018  # made before the first call
        silent, released = held(service, lambda _: len(service.calls) > calls)
        return Holding(serve(service, released), silent, released)

    return after


def started(
    chainq: Program, words: str, url: str, *, rest: str = "", columns: int = COLUMNS, program: str = AT_ONCE
) -> Any:
    """A run of a program on a terminal of that width; `rest` is added to the line as a shell has it."""
    line = f'{"" if "|" in rest else "exec "}"$0" -c "$1" {words} --url {url} --dialect {DIALECT} {rest}'
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", line, sys.executable, program],
        env=chainq.environment(
            {"TERM": "xterm", "CHAINQ_VIEW_KEY": VIEW_KEY if words.startswith(("owned", "balance")) else ""}
        ),
        cwd=str(chainq.home),
        dimensions=(40, columns),
        encoding="utf-8",
        timeout=LONGEST,
    )
    child.logfile_read = StringIO()
    return child


def interrupted(child: Any) -> list[str]:
    """The lines on the terminal after Ctrl-C, of a run that ends by it."""
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.signalstatus == signal.SIGINT
    return screen(child.logfile_read.getvalue(), COLUMNS)


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """One of CASES; skipped where its package is missing."""
    found = CASES[request.param]
    if found.package:
        pytest.importorskip(found.package)
    return found


@pytest.mark.parametrize(
    "case",
    some(
        CASES,
        *("range", "list", "follow", "owned", "export"),
    ),
    indirect=True,
)
def test_a_bar_moves_and_leaves_nothing(case: Case, chainq: Program, holding: Callable[[int], Holding]) -> None:
    """It says how far the run has come; after Ctrl-C the terminal shows the messages and nothing else, not even ^C."""
    child = started(chainq, case.words, holding(case.calls).url)
    child.expect(re.compile(case.bar, re.DOTALL))
    lines = interrupted(child)
    assert lines[-1].startswith(f"chainq {case.words.split()[0]}: stopped by SIGINT")
    assert all(line.startswith(("chainq", "owner", "aleo1")) for line in lines), (
        lines,
        repr(child.logfile_read.getvalue()[-900:]),
    )


@pytest.mark.parametrize(
    ("how", "case"),
    some(
        product(["-q", "2> errors"], ["range", "checkpoint", "export"]),
        ("-q", "range"),
        ("2> errors", "checkpoint"),
        several=True,
    ),
    indirect=["case"],
)
def test_no_bar(how: str, case: Case, chainq: Program, holding: Callable[[int], Holding]) -> None:
    """-q, and an stderr that is no terminal, get none of it, however long the run waits."""
    service = holding(min(case.calls, 8))
    child = started(chainq, case.words, service.url, rest=how)
    assert service.silent.wait(LONGEST)
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    errors = chainq.home / "errors"
    text = child.before + (errors.read_text() if errors.exists() else "")
    assert "stopped by SIGINT" in text
    assert not re.search("[━─]|\x1b\\[2K|\x1b\\[\\?25", text), text


@pytest.mark.parametrize("columns", some([60, 80, 200], 60))
def test_a_bar_fits_the_terminal(columns: int, chainq: Program, holding: Callable[[int], Holding]) -> None:
    """How far, the share and what is waited for are there at any width, and room for ^C at the end of the line."""
    child = started(chainq, "records 0:200K --page-size 100 -o x.jsonl", holding(40).url, columns=columns)
    child.expect(re.compile(rf"{SOME}/200,000 heights[^\r]*[0-9]+%[^\r]*\r\n[^\r]*nothing new for", re.DOTALL))
    line = screen(child.before + child.after, columns)[-2]  # what came after may end in the middle of a drawing
    assert len(line) <= columns - 3
    child.close(force=True)


def test_verify_of_an_export_counts_up_to_its_total(chainq: Program, server: Servers) -> None:
    """Each height counts once, whatever tables are compared there."""
    pytest.importorskip("pyarrow")
    ran = chainq("export", "blocks", "records", "0:200", "--partition", "50", "--to", "lake", "-w", "1", url=server())
    assert ran.code == 0, ran.err
    child = started(chainq, "verify lake --full", server())
    ended(child)
    drawn = re.findall(r"([0-9,]+)/([0-9,]+) heights", child.logfile_read.getvalue())
    assert {total for _, total in drawn} == {"200"}
    assert all(0 <= int(done.replace(",", "")) <= 200 for done, _ in drawn)


def test_totals_follow_a_run_that_has_ended(chainq: Program, holding: Callable[[int], Holding]) -> None:
    """One line in the place of the bar: heights, rows, time, rate, bytes."""
    service = holding(3)
    child = started(chainq, "blocks 0:5000 -o x.jsonl", service.url)
    child.expect("/5,000 heights")
    service.released.set()
    line = ended(child)[-1]
    assert re.fullmatch(r"chainq: 5,000 heights, 5,000 rows in [0-9.]+ s \([0-9,]+ rows/s\), [0-9.]+ MB", line)


def test_rows_on_the_terminal_are_whole(chainq: Program, server: Servers) -> None:
    """Where rows go to the same terminal, the bar goes out of their way, and no totals follow."""
    text = "\n".join(ended(started(chainq, "blocks 0:3000 --json --columns height -j 1", server())))
    assert [int(row["height"]) for row in json.loads(text)] == list(range(3000))


def test_rows_behind_a_pipe_are_whole(chainq: Program, serve: Serve) -> None:
    """Nobody knows whether they end on the terminal after all, so the bar goes out of their way."""
    service, first, second = Moving(DEFAULT_TIP), threading.Event(), threading.Event()
    gates = iter([first, second])

    def hold(_: str) -> None:
        if gate := next(gates, None):
            gate.wait(LONGEST)

    service.hook = hold
    child = started(chainq, "blocks 0:3000 --dialect chain --columns height -j 1", serve(service), rest="| cat")
    child.expect("[━─]")
    first.set()
    child.expect('"999"')
    second.set()
    shown = [line for line in ended(child) if not line.startswith("chainq: ")]
    assert [int(json.loads(line)["height"]) for line in shown] == list(range(3000))


def test_a_balance_on_the_terminal_is_whole(chainq: Program, server: Servers) -> None:
    """The bar is gone before the balance is there, and no totals follow; elsewhere they count the rows compared."""
    pytest.importorskip("aleo")
    child = started(chainq, "balance --end 50 --workers 1", server())
    lines = ended(child)
    assert "─" in child.logfile_read.getvalue()
    assert lines[0].startswith("program") and lines[-1].startswith("chainq: as of block"), lines
    assert not any(" rows in " in line for line in lines), lines
    child = started(chainq, "balance --end 50 --workers 1", server(), rest="> balance")
    child.expect(rf"50 heights, {SOME} rows in ")
    child.close(force=True)


def ended(child: Any) -> list[str]:
    """The lines on the terminal after the end of a run that succeeds."""
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    return screen(child.logfile_read.getvalue(), COLUMNS)
