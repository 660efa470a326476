"""How output looks: colours, widths, indented JSON, formats by extension, columns by path."""

import csv
import json
import os
import pty
import re
import subprocess
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ

import pytest

from chainq.catalog.methods import METHODS, Method
from harness.program import Program, Servers, finish, one_line
from harness.search import some
from harness.truth import Truth

CHARACTERS = "use --format chart -o x.txt, which draws with characters"
LAST = ("blocks", "--start", "640", "--end", "643")


def shown(program: Program, *args: str, columns: int = 100, url: str | None = "demo:", **env: str) -> str:
    """Return what a run shows on a terminal of that many columns, its stderr left out."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 40, columns, 0, 0))
    with os.fdopen(theirs, "wb", buffering=0) as terminal:
        process = program.start(*args, url=url, env={"TERM": "xterm", **env}, stdout=terminal)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert finish(process).code == 0
    return text.decode().replace("\r\n", "\n")


def test_color_follows_the_environment(chainq: Program) -> None:
    """NO_COLOR beats FORCE_COLOR, which beats the question whether there is a terminal."""

    def colored(**env: str) -> bool:
        return b"\x1b[1m" in chainq(*LAST, "--table", url="demo:", env=env).out

    assert not colored()
    assert colored(FORCE_COLOR="1")
    assert not colored(FORCE_COLOR="1", NO_COLOR="1")
    assert "\x1b" not in shown(chainq, *LAST, TERM="dumb")


def test_a_table_counts_the_columns_that_it_does_not_show(chainq: Program) -> None:
    """On a terminal, however wide; not if --columns chose them, nor in a pipe."""
    assert "\n3 rows; 14 more columns: --columns help\n" in shown(chainq, *LAST, columns=200, NO_COLOR="1")
    assert "\n3 rows; 14 more columns: --columns help\n" in shown(chainq, *LAST, "--no-trunc", columns=80, NO_COLOR="1")
    assert shown(chainq, *LAST, "--columns", "height,round", columns=200, NO_COLOR="1").endswith("\n3 rows\n")
    assert chainq(*LAST, "--table", url="demo:", env={"COLUMNS": "200"}).out.endswith(b"\n3 rows\n")


def test_one_note_names_the_columns_that_a_narrow_table_leaves_out(chainq: Program) -> None:
    """With the number of those that no width shows without --columns; what makes it wider depends on where it goes."""
    words = ("records", "--last", "1")
    piped = " ".join(chainq(*words, "--table", url="demo:", env={"COLUMNS": "60"}).out.decode().split())
    text = shown(chainq, *words, columns=60, NO_COLOR="1")
    note = " ".join(text.partition("rows\n")[2].split())
    left = "transaction_id, timestamp, output_index, id and 4 more"
    assert note == f"not shown: {left}; use --columns (--columns help lists them), or a wider terminal"
    assert piped.endswith(note.replace("wider terminal", "larger COLUMNS"))
    text = shown(chainq, *words, columns=30, NO_COLOR="1").partition("rows\n")[2]
    assert "function_name" in text and max(map(len, text.splitlines())) <= 30


def test_a_url_of_a_profile_can_be_copied(chainq: Program) -> None:
    """On a terminal that is narrower than it, which wraps it itself."""
    url = f"https://example.org/{'rpc/' * 20}"
    chainq.config.parent.mkdir(parents=True, exist_ok=True)
    chainq.config.write_text(f'[profiles.a]\nurl = "{url}"\n[profiles.b]\nurl = "demo:"\n')
    text = shown(chainq, "profiles", columns=60, url=None)
    assert f"\nurl      {url}\ndialect  auto\n" in text
    assert "\ndefault\n\nname     b\n" in text


def test_whole_values_of_a_screen_break_no_word(chainq: Program) -> None:
    """Rows that do not fit the terminal are lines of fields, and sentences are broken between words."""
    words = ("show", "credits.aleo", "--no-trunc")
    narrow, wide = (shown(chainq, *words, columns=at, NO_COLOR="1").split("\nnext\n")[0] for at in (60, 140))
    assert re.search(
        r"\n  function     fee_public\n  calls +[0-9]+\n  height +[0-9]+\n  time .*\n  transaction  at1", narrow
    )
    assert re.search(r"\n  fee_public +[0-9]+ +[0-9]+  2024-.*  at1[a-z0-9]{58}\n", wide)
    for text, columns in ((narrow, 60), (wide, 140)):
        note = text.partition("These are")[2].splitlines()
        assert max(map(len, note)) <= columns
        assert " one function. --last N looks at more blocks." in " ".join(note)


@pytest.mark.parametrize("command", [("latest",), ("rpc", "latest/block")])
def test_json_is_indented_on_a_terminal(chainq: Program, truth: Truth, command: tuple[str, ...]) -> None:
    """On a terminal JSON is indented and coloured, in a pipe it is compact; the value is the same."""
    words = (*command, *(["--json"] if command == ("latest",) else []))
    text = shown(chainq, *words)
    assert '\n  \x1b[1;34m"height"\x1b[0m: \x1b[32m"3000000"\x1b[0m,\n' in text
    plain = shown(chainq, *words, NO_COLOR="1")
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == plain
    piped = chainq(*words, url="demo:", env={"FORCE_COLOR": "1"}).out
    assert piped == truth.block(truth.tip) + b"\n"
    assert json.loads(plain) == json.loads(piped)


def test_indented_rows_are_one_array(chainq: Program) -> None:
    """Several rows on a terminal are an array of indented objects."""
    text = shown(chainq, *LAST, "--json", "--columns", "height", NO_COLOR="1")
    assert text.startswith('[\n  {\n    "height": "640"\n  },\n')
    assert [row["height"] for row in json.loads(text)] == ["640", "641", "642"]


def test_a_table_in_a_pipe_is_as_wide_as_the_terminal(chainq: Program) -> None:
    """`--table | less -R`: the width is that of the terminal on stderr."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 40, 200, 0, 0))
    with os.fdopen(theirs, "wb", buffering=0) as terminal:
        words = [chainq.path, "blocks", "--last", "1", "--table", "--url", "demo:"]
        ended = subprocess.run(
            words, env=chainq.environment(), cwd=chainq.home, stdout=subprocess.PIPE, stderr=terminal, check=True
        )
    os.close(ours)
    assert max(map(len, ended.stdout.decode().splitlines())) > 150


