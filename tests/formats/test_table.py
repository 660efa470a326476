"""`table`: what a person sees, at every width: columns, cells, times and colours."""

import io
from typing import Any

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, METHODS
from chainq.formats import table
from chainq.formats.cells import headers
from chainq.formats.protocol import OutputSpec
from chainq.text.humanize import age
from chainq.text.width import truncate, wrap
from chainq.verify.findings import FINDINGS
from harness.tables import BLOCK, FIELD, HASH, cells, drawn, spec


def test_blocks_at_80_columns() -> None:
    """A block summary is one line: height, time, hashes with both ends, round; hidden columns are named below."""
    assert drawn(spec("blocks"), [BLOCK]).splitlines() == [
        "  height  timestamp             block_hash       previous_hash       round",
        " 2758584  2024-06-02 11:36:49Z  ab1qpzry…6mua7l  l7aum6ec…zpq1ba   5925654",
        "1 row",
        "not shown: coinbase_target and 14 more; use --columns (--columns help lists",
        "them), or a larger COLUMNS",
    ]


def test_room_is_used() -> None:
    """A wider terminal shows hidden columns, then full IDs, those of transactions first."""
    wide = drawn(spec("blocks", width=120), [BLOCK])
    assert "4,294,967,295" in wide
    assert "2024-06-02 11:36:49Z" in wide
    assert HASH not in wide
    assert HASH in drawn(spec("blocks", width=200), [BLOCK])
    record = {"transaction_id": "at" + HASH, "program_id": "credits.aleo", "height": 5}
    assert "at" + HASH in drawn(spec("records", "block_hash", "transaction_id", width=90), [record])


def test_findings_fold_before_they_are_left_out() -> None:
    """At 80 columns a finding shows what was expected and what was found, also after a longer command."""
    findings = [
        {"height": 20, "command": command, "check": "altered", "expected": "a" * 36, "found": "b" * 36}
        for command in ("blocks", "full-blocks")
    ]
    wide = OutputSpec("verify", FINDINGS.columns, width=120)
    assert drawn(wide, findings).splitlines()[1].split()[3:] == ["a" * 36, "b" * 36]
    text = drawn(wide._replace(width=80), findings[:1], findings[1:])
    assert "not shown" not in text
    assert "full-blocks" in text
    assert [text.count(letter * 20) for letter in "ab"] == [2, 2]
    assert max(map(len, text.splitlines())) <= 80


def test_findings_are_upright_before_they_are_left_out() -> None:
    """At 60 columns neither what was expected nor what was found is hidden."""
    finding = {"height": 20, "command": "full-blocks", "check": "altered", "expected": "a" * 36, "found": "b" * 36}
    given = OutputSpec("verify", FINDINGS.columns, width=60)
    assert drawn(given, [finding]).splitlines()[-3:-1] == [f"expected  {'a' * 36}", f"found     {'b' * 36}"]
    short = finding | {"command": "blocks", "check": "link", "expected": "a", "found": "b"}
    for terminal in (False, True):  # rows that come later need more room
        text = drawn(given._replace(terminal=terminal), [short], [finding])
        assert f"found     {'b' * 36}" in text
        assert text.count("height ") == 2, "on a terminal both have one shape"


def test_no_rows() -> None:
    """Without rows, the output says so, and nothing else."""
    assert drawn(spec("blocks"), []) == "no rows\n"
    assert drawn(spec("blocks"), [], []) == "no rows\n"
    assert drawn(spec("latest", single=True)) == "no rows\n"


def test_selected_columns_are_exactly_those() -> None:
    """Selected columns are shown, in that order and no others."""
    text = drawn(spec("blocks", "coinbase_reward", "height", "id"), [BLOCK])
    assert cells(text)[:2] == [["coinbase_reward", "height", "id"], ["-", "2758584", "2823859"]]


def test_null_and_missing_differ() -> None:
    """A null is a dash, a missing field is blank."""
    text = drawn(spec("records", "program_id", "function_name"), [{"program_id": None}, {"function_name": "f"}])
    assert text.splitlines()[1:3] == ["-", " " * 12 + "f"]


def test_numbers_keep_every_digit() -> None:
    """Numbers are grouped, heights are not, and no digit is lost at any size."""
    row = '{"cumulative_weight":18741903340503531150,"height":123456789012345678901234567890}'
    text = drawn(spec("blocks", "cumulative_weight", "height"), [row])
    assert cells(text)[1] == ["18,741,903,340,503,531,150", "123456789012345678901234567890"]
    huge = "9" * 5000
    upright = drawn(spec("latest", "cumulative_weight", single=True), ['{"cumulative_weight":' + huge + "}"])
    assert "".join(upright.split())[len("cumulative_weight") :] == huge


