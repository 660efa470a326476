"""`address-transactions` in a table: what a lookup of each transaction tells, for the rows on screen."""

import json

import pytest

from harness.program import DIALECT, Program, Servers
from harness.truth import Truth

RANGE = ("--start", "5000", "--end", "5100")


@pytest.fixture
def address(truth: Truth) -> str:
    return truth.chain.addresses[0]


def test_a_table_has_the_call_of_each_transaction(chainq: Program, server: Servers, truth: Truth, address: str) -> None:
    """Time, program, function and amount stand beside each ID, in the order of the IDs."""
    words = ("address-transactions", address, *RANGE, "--limit", "5", "--table", "--no-trunc")
    ran = chainq(*words, url=server())
    assert (ran.code, ran.err) == (0, "")
    header, *lines = ran.out.decode().splitlines()
    assert header.split() == [
        *("transaction_id", "finalizedAt", "program", "function", "credits", "type", "status"),
    ]
    ids = [json.loads(row)["transaction_id"] for row in truth.rows("address-transactions", 5000, 5100, address)]
    assert [line.split()[0] for line in lines[:-1]] == ids[:5]
    for line in lines[:-1]:
        row = json.loads(chainq("transaction", line.split()[0], url="demo:").out)
        call = row["transaction"]["execution"]["transitions"][-1]
        amount = next(given["value"] for given in call["inputs"] if given["value"].endswith("u64"))[:-3]
        assert f"  {call['program']}  {call['function']}" in line
        assert f"{int(amount) // 10**6:,}.{int(amount) % 10**6:06}" in line


@pytest.mark.parametrize(
    "words", [["--jsonl"], ["--table", "--no-details"], ["--table", "--columns", "transaction_id"]]
)
def test_without_a_table_of_details_nothing_is_looked_up(
    chainq: Program, server: Servers, address: str, words: list[str]
) -> None:
    """In other formats, with --no-details and with --columns no transaction is looked up."""
    ran = chainq("address-transactions", address, *RANGE, "--limit", "5", *words, "-v", url=server())
    assert ran.code == 0
    assert "getPublicTransactionsForAddress" in ran.err
    assert "chainTransaction:" not in ran.err.replace("aleoTransaction", "chainTransaction")


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