@pytest.mark.parametrize("words", [("show", "12345"), ("rpc", "latest/block")])
def test_color_of_tools(words: tuple[str, ...], chainq: Program) -> None:
    """`show` and `rpc` as the commands of methods."""
    assert "\x1b[" in shown(chainq, *words)
    assert "\x1b" not in shown(chainq, *words, NO_COLOR="1")


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.jsonl", b'{"height":"640"}\n{"h'),
        ("x.txt", b"640\n641\n"),
        ("x.ndjson", b'{"height":"640"}\n{"h'),
        ("x.JSON", b'[\n{"height":"640"},\n'),
        ("x.csv", b"height\r\n640\r\n"),
        ("x.tsv", b"height\n640\n641\n"),
        ("x", b'{"height":"640"}\n{"h'),
    ],
)
def test_the_extension_selects_the_format(chainq: Program, name: str, start: bytes) -> None:
    """Without a format the extension of FILE selects it; an unknown one is jsonl."""
    ran = chainq(*LAST, "--columns", "height", "-o", name, url="demo:")
    assert (ran.code, ran.err) == (0, "")
    assert (chainq.home / name).read_bytes().startswith(start)


def test_parquet_by_extension(chainq: Program) -> None:
    """`-o x.parquet` holds Parquet."""
    pytest.importorskip("pyarrow", reason="Parquet needs the extra chainq[parquet]")
    assert chainq(*LAST, "-o", "x.parquet", url="demo:").code == 0
    assert (chainq.home / "x.parquet").read_bytes().startswith(b"PAR1")


def test_an_extension_of_no_format_is_jsonl(chainq: Program) -> None:
    """As without one."""
    for name in ("x.dat", "x.csv.gz", "rows"):
        ran = chainq("blocks", "5", "-o", name, url="demo:")
        assert (ran.code, ran.err, (chainq.home / name).read_bytes()[:1]) == (0, "", b"{")


def test_a_format_that_contradicts_the_extension_is_a_warning(chainq: Program) -> None:
    """An explicit format is used, and said to differ from the extension."""
    ran = chainq(*LAST, "--csv", "-o", "x.json", url="demo:")
    assert (ran.code, ran.err) == (0, "chainq: warning: x.json contains csv, but its extension is .json\n")
    assert (chainq.home / "x.json").read_bytes().startswith(b"id,height")
    assert chainq(*LAST, "--table", "-o", "x.txt", url="demo:").err == ""


