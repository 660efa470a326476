"""The heart: whatever a server does wrong, rows come exactly once and in order, or an exit code says why not.

Rows inside a height change places from call to call on every server here; most have further faults.
"""

import re

import pytest

from harness.running.program import Program, Ran, Servers
from harness.running.truth import Groups, Truth, difference

CAP = ("--fault", "row-cap:700")
IGNORED = ("--fault", "ignore-page-size:10000")
FAILING = ("--fault", "fail-rate:0.2")
CUT = ("--fault", "truncate-rate:0.1")
HEAVY = ("--fault", "heavy-rows:3000")
LIMITED = ("--fault", "rate-limit:60", "--fault", "rate-window:0.3")
# A call is made so often that chance never fails it: which calls a share of faults hits hangs on how many came before.
STUBBORN = ("--retries", "12")

# What a server can do wrong and chainq can make good.
FAULTS = {
    "none": (),
    "cap": CAP,
    "ignored": IGNORED,
    "failing": FAILING,
    "cut": CUT,
    "heavy": HEAVY,
    "heavier": ("--fault", "heavy-rows:200"),
    "limited": LIMITED,
    "cap, heavy, cut": (*CAP, *HEAVY, *CUT),
    "ignored, cap": (*IGNORED, *CAP),
    "all": (*CAP, *IGNORED, *FAILING, *CUT, *HEAVY, *LIMITED, "--fault", "latency:0.01", "--fault", "gzip"),
}
RANGES = {
    "blocks": (0, 2_200),
    "full-blocks": (600, 700),
    "records": (800, 1_100),
    "ownership": (800, 1_100),
    "transitions": (2_200, 2_350),
    "address-transactions": (0, 1_500),
}


def run(
    program: Program, truth: Truth, url: str, command: str, start: int, end: int, *words: str, address: int = 0
) -> tuple[Ran, Groups]:
    """A run over a range, and the rows that are due."""
    name = truth.chain.addresses[address] if command == "address-transactions" else ""
    subject = (name,) if name else ()
    ran = program(command, *subject, "--start", str(start), "--end", str(end), *words, url=url)
    return ran, truth.groups(command, start, end, name)


CASES = [
    *(("records", name) for name in ("cap", "ignored", "failing", "heavier", "limited", "ignored, cap", "all")),
    *((command, "all") for command in RANGES if command != "records"),
    ("full-blocks", "heavy"),
    ("transitions", "cap, heavy, cut"),
]


@pytest.mark.parametrize(("command", "name"), CASES)
def test_every_row_once_whatever_the_server_does(
    command: str, name: str, chainq: Program, server: Servers, truth: Truth
) -> None:
    """Each fault that can be made good, alone and with others, leaves no trace in the rows."""
    asked = ("--header", "Accept-Encoding: gzip")  # of a server on this machine chainq itself does not ask for it
    ran, due = run(chainq, truth, server(*FAULTS[name]), command, *RANGES[command], "-q", *asked, *STUBBORN)
    assert ran.code == 0, ran.err
    assert difference(ran.rows, due) == ""


def test_a_cap_below_what_a_height_holds(chainq: Program, server: Servers, truth: Truth) -> None:
    """Where no page holds a height: rows with an identity come whole by walks, others are exit 6 and never cut.

    Transactions have an identity, and so many transitions that call the function.
    """
    url = server("--fault", "row-cap:3")
    for command in ("records", "ownership", "transitions"):
        ran, due = run(chainq, truth, url, command, 801, 821)
        assert (ran.code, difference(ran.rows, due)) == (0, "")
    ran, due = run(chainq, truth, server("--fault", "row-cap:1"), "address-transactions", 0, 3_000)
    assert ran.code == 6
    said = re.search(r"resume with --start (\d+) --end 3000", ran.err)
    assert said, ran.err
    assert difference(ran.rows, due[: int(said[1])]) == ""
    ran = chainq("program-transactions", "hello_hello.aleo", "hello", url=url)
    assert (ran.code, ran.rows) == (0, truth.program_transactions("hello_hello.aleo", "hello"))


def test_rows_of_a_height_come_in_a_stable_order(chainq: Program, server: Servers, truth: Truth) -> None:
    """Two runs print records and transitions in the same order, records by their id, whatever the server's order."""
    for command in ("records", "transitions"):
        outs = {run(chainq, truth, server(), command, 640, 700, *words)[0].out for words in ((), ("-j", "1"), ("-q",))}
        assert len(outs) == 1
    assert run(chainq, truth, server(), "records", 640, 700)[0].rows == truth.rows("records", 640, 700)


@pytest.mark.parametrize("address", [1, 77])
def test_true_duplicates_are_kept(address: int, chainq: Program, server: Servers, truth: Truth) -> None:
    """A transaction that an address stands in twice comes twice, on servers with any page size."""
    for words in ((), ("--page-size", "40")):
        ran, due = run(chainq, truth, server(), "address-transactions", 0, 4_000, *words, address=address)
        assert (ran.code, difference(ran.rows, due)) == (0, "")
    if address == 1:
        assert len(set(ran.rows)) < len(ran.rows)


@pytest.mark.parametrize(("name", "size"), [("cut", "61"), ("limited", "61"), ("heavier", "500"), ("none", "7")])
def test_program_transactions_by_pages_of_any_size(
    name: str, size: str, chainq: Program, server: Servers, truth: Truth
) -> None:
    """Pages cut blocks of up to 60 calls, and rows of a block change places: each call comes once, in order.
    A page that the service finds too heavy is asked for in smaller ones."""
    words = ("program-transactions", "hello_hello.aleo", "hello", "--page-size", size, "-q", *STUBBORN)
    ran = chainq(*words, url=server(*FAULTS[name]))
    assert ran.code == 0, ran.err
    due = truth.program_transactions("hello_hello.aleo", "hello")
    assert difference(ran.rows, [[row] for row in due]) == ""


@pytest.mark.parametrize("rate", ["0.02", "0.5", "1"])
def test_answers_to_other_calls_are_never_taken(rate: str, chainq: Program, server: Servers, truth: Truth) -> None:
    """An answer with a wrong id is exit 5, with a whole prefix before it; never rows of another call.

    Before the first row nothing is to resume: the same command starts over.
    """
    for command in ("records", "blocks"):
        ran, due = run(chainq, truth, server("--fault", f"wrong-id-rate:{rate}"), command, 0, 700)
        assert ran.code in (0, 5)
        assert ran.code == 5 or rate != "1"
        said = re.search(r"resume with --start (\d+) --end 700", ran.err)
        assert (said is None) == (ran.code == 0 or not ran.rows)
        if said or ran.code == 0:
            assert difference(ran.rows, due[: int(said[1])] if said else due) == ""