def test_numbers_that_outgrow_their_column() -> None:
    """Heights that need more digits than the first rows are shown in full, in wider columns under a new header."""
    text = drawn(spec("blocks", "height", "round"), [{"height": "1", "round": "2"}], [{"height": "1" * 12}])
    assert cells(text)[:4] == [["height", "round"], ["1", "2"], ["height", "round"], ["1" * 12]]


def test_words_that_outgrow_the_last_column() -> None:
    """The last column grows to the right under its header, which is not repeated."""
    rows = [{"height": "1000", "program_id": "a.aleo", "function_name": name} for name in ("mint", "transfer_private")]
    names = ("height", "program_id", "function_name")
    text = drawn(spec("records", *names), rows[:1], rows[1:])
    assert cells(text)[:3] == [list(names), ["1000", "a.aleo", "mint"], ["1000", "a.aleo", "transfer_private"]]


@pytest.mark.parametrize("time", ["-5", "0", "1717328209000", "soon", "1.5", "9" * 30])
def test_invalid_times_are_shown_as_sent(time: str) -> None:
    """A value that is not a time is shown as it was sent."""
    assert cells(drawn(spec("blocks", "timestamp"), [{"timestamp": time}]))[1] == [time]


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
        (86_400 * 370, "1 y"),
    ],
)
def test_ages(seconds: int, words: str) -> None:
    """Ages are in the one or two largest units."""
    assert age(seconds) == words


def test_ids_are_abbreviated_in_the_middle() -> None:
    """An abbreviated ID keeps both ends, and the suffix that says what a number is."""
    assert truncate("ab17uppp4gpxysdduzexch5gekkg09lxsdsswmpllxp0028sv2xvczsc2zv99", 15, -1) == "ab17uppp…c2zv99"
    assert truncate(FIELD, 15, -1) == "592151…075field"


def test_equal_ids_look_equal() -> None:
    """A hash is the same text as block_hash and as previous_hash of the next row: all whole, or all abbreviated."""
    found = [{"height": "1", "block_hash": HASH}, {"height": "2", "block_hash": HASH[::-1], "previous_hash": HASH}]
    for width, shown in ((80, "ab1qpzry…6mua7l"), (120, "ab1qpzry…6mua7l"), (200, HASH)):
        assert drawn(spec("blocks", width=width), found).split().count(shown) == 2


def test_short_ids_are_whole_if_longer_ones_do_not_fit() -> None:
    """An ID that fits does not wait for two longer ones that share its table."""
    row = {"nonce_x": "7" * 77, "owner_x": "8" * 77, "transition_id": HASH, "output_index": 1}
    for width, shown in ((100, False), (120, True), (200, True)):
        assert (HASH in drawn(spec("ownership", width=width), [row]).split()) == shown


def test_words_are_never_cut() -> None:
    """Names of functions that differ look different at any width: a column that does not fit is left out whole."""
    names = ["transfer_private", "transfer_private_to_public", "transfer_public_as_signer_of_31"]
    for width, whole in ((40, False), (60, True), (80, True), (120, True)):
        text = drawn(spec("records", width=width), [{"height": 7, "function_name": name} for name in names])
        assert ("function_name" in text.splitlines()[0]) == whole
        assert set(names) <= set(text.split()) or not whole


def test_selected_columns_are_never_left_out() -> None:
    """Where selected columns do not fit beside each other, each row is lines of fields; nothing is left out."""
    names = ("height", "timestamp", "block_hash", "previous_hash", "round")
    assert "2758584  2024-06-02 11:36:49Z" in drawn(spec("blocks", *names, width=80), [BLOCK])
    text = drawn(spec("blocks", *names, width=60), [BLOCK, BLOCK])
    fields = [line.split()[0] for line in text.splitlines() if line]
    assert fields == [*names, *names, "2"]
    assert "timestamp      2024-06-02 11:36:49Z" in text
    assert "not shown" not in text
    # An ID that has no room is abbreviated more, not continued in a second line.
    assert len(drawn(spec("blocks", *names, width=48), [BLOCK]).splitlines()) == len(names) + 1


def test_records_show_the_call_before_the_row_id() -> None:
    """Of a record, program, function and transaction come before what belongs to the server's database."""
    header = drawn(spec("records", width=200), [{"height": 7}]).splitlines()[0].split()
    assert header[:4] == ["height", "program_id", "function_name", "transaction_id"]
    assert header[-1] == "id"


