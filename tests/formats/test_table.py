"""`table`: what a person sees, at every width, of every row that a server may send."""

import io
import json
import unicodedata
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw
from rich.cells import cell_len

from chainq.catalog.methods import BY_COMMAND, METHODS, Column, Kind
from chainq.formats import table
from chainq.formats.cells import headers
from chainq.formats.protocol import Sheet
from chainq.rows import raw_json
from chainq.text.humanize import age
from chainq.text.width import shorten, wrap
from harness.program import ROOT

NOW = 1_780_000_000
REAL = ROOT.parent / "shared" / "data" / "real"
WIDTHS = (60, 80, 120, 200)
HASH = "ab1" + "qpzry9x8gf2tvdw0s3jn54khce6mua7l" * 2
FIELD = "592151692088060931686245643009084277517376606075field"
BLOCK = {
    "id": 2823859,
    "height": "2758584",
    "block_hash": HASH,
    "previous_hash": HASH[::-1],
    "round": "5925654",
    "coinbase_target": "4294967295",
    "timestamp": "1717328209",
    "coinbase_reward": None,
    "transactions_root": FIELD,
}


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "now", lambda: float(NOW))


def sheet(command: str, *paths: str, **options: Any) -> Sheet:
    columns = BY_COMMAND[command].columns
    picked = tuple(next(column for column in columns if column.path == path) for path in paths)
    return Sheet(command, picked or columns, chosen=bool(paths), **options)


def drawn(sheet: Sheet, *batches: Iterable[Any]) -> str:
    """What the table shows of rows that come in these batches; rows are values, or JSON texts as they are."""
    out = io.BytesIO()
    writer = table.Table(out, sheet)
    for batch in batches:
        writer.write([Raw((row if isinstance(row, str) else dumped(row)).encode()) for row in batch])
    writer.close()
    return out.getvalue().decode()


def dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def harmless(text: str) -> bool:
    return not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in text.replace("\n", ""))


def fits(text: str, width: int) -> bool:
    return all(cell_len(line) <= width for line in text.split("\n"))


def test_blocks_at_80_columns() -> None:
    """A block summary is one line: height, hashes with both ends, round and time; what found no room is named below."""
    assert drawn(sheet("blocks"), [BLOCK]).splitlines() == [
        "  height  block_hash       previous_hash       round  timestamp",
        " 2758584  ab1qpzry…6mua7l  l7aum6ec…zpq1ba   5925654  2024-06-02 11:36:49",
        "1 row",
        "1 column not shown: coinbase_target; pick some with --columns, or use a wider",
        "terminal",
    ]


def test_room_is_used() -> None:
    """With more room come the columns left out, then ages, then whole IDs: a transaction's first, to be copied."""
    wide = drawn(sheet("blocks", width=120), [BLOCK])
    assert "4,294,967,295" in wide
    assert "2024-06-02 11:36:49  1y 11mo" in wide
    assert HASH not in wide
    assert HASH in drawn(sheet("blocks", width=200), [BLOCK])
    record = {"transaction_id": "at" + HASH, "program_id": "credits.aleo", "height": 5}
    assert "at" + HASH in drawn(sheet("records", "block_hash", "transaction_id", width=90), [record])


def test_no_rows() -> None:
    """An empty answer says so, and nothing else."""
    assert drawn(sheet("blocks"), []) == "no rows\n"
    assert drawn(sheet("blocks"), [], []) == "no rows\n"
    assert drawn(sheet("latest", single=True)) == "no rows\n"


def test_chosen_columns_are_exactly_those() -> None:
    """Picked columns are shown, in that order and no others."""
    text = drawn(sheet("blocks", "coinbase_reward", "height", "id"), [BLOCK])
    assert cells(text)[:2] == [["coinbase_reward", "height", "id"], ["-", "2758584", "2823859"]]


def test_null_and_missing_differ() -> None:
    """A null is a dash, a missing field is blank."""
    text = drawn(sheet("records", "program_id", "function_name"), [{"program_id": None}, {"function_name": "f"}])
    assert text.splitlines()[1:3] == ["-", " " * 12 + "f"]


