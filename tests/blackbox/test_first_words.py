"""What people type first: help, version, completion; guesses and options in the wrong place get one suggestion."""

import re
import subprocess

import pytest

from chainq import __version__
from chainq.demo.chain import Chain
from harness.program import ROOT, Program, one_line

BLOCK_HASH = str(Chain().block_hash(5))
SCRIPTS = {"bash": "chainq.bash", "zsh": "_chainq", "fish": "chainq.fish"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_completion_prints_the_script(shell: str, chainq: Program) -> None:
    """It is the file that is written from the commands themselves."""
    ran = chainq("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (ROOT / "completions" / SCRIPTS[shell]).read_bytes()


@pytest.mark.parametrize("words", [["completion", "tcsh"], ["completion"]])
def test_2_a_shell_that_is_not_known(words: list[str], chainq: Program) -> None:
    """The message names those that are."""
    said = one_line(chainq(*words), 2)
    assert len(words) == 1 or "expected bash, zsh or fish" in said


def test_help_is_help(chainq: Program) -> None:
    """`help` is `--help`, of the program or of a command; a name that is not a command is refused as elsewhere."""
    assert chainq("help") == chainq("--help")
    assert chainq("--help", "records") == chainq("-h", "records") == chainq("records", "--help")
    assert chainq("help", "records") == chainq("records", "--help")
    assert "did you mean records?" in one_line(chainq("help", "recods"), 2)
    assert b"records" in chainq("help").out


def test_the_help_says_what_chainq_adds(chainq: Program) -> None:
    """In a pipe rows are as the service sent them; a column that tables have and rows lack is named."""
    said = "chainq adds height, to json and jsonl only with --columns or --flatten."
    assert said in " ".join(chainq("transactions", "--help").out.decode().split())
    assert "chainq adds" not in chainq("records", "--help").out.decode()


def test_version(chainq: Program) -> None:
    """Three ways, one line."""
    for words in (["version"], ["--version"], ["-V"]):
        assert chainq(*words) == (0, f"chainq {__version__}\n".encode(), "")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("tx", "transaction"),
        ("txs", "transactions"),
        ("tip", "latest"),
        ("head", "latest"),
        ("height", "latest"),
        ("blcok", "block"),
        ("recrods", "records"),
        ("getBlocks", "blocks"),
        ("latest/block", "latest"),
        ("getAleoBlocks", "full-blocks"),
        ("address", "address-transactions"),
        ("program", "program-transactions"),
        ("config", "profiles"),
        ("completions", "completion"),
        ("12345", "show 12345"),
        ("1.5M", "show 1.5M"),
        ("credits.aleo", "show credits.aleo"),
        (BLOCK_HASH, f"show {BLOCK_HASH}"),
        ("credits.aleo/transfer_public", "show credits.aleo/transfer_public"),
        ("0:10", "blocks 0:10"),
        ("0:10 records", "records 0:10"),
        ("12345 block", "block 12345"),
        ("Records --last 5", "records"),
        ("records.", "records"),
        ("FULL_BLOCKS", "full-blocks"),
    ],
)
def test_2_a_guess_gets_one_suggestion(word: str, meant: str, chainq: Program) -> None:
    """Other programs' names, the service's own, and misspelt ones; arguments before the command."""
    word, *after = word.split()
    assert one_line(chainq(word, *after), 2).endswith(f"unknown command {word!r}; did you mean {meant}?\n")


@pytest.mark.parametrize(
    ("word", "topic"),
    [
        ("where", "--where"),
        ("filters", "filter"),
        ("range", "range"),
        ("columns", "--columns"),
        ("start", "--start"),
        ("env", "environment"),
        ("http_proxy", "HTTP_PROXY"),
        ("sort", "sort"),
        ("upload", "object-store"),
    ],
)
def test_2_a_topic_of_help_is_not_a_command(word: str, topic: str, chainq: Program) -> None:
    """The message names the help that describes it."""
    assert one_line(chainq(word), 2).endswith(f"unknown command {word!r}; see chainq help {topic}\n")
    assert chainq("help", word).code == 0


@pytest.mark.parametrize("command", ["records", "show", "program-transactions"])
def test_2_the_word_help_after_a_command(command: str, chainq: Program) -> None:
    """It is no height; the message says how to get help."""
    assert one_line(chainq(command, "help"), 2).endswith(f"for help use chainq {command} --help\n")


