"""`address-transactions` in a table: what a lookup of each transaction tells, for the rows on screen."""

import json
from typing import Any

import pytest

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.methods import BY_NAME
from harness.belief import besides_belief
from harness.program import DIALECT, Program, Ran, Servers, one_line
from harness.services import Canned, canned, witnessed
from harness.truth import Truth

RANGE = ("--start", "5000", "--end", "5100")


@pytest.fixture
def address(truth: Truth) -> str:
    return truth.chain.addresses[0]


def test_a_table_has_the_call_of_each_transaction(chainq: Program, server: Servers, truth: Truth, address: str) -> None:
    """Time, program, function and amount stand beside each ID, in the order of the IDs."""
    words = ("address-transactions", address, *RANGE, "--limit", "5", "--table", "--no-trunc")
    ran = chainq(*words, url=server())
    assert (ran.code, besides_belief(ran, words[0]).err) == (0, "")
    header, *lines = ran.out.decode().splitlines()
    assert header.split() == [
        *("transaction_id", "finalizedAt", "function", "credits", "program", "type", "status"),
    ]
    ids = [json.loads(row)["transaction_id"] for row in truth.rows("address-transactions", 5000, 5100, address)]
    assert [line.split()[0] for line in lines[:-1]] == ids[:5]
    for line in lines[:-1]:
        row = json.loads(chainq("transaction", line.split()[0], url="demo:").out)
        call = row["transaction"]["execution"]["transitions"][-1]
        amount = next(given["value"] for given in call["inputs"] if given["value"].endswith("u64"))[:-3]
        assert f"  {call['function']}  " in line
        assert f"  {call['program']}  " in line
        assert f"{int(amount) // 10**6:,}.{int(amount) % 10**6:06}" in line


def test_function_and_amount_fit_in_80_columns(chainq: Program, address: str) -> None:
    """A name of a function that is too long is abbreviated, before the column of amounts is left out."""
    words = ("address-transactions", address, "--end", "2K", "--limit", "40", "--table")
    header, *lines = chainq(*words, url="demo:", env={"COLUMNS": "80"}).out.decode().splitlines()
    assert header.split() == ["transaction_id", "finalizedAt", "function", "credits"]
    assert "transfer_priv…to_public" in "".join(lines)
    assert {len(line) for line in lines[:40] if "." in line} == {len(header)}


def test_columns_that_have_no_room_are_not_for_columns(chainq: Program, address: str) -> None:
    """--columns cannot select what lookups tell, so that it is not advised; --no-trunc shows them."""
    words = ("address-transactions", address, *RANGE, "--limit", "2", "--table")
    note = chainq(*words, url="demo:", env={"COLUMNS": "60"}).out.decode().split("not shown: ")[1]
    assert " ".join(note.split()).endswith("use --no-trunc, or a larger COLUMNS")
    assert "--columns" not in note


def test_columns_of_the_table_alone(chainq: Program, address: str) -> None:
    """The message says that only the table has them, and what has more columns."""
    said = one_line(chainq("address-transactions", address, "--columns", "transaction_id,function", url="demo:"), 2)
    assert "column function is only in the table without --columns" in said
    assert "--jsonl | chainq transaction -" in said
    ran = chainq(
        "address-transactions", address, *RANGE, "--limit", "1", "--columns", "function", "--no-check", url="demo:"
    )
    assert (ran.code, len(ran.rows)) == (0, 1)


@pytest.mark.parametrize(
    "words", [["--jsonl"], ["--table", "--no-details"], ["--table", "--columns", "transaction_id"]]
)
def test_without_a_table_of_details_nothing_is_looked_up(chainq: Program, address: str, words: list[str]) -> None:
    """In other formats, with --no-details and with --columns no transaction is looked up; in a table each row's is."""

    def lookups(*more: str) -> int:
        with witnessed() as (url, calls):
            assert chainq("address-transactions", address, *RANGE, "--limit", "5", *more, url=url).code == 0
            wire = DIALECTS[DIALECT].wire(BY_NAME["chainTransaction"]).name
            return sum(call.method == wire for call in calls)

    assert lookups("--table") == 5
    assert lookups(*words) == 0