def test_numbers_keep_every_digit() -> None:
    """Numbers are grouped, heights are not, and no digit is lost at any size."""
    row = '{"cumulative_weight":18741903340503531150,"height":123456789012345678901234567890}'
    text = drawn(sheet("blocks", "cumulative_weight", "height"), [row])
    assert cells(text)[1] == ["18,741,903,340,503,531,150", "123456789012345678901234567890"]
    huge = "9" * 5000
    upright = drawn(sheet("latest", "cumulative_weight", single=True), ['{"cumulative_weight":' + huge + "}"])
    assert "".join(upright.split())[len("cumulative_weight") :] == huge


def test_numbers_that_outgrow_their_column() -> None:
    """Heights that need more digits than the first rows are shown whole, in wider columns under a fresh header."""
    text = drawn(sheet("blocks", "height", "round"), [{"height": "1", "round": "2"}], [{"height": "1" * 12}])
    assert cells(text)[:4] == [["height", "round"], ["1", "2"], ["height", "round"], ["1" * 12]]


@pytest.mark.parametrize("time", ["1780086400", "-5", "0", "1717328209000", "soon", "1.5", "9" * 30])
def test_times_that_cannot_be_are_shown_raw(time: str) -> None:
    """A time to come, or what is no time at all, is shown as it was sent."""
    assert cells(drawn(sheet("blocks", "timestamp"), [{"timestamp": time}]))[1] == [time]


def test_a_servers_clock_may_be_ahead_a_little() -> None:
    """The newest block of a server whose clock is ahead by seconds still has a readable time."""
    assert "0 s" in drawn(sheet("blocks", "timestamp"), [{"timestamp": str(NOW + 20)}])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (180, "3 min"),
        (7 * 3600, "7 h"),
        (86_400 * 12, "12 d"),
        (86_400 * 160, "5 mo"),
        (86_400 * 884, "2y 5mo"),
        (86_400 * 370, "1y"),
    ],
)
def test_ages(seconds: int, words: str) -> None:
    """Ages are told in the one or two largest units."""
    assert age(seconds) == words


def test_ids_shorten_in_the_middle() -> None:
    """Of an ID both ends stay, and the suffix that says what a number is."""
    assert shorten("ab17uppp4gpxysdduzexch5gekkg09lxsdsswmpllxp0028sv2xvczsc2zv99", 15, -1) == "ab17uppp…c2zv99"
    assert shorten(FIELD, 15, -1) == "592151…075field"


def test_without_shortening_everything_is_there() -> None:
    """Where long values may not be shortened, lines grow past the terminal and no column or character is left out."""
    long = {**BLOCK, "block_hash": HASH * 3}
    text = drawn(sheet("blocks", trunc=False, width=60), [BLOCK], [long])
    assert HASH in text.splitlines()[1]
    assert HASH * 3 in text
    assert "not shown" not in text
    assert "…" not in text


def test_status_shows_without_colour() -> None:
    """Whatever is not accepted has a sign of its own, and a colour where colours may be used."""
    found = [{"status": status} for status in ("accepted", "rejected", "aborted", None)]
    text = drawn(sheet("transactions", "status", color=True), found)
    assert "\x1b[31m✗ rejected\x1b[0m" in text
    assert "\x1b[33m! aborted\x1b[0m" in text
    assert cells(drawn(sheet("transactions", "status"), found))[1:5] == [
        ["accepted"],
        ["✗", "rejected"],
        ["!", "aborted"],
        ["-"],
    ]


def test_text_and_data_are_told_in_short() -> None:
    """Of a program its name and how long it is; of an array how many items it has."""
    program = "import credits.aleo;\n\nprogram foo.aleo;\nfunction x:\n"
    assert "program foo.aleo;  +3 lines" in drawn(sheet("transitions", "program"), [{"program": program}])
    block: dict[str, Any] = {"transactions": [{}, {}, {}], "ratifications": None, "aborted_transaction_ids": "odd"}
    text = drawn(sheet("full-blocks", "transactions", "ratifications", "aborted_transaction_ids"), [block])
    assert cells(text)[1] == ["3", "-", "odd"]


def test_headers_tell_columns_apart() -> None:
    """A header is the last part of the path, with as much before it as tells it from the command's other columns."""
    columns = BY_COMMAND["transaction"].columns
    brief = [column for column in columns if column.brief]
    assert headers(brief, columns) == ["status", "type", "index", "transaction.id", "transitions", "finalizedAt"]
    for method in METHODS:
        names = headers(method.columns, method.columns)
        assert len(set(names)) == len(names)