@pytest.mark.parametrize(("env", "whole"), [({}, True), ({"COLUMNS": "80"}, False)])
def test_a_table_in_a_file_has_no_width(env: dict[str, str], whole: bool, chainq: Program) -> None:
    """All columns of the table, with whole IDs, unless COLUMNS states a width."""
    assert chainq("blocks", "5", "--table", "-o", "x.txt", url="demo:", env=env).code == 0
    text = (chainq.home / "x.txt").read_text()
    assert ("coinbase_target" in text.splitlines()[0]) is whole
    assert ("\N{HORIZONTAL ELLIPSIS}" not in text) is whole


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_columns_help_needs_no_arguments(method: Method, chainq: Program) -> None:
    """--columns help lists every column, aligned, with a mark at those of a table; without arguments or a URL."""
    ran = chainq(method.command, "--columns", "help")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.decode().splitlines()
    listed = lines[: len(method.columns)]
    assert [line.split()[0] for line in listed] == [column.path for column in method.columns]
    assert [" * " in line for line in listed] == [bool(column.brief) for column in method.columns]
    pairs = zip(listed, method.columns, strict=True)
    assert len({line.index(column.type, len(column.path)) for line, column in pairs}) == 1
    several = " of several rows" * (method.command in ("block", "latest", "transaction"))  # one has all columns
    assert lines[-1] == f"* shown in a table{several} by default"
    assert ("transactions[].status" in lines) is (method.command == "full-blocks")
    assert method.filtered or "--where" not in ran.out.decode()


def test_one_header_above_a_screenful(chainq: Program, server: Servers) -> None:
    """However the rows of a few blocks come, and whatever their widths: the header comes again in long lists only."""
    text = shown(chainq, "records", "--last", "3", columns=60, url=server("--tip", "2999935"))
    assert 10 < len(text.splitlines()) < 40
    assert text.count("program_id") == 1
    long = shown(chainq, "records", "--last", "30", columns=60, url=server("--tip", "2999935"))
    assert long.count("program_id") >= (len(long.splitlines()) - 10) // 40 > 1


@pytest.mark.parametrize("widths", some([(60, 200), (80, 100)], (60, 200)), ids=str)
@pytest.mark.parametrize("command", [*(method.command for method in METHODS), "owned", "verify"])
def test_columns_help_fits_the_terminal(command: str, widths: tuple[int, int], chainq: Program) -> None:
    """Notes are wrapped between words and names never broken; the words are those of a pipe."""
    piped = chainq(command, "--columns", "help").out.decode()
    names = {line.split()[0] for line in piped.splitlines() if line}
    for columns in widths:
        text = shown(chainq, command, "--columns", "help", columns=columns, url=None, NO_COLOR="1")
        assert {line for line in text.splitlines() if len(line) > columns} <= names
        assert names <= {line.split()[0] for line in text.splitlines() if line}
        assert sorted(re.findall(r"[\w.\[\]*]+", text)) == sorted(re.findall(r"[\w.\[\]*]+", piped))


def test_columns_help_of_owned_marks_those_of_its_table(chainq: Program) -> None:
    """Its table shows what records hold, and not the columns of ownership rows."""
    out = chainq("owned", "--columns", "help").out.decode()
    marks = dict(re.findall(r"(?m)^(amount|record_name|nonce_x|height)( \*|)", out))
    assert marks == {"nonce_x": "", "height": " *", "record_name": " *", "amount": " *"}


def test_columns_add_up(chainq: Program) -> None:
    """--columns given twice selects the columns of both, and `all` with others is every column before or after."""
    ran = chainq("block", "5", "--columns", "height", "--columns", "round,id", "--csv", url="demo:")
    assert ran.out.startswith(b"height,round,id\r\n")
    for columns, why in (("height,height", ""), ("height,all", ": all has it, too"), ("*,height", ": all has it, too")):
        refused = one_line(chainq("block", "5", "--columns", columns, url="demo:"), 2)
        assert refused == f"chainq block: column height is given twice{why}\n"


def test_columns_lead_through_arrays(chainq: Program, truth: Truth) -> None:
    """`a[].b` is `b` of each item of `a`: an array in JSON and csv, words in a table."""
    words = ("transaction", truth.transaction_id(12345, 0), "--columns", "transaction.execution.transitions[].program")
    row = json.loads(truth.transaction(12345, 0))
    programs = [transition["program"] for transition in row["transaction"]["execution"]["transitions"]]
    assert json.loads(chainq(*words, url="demo:").out) == {words[-1]: programs}
    table = chainq(*words, "--table", url="demo:").out.decode()
    assert programs[0] in table
    assert "[" not in table.replace("[].program", "")
    assert chainq(*words[:-1], "status[].x", url="demo:").code == 2


