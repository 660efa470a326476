"""What `chainq help` says of options, topics, columns and the words that people type for them."""

import io
import re
from contextlib import redirect_stdout
from functools import cache

import pytest
import typer.main

from chainq.cli import topics
from chainq.cli.commands import COMMANDS, app
from chainq.cli.topic_words import CRON, PLACES, REMEDIES, WORDS
from harness.program import ROOT, Program, one_line


def _help(chainq: Program, word: str) -> str:
    ran = chainq("help", word)
    assert (ran.code, ran.err) == (0, "")
    return " ".join(ran.out.decode().split())


@cache
def _said(*words: str) -> str:
    """What `chainq help` says of words, from this process: a run for each of four hundred takes half a minute."""
    command = typer.main.get_command(app)
    with redirect_stdout(io.StringIO()) as said:
        assert command.main(["help", *words], prog_name="chainq", standalone_mode=False) in (0, None)
    return said.getvalue()


def test_help_for_an_option(chainq: Program) -> None:
    """All of its text, also what the help of a command leaves out, and the commands that have it."""
    said = _help(chainq, "--where")
    assert "--where EXPRESSION Rows that meet it" in said and "(?i) before the text ignores case." in said
    assert said.endswith("Commands: blocks, full-blocks, transactions, records, ownership, transitions.")
    assert _help(chainq, "where") == said
    assert "-o, --output FILE Output file" in _help(chainq, "-o")
    assert "First block time (UTC)" in _help(chainq, "since") and "Commands: full-blocks, records" in _help(
        chainq, "--program"
    )


def test_help_for_an_option_that_commands_have_in_several_forms(chainq: Program) -> None:
    """Each form has its commands."""
    said = _help(chainq, "--last")
    assert "Default: the last 10 blocks." in said and "--last N Newest blocks to look at." in said
    assert "Commands: address-transactions, export." in said and said.endswith("Commands: show.")