def test_without_abbreviation_everything_is_shown() -> None:
    """With --no-trunc lines grow past the terminal, and no column or character is left out."""
    long = {**BLOCK, "block_hash": HASH * 3}
    text = drawn(spec("blocks", abbreviate=False, width=60), [BLOCK], [long])
    assert HASH in text.splitlines()[1]
    assert HASH * 3 in text
    assert "not shown" not in text
    assert "…" not in text


def test_a_whole_value_that_outgrows_the_terminal_turns_rows_upright() -> None:
    """With --no-trunc on a terminal; the rows before stay as they were drawn."""
    given = spec("blocks", "height", "block_hash", abbreviate=False, width=40, terminal=True)
    text = drawn(given, [{"height": "5", "block_hash": "ab"}], [{"height": "6", "block_hash": HASH}])
    lines = text.splitlines()
    assert lines[1].split() == ["5", "ab"]
    assert lines[2:] == ["", "height      6", f"block_hash  {HASH}", "2 rows"]


def test_status_shows_without_colour() -> None:
    """Every status but accepted has a sign, and a colour where colours may be used."""
    found = [{"status": status} for status in ("accepted", "rejected", "aborted", None)]
    text = drawn(spec("transactions", "status", color=True), found)
    assert "\x1b[31m✗ rejected\x1b[0m" in text
    assert "\x1b[33m! aborted\x1b[0m" in text
    assert cells(drawn(spec("transactions", "status"), found))[1:5] == [
        ["accepted"],
        ["✗", "rejected"],
        ["!", "aborted"],
        ["-"],
    ]


def test_text_and_data_are_summarised() -> None:
    """A program is shown by its name, another text by its first line, an array by the number of its items."""
    program = "import credits.aleo;\n\nprogram foo.aleo;\nfunction x:\n"
    text = drawn(spec("transitions", "program"), [{"program": program}, {"program": "\none\ntwo"}])
    assert text.splitlines()[1:3] == ["foo.aleo", "one  +2 lines"]
    block: dict[str, Any] = {"transactions": [{}, {}, {}], "ratifications": None, "aborted_transaction_ids": "odd"}
    text = drawn(spec("full-blocks", "transactions", "ratifications", "aborted_transaction_ids"), [block])
    assert cells(text)[1] == ["3", "-", "odd"]


def test_headers_are_distinct() -> None:
    """A header is the last part of the path, with as many parts before it as distinguish it from other columns."""
    columns = BY_COMMAND["transaction"].columns
    brief = [column for column in columns if column.brief]
    assert headers(brief, columns) == ["status", "type", "index", "transaction.id", "transitions", "finalizedAt"]
    for method in METHODS:
        names = headers(method.columns, method.columns)
        assert len(set(names)) == len(names)


def test_header_is_repeated_on_a_terminal_only() -> None:
    """A terminal gets the header again every screenful; a file has it once."""
    found = [{"height": str(height)} for height in range(1000, 1100)]
    assert drawn(spec("blocks", "height", terminal=True), found[:50], found[50:]).count("height") == 3
    text = drawn(spec("blocks", "height"), found[:50], found[50:])
    assert text.count("height") == 1
    assert text.endswith("100 rows\n")


def test_rows_are_written_at_once() -> None:
    """Rows are drawn with each write, not held back until the end."""
    out = io.BytesIO()
    writer = table.Table(out, spec("blocks", "height"))
    for height in range(1000, 1005):
        writer.write([Raw(b'{"height":"%d"}' % height)])
        assert str(height).encode() in out.getvalue()


def test_long_writes_are_drawn_in_parts() -> None:
    """A write of any length is drawn in parts, so that memory stays flat."""
    sizes: list[int] = []

    class Out:
        def write(self, data: bytes) -> None:
            sizes.append(len(data))

    table.Table(Out(), spec("blocks", "height")).write([Raw(b'{"height":"7"}')] * 5000)
    assert max(sizes) < 10_000


def test_no_escapes_without_colour() -> None:
    """Where styles may not be used there is no escape at all; where they may, the text is the same without them."""
    for single in (False, True):
        plain = drawn(spec("latest", single=single), [BLOCK])
        colored = drawn(spec("latest", single=single, color=True), [BLOCK])
        assert "\x1b" not in plain
        assert colored != plain
        for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
            colored = colored.replace(style, "")
        assert colored == plain


def test_wrapping_loses_no_word() -> None:
    """Lines break at spaces, and inside a word only where it is longer than a line."""
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("12345678", 3) == ["123", "456", "78"]
    assert wrap("", 3) == [""]