def test_a_table_abbreviates_each_item_of_an_array(chainq: Program, truth: Truth) -> None:
    """As many items as the line has room for, each abbreviated by itself, below a header that says it is an array."""
    (row,) = map(json.loads, truth.rows("full-blocks", 12345, 12346))
    names = [item["transaction"]["id"] for item in row["transactions"]]
    assert len(names) == 7
    short = [f"{name[:8]}…{name[-6:]}" for name in names]
    words = ("full-blocks", "12345", "--columns", "header.metadata.height,transactions[].transaction.id")
    narrow, wide = (shown(chainq, *words, columns=columns, NO_COLOR="1") for columns in (60, 200))
    head, first = narrow.splitlines()[:2]
    assert head.split() == ["height", "transactions[].transaction.id"]
    assert first.split(maxsplit=1)[1] == f"{short[0]}, {short[1]}, … 5 more"
    assert wide.splitlines()[1].split(maxsplit=1)[1] == ", ".join(short)
    (lines,) = csv.DictReader(chainq(*words, "--csv", url="demo:").out.decode().splitlines())
    assert json.loads(lines["transactions[].transaction.id"]) == names
    two = ("transaction", names[0], names[1], "--columns", "transaction.id,transaction.execution.transitions[].id")
    assert shown(chainq, *two, NO_COLOR="1").splitlines()[0].split() == ["transaction.id", "transitions[].id"]


def test_every_table_has_the_id_of_a_program(chainq: Program) -> None:
    """In columns and in lines of fields, though the rows of transitions have the program's source text."""
    words = ("transitions", "2999000:2999100", "--limit", "1")
    (row,) = map(json.loads, chainq(*words, url="demo:").out.splitlines())
    (name,) = re.findall(r"(?m)^program (\S+);", row["program"])
    chosen = ("--columns", "program,function_name,transaction_id")
    head, first, *_ = shown(chainq, *words, *chosen, columns=80, NO_COLOR="1").splitlines()
    assert (head.split()[0], first.split()[0]) == ("program", name)
    for more in ((*chosen, "--no-trunc"), ("--no-trunc",), ("--columns", "all")):
        text = shown(chainq, *words, *more, columns=60, NO_COLOR="1")
        assert re.findall(r"(?m)^program +(.*)\n(\S+)", text) == [(name, "function_name")], text


def test_a_column_is_named_by_the_end_of_its_path(chainq: Program, truth: Truth, nowhere: str) -> None:
    """As a table names it, if no other column ends in it: in --columns and --where. Rows have the whole path."""
    block = ("full-blocks", "12340:12350")
    wide = shown(chainq, *block, columns=200, NO_COLOR="1").splitlines()[0].split()
    assert "height" in wide
    ran = chainq(*block, "--columns", "height", "--where", "height >= 12348", url="demo:")
    assert [json.loads(row) for row in ran.rows] == [{"header.metadata.height": h} for h in (12348, 12349)]
    calls = "transactions[].transaction.execution.transitions[].id"
    both = [chainq(*block, "--columns", name, "--csv", url="demo:").out for name in (calls, "transitions[].id")]
    assert both[0] == both[1]
    assert both[0].startswith(calls.encode())
    several = chainq("transaction", truth.transaction_id(12345, 0), "--columns", "proof", url=nowhere)
    assert "unknown column 'proof'; the columns are " in one_line(several, 2)
    unchecked = chainq(*block, "--columns", "height", "--no-check", "--limit", "1", url="demo:")
    assert unchecked.rows == [b'{"height":null}']


def test_no_trunc_shows_the_values_of_named_arrays(chainq: Program) -> None:
    """Not only their number: in a pipe the JSON that csv has, on a narrow terminal their items."""
    words = ("full-blocks", "2999999", "--columns", "height,aborted_transaction_ids,election_certificate_ids")
    (row,) = csv.DictReader(chainq(*words, "--csv", url="demo:").out.decode().splitlines())
    _, line, _ = chainq(*words, "--table", "--no-trunc", url="demo:").out.decode().splitlines()
    assert line.split() == list(row.values())
    ids = json.loads(row["aborted_transaction_ids"])
    text = shown(chainq, *words, "--no-trunc", columns=80, NO_COLOR="1")
    assert len(ids) > 1
    assert all(f"  {one}\n" in text for one in ids)
    text = shown(chainq, *words, columns=80, NO_COLOR="1")
    _, line, _, note = text.splitlines()
    assert line.split() == ["2999999", "2", "2"]
    named = ("aborted_transaction_ids", "authority.subdag.election_certificate_ids")
    assert note == "only counted: aborted_transaction_ids, election_certificate_ids; use --no-trunc"
    listed = chainq("full-blocks", "--columns", "help").out.decode().splitlines()
    assert {f"{path}[]" for path in named} <= {*listed}