def test_header_comes_again_on_a_terminal_only() -> None:
    """A person sees the header again every screenful; a file has it once."""
    found = [{"height": str(height)} for height in range(1000, 1100)]
    assert drawn(sheet("blocks", "height", terminal=True), found[:50], found[50:]).count("height") == 3
    text = drawn(sheet("blocks", "height"), found[:50], found[50:])
    assert text.count("height") == 1
    assert text.endswith("100 rows\n")


def test_rows_come_out_with_each_write() -> None:
    """Nothing is held back until the end, nor kept after it was drawn."""
    out = io.BytesIO()
    writer = table.Table(out, sheet("blocks", "height"))
    for height in range(1000, 1005):
        writer.write([Raw(b'{"height":"%d"}' % height)])
        assert str(height).encode() in out.getvalue()


def test_long_writes_are_drawn_in_parts() -> None:
    """A write of any length comes out in parts, so that memory stays flat."""
    sizes: list[int] = []

    class Out:
        def write(self, data: bytes) -> None:
            sizes.append(len(data))

    table.Table(Out(), sheet("blocks", "height")).write([Raw(b'{"height":"7"}')] * 5000)
    assert max(sizes) < 10_000


def test_no_escapes_without_colour() -> None:
    """Where styles may not be used there is no escape at all; where they may, the text is the same without them."""
    for single in (False, True):
        plain = drawn(sheet("latest", single=single), [BLOCK])
        colored = drawn(sheet("latest", single=single, color=True), [BLOCK])
        assert "\x1b" not in plain
        assert colored != plain
        for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
            colored = colored.replace(style, "")
        assert colored == plain


def test_upright_has_every_field() -> None:
    """One object is upright: all columns, and what the server sent beside them, marked as such."""
    found = {**BLOCK, "later\x1b": {"deep": [1, "two"]}, "flag\n": True}
    text = drawn(sheet("latest", single=True), [found])
    for column in BY_COMMAND["latest"].columns:
        assert f"\n{column.path}" in f"\n{text}"
    lines = [line.split() for line in text.splitlines()]
    assert ["timestamp", "2024-06-02", "11:36:49", "1y", "11mo"] in lines
    assert ["flag\\n", "*", "true"] in lines
    assert "later\\x1b *\n└── deep\n    ├── 0  1\n    └── 1  two\n" in text
    assert text.endswith("* not in the service document\n")
    assert "row" not in text.splitlines()[-1]


def test_upright_text_keeps_its_lines() -> None:
    """A text of several lines has a line for each; a long one is cut short, or not, as the user wants."""
    found = {"program": "\n".join(f"line {number}\t" for number in range(30))}
    text = drawn(sheet("transitions", "program", single=True), [found])
    assert "program  line 0\\t\n         line 1\\t\n" in text
    assert text.endswith("         … 18 more lines\n")
    assert "line 29" in drawn(sheet("transitions", "program", single=True, trunc=False), [found])


TRANSITION = {
    "id": "au1" + HASH,
    "program": "credits.aleo",
    "function": "fee_public",
    "inputs": [{"type": "public", "value": "263388u64"}, {"type": "public", "value": "10000u64"}],
    "outputs": [{"type": "future", "value": "{\n  program_id: credits.aleo\n}"}, {"type": "record", "id": FIELD}],
}
TRANSACTION = {
    "status": "accepted",
    "type": "execute",
    "index": 1,
    "transaction": {
        "type": "execute",
        "id": "at1" + HASH,
        "execution": {"transitions": [{**TRANSITION, "function": "transfer"}]},
        "fee": {"transition": TRANSITION},
    },
    "finalizedAt": "1717328209",
}


def test_transaction_is_a_summary_and_trees() -> None:
    """A full transaction shows status, ID, time and fee, then its transitions with their inputs and outputs."""
    text = drawn(sheet("transaction", single=True, width=100), [TRANSACTION])
    assert "status          accepted\n" in text
    assert "finalizedAt     2024-06-02 11:36:49" in text
    assert "fee             273,388 microcredits  263,388 + 10,000 priority\n" in text
    assert "execution  1 transition\n└── credits.aleo/transfer  au1" in text
    assert "├── input  1  public  10000u64\n" in text
    assert "├── output 0  future  { program_id: credits.aleo }\n" in text
    assert "└── output 1  record  id 592151" in text