def test_2_no_suggestion_where_nothing_is_near(chainq: Program) -> None:
    """Rather none than a wrong one."""
    for word in ("xyzzy", "abi", "ab1xyz"):
        assert one_line(chainq(word), 2).endswith("chainq --help lists the commands\n")


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--lasst", "--last"),
        ("--hlep", "--help"),
        ("--formt", "--format"),
        ("--colums", "--columns"),
        ("--cvs", "--csv"),
    ],
)
def test_2_a_misspelt_option_gets_one_suggestion(option: str, meant: str, chainq: Program) -> None:
    """The nearest one."""
    said = one_line(chainq("records", option, "5"), 2)
    assert said.endswith(f"unknown option {option}; did you mean {meant}?\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("block --last 3", "use a range: -3:"),
        ("block --latest", "a height can be latest: chainq block latest"),
        ("block --last", "use a range: -100: for the last 100 blocks; for the last one use latest"),
        ("block --start=3 --end 1K", "use a range: 3:1K"),
        ("block 5 --from 3", "use a range: 3:"),
        ("records --fields height", "did you mean --columns?"),
        ("records --from 5", "did you mean --start?"),
        ("records --to 5", "did you mean --end?"),
        ("records --tail 5", "did you mean --last?"),
        ("blocks --stop 5", "did you mean --end?"),
        ("blocks --begin 5", "did you mean --start?"),
        ("blocks --count 5", "did you mean --limit?"),
        ("export blocks --number 5", "did you mean --last?"),
        ("blocks --output-file x", "did you mean --output?"),
        ("blocks --filter x", "did you mean --where?"),
        ("blocks --parquet", "use --format parquet"),
        ("block --begin 4 --stop=7", "use a range: 4:7"),
        ("transactions --begin 4", "did you mean --start?"),
        ("records --jq .height", "did you mean --columns?"),
        ("records -H x:1", "did you mean --header?"),
        ("block 5 --rpc-url x", "did you mean --url?"),
        ("records --max-time 5", "did you mean --timeout?"),
        ("records --silent", "did you mean --quiet?"),
        ("records --desc", "did you mean --reverse?"),
        ("doctor --desc", "see --help"),
        ("blocks --shape", "see --help"),
        ("blocks --sort height", "see chainq help sort"),
        ("records --count", "see chainq help aggregate"),
        ("transaction --file ids", "- reads standard input: chainq transaction - < FILE"),
        ("records --file x", "did you mean --output?"),
        ("blocks --append", "see chainq help resume"),
        ("blocks --proxy http://p", "see chainq help HTTPS_PROXY"),
        ("block 5 --since 1h", "use chainq blocks --since TIME"),
        ("block -5: --reverse", "use chainq blocks --reverse -5:"),
        (
            "transactions --last 7 --reverse",
            "pipe heights: chainq blocks --reverse --last 7 --columns height --text | chainq transactions -",
        ),
        (
            "transactions 5 --reverse",
            "pipe heights: chainq blocks --reverse --last N --columns height --text | chainq transactions -",
        ),
        ("doctor --verose", "did you mean --verbose?"),
        ("block 5 --until 1h", "use chainq blocks --until TIME"),
        (
            "transactions 5 --program credits.aleo",
            "use chainq program-transactions PROGRAM FUNCTION, or chainq full-blocks --program PROGRAM",
        ),
        (
            "owned --where amount>2",
            "filter what it prints, with these columns: --columns height,amount,program_id --jsonl"
            " | jq 'select(.program_id == \"credits.aleo\" and (.amount // 0 | tonumber) > 1500000)'",
        ),
        (
            "export --columns height",
            "an export has all columns; select some of them as you read it, with chainq sql or --url DEST",
        ),
        (
            "export --where x",
            "an export has all rows of its heights; select some of them as you read it, with chainq sql or --url DEST",
        ),
        ("program-transactions credits.aleo", "chainq show credits.aleo lists the functions"),
        ("program-transactions", "such as: chainq program-transactions hello_hello.aleo hello --limit 20"),
        ("completion", "expected bash, zsh or fish"),
        ("records --program credits.aleo/split", "use --program credits.aleo --function split"),
        ("records --function credits.aleo/split", "use --program credits.aleo --function split"),
        ("blocks --last 1h", "for a time use --since 1h"),
        ("program-transactions credits.aleo f --last 10", "use --newest --limit 10"),
        ("program-transactions credits.aleo f --reverse", "did you mean --newest?"),
        (
            "program-transactions credits.aleo f --since 2h",
            "it takes no range; use chainq full-blocks --since TIME --program PROGRAM --function FUNCTION",
        ),
        (
            "program-transactions credits.aleo f --start 5",
            "it takes no range; use chainq full-blocks RANGE --program PROGRAM --function FUNCTION",
        ),
        (
            "block 5 --where x",
            "it is an option of blocks, full-blocks, transactions, records, ownership and transitions",
        ),
        ("blocks --program x", "it is an option of full-blocks, records and transitions"),
        ("show 5 --columns height", "use --json, or a command that prints rows, such as records"),
        ("blocks --no-details", "it is an option of address-transactions"),
        ("sql --columns height x", "write it in the query, such as select height from blocks limit 5"),
        ("sql --limit 5 x", "write it in the query, such as select height from blocks limit 5"),
        ("show 5 --table", "leave it out, or use --json"),
        ("balance --table", "leave it out, or use --csv, --jsonl or --json"),
        ("balance --columns x", "use chainq balance --csv, --jsonl or --json"),
        ("balance -o kept.csv", "use chainq balance --csv, --jsonl or --json > FILE"),
        ("records --tsv", "use --format tsv"),
        ("records --chart", "use --format chart"),
        ("doctor --tsv", "see --help"),
        ("show 5 --tabel", "see --help"),
    ],
)
def test_2_an_option_of_another_command_or_program(line: str, said: str, chainq: Program) -> None:
    """By what it means, not by its letters; rather no suggestion than a wrong one."""
    assert one_line(chainq(*line.split()), 2).endswith(f"; {said}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--url", "demo:", "block", "5"], "options follow the command: chainq block 5 --url demo:\n"),
        (["-q", "records"], "options follow the command: chainq records -q\n"),
        (["--limit=5", "records"], "options follow the command: chainq records --limit=5\n"),
        (["--url", "demo:"], "options follow the command: chainq COMMAND --url demo:\n"),
        (
            ["--url", "http://u:secret@h/", "--header", "A: secret", "latest"],
            "options follow the command: chainq latest --url 'http://***@h/' --header ***\n",
        ),
        (["--urll", "demo:", "block"], "unknown option --urll"),
    ],
)
def test_2_options_before_the_command(words: list[str], said: str, chainq: Program) -> None:
    """An option that the command knows is said to stand in the wrong place."""
    assert said in one_line(chainq(*words), 2)