def test_a_whole_object_is_a_column(chainq: Program, truth: Truth) -> None:
    """`transaction.fee` is JSON in every format: a member in jsonl, its text in csv, text, tables and Parquet."""
    name = truth.transaction_id(12345, 0)
    fee = json.loads(truth.transaction(12345, 0))["transaction"]["fee"]
    words = ("transaction", name, "--columns", "transaction.id,transaction.fee")
    assert json.loads(chainq(*words, url="demo:").out) == {"transaction.id": name, "transaction.fee": fee}
    (row,) = csv.DictReader(chainq(*words, "--csv", url="demo:").out.decode().splitlines())
    assert json.loads(row["transaction.fee"]) == fee
    text = chainq("transaction", name, "--columns", "transaction.fee", "--text", url="demo:").out
    assert json.loads(text) == fee
    assert fee["transition"]["id"] in chainq(*words, "--table", "--no-trunc", url="demo:").out.decode().replace(
        "\n", ""
    )
    both = ("full-blocks", "5", "--columns", "header,header.metadata.height", "-o", "x.parquet")
    assert chainq(*both, url="demo:").code == 0
    files = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra chainq[parquet]")
    (found,) = files.read_table(chainq.home / "x.parquet").to_pylist()
    assert json.loads(found["header"]) == json.loads(truth.rows("full-blocks", 5, 6)[0])["header"]
    assert found["header.metadata.height"] == 5


def test_one_header_above_a_short_list(chainq: Program, server: Servers, truth: Truth) -> None:
    """Where the last column of the newest block has longer words than the block before, the header is not repeated."""
    longest = [
        max(len(json.loads(row)["function_name"]) for row in truth.rows("records", height, height + 1))
        for height in (truth.tip - 1, truth.tip)
    ]
    assert longest[0] < longest[1]
    text = shown(chainq, "records", "--last", "2", columns=60, url=server())
    assert text.count("program_id") == 1
    assert "transfer_public_to_private" in text


def test_a_screen_uses_the_width_for_the_keys_of_a_transition(chainq: Program, truth: Truth) -> None:
    """The first ones are whole if there is room, all are abbreviated in a narrow terminal."""
    (call,) = json.loads(truth.transaction(12345, 0))["transaction"]["execution"]["transitions"]
    for columns, whole in ((80, 0), (200, 1), (300, 3)):
        text = shown(chainq, "show", truth.transaction_id(12345, 0), columns=columns, NO_COLOR="1")
        assert [f"{key}={call[key]}" in text for key in ("tpk", "tcm", "scm")].count(True) == whole
        assert max(map(len, text.split("\nnext")[0].splitlines())) <= columns


def test_a_chart_has_a_label_at_both_ends(chainq: Program) -> None:
    """Of its first and last height, and round ones between them that leave room."""
    text = shown(chainq, "blocks", "2999801:3000001", "--format", "chart", columns=200, NO_COLOR="1")
    labels = next(line for line in text.splitlines() if line.split()[:1] == ["2999801"]).split()
    assert labels == ["2999801", *(str(height) for height in range(2_999_820, 3_000_001, 20))]


@pytest.mark.parametrize("columns", [20, 33])
def test_charts_fit_a_narrow_terminal(columns: int, chainq: Program, server: Servers) -> None:
    """No line of a chart is wider than a terminal of 20 columns."""
    ran = chainq("records", "--last", "2", "--format", "chart", url=server(), env={"COLUMNS": str(columns)})
    assert ran.code == 0, ran.err
    assert 12 < max(len(line) for line in ran.out.decode().splitlines()) <= columns


def test_a_few_lookups_have_one_header(chainq: Program) -> None:
    """Whatever the widths of their values; those that were found are shown, too, if one was not."""
    lines = chainq("block", "5", "12345", "latest", "--table", url="demo:").out.decode().splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["height", "5", "12345", "3000000"]
    assert len({len(line.split("Z")[0]) for line in lines[1:4]}) == 1
    ran = chainq("block", "5", "12345", "4M", "--table", url="demo:")
    assert ran.code == 1
    assert [line.split()[0] for line in ran.out.decode().splitlines()[:3]] == ["height", "5", "12345"]


def test_status_is_upright_on_a_narrow_terminal(chainq: Program) -> None:
    """No word of it is broken; else it is a table."""
    assert chainq("export", "blocks", "0:20", "--to", "lake", "-q", url="demo:").code == 0
    assert "table   from  through" in shown(chainq, "status", "lake", columns=80, url=None)
    narrow = shown(chainq, "status", "lake", columns=40, url=None).splitlines()
    assert narrow[1:4] == ["table    blocks", "from     0", "through  19"]