def test_help_for_topics(chainq: Program) -> None:
    """Exit codes as the help of the program lists them, variables, and the options of all methods under a heading."""
    codes = chainq("help", "exit-codes").out
    assert codes.startswith(b"Exit codes:\n      0  Success") and codes in chainq("help").out
    assert "CHAINQ_URL URL of the service, like --url." in _help(chainq, "environment") == _help(chainq, "env")
    output = _help(chainq, "formats")
    assert "--format NAME table, jsonl" in output and "--no-details" in output and "--since" not in output
    for topic, option in (("range", "--since"), ("filter", "--program"), ("resume", "--follow"), ("service", "--url")):
        assert option in _help(chainq, topic), topic


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("date time", "--since T"),
        ("regex jq", "--where EXPRESSION"),
        ("wallet", "chainq help owned"),
        ("sample-key", "A published test key, which owns records of the sample chain"),
        ("record", "encrypted for its owner"),
        ("transition", "One call of a function"),
        ("view-key", "cannot spend them"),
        ("ownership-row", "the encrypted owner"),
        ("tip", "The newest block of the chain"),
        ("dialect", "--dialect NAME"),
        ("lake", "An export that chainq reads"),
        ("partition grid", "One file of a table"),
        ("demo demo:", "--url demo: is a built-in sample chain"),
        ("tables", "chainq help sql"),
        ("reorg", "chainq help resume"),
        ("proof belief", "docs/completeness.md"),
        ("--version -V", "chainq --version"),
        ("python pandas spark", "chainq.Client"),
        ("s3 object-store", "docs/export.md"),
        ("429 rate-limit", "--rate N"),
        ("extra", "docs/tables.md"),
        ("truncate wide width", "--no-trunc prints whole values"),
        ("token auth headers", "--header 'Authorization: Bearer TOKEN'"),
        ("sort order newest oldest", "--reverse prints the highest heights first"),
        ("count group aggregate join", "chainq help sql"),
        ("microcredits units", "1 credit is 1,000,000 microcredits"),
        ("cron systemd hourly", f"A line for crontab -e: {' '.join(CRON.split())}"),
        ("cron", "exits with code 75"),
        ("fee fees", "chainq sql DEST"),
        ("slow speed", "--rate N"),
        ("height heights", "chainq latest"),
        ("last", "--since 1h"),
        ("hour minutes days", "--since T"),
        ("tag", "What an input that spends a record reveals"),
        ("serial_number", "The ID of an input that spends a record"),
        ("receipt", "of each partition"),
        ("mirror backup archive sync download", "chainq export chain records ownership transitions --to DEST"),
        ("future", "a program, a function and its public arguments"),
        ("private public ciphertext1...", "A private one is encrypted"),
        ("fee_public fee_private", "pay the fee of a transaction"),
        ("au1 at1", "au1 a transition"),
        ("zk-proof", "without the private values"),
        ("group", "see chainq help field"),
        ("field", "A group is a point"),
        ("inputs outputs", "have a row for each"),
        ("input", "chainq help inputs"),
        ("tpk tcm scm", "stands for the signer"),
        ("reorganization", "--rewind N"),
        ("daily-fees", "--format chart"),
        ("compare", "chainq verify"),
        ("row rows", "a line of jsonl"),
        ("unproved", "cannot be proved complete"),
        ("check", "foreign a file that chainq export did not write"),
        ("pipe ndjson stdout", "--format NAME"),
        ("timezone utc", "Times are in UTC"),
        ("stdin - ids", "if their argument is -. A line can also be a row as jsonl"),
        ("proxy http_proxy NO_PROXY", "Proxies, as for curl"),
        ("null", "FIELD = null"),
        ("gzip compress", "| gzip > records.jsonl.gz"),
        ("alert stale", "--max-age AGE"),
        ("address account", "chainq show ADDRESS"),
        ("deployment", "adds a program"),
        ("case quotes", "ignores case"),
        ("nested", "of the items of an array"),
        ("overwrite", "replaced when the output is complete"),
        ("stop", "--end H"),
        ("tail", "--last N"),
        ("signal ctrl-c", "128+N"),
        ("target solutions puzzle", "Each solution must reach the proof target"),
        ("execute execution", "A transaction that calls functions"),
        ("authority", "the certificates of a quorum"),
        ("ciphertext", "its ciphertext (record1...)"),
        ("nonce", "nonce_x"),
        ("mapping", "Public values"),
        ("finalize", "it changes mappings"),
        ("coinbase ratification", "puzzle rewards in ratifications"),
        ("profile config", 'url = "https://rpc.example.org/"'),
        ("duplicates mirror", "chainq verify"),
        ("cache delete history", "both can be deleted"),
        ("privacy telemetry", "What the service learns"),
        ("uninstall deinstall", "how to upgrade and remove it"),
        ("unit", "chainq COMMAND --columns help names the unit"),
        ("color", "unless NO_COLOR is set"),
        ("parquet", "chainq records --last 100 -o records.parquet"),
    ],
)
def test_help_for_words_of_the_field(words: str, place: str) -> None:
    """Each goes to the help, the command or the page that describes it, and the commands that it names exist."""
    for word in words.split():
        said = " ".join(_said(word).split())
        assert place in said
        for name in re.findall(r"chainq help ([\w-]+)", said):
            assert name == "--OPTION" or _said(name)


