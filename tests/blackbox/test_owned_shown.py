"""`chainq owned` for people: a table of what records hold, its totals, and the plaintext in other formats."""

import csv
import io
import json
import re

import pytest

from harness.account import fresh_records
from harness.program import Program
from harness.search import some
from harness.services import serving
from harness.wallet import PUBLISHED, VARIABLE, Holding, fresh_key, key_file, tagged

pytest.importorskip("aleo")

ENV = {VARIABLE: PUBLISHED.text, "COLUMNS": "150"}
FEW = ("owned", "100:130")  # one planted record, at 116, which is spent


def test_a_table_shows_what_records_hold_and_the_totals(chainq: Program) -> None:
    """Height, time, program, name, amount in credits, sender, plaintext on one line; no nonces."""
    ran = chainq(*FEW, "--table", url="demo:", env=ENV)
    header, row, count, *_, totals, heights = ran.out.decode().splitlines()
    assert header.split()[:6] == ["height", "timestamp", "amount", "program_id", "record_name", "sender"]
    assert row.split()[:3] == ["116", "2023-06-01", "00:19:21Z"]
    assert "  2.000000 credits  credits.aleo  credits      aleo1" in row
    assert "{ owner: aleo1" in row
    assert count == "1 row"
    assert totals == "credits.aleo: 1 record, 2.000000 credits"
    assert heights == "of heights 100-129 (--start 0 reads those before)"
    assert (ran.code, ran.err) == (0, "")
    narrow = chainq(*FEW, "--table", url="demo:", env={**ENV, "COLUMNS": "60"}).out.decode()
    for more in ("--table", "--jsonl"):  # a mistyped key is often a valid one: whose it is shows that
        none = chainq("owned", "0:1", more, url="demo:", env=ENV)
        advice = "check that this is your address (a mistyped key has another one) and the right network"
        owner = re.escape(f"of height 0: none is of {PUBLISHED.address}; {advice}\n")
        assert re.fullmatch(rf"chainq: compared [0-9]+ rows? {owner}", none.err), none.err
    assert chainq("owned", "0:1", "-q", url="demo:", env=ENV).err == ""
    unasked = chainq("owned", "--jsonl", url="demo:", env=ENV).err
    assert " of heights 2999991-3000000 (--start 0 reads those before): none is of " in unasked, unasked
    assert narrow.splitlines()[1] == "   116  2023-06-01 00:19:21Z  2.000000 credits  credits.aleo"


def test_columns_help_marks_what_the_table_shows(chainq: Program) -> None:
    """The marks are those of a wide table of one key without options; the notes name what the others need."""
    listed = chainq("owned", "--columns", "help").out.decode()
    marked = re.findall(r"(?m)^(\w+) \*  ", listed)
    header = chainq(*FEW, "--table", url="demo:", env={**ENV, "COLUMNS": "2000"}).out.decode().splitlines()[0]
    assert sorted(header.split()) == sorted(marked)
    spent = chainq(*FEW, "--spent", "--table", url="demo:", env={**ENV, "COLUMNS": "2000"}).out.decode()
    notes = {line.split()[0]: line for line in listed.splitlines() if line}
    for name in set(spent.splitlines()[0].split()) - set(marked):
        assert notes[name].endswith(", with --spent or --unspent")
    assert "if there are several" in notes["owner"]
    assert listed.splitlines()[-1].endswith("also without the option it names")


def test_a_chart_of_owned_records(chainq: Program) -> None:
    """It needs heights, which the records have."""
    ran = chainq("owned", "0:150", "--format", "chart", url="demo:", env=ENV)
    assert ran.code == 0, ran.err
    assert ran.out.startswith(b"owned rows per block\nowned rows\n")
    assert ran.out.decode().rstrip().endswith("highest 1 at block 29")


def test_a_key_of_several_that_owns_nothing_is_named(chainq: Program) -> None:
    """Beside the rows of another key."""
    other = fresh_key()
    file = key_file(chainq.home, PUBLISHED, other)
    ran = chainq(*FEW, "--jsonl", "--view-key-file", file, url="demo:")
    assert len(ran.rows) == 1
    assert re.fullmatch(rf"chainq: compared [0-9]+ rows of [^:]+: none is of {other.address}\n", ran.err), ran.err