def test_texts_in_trees_keep_their_lines_unshortened() -> None:
    """Where values may not be shortened, a text in a tree has its own lines."""
    text = drawn(sheet("transaction", single=True, trunc=False), [TRANSACTION])
    assert "program_id: credits.aleo\n" in text
    assert f"id {FIELD}" in text


def test_deployment_is_told_by_its_program() -> None:
    """A deploy transaction shows program, edition and functions."""
    source = "program foo.aleo;\n\nfunction mint:\n  input r0\n\nfunction burn:\n"
    inner = {"type": "deploy", "id": "at1", "deployment": {"edition": 2, "program": source}}
    text = drawn(sheet("transaction", single=True), [{"status": "accepted", "type": "deploy", "transaction": inner}])
    assert "deployment  foo.aleo, edition 2, 2 functions\n├── functions  mint, burn\n" in text


@pytest.mark.parametrize(
    ("rejected", "shown"),
    [
        ({"transitions": [TRANSITION]}, "rejected execution  1 transition\n└── credits.aleo/fee_public"),
        ({"type": "execution", "execution": {"transitions": [TRANSITION]}}, "rejected execution  1 transition"),
        ({"deployment": {"edition": 0, "program": "program foo.aleo;\n"}}, "rejected deployment  foo.aleo, edition 0"),
        ("id1", "rejected  id1"),
    ],
)
def test_rejected_transaction_shows_what_was_rejected(rejected: Any, shown: str) -> None:
    """What a rejected transaction wanted to do is shown, in whichever shape the server's era sends it."""
    row = {"status": "rejected", "rejected": rejected, "transaction": {"type": "fee", "id": "at1"}}
    text = drawn(sheet("transaction", single=True, width=120), [row])
    assert "✗ rejected" in text
    assert shown in text


@pytest.mark.parametrize("place", ["execution", "fee", "deployment", "owner", "execution.transitions", "finalize"])
@pytest.mark.parametrize("odd", ["odd", ["odd"], {"odd": "odd"}])
def test_what_is_not_understood_is_shown(place: str, odd: Any) -> None:
    """A part of a transaction that has another shape than expected is shown as it is."""
    text = drawn(sheet("transaction", single=True), [nested({"transaction.id": "at1", f"transaction.{place}": odd})])
    assert "odd" in text
    inner = {"id": "at1", "execution": {"transitions": [{**TRANSITION, "inputs": odd}]}}
    assert "odd" in drawn(sheet("transaction", single=True), [{"transaction": inner, "status": "accepted"}])


def test_full_block_has_its_transactions_as_a_tree() -> None:
    """A single full block is upright, its transactions beneath; several are one line each."""
    block = {"block_hash": HASH, "header": {"metadata": {"height": 7}}, "transactions": [TRANSACTION] * 2}
    text = drawn(sheet("full-blocks", single=True, width=100), [block])
    assert "transactions  2\n├── 1  execute  at1" in text
    assert "    ├── execution  1 transition\n" in text
    assert "    └── fee  273,388 microcredits" in text
    assert drawn(sheet("full-blocks", width=120), [block] * 2).count("\n") == 4


def test_wrapping_loses_no_word() -> None:
    """Lines break at spaces, and inside a word only where it is longer than a line."""
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("12345678", 3) == ["123", "456", "78"]
    assert wrap("", 3) == [""]


# --- whatever a server sends -----------------------------------------------------------------------------------------

wild = st.text() | st.sampled_from(
    ["\x1b[31m", "[red]", "表" * 30, "‮", "a\nb", "\ud800", "e\u0301" * 40, "☁\ufe0f" * 40, FIELD]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | wild,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(wild, inner, max_size=3),
    max_leaves=8,
)
SOME = st.sampled_from(METHODS)