def test_only_the_first_rows_are_looked_up(chainq: Program, server: Servers, truth: Truth, address: str) -> None:
    """A hundred transactions are looked up, however long the list is; the others are there by their IDs."""
    ran = chainq("address-transactions", address, "--start", "5000", "--end", "6000", "--table", "-v", url=server())
    rows = truth.rows("address-transactions", 5000, 6000, address)
    assert len(rows) > 150
    lines = [line for line in ran.out.decode().splitlines() if line.startswith("at1")]
    assert len(lines) == len(rows)
    assert len(lines[99].split()) > 3
    assert len(lines[100].split()) == 1
    assert "the first 100 transactions have details" in ran.err


def test_a_service_without_lookups_still_lists(chainq: Program, server: Servers, address: str) -> None:
    """Where a lookup fails, the IDs are shown all the same, and a warning says why there are no details."""
    chainq.config.parent.mkdir(parents=True)
    chainq.config.write_text(f"""
[profiles.bare]
url = "{server()}"
dialect = "{DIALECT}"
[profiles.bare.methods]
chainTransaction = "missing"
""")
    ran = chainq("address-transactions", address, *RANGE, "--table", "--profile", "bare")
    assert ran.code == 0
    assert "the table has no details: " in ran.err
    assert "--no-details omits them" in ran.err
    assert b"at1" in ran.out


IDS = [Truth().chain.transaction_id(5000, index) for index in range(3)]


def listed(chainq: Program, rows: list[str], transaction: Any) -> Ran:
    """Run the table of an address on a service that lists `rows`; `transaction` is its answer to a lookup of an ID."""

    def answer(request: Any) -> Canned:
        method, params = request["method"], request.get("params") or {}
        if method == "latest/block":
            found = json.dumps({"height": "9", "block_hash": "ab1x"})
        elif "address" in str(params).lower():
            found = f"[{','.join(rows)}]"
        else:
            found = json.dumps(transaction(next(value for value in params.values() if str(value).startswith("at1"))))
        return Canned(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{found}}}'.encode())

    with canned(answer) as (url, _):
        words = ("address-transactions", Truth().chain.addresses[0], "--start", "5", "--end", "6", "--page", "0")
        return chainq(*words, "--table", "--no-trunc", url=url)


def full(transaction_id: str) -> Any:
    """A transaction with one call."""
    call = {"program": "credits.aleo", "function": "join", "inputs": []}
    inner = {"id": transaction_id, "execution": {"transitions": [call]}}
    return {"status": "accepted", "type": "execute", "transaction": inner}


def test_another_transaction_is_an_error(chainq: Program) -> None:
    """A response with another transaction is wrong data, as it is for `chainq transaction`: exit 6, not a warning."""
    rows = [f'{{"transaction_id":"{name}"}}' for name in IDS]
    ran = listed(chainq, rows, lambda _: full(IDS[1]))
    assert f"response has transaction {IDS[1]}" in one_line(ran, 6)


def test_an_invalid_response_is_an_error(chainq: Program) -> None:
    """A response that is no transaction is exit 5."""
    assert "is not an object" in one_line(listed(chainq, [f'{{"transaction_id":"{IDS[0]}"}}'], lambda _: [1]), 5)


def test_transactions_that_are_not_found_are_named(chainq: Program) -> None:
    """One warning has the IDs of all that are missing; the others have their details."""
    rows = [f'{{"transaction_id":"{name}"}}' for name in IDS]
    ran = listed(chainq, rows, lambda name: full(name) if name == IDS[1] else None)
    assert ran.code == 0
    assert ran.err == f"chainq: warning: no details of 2 transactions not found: {IDS[0]}, {IDS[2]}\n"
    lines = ran.out.decode().splitlines()
    assert [len(line.split()) > 1 for line in lines[1:4]] == [False, True, False]


def test_any_field_and_any_id_may_come(chainq: Program) -> None:
    """Lone surrogates in names and IDs, what is no ID, fields that details have too: every row is drawn."""
    odd = r'"\ud800":1,"status":"own"'
    rows = [f'{{{odd},"transaction_id":{name}}}' for name in (f'"{IDS[0]}"', r'"\ud800"', "5", "null", "[]")]
    ran = listed(chainq, rows, full)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.decode().splitlines()
    assert len(lines) == 1 + len(rows) + 1
    assert lines[1].split() == [IDS[0], "join", "credits.aleo", "execute", "!", "own"]
