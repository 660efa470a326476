"""The prompt of chainq sql: queries and commands as they are typed at a terminal."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.program import LONGEST, Program, finish, installed, one_line
from harness.search import some

pexpect = pytest.importorskip("pexpect", reason="pseudo-terminals need pexpect")
if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

ENDLESS = "select count(*) from range(100000000000) a, range(1000) b, blocks;"


class Typist:
    """Types at a prompt, and reads what is shown between its question and the next one."""

    def __init__(self, chainq: Program, *words: str, width: int = 120) -> None:
        env = chainq.environment({"PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "xterm", "XDG_STATE_HOME": str(chainq.home)})
        self.child: Any = pexpect.spawn(
            installed(),
            ["sql", *words],
            cwd=chainq.home,
            env=env,
            dimensions=(40, width),
            encoding="utf-8",
            timeout=LONGEST,
        )
        self._shown()

    def __call__(self, text: str) -> str:
        """Type a text and Enter; return what is shown until the next prompt."""
        self.child.send(text + "\r")
        self.child.expect("\r\n\x1b\\[\\?2004l|\x1b\\[\\?2004l")  # the prompt took it
        return self._shown()

    def _shown(self) -> str:
        self.child.expect("chainq>")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.child.before)

    def interrupt(self, text: str) -> str:
        """Type a query, press Ctrl-C while its table is fetched or it runs, and return what is shown then."""
        self.child.send(text + "\r")
        self.child.expect("fetching")
        self.child.sendintr()
        return self._shown()


@pytest.fixture
def typist(chainq: Program) -> Iterator[Typist]:
    """Somebody at the prompt over the last 50 blocks of the sample chain."""
    typist = Typist(chainq, "--url", "demo:", "--last", "50")
    yield typist
    typist.child.close(force=True)


@pytest.fixture(scope="module")
def open_prompt(program: Program) -> Iterator[Typist]:
    """The same for tests that do not end it."""
    typist = Typist(program, "--url", "demo:", "--last", "50")
    yield typist
    typist.child.close(force=True)


def test_a_query_reads_what_an_export_wrote_since(chainq: Program) -> None:
    """New partitions and a new table, in the folder whose prompt is open."""
    export = ("export", "--to", "lake", "--partition", "10", "-w", "1", "-q", "--url", "demo:")
    assert chainq(*export, "blocks", "100:120").code == 0
    typist = Typist(chainq, "lake")
    try:
        assert re.search(r"\n *20\r?\n", typist("select count(*) as n from blocks;"))
        assert chainq(*export, "blocks", "records", "100:130").code == 0
        assert re.search(r"\n *30\r?\n", typist("select count(*) as n from blocks;"))
        assert re.search(r"\n *129\r?\n", typist("select max(height) as top from records;"))
    finally:
        typist.child.close(force=True)


def test_queries_and_commands(typist: Typist, chainq: Program) -> None:
    """Tables are fetched once; an error ends no prompt; Ctrl-D does, with exit 0; what was typed is kept."""
    assert typist(".tables").split() == ["blocks", "full_blocks", "records", "ownership", "transitions"]
    assert re.search(r"\n  height +BIGINT", typist(".schema blocks"))
    assert re.search(r"\n  program_id +VARCHAR", typist(".schema transitions"))
    first = typist("select count(*) as n\rfrom blocks;")
    assert "fetching blocks" in first
    assert re.search(r"\n *50\r?\n", first)
    again = typist("select max(height) as top from blocks;")
    assert "3000000" in again
    assert "fetching" not in again
    assert "no table 'nonsense'; the tables are blocks" in typist("select * from nonsense;")
    assert "no table 'recrods' (did you mean records?);" in typist("select * from recrods;")
    for word in ("help;", ".help"):
        assert "A query ends with a semicolon" in typist(word)
    for word in (".nonsense", "\\d"):
        assert f"unknown command '{word}'; .help lists".replace("\\d", "\\\\d") in typist(word)
    typist.child.sendeof()
    typist.child.expect(pexpect.EOF)
    typist.child.close()
    assert typist.child.exitstatus == 0
    history = Path(chainq.home, "chainq", "sql_history")
    assert "select max(height) as top from blocks;" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


def test_a_narrow_terminal_breaks_no_word(chainq: Program) -> None:
    """Help and errors are wrapped between words, as messages of commands are."""
    typist = Typist(chainq, "--url", "demo:", "--last", "1", width=60)
    for typed, words in ((".help", "Ctrl-C drops or stops it;"), ("select nonsense from blocks;", "not found in FROM")):
        lines = [line.strip() for line in typist(typed).replace("\r", "").split("\n")]
        assert words in " ".join(lines)
        assert all(len(line) <= 60 for line in lines), lines
    typist.child.close(force=True)


def test_the_schema_names_each_column_of_a_result(chainq: Program) -> None:
    """Those of `select *`, in order: over an export with the column `start` of its partitions, else without it."""
    assert chainq("export", "blocks", "0:20", "--to", "lake", "-w", "1", "-q", url="demo:").code == 0
    for words in (["lake"], ["--url", "demo:", "--last", "1"]):
        typist = Typist(chainq, *words)
        columns = [line.split()[0] for line in typist(".schema blocks").splitlines() if line.startswith("  ")]
        typist.child.close(force=True)
        shown = json.loads(chainq("sql", *words, "select * from blocks limit 1", "--jsonl").out)
        assert columns == list(shown)
        assert ("start" in columns) == (words == ["lake"])


def test_a_long_result_is_cut(open_prompt: Typist) -> None:
    """A table has the first 40 rows and the number of the others; the next query runs as usual."""
    shown = open_prompt("select height from blocks order by height;")
    heights = [int(line) for line in shown.splitlines() if line.strip().isdigit()]
    assert heights == list(range(2_999_951, 2_999_991))
    assert "\n… 10 more rows; chainq sql -o FILE 'QUERY' writes all" in shown
    assert "… 1 more row;" in open_prompt("select height from blocks limit 41;")
    assert "more row" not in open_prompt("select height from blocks limit 40;")
    shown = open_prompt("select * from blocks;")  # each row takes many lines
    assert shown.count("block_hash ") == 3
    assert "\n… 47 more rows; " in shown
    assert "… more than 100,000 more rows; " in open_prompt("select range as n from range(1000000), blocks;")
    assert re.search(r"\n *50\r?\n", open_prompt("select count(*) as n from blocks;"))


def test_where_a_query_ends(open_prompt: Typist) -> None:
    """At a semicolon that is not inside a comment or a text; what follows it may be a comment."""
    assert re.search(r"\n *50\r?\n", open_prompt("select count(*) as n -- blocks;\rfrom blocks;"))
    assert "50" in open_prompt("select count(*) as n from blocks; -- done")
    assert "a;b" in open_prompt("select 'a;\rb' as x, count(*) as n from blocks;".replace("\r", ""))
    assert re.search(r"\n *50\r?\n", open_prompt("select count(*) as n /* all;\rof them */ from blocks;"))
    assert ".tables" in open_prompt(".help;")
    assert re.search(r"\n  height +BIGINT", open_prompt(".schema blocks;"))


def test_commands_after_an_unfinished_query(typist: Typist, chainq: Program) -> None:
    """They are no part of the query or its history: it can be finished then; a word to end with ends the prompt."""
    for word in ("help", ".help", ".tables", ".schema blocks"):
        shown = typist(f"select count(*) as n\r{word}")
        assert ("A query ends" if "help" in word else "full_blocks" if word == ".tables" else "  height ") in shown
        assert re.search(r"\n *50\r?\n", typist("from blocks;"))
    for word in (".tables;", ".schema blocks;"):
        assert ("full_blocks" if "tables" in word else "  height ") in typist(f"select count(*) as n\r{word}")
        assert re.search(r"\n *50\r?\n", typist("from blocks;"))
    for word in (".foo", ".mode csv"):
        shown = typist(f"select count(*) as n\r{word}")
        assert f"unknown command '{word.split()[0]}'; .help lists the commands; the query is not finished: end" in shown
        assert re.search(r"\n *50\r?\n", typist("from blocks;"))
    for query in ("select count(*)\r.add(1) as n\rfrom blocks;", "select count(*) + 1\r+ .0 as n\rfrom blocks;"):
        assert re.search(r"\n *51(\.0)?\r?\n", typist(query))
    typist.child.send("select 7 as n\rexit\r")
    typist.child.expect(pexpect.EOF)
    typist.child.close()
    assert typist.child.exitstatus == 0
    history = Path(chainq.home, "chainq", "sql_history").read_text()
    assert history.endswith("\n+select 7 as n\n")
    assert "+.schema" not in history


@pytest.mark.parametrize("word", some(["exit", "quit", "exit;", "QUIT", ".exit", ".quit;"], "exit;"))
def test_words_that_end_the_prompt(typist: Typist, word: str) -> None:
    """As in other programs: with a dot or without, with a semicolon or without."""
    typist.child.send(word + "\r")
    typist.child.expect(pexpect.EOF)
    typist.child.close()
    assert typist.child.exitstatus == 0


def test_a_damaged_file_ends_only_the_queries_that_read_it(chainq: Program) -> None:
    """After such a query, the next one is answered, and the error of a third one is its own."""
    assert chainq("export", "blocks", "records", "0:20", "--to", "lake", "-w", "1", "-q", url="demo:").code == 0
    path = chainq.home / "lake/records/start=000000000/data.parquet"
    path.write_bytes(bytes(path.stat().st_size))
    typist = Typist(chainq, "lake")
    assert "is damaged" in typist("select max(height) from records;")
    assert re.search(r"\n *20\r?\n", typist("select count(*) as n from blocks;"))
    assert "Could not convert" in typist("select block_hash::int as n from blocks;")
    typist.child.close(force=True)


def test_an_error_names_options(chainq: Program) -> None:
    """As without a prompt, also in what it says to do."""
    for heights in ("0:10", "20:30"):
        words = ("blocks", heights, "--partition", "10", "--to", "lake", "-w", "1", "-q")
        assert chainq("export", *words, url="demo:").code == 0
    typist = Typist(chainq, "lake")
    shown = " ".join(typist("select max(height) from blocks;").split())
    assert "writes them; --partial, or a filter on height, leaves them out" in shown
    typist.child.close(force=True)


def test_ctrl_c_stops_the_query_and_not_the_prompt(typist: Typist) -> None:
    """A query without end is stopped, and the next one is answered."""
    assert "stopped" in typist.interrupt(ENDLESS)
    assert "50" in typist("select count(*) as n from blocks;")


def test_a_query_without_end_ends_by_the_signal(chainq: Program) -> None:
    """Without a prompt, Ctrl-C ends the run, although DuckDB looks at no signal."""
    process = chainq.start("sql", "-v", "--last", "50", ENDLESS.rstrip(";"), url="demo:")
    assert process.stderr is not None
    while b"fetching" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(2)
    ran = finish(process)
    assert ran.code == -2, ran.err


def test_a_prompt_needs_a_terminal(chainq: Program) -> None:
    """Without one, a query must be given."""
    assert "no query on standard input: expected one SELECT in quotes" in one_line(chainq("sql", url="demo:"), 2)
