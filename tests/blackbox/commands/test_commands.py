"""Each command of a method prints what the service holds: the installed program, real sockets."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from chainq.catalog.methods import METHODS
from harness.models.belief import besides_belief
from harness.running.program import ROOT, Program, Servers
from harness.running.truth import Groups, Truth, difference


@dataclass(frozen=True)
class Case:
    """A command with its arguments, and the rows that are due."""

    command: str
    args: Callable[[Truth], tuple[str, ...]]
    due: Callable[[Truth], Groups]


def ranged(command: str, start: int, end: int) -> Case:
    def args(truth: Truth) -> tuple[str, ...]:
        subject = (truth.chain.addresses[0],) if command == "address-transactions" else ()
        return (*subject, "--start", str(start), "--end", str(end))

    def due(truth: Truth) -> Groups:
        address = truth.chain.addresses[0] if command == "address-transactions" else ""
        return truth.groups(command, start, end, address)

    return Case(command, args, due)


CASES = {
    case.command: case
    for case in (
        ranged("blocks", 95, 205),
        Case("block", lambda _: ("4242",), lambda t: [[t.block(4242)]]),
        Case("latest", lambda _: (), lambda t: [[t.block(t.tip)]]),
        ranged("full-blocks", 197, 203),
        Case("transactions", lambda _: ("640",), lambda t: [[row] for row in t.transactions(640)]),
        Case(
            "transaction",
            lambda t: (t.transaction_id(640, 1),),
            lambda t: [[t.transaction(640, 1)]],
        ),
        Case(
            "program-transactions",
            lambda _: ("hello_hello.aleo", "hello"),
            lambda t: [[row] for row in t.program_transactions("hello_hello.aleo", "hello")],
        ),
        ranged("records", 630, 650),
        ranged("ownership", 630, 650),
        ranged("transitions", 2340, 2350),
        ranged("address-transactions", 0, 3000),
    )
}
each_command = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def test_every_command_of_the_catalogue_is_tried() -> None:
    """No method of the catalogue is left out below, or has no session."""
    assert list(CASES) == [method.command for method in METHODS]
    assert all((ROOT / f"tests/golden/commands/method-{command}.txt").exists() for command in CASES)


@each_command
def test_jsonl_is_what_the_service_holds(case: Case, program: Program, server: Servers, truth: Truth) -> None:
    """jsonl prints each row once, a line each, byte for byte; of the built-in chain, too. `tests/golden/commands/` has
    a session of each method, with all formats."""
    for url in (server(), "demo:"):
        ran = program(case.command, *case.args(truth), "--jsonl", url=url)
        assert (ran.code, besides_belief(ran, case.command).err) == (0, "")
        assert difference(ran.rows, case.due(truth)) == ""


def test_many_names_keep_their_order(chainq: Program, server: Servers, truth: Truth) -> None:
    """Forty transactions asked for eight at a time come out in the order given."""
    places = [(height, 0) for height in range(660, 620, -1) if truth.transactions(height)]
    ids = [truth.transaction_id(*place) for place in places]
    ran = chainq("transaction", *ids, url=server())
    assert (ran.code, ran.rows) == (0, [truth.transaction(*place) for place in places])


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
