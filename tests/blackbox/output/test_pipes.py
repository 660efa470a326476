"""What one run prints, the next one reads: `-` takes chainq's own jsonl; text and csv for other tools."""

import json
import subprocess
from collections import Counter

from harness.running.program import LONGEST, Program, Servers
from harness.running.truth import Truth
from harness.servers.services import witnessed


def lines(*rows: bytes | str) -> bytes:
    return b"".join((row.encode() if isinstance(row, str) else row) + b"\n" for row in rows)


def test_address_transactions_into_transaction(chainq: Program, server: Servers, truth: Truth) -> None:
    """The rows of one command are the IDs of the next, in a pipe of a real shell."""
    url = server()
    address = truth.chain.addresses[3]
    again = '"$0" transaction - --url "$2"'
    line = f'"$0" address-transactions "$1" 640:1K --url "$2" | {again} | {again}'
    ran = subprocess.run(
        ["/bin/sh", "-c", line, chainq.path, address, url],
        env=chainq.environment(),
        capture_output=True,
        timeout=LONGEST,
        check=True,
    )
    assert b"chainq transaction" not in ran.stderr
    assert ran.stderr.count(b"\n") == 1, ran.stderr  # that rows of an address rest on belief
    ids = [json.loads(row)["transaction_id"] for row in truth.rows("address-transactions", 640, 1000, address)]
    assert len(ids) > 1
    due = [name for place, name in enumerate(ids) if not place or ids[place - 1] != name]
    assert [json.loads(row)["transaction"]["id"] for row in ran.stdout.splitlines()] == due


def test_ids_of_rows_of_every_kind(chainq: Program, server: Servers, truth: Truth) -> None:
    """Records, summaries, whole transactions and rows of --columns; an ID twice in a row is asked for once."""
    url = server()
    first, second = (truth.transaction_id(640, index) for index in (0, 1))
    sent = lines(
        truth.transactions(640)[0],
        first,
        truth.transaction(640, 0),
        f'{{"transaction.id":"{second}"}}',
        f'  {{"id": 5, "transaction_id" : "{second.upper()}"}} ',
        f'{{"transaction_id":"{first}","more":[1,{{}}]}}',
    )
    ran = chainq("transaction", "-", url=url, stdin=sent)
    assert (ran.code, ran.err) == (0, "")
    assert ran.rows == [truth.transaction(640, index) for index in (0, 1, 0)]


def test_heights_of_rows_of_every_kind(chainq: Program, server: Servers, truth: Truth) -> None:
    """Blocks, full blocks, records and rows of --columns, with heights as strings or numbers."""
    url = server()
    sent = lines(
        truth.block(5),
        truth.rows("full-blocks", 640, 641)[0],
        '{"header.metadata.height":641}',
        truth.rows("records", 642, 643)[0],
        "642",
        "7",
    )
    ran = chainq("block", "-", url=url, stdin=sent)
    assert (ran.code, ran.err) == (0, "")
    assert ran.rows == [truth.block(height) for height in (5, 640, 641, 642, 7)]


def test_the_same_id_in_many_rows_is_one_call(chainq: Program) -> None:
    """A thousand records of one block are one lookup, and so is an argument that is given again after itself."""
    with witnessed() as (url, calls):
        sent = b'{"height":"5"}\n' + b'{"height":"9"}\n' * 1000
        ran = chainq("block", "5", "0005", "6", "5", "-", url=url, stdin=sent)
        assert [json.loads(row)["height"] for row in ran.rows] == ["5", "6", "5", "9"], ran.err
        assert Counter(call.method for call in calls) == {"block": 4}
