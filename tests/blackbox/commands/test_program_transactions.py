"""Lists in pages, against servers that cut them, end them early, disorder them, or are slow: all rows, or exit 6."""

from typing import Any

import pytest

from harness.models.belief import besides_belief
from harness.models.page_model import transaction
from harness.running.program import Program, Ran, Servers, one_line
from harness.running.truth import Truth
from harness.servers.services import Canned, canned, result

HELLO = ("program-transactions", "hello_hello.aleo", "hello")


def unbelieved(ran: Ran) -> Ran:
    """The run without the warning of belief, which `-q` keeps, if it has one."""
    return besides_belief(ran, "program-transactions", due="nothing proves" in ran.err)


def test_a_list_that_ends_at_a_round_number_is_a_warning(chainq: Program) -> None:
    """A server that never shows more than 1,000 rows cannot be found out, but be suspected."""
    rows = [bytes(transaction(number, 0, 10 * number, 1)).decode() for number in range(1, 1001)]

    def answer(request: Any) -> Canned:
        page, size = (request["params"][name] for name in ("page", "maxTransactions"))
        return result(f"[{','.join(rows[page * size :][:size])}]")(request)

    with canned(answer) as (url, _):
        ran = chainq("program-transactions", "a.aleo", "f", "--dialect", "chain", url=url)
    assert (ran.code, len(ran.rows)) == (0, 1000)
    assert "exactly 1000 rows" in ran.err


@pytest.mark.parametrize("fault", ["byte-cap:30000", "empty-rate:0.1", "no-pages"])
def test_the_faults_of_the_sample_server(fault: str, chainq: Program, server: Servers, truth: Truth) -> None:
    """The same with `chainq serve`; without pages nothing shows where the list ends."""
    ran = chainq(*HELLO, "-q", url=server("--fault", fault))
    due = truth.program_transactions("hello_hello.aleo", "hello")
    assert ran.code == (6 if fault == "no-pages" else 0), ran.err
    assert ran.rows == due[: len(ran.rows) if ran.code else None]


@pytest.mark.search
def test_a_block_that_is_too_heavy_for_pages_comes_from_its_full_block(
    chainq: Program, server: Servers, truth: Truth
) -> None:
    """Where no page with more than two of its 60 rows comes, a fifth of the calls that single rows would take."""
    ran = chainq(*HELLO, "-v", url=server("--fault", "heavy-block:30"))
    assert (ran.code, ran.err.count("getChainBlocks height") > 0) == (0, True), ran.err
    assert ran.rows == truth.program_transactions("hello_hello.aleo", "hello")
    assert ran.err.count("chainTransactionsForProgram page") < 140


def test_null_for_an_empty_page_proves_nothing_and_loses_nothing(
    chainq: Program, server: Servers, truth: Truth
) -> None:
    """Of a service that has shown rows; a first response of null is exit 5 (`tests/golden/commands/responses.txt`)."""
    ran = chainq(*HELLO, "-q", url=server("--fault", "null-lists"))
    assert (ran.code, unbelieved(ran).err) == (0, "")
    assert ran.rows == truth.program_transactions("hello_hello.aleo", "hello")


def test_a_server_without_order_is_exit_6(chainq: Program, server: Servers) -> None:
    """Pages whose rows are in no order."""
    assert "not in order" in one_line(chainq(*HELLO, url=server("--fault", "shuffle-heights")), 6)


@pytest.mark.parametrize("limit", [1, 3, 40])
def test_newest_rows_come_first(limit: int, chainq: Program, truth: Truth) -> None:
    """With --newest the last rows of the list, in the reverse order."""
    due = truth.program_transactions("hello_hello.aleo", "hello")
    ran = chainq(*HELLO, "--newest", "--limit", str(limit), url="demo:")
    assert ran.code == 0
    assert f"rows {len(due) - limit} to {len(due) - 1} of the list: nothing proves" in ran.err
    assert ran.err.count("\n") == 1
    assert ran.rows == due[::-1][:limit]