def test_several_keys_have_a_column_and_unspent_ones_the_total(chainq: Program) -> None:
    """The owner is a column only if there are several."""
    keys = [fresh_key() for _ in range(2)]
    service = Holding([record for key in keys for record in fresh_records(key.address, 2)], 60, first=0)
    file = key_file(chainq.home, *keys)
    with serving(service) as url:
        ran = chainq("owned", "0:50", "--unspent", "--table", "--view-key-file", file, url=url, env={"COLUMNS": "200"})
    assert ran.out.decode().split()[:4] == ["height", "timestamp", "amount", "owner"]
    assert ran.out.decode().splitlines()[-1] == "credits.aleo: 4 records, 6.000000 credits"
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("columns", some([60, 80, 100, 110, 120, 140, 200], 80, 120))
def test_no_id_is_broken_into_lines(columns: int, chainq: Program) -> None:
    """A sender that the first record does not have: its column has room for it, or it is not shown."""
    file = key_file(chainq.home, PUBLISHED, fresh_key())
    words = ("owned", "0:120", "--table", "--view-key-file", file)
    ran = chainq(*words, url="demo:", env={"COLUMNS": str(columns)})
    head, first, second = ran.out.decode().splitlines()[:3]
    assert [row.split()[0] for row in (first, second)] == ["29", "116"]
    assert ("sender" in head) is (columns > 100)
    assert "aleo15yr…ex0vuv" not in first
    assert ("aleo15yr…ex0vuv" in second) is (columns > 100)
    assert max(map(len, (head, first, second))) <= columns


def test_named_columns_are_printed_as_before(chainq: Program) -> None:
    """Nothing is decrypted for a table whose columns are named."""
    ran = chainq(*FEW, "--table", "--columns", "output_index,nonce_x", url="demo:", env=ENV)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.decode().split()[:2] == ["output_index", "nonce_x"]


def test_the_plaintext_as_text_as_members_and_on_one_line(chainq: Program) -> None:
    """jsonl has the text as aleo-sdk writes it, and its members with their types; csv has it on one line."""
    (row,) = map(json.loads, chainq(*FEW, "--decrypt", url="demo:", env=ENV).rows)
    assert row["plaintext"].startswith("{\n  owner: aleo1")
    assert row["plaintext_json"]["microcredits"] == "2000000u64"
    assert row["plaintext_json"]["owner"] == PUBLISHED.address
    assert list(row["plaintext_json"]) == ["owner", "microcredits", "_nonce", "_version"]
    text = chainq(*FEW, "--decrypt", "--csv", url="demo:", env=ENV).out.decode()
    (written,) = csv.DictReader(io.StringIO(text))
    assert written["plaintext"] == " ".join(row["plaintext"].split())
    assert json.loads(written["plaintext_json"]) == row["plaintext_json"]


@pytest.mark.parametrize("path", ["plaintext.microcredits", "plaintext_json.microcredits"])
def test_a_member_is_a_column(chainq: Program, path: str) -> None:
    """In any format."""
    ran = chainq(*FEW, "--decrypt", "--columns", f"height,{path}", "--csv", url="demo:", env=ENV)
    assert ran.out.decode().splitlines() == [f"height,{path}", "116,2000000u64"]


