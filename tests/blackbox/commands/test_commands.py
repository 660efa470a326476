"""Each command of a method prints what the service holds: the installed program, real sockets."""

import re

from chainq.catalog.methods import METHODS
from harness.models.belief import besides_belief
from harness.models.commands import CASES, Case, each_command
from harness.running.program import ROOT, Program, Servers
from harness.running.truth import Truth, difference


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
