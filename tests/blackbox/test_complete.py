"""The heart: whatever a server does wrong, rows come exactly once and in order, or an exit code says why not.

Rows inside a height change places from call to call on every server here; most have further faults.
"""

import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from harness.program import Program, Ran, Servers, finish
from harness.search import some
from harness.truth import Groups, Truth, difference

CAP = ("--fault", "row-cap:700")
IGNORED = ("--fault", "ignore-page-size:10000")
FAILING = ("--fault", "fail-rate:0.2")
CUT = ("--fault", "truncate-rate:0.1")
HEAVY = ("--fault", "heavy-rows:3000")
LIMITED = ("--fault", "rate-limit:60", "--fault", "rate-window:0.3")
# A call is made so often that chance never fails it: which calls a share of faults hits hangs on how many came before.
STUBBORN = ("--retries", "12")
SLOW = ("--fault", "latency:0.01")

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
    "slow": SLOW,
    "gzip": ("--fault", "gzip"),
    "cap, failing, limited": (*CAP, *FAILING, *LIMITED),
    "cap, heavy, cut": (*CAP, *HEAVY, *CUT),
    "ignored, heavy": (*IGNORED, "--fault", "heavy-rows:9000"),
    "ignored, cap": (*IGNORED, *CAP),
    "all": (*CAP, *IGNORED, *FAILING, *CUT, *HEAVY, *LIMITED, *SLOW, "--fault", "gzip"),
}
RANGES = {
    "blocks": (0, 2_200),
    "full-blocks": (600, 700),
    "records": (800, 1_100),
    "ownership": (800, 1_100),
    "transitions": (2_200, 2_350),
    "address-transactions": (0, 4_000),
}


def run(
    program: Program, truth: Truth, url: str, command: str, start: int, end: int, *words: str, address: int = 0
) -> tuple[Ran, Groups]:
    """A run over a range, and the rows that are due."""
    name = truth.chain.addresses[address] if command == "address-transactions" else ""
    subject = (name,) if name else ()
    ran = program(command, *subject, "--start", str(start), "--end", str(end), *words, url=url)
    return ran, truth.groups(command, start, end, name)


PAGELESS = ("none", "failing", "cut", "limited", "slow", "all")
TRIED = {
    "blocks": PAGELESS,
    "full-blocks": ("heavy", "cut", "all"),
    "records": tuple(FAULTS),
    "ownership": ("none", "cap", "ignored", "all"),
    "transitions": ("none", "cap", "ignored", "heavier", "cap, heavy, cut", "all"),
    "address-transactions": ("none", "cap", "ignored", "heavier", "all"),
}


CASES = [(command, name) for command, names in TRIED.items() for name in names]


@pytest.mark.parametrize(
    ("command", "name"),
    some(
        CASES,
        *(("records", name) for name in ("cap", "ignored", "failing", "heavier", "limited", "ignored, cap", "all")),
        *((command, "all") for command in TRIED if command != "records"),
        ("full-blocks", "heavy"),
        several=True,
    ),
)
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


@pytest.mark.search
def test_an_overfull_height_inside_a_long_range(chainq: Program, server: Servers, truth: Truth) -> None:
    """An overfull height among others holds up nobody, forward and in reverse."""
    for words in ((), ("--reverse",)):
        ran, due = run(chainq, truth, server(), "records", 500, 800, *words)
        assert ran.code == 0
        assert difference(ran.rows, due[::-1] if "--reverse" in words else due) == ""


def test_rows_of_a_height_come_in_a_stable_order(chainq: Program, server: Servers, truth: Truth) -> None:
    """Two runs print records and transitions in the same order, records by their id, whatever the server's order."""
    for command in ("records", "transitions"):
        outs = {run(chainq, truth, server(), command, 640, 700, *words)[0].out for words in ((), ("-j", "1"), ("-q",))}
        assert len(outs) == 1
    assert run(chainq, truth, server(), "records", 640, 700)[0].rows == truth.rows("records", 640, 700)


@pytest.mark.parametrize("address", some([0, 1, 2, 77], 1, 77))
def test_true_duplicates_are_kept(address: int, chainq: Program, server: Servers, truth: Truth) -> None:
    """A transaction that an address stands in twice comes twice, on servers with any page size."""
    for words in ((), ("--page-size", "40")):
        ran, due = run(chainq, truth, server(), "address-transactions", 0, 4_000, *words, address=address)
        assert (ran.code, difference(ran.rows, due)) == (0, "")
    if address == 1:
        assert len(set(ran.rows)) < len(ran.rows)


PAGED = ("none", "failing", "cut", "heavier", "limited")


@pytest.mark.parametrize(
    ("faults", "size"),
    some(
        [
            *((FAULTS[name], "61") for name in PAGED),
            (FAULTS["heavier"], "500"),
            *(((), size) for size in ("7", "60", "999")),
        ],
        *((FAULTS[name], "61") for name in ("cut", "limited")),
        (FAULTS["heavier"], "500"),
        ((), "7"),
        several=True,
    ),
    ids=[*PAGED, "heavier, 500", "7", "60", "999"],
)
def test_program_transactions_by_pages_of_any_size(
    faults: tuple[str, ...], size: str, chainq: Program, server: Servers, truth: Truth
) -> None:
    """Pages cut blocks of up to 60 calls, and rows of a block change places: each call comes once, in order.
    A page that the service finds too heavy is asked for in smaller ones."""
    words = ("program-transactions", "hello_hello.aleo", "hello", "--page-size", size, "-q", *STUBBORN)
    ran = chainq(*words, url=server(*faults))
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


@settings(max_examples=2, deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate))
@given(lines=st.integers(1, 900), command=st.sampled_from(["blocks", "records"]))
def test_a_server_killed_at_any_moment(
    lines: int, command: str, program: Program, server: Servers, truth: Truth
) -> None:
    """A server killed after any number of rows leaves a whole prefix, exit 4, and a resume line that gives the rest."""
    # More than calls one at a time and a full pipe can hold.
    end, pages = (5_000, ()) if command == "blocks" else (1_700, ("--page-size", "400"))
    span = ("--start", "1000", "--end", str(end), *pages)
    with server.process() as (url, served):
        process = program.start(command, *span, "--retries", "0", "-j", "1", url=url)
        assert process.stdout is not None
        read = b"".join(process.stdout.readline() for _ in range(lines))
        served.kill()
        served.wait()
        ran = finish(process)
    assert ran.code == 4, ran.err
    said = re.search(rf"resume with (--start (\d+) --end {end})", ran.err)
    assert said, ran.err
    first = Ran(0, read + ran.out, "").rows
    due = truth.groups(command, 1_000, end)
    assert difference(first, due[: int(said[2]) - 1_000]) == ""
    rest = program(command, *said[1].split(), url=server())
    assert difference([*first, *rest.rows], due) == ""