@pytest.mark.parametrize(
    "format_",
    some(["jsonl", "json", "csv", "table", "tsv", "text", "parquet"], "jsonl", "csv", "table", "parquet"),
)
def test_a_member_does_not_change_other_columns(chainq: Program, format_: str) -> None:
    """The plaintext and the amount are the same, whatever member is selected with them."""
    rows = []
    for more in ((), ("plaintext.microcredits",)):
        names = ",".join(("plaintext", "amount", *more))
        words = ("--columns", names, "--format", format_, *(("-o", "rows") if format_ == "parquet" else ()))
        ran = chainq(*FEW, *words, url="demo:", env={**ENV, "COLUMNS": "900"})
        assert ran.code == 0, ran.err
        if format_ == "parquet":
            parquet = pytest.importorskip("pyarrow.parquet")
            (row,) = parquet.read_table(chainq.home / "rows").to_pylist()
            rows.append([row["plaintext"], row["amount"]])
            member = json.loads(row.get("plaintext.microcredits", "null"))
        elif format_ in ("jsonl", "json"):
            found = json.loads(ran.out)
            row = found[0] if format_ == "json" else found
            rows.append([row["plaintext"], row["amount"]])
            member = row.get("plaintext.microcredits")
        else:
            last = ran.out.decode().splitlines()[0 if format_ == "text" else 1]
            rows.append([last.rpartition("2000000u64")[0].rstrip(",\t ") if more else last.rstrip()])
            member = "2000000u64" if last.rstrip().endswith("2000000u64") else None
        assert member == ("2000000u64" if more else None)
    assert rows[0] == rows[1]


@pytest.mark.parametrize("path", ["plaintext.microcredit", "plaintext_json.TYPO"])
def test_a_member_that_no_record_has_is_a_warning(chainq: Program, path: str) -> None:
    """A mistyped member is null in every row."""
    ran = chainq(*FEW, "--columns", f"height,{path}", url="demo:", env=ENV)
    assert (ran.code, ran.err) == (0, f"chainq: warning: no row has the column '{path}'\n")
    assert json.loads(ran.rows[0])[path] is None


@pytest.mark.parametrize(
    ("names", "line"),
    [
        ("plaintext.microcredits", "2000000u64"),
        ("height,amount,token_id", "116,2000000,"),
        ("record_name", "credits"),
        ("height", "116"),
    ],
)
def test_columns_bring_what_they_need(chainq: Program, names: str, line: str) -> None:
    """Without --records or --decrypt: naming a column requests its records, and decrypts them."""
    ran = chainq(*FEW, "--columns", names, "--csv", url="demo:", env=ENV)
    assert (ran.code, ran.err, ran.out.decode().splitlines()) == (0, "", [names, line])


def test_columns_that_a_table_does_not_show_can_be_named(chainq: Program) -> None:
    """Those that "not shown" lists, in a table, where amounts have their unit."""
    narrow = chainq(*FEW, "--table", url="demo:", env={**ENV, "COLUMNS": "60"}).out.decode()
    (hidden,) = re.findall(r"not shown: ([^;]*) and [0-9]+\s+more;", narrow)
    names = hidden.replace(" ", "")
    ran = chainq(*FEW, "--table", "--columns", f"amount,{names}", url="demo:", env={**ENV, "COLUMNS": "900"})
    assert ran.code == 0, ran.err
    header, row, *_ = ran.out.decode().splitlines()
    assert (header.split(), row.split()[:2]) == (["amount", *names.split(",")], ["2.000000", "credits"])


def test_what_spends_a_record_is_first_and_needs_its_option(chainq: Program) -> None:
    """At 80 columns the answer to --spent is shown, its height at 50 too; without an option, the error names it."""
    key = fresh_key()
    made = [tagged(key, one) for one in fresh_records(key.address, 2)]
    spent = ("owned", "0:20", "--spent", "--view-key-file", key_file(chainq.home, key))
    with serving(Holding(made, 40, first=0)) as url:
        shown = chainq(*spent, "--table", url=url, env={"COLUMNS": "80"})
        narrow = chainq(*spent, "--table", url=url, env={"COLUMNS": "50"})
        named = chainq(*spent, "--columns", "height,spent_height", "--csv", url=url)
    assert shown.out.decode().split()[:5] == [
        "height",
        "amount",
        "spent_height",
        "program_id",
        "spent_transaction",
    ]
    assert narrow.out.decode().split()[:3] == ["height", "amount", "spent_height"]
    assert named.out.decode().splitlines()[0] == "height,spent_height", named.err
    refused = chainq(*FEW, "--columns", "spent_height", url="demo:", env=ENV)
    assert refused.code == 2
    assert "need --spent or --unspent" in refused.err