def nested(paths: dict[str, Any]) -> dict[str, Any]:
    """Values at dotted paths as one object; a path that runs into a value ends there."""
    row: dict[str, Any] = {}
    for path, value in paths.items():
        place, *steps = [row, *path.split(".")]
        for step in steps[:-1]:
            inner = place.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[steps[-1]] = value
    return row


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), SOME, st.sampled_from((1, *WIDTHS)), st.booleans())
def test_nothing_harmful_and_nothing_too_wide(data: st.DataObject, method: Any, width: int, single: bool) -> None:
    """Whatever comes: no control character but newline, and no line wider than the terminal."""
    columns = [column.path for column in method.columns]
    row = data.draw(st.dictionaries(st.sampled_from(columns) | wild, values, max_size=6).map(nested) | values)
    text = drawn(Sheet(method.command, method.columns, single=single, width=width), [dumped(row)] * 2)
    assert harmless(text)
    assert fits(text, max(width, 40))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), values, values)
def test_odd_transactions_do_no_harm(data: st.DataObject, one: Any, other: Any) -> None:
    """Any value at any place of a full transaction is shown harmlessly, in a row of its own and inside a block."""
    places = ["status", "rejected", "finalize", "transaction", "transaction.id", "transaction.execution.transitions"]
    places += ["transaction.fee.transition.inputs", "transaction.deployment", "transaction.deployment.program"]
    row = nested({"transaction.id": "at1", data.draw(st.sampled_from(places)): one})
    transition = {**TRANSITION, data.draw(st.sampled_from([*TRANSITION, "tpk"])): other}
    full = nested({"transaction.execution.transitions": [transition, other], "transaction.fee.transition": transition})
    block = {"transactions": [row, full, other]}
    for command, found in (("transaction", row), ("transaction", full), ("full-blocks", block)):
        for trunc in (True, False):
            text = drawn(sheet(command, single=True, trunc=trunc), [dumped(found)])
            assert harmless(text)
            assert not trunc or fits(text, 80)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(Kind), st.lists(wild, min_size=1, max_size=5), st.sampled_from((40, *WIDTHS)))
def test_later_rows_fit_too(kind: Kind, texts: list[str], width: int) -> None:
    """Rows that are wider than the first ones stay inside the line."""
    columns = (Column("a", "", "", kind), Column("b.\x1bc", "", "", kind))
    found = [[{"a": text, "b": {"\x1bc": text}}] for text in texts]
    text = drawn(Sheet("odd", columns, chosen=True, width=width), *found)
    assert harmless(text)
    assert fits(text, width)


def test_markup_is_text() -> None:
    """What looks like markup of a terminal library is shown as it is."""
    text = drawn(sheet("records", "program_id"), [{"program_id": "[bold red]x[/]"}])
    assert "[bold red]x[/]" in text


def test_a_value_of_100_kb_costs_little() -> None:
    """A value far longer than any line is cut before it is drawn."""
    found = {"program_id": "表" * 100_000, "transaction_id": "x" * 100_000, "height": "1" * 100_000}
    for single in (False, True):
        text = drawn(sheet("records", "program_id", "transaction_id")._replace(single=single), [found])
        assert len(text) < 1000
        assert fits(text, 80)


# --- real data -------------------------------------------------------------------------------------------------------

real = pytest.mark.skipif(not REAL.is_dir(), reason="the real chain data lies beside the repository, and is not there")


@real
@pytest.mark.parametrize("width", WIDTHS)
def test_real_blocks_and_transactions(width: int) -> None:
    """Every real full block and each of its transactions fits, as a list and alone."""
    blocks = [json.loads(line) for line in (REAL / "full_blocks.jsonl").read_text().splitlines()]
    transactions = [transaction for block in blocks for transaction in block["transactions"]]
    for command, found in (("full-blocks", blocks), ("transaction", transactions)):
        assert fits(drawn(sheet(command, width=width), found), width)
        for row in found:
            text = drawn(sheet(command, width=width, single=True), [row])
            assert fits(text, width)
            assert harmless(text)


@real
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_published_answers(method: Any) -> None:
    """The published answer of each method is shown with every brief column at 200 cells."""
    names = {"latest/block": "latest_block", "records/all": "records_all", "records/isOwner": "records_isOwner"}
    file = REAL / "samples" / f"{names.get(method.name, method.name)}.json"
    answer = raw_json.members(bytes(raw_json.members(file.read_bytes())["response"]))["result"]
    found = [answer] if bytes(answer)[:1] == b"{" else raw_json.items(bytes(answer))
    text = drawn(sheet(method.command, width=200), [raw_json.compact(bytes(row)).decode() for row in found])
    assert "not shown" not in text
    assert text.count("\n") == len(found) + 2
