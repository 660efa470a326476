"""What one run prints, the next one reads: `-` takes chainq's own jsonl; text and csv for other tools."""

import csv
import io
import json
import subprocess
from collections import Counter

import pytest

from harness.program import LONGEST, Program, Servers, one_line
from harness.services import witnessed
from harness.truth import Truth


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
    ran = chainq("block", "5", "5", "--dry-run", url="demo:")
    assert len(ran.rows) == 1
    assert len(json.loads(chainq("block", "5", "5", "--json", url="demo:").out)) == 1  # still an array


@pytest.mark.parametrize(
    ("command", "line", "words"),
    [
        ("transaction", '{"height":5}', "has no transaction_id or transaction.id"),
        ("block", '{"block_hash":"ab"}', "has no height or header.metadata.height"),
        ("block", '{"height":[1]}', "has no height or header.metadata.height"),
        ("block", '{"height":5', "line 1 of standard input: it is not valid JSON"),
        ("block", '{"height":-5}', "invalid height '-5'"),
        ("transaction", '{"transaction_id":"at1x\\u001b"}', "at1x"),
        ("block", "[5]", "invalid line '[5]': expected one value per line, or one JSON object as of --jsonl"),
        ("block", "height  timestamp             block_hash", "expected one value per line, or one JSON object"),
        ("block", "5 6", "line 1 of standard input: invalid line '5 6': expected one value per line"),
        ("block", "5\t6", "expected one value per line"),
        ("transaction", "at1tkjag…695ac3  12345", "expected one value per line, or one JSON object"),
    ],
)
def test_2_a_line_without_what_is_looked_for(
    command: str, line: str, words: str, chainq: Program, nowhere: str
) -> None:
    """The message says what the line lacks."""
    assert words in one_line(chainq(command, "-", url=nowhere, stdin=lines(line)), 2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"height":6', "it is not valid JSON"),
        ("six", "invalid height 'six'"),
        ("# c", "invalid line '# c': expected one value per line"),
    ],
)
def test_2_what_is_before_such_a_line_is_printed(line: str, words: str, chainq: Program) -> None:
    """So who mends the line can go on there."""
    sent = [*map(str, range(30)), "", line, "31"]
    ran = chainq("block", "-", "--columns", "height", "--text", url="demo:", stdin="\n".join(sent).encode())
    assert (ran.code, ran.rows) == (2, [b"%d" % height for height in range(30)])
    assert f"line 32 of standard input: {words}" in ran.err


def test_text_is_values_only(chainq: Program, server: Servers, truth: Truth) -> None:
    """One row a line, values between tabs, no header and no quotes: a height goes into a shell variable as it is."""
    url = server()
    assert chainq("latest", "--columns", "height", "--text", url=url).out == b"3000000\n"
    ran = chainq("blocks", "640:643", "--columns", "height,coinbase_reward,block_hash", "--format", "text", url=url)
    due = [json.loads(row) for row in truth.rows("blocks", 640, 643)]
    cells = [(row["height"], row["coinbase_reward"] or "", row["block_hash"]) for row in due]
    assert [tuple(row.decode().split("\t")) for row in ran.rows] == cells


def test_text_has_one_line_for_a_row_whatever_its_values(chainq: Program, server: Servers) -> None:
    """Program sources have line ends and tabs: they are written as escapes, and every row has all its columns."""
    url = server()
    counted = chainq("transitions", "2340:2350", "--columns", "transition_id", url=url)
    ran = chainq("transitions", "2340:2350", "--text", url=url)
    assert len(ran.rows) == len(counted.rows) > 0
    header = chainq("transitions", "2340:2350", "--csv", url=url).out.split(b"\r\n")[0]
    assert {row.count(b"\t") for row in ran.rows} == {header.count(b",")}


def test_csv_without_a_header(chainq: Program, server: Servers) -> None:
    """--no-header leaves out that line, and nothing else."""
    words = ("blocks", "640:643", "--csv")
    whole = chainq(*words, url=server()).out
    ran = chainq(*words, "--no-header", url=server())
    assert ran.out == whole.split(b"\r\n", 1)[1]
    assert len(list(csv.reader(io.StringIO(ran.out.decode(), newline="")))) == 3
    tabs = ("blocks", "640:643", "--format", "tsv")
    assert chainq(*tabs, "--no-header", url=server()).rows == chainq(*tabs, url=server()).rows[1:]


def test_2_no_header_needs_csv(chainq: Program, nowhere: str) -> None:
    """Other formats have none, or cannot do without."""
    for name in ("--jsonl", "--json", "--table", "--text"):
        assert "--no-header needs csv or tsv" in one_line(chainq("blocks", name, "--no-header", url=nowhere), 2)


def test_csv_without_a_header_resumes(chainq: Program, server: Servers) -> None:
    """A checkpoint of one with a header is made with other arguments."""
    url = server()
    words = ("blocks", "--csv", "--checkpoint", "c", "-o", "o.csv", "--start", "2999990", "--lag", "0")
    assert chainq(*words, "--no-header", url=url).code == 0
    assert chainq(*words, "--no-header", url=url).code == 0
    assert (chainq.home / "o.csv").read_bytes().count(b"\r\n") == 11
    assert "no-header" in one_line(chainq(*words, url=url), 2)