@pytest.mark.parametrize("word", ["outputs", "inputs", "calls", "finalize"])
def test_the_name_of_a_table_is_no_command(chainq: Program, word: str) -> None:
    """The message has the query that reads the table, and it does."""
    pytest.importorskip("duckdb")
    error = one_line(chainq(word, "100"), 2)
    query = f"select * from {word} limit 10"  # noqa: S608
    assert error.endswith(f"it is a table of chainq export chain: chainq sql DEST '{query}'\n")
    assert chainq("export", "chain", "100:110", "--to", "lake", "--partition", "10", "-q", url="demo:").code == 0
    assert chainq("sql", "lake", query).code == 0


@pytest.mark.parametrize(("command", "text"), [("sql", "select program_id, count"), ("rpc", '{"start": 0')])
def test_a_narrow_example_is_the_same_for_the_shell(command: str, text: str, chainq: Program) -> None:
    """It is folded where the shell joins the lines again, which it does not within single quotes."""
    wide, narrow = (
        re.search(
            rf"^  (chainq {command} [^\n]*(?:\\\n[^\n]*)*{re.escape(text)}[^\n]*(?:\n    [^\n]*)*)", said, re.MULTILINE
        )
        for said in (chainq(command, "--help", env={"COLUMNS": width}).out.decode() for width in ("200", "40"))
    )
    assert wide and narrow
    words = [subprocess.check_output(["/bin/sh", "-c", f"printf '%s\\n' {one[1]}"]) for one in (wide, narrow)]
    assert words[0] == words[1]