@pytest.mark.parametrize(
    ("words", "one"),
    [
        ("exit codes", "exit-codes"),
        ("view key", "view-key"),
        ("rate limit", "rate-limit"),
        ("block hash", "block_hash"),
        ("Block Hash", "block_hash"),
        ("Full Blocks", "full-blocks"),
        ("SQL", "sql"),
        ("exit code 6", "6"),
        ("exit 6", "6"),
        ("serial numbers", "serial-number"),
        ("how to sort", "sort"),
        ("block height", "height"),
        ("newest height", "latest"),
        ("latest block", "latest"),
        ("last 100 blocks", "last"),
        ("last hour", "--since"),
        ("every 5 minutes", "cron"),
        ("limit the speed", "rate-limit"),
        ("requests per second", "rate-limit"),
        ("daily fees", "fees"),
        ("data set check", "compare"),
        ("keep up to date", "resume"),
        ("keep up", "resume"),
        ("see one block", "block"),
        ("another server", "service"),
        ("sort the numbers", "sort"),
        ("blocks of the last hour", "last-hour"),
        ("limit the number of requests", "limit-requests"),
        ("bearer token", "authentication"),
        ("write parquet", "parquet"),
        ("cron job", "cron"),
        ("csv file", "csv"),
        ("http header", "header"),
        ("lost rows", "incomplete"),
        ("state root", "state-root"),
        ("my records", "owned"),
        ("list my records", "owned"),
        ("own records", "owned"),
        ("list records of my view key", "owned"),
        ("my balance", "balance"),
        ("what does exit code 6 mean", "6"),
        ("meaning of tag", "tag"),
        ("every five minutes", "cron"),
        ("query sql", "sql"),
        ("column names", "column"),
        ("delete file", "cache"),
        ("outputs of a transition", "inputs"),
        ("inputs of a transaction", "inputs"),
        ("what time zone", "timezone"),
        ("time-zones", "timezone"),
        ("Data Base", "database"),
        ("check points", "checkpoints"),
    ],
)
def test_help_for_words_that_are_joined(words: str, one: str) -> None:
    """Joined, in quotes too; capitals, small and common words and numbers do not count, except for exit codes."""
    assert _said(*words.split()) == _said(words) == _said(one)


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ("records --columns", "--columns A,B.C|chainq help records"),
        ("records of one program", "--program ID|chainq help records"),
        ("records limit", "--limit N|chainq help records"),
        ("records block_id", "Column: block_id|chainq help records"),
        ("export to s3", "s3://, gs:// and az://|chainq help export"),
        ("verify an export", "chainq help export|chainq help verify"),
        ("csv without losing rows", "--csv|none is missing"),
        ("retry the rate limit", "--rate N|--retries N"),
        ("balance over time", "chainq help range|chainq help balance"),
        ("chart of fees per day", "Fees by day"),
    ],
)
def test_help_for_words_of_several_topics(words: str, places: str, chainq: Program) -> None:
    """What each names, first what most of them name; of commands and lists only the command line for their help."""
    ran = chainq("help", *words.split())
    said = " ".join(ran.out.decode().split())
    at = [said.find(place) for place in places.split("|")]
    assert (ran.code, ran.err, -1 in at) == (0, "", False) and at == sorted(at) and said.count("chainq help export") < 3


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        ("records colums", "'colums' (did you mean columns?)"),
        ("records xyzzy", "'xyzzy'"),
        ("recods csv", "'recods' (did you mean records?)"),
    ],
)
def test_help_warns_of_a_word_that_is_unknown(words: str, unknown: str, chainq: Program) -> None:
    """Beside others, whose help is printed."""
    ran = chainq("help", *words.split())
    assert (ran.code, ran.err) == (0, f"chainq help: warning: unknown help topic {unknown}\n")
    assert ran.out == chainq("help", words.replace(unknown.split("'")[1], "").strip()).out


@pytest.mark.parametrize("words", ["number of apples", "apples in pears"])
def test_2_several_words_that_are_no_topic(words: str, chainq: Program) -> None:
    """Common words beside unknown ones tell nothing."""
    said = one_line(chainq("help", *words.split()), 2)
    assert f"unknown help topic {words!r}; " in said and said.endswith("chainq help topics lists the topics\n")


def test_help_for_a_word_with_several_meanings(chainq: Program) -> None:
    """A topic, an option and a column of the same name."""
    height = _help(chainq, "height")
    assert "--start, --end" in height and "Column: height block height; string. Commands: blocks" in height
    assert "--rate N" in (limit := _help(chainq, "rate-limit")) and "Commands: serve" not in limit
    assert _help(chainq, "--rate-limit").endswith("Commands: serve.")


def test_help_topics_lists_the_topics(chainq: Program) -> None:
    """Each with its own help, and chainq --help names the list."""
    assert b"explain a command, option or topic; see help topics\n" in chainq("--help").out
    said = _help(chainq, "topics")
    assert "exit-codes what each exit code means" in said and "zk-proof. Any command" in said


def test_the_words_of_help_and_what_is_said_of_them() -> None:
    """No word has two meanings or hides a command, and every option and topic that a text names exists."""
    words = " ".join([*WORDS, *PLACES, *(also for also, _ in PLACES.values())]).split()
    assert sorted(words) == sorted({*words} - COMMANDS.keys())
    texts = {**{place: text for place, (_, text) in PLACES.items()}, **REMEDIES}
    for place, text in texts.items():
        named = re.findall(r"(?<!\S)--[a-z-]+|(?<=chainq help )[\w-]+", text)
        assert all(name in ("--help", "--version") or name in COMMANDS or topics.topic_of(name) for name in named), (
            place
        )


def test_the_example_for_cron_is_that_of_the_cookbook() -> None:
    """Help and the manual take it from one place."""
    assert CRON in (ROOT / "docs/cookbook.md").read_text("utf-8")


