"""Answers that are valid JSON-RPC, and contradict the question, each other or the chain: refused, never printed."""

from typing import Any

import pytest

from harness.program import Program
from harness.services import Canned, canned, result
from harness.truth import Truth


def test_a_server_that_ignores_the_page_number_is_found_out(chainq: Program, truth: Truth) -> None:
    """Where every page is the same, exit 6 says so; nothing runs for ever, and nothing is printed again and again."""
    record = truth.rows("records", 640, 641)[0].decode()
    call = truth.transaction(640, 1).decode()
    for words, row in (
        (("records", "--start", "640", "--end", "641"), record),
        (("program-transactions", "credits.aleo", "mint"), call),
    ):

        def respond(request: Any, row: str = row) -> Any:
            tip = truth.block(900).decode()
            return result(tip if request["method"] == "latest/block" else f"[{row}]")(request)

        with canned(respond) as (url, seen):
            ran = chainq(*words, url=url)
        assert (ran.code, ran.out) == (6, b"")
        assert len(seen) < 10_000


def test_rows_outside_the_range_are_found_out(chainq: Program, truth: Truth) -> None:
    """A server that answers with other heights than asked for is exit 6, and none of them is printed."""
    for command in ("records", "blocks", "transitions"):
        row = truth.rows(command, 640, 641)[0].decode()
        with canned(result(f"[{row}]")) as (url, _):
            ran = chainq(command, "--start", "5", "--end", "6", url=url)
        assert (ran.code, ran.out) == (6, b"")


def test_a_row_is_never_printed_twice(chainq: Program, truth: Truth) -> None:
    """A record that stands twice in one answer is printed once, or exit 6 says that the answer contradicts itself."""
    row = truth.rows("records", 640, 641)[0].decode()

    def answer(request: Any) -> Canned:
        return result("[]" if request["params"]["page"] else f"[{row},{row}]")(request)

    with canned(answer) as (url, _):
        ran = chainq("records", "--start", "640", "--end", "641", url=url)
    assert ran.rows.count(row.encode()) <= 1
    assert ran.code in (0, 6)
    assert ran.code == 6 or ran.rows == [row.encode()]


def test_a_block_that_comes_twice(chainq: Program, truth: Truth) -> None:
    """A height that stands twice in one answer is exit 6 and named."""
    rows = [row.decode() for row in truth.rows("blocks", 640, 643)]
    with canned(result(f"[{rows[0]},{rows[1]},{rows[1]},{rows[2]}]")) as (url, _):
        ran = chainq("blocks", "--start", "640", "--end", "643", url=url)
    assert (ran.code, ran.out) == (6, b"")
    assert "641" in ran.err


@pytest.mark.parametrize("command", ["blocks", "full-blocks"])
def test_no_verify_prints_a_block_that_comes_twice(command: str, chainq: Program, truth: Truth) -> None:
    """--no-verify passes on what came, and names the heights that came twice or not at all."""
    rows = [row.decode() for row in truth.rows(command, 640, 644)]
    shown = [rows[0], rows[1], rows[1], rows[3]]

    def respond(request: Any) -> Any:
        tip = truth.block(900).decode()
        return result(tip if request["method"] == "latest/block" else f"[{','.join(shown)}]")(request)

    with canned(respond) as (url, _):
        ran = chainq(command, "--start", "640", "--end", "644", "--no-verify", url=url)
    assert ran.rows == [row.encode() for row in shown]
    assert ran.code == 0
    assert "twice in one response: height 641" in ran.err
    assert "missing height 642" in ran.err


def test_another_block_than_asked_for(chainq: Program, truth: Truth) -> None:
    """block 5 that is answered with block 640, or with two blocks, is refused."""
    row = truth.block(640).decode()
    with canned(result(f"[{row}]")) as (url, _):
        ran = chainq("block", "5", url=url)
    assert (ran.code, ran.out) == (6, b"")
    with canned(result(f"[{row},{row}]")) as (url, _):
        ran = chainq("block", "640", url=url)
    assert ran.code in (5, 6)
    assert ran.out == b""


def test_another_transaction_than_asked_for(chainq: Program, truth: Truth) -> None:
    """A transaction that is answered with another is refused; in capital letters (BIP 173) it is the same."""
    row, asked = truth.transaction(640, 1).decode(), truth.transaction_id(640, 1)
    with canned(result(row)) as (url, _):
        ran = chainq("transaction", truth.transaction_id(640, 2), url=url)
        assert (ran.code, ran.out) == (6, b"")
        assert asked in ran.err
        assert chainq("transaction", asked.upper(), url=url).rows == [row.encode()]