def test_help_for_a_column(chainq: Program) -> None:
    """What it holds, its type, and the commands whose rows have it."""
    reward = _help(chainq, "coinbase_reward")
    assert reward.startswith("Column: coinbase_reward in microcredits; may be null; ")
    assert reward.endswith("Commands: blocks, block, latest.")
    assert _help(chainq, "plaintext_json").endswith(
        "members of the record, with --decrypt; null or object. Commands: owned."
    )
    assert "transactions[].type such as execute, in each item of transactions; string. Commands: full-blocks." in _help(
        chainq, "transactions[].type"
    )
    assert "in credits; string. Commands: address-transactions." in _help(chainq, "credits")
    assert "hash of the block; string. Commands: blocks, block, latest, full-blocks, records." in _help(
        chainq, "block_hash"
    )
    assert _help(chainq, "mapping_id").endswith("program-transactions. Tables of an export: finalize.")
    assert "state root that the proof refers to" in _help(chainq, "global_state_root")
    assert "Tables of an export: calls." in _help(chainq, "kind")
    assert "index of the output within the transition; number. Commands: records, ownership, owned." in _help(
        chainq, "output_index"
    )


def test_help_for_charts(chainq: Program) -> None:
    """What each command's chart draws, with its unit, and which columns it draws instead."""
    said = _help(chainq, "chart")
    assert "blocks, block block time (seconds) full-blocks, transactions transactions per block" in said
    assert "coinbase_reward (microcredits)" in said and "timestamp (UTC)" in said and "ratifications (items)" in said
    assert "over block height" in said and "sql draws two columns of a result: a text or number and a number" in said
    assert "verify findings per block" in said and "latest" not in said
    assert _help(chainq, "charts") == said


def test_help_for_a_topic_says_which_commands_have_what_not_all_have(chainq: Program) -> None:
    """The options of all range commands come first; the others follow with their commands."""
    shared, some = _help(chainq, "range").split("Range: options of some commands:")
    assert "--start" in shared and "--until" in shared and "--limit" in shared and "--newest" not in shared
    assert "--no-verify Skip the check for missing and unlinked blocks. Commands: blocks, full-blocks." in some
    assert "as many as --limit. Commands: program-transactions." in some
    assert "options of some" not in _help(chainq, "filter")
    assert "can also be an argument: one height, A:B (without B)" in shared and "12K or 1.5M" in shared


def test_help_environment_lists_the_variables() -> None:
    """All that the source reads, but for the folder of the user."""
    source = "".join(path.read_text() for path in (ROOT / "chainq").rglob("*.py"))
    read = re.findall(r'(?:environ(?:\.get|\.pop)?[\[(]|getenv\(|_folder\()"(\w+)"', source)
    assert {*read} - topics.VARIABLES.keys() == {"HOME"}


def test_help_for_other_words(chainq: Program) -> None:
    """A variable, an exit code, the configuration file, a format, and an option behind its command."""
    assert _help(chainq, "CHAINQ_URL") == "Environment: CHAINQ_URL URL of the service, like --url."
    assert _help(chainq, "COLUMNS").startswith("Environment: COLUMNS Width of tables")
    assert _help(chainq, "130") == _help(chainq, "exit-codes")
    assert _help(chainq, "75").startswith("Exit code: 75 Another run") and "the other run ends" in _help(chainq, "75")
    assert "What ends in exit code 6" in _help(chainq, "6")
    assert "man 5 chainq" in _help(chainq, "config") == _help(chainq, "configuration")
    assert _help(chainq, "tsv") == _help(chainq, "output")


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("exit-cods", "exit-codes"),
        ("--wher", "--where"),
        ("wher", "where"),
        ("serial numbr", "serial-number"),
        ("CHAINQ_ULR", "CHAINQ_URL"),
        ("tx", "transaction"),
        ("get", "show"),
        ("dest", ""),
        ("xyzzy", ""),
        ("-x", ""),
    ],
)
def test_2_help_for_an_unknown_topic(word: str, near: str, chainq: Program) -> None:
    """The message suggests the nearest one, if one is near, and names the list of topics."""
    said = one_line(chainq("help", word), 2)
    assert (
        f"unknown help topic {word!r}{f' (did you mean {near}?)' if near else ''}; expected a command, an option or a c"
        in said
    )
    assert said.endswith("chainq help topics lists the topics\n")
