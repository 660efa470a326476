"""What a message must say, and a screen show: command lines of `demo:`, with words of their output."""

import json
import re
import shlex

import pytest

from harness.program import Program, one_line

SAID = {
    "records 5 --format ''": (2, "unknown format ''"),
    "blocks --checkpoint kept --json": (2, "json cannot be used with --checkpoint or --follow, which append rows\n"),
    "CHAINQ_FORMAT=xml block 5": (2, "unknown format 'xml': .*; CHAINQ_FORMAT is set to it"),
    "CHAINQ_URL=htp://x block 5": (2, "invalid URL 'htp://x': .*; CHAINQ_URL is set to it"),
    "block 5 -v": (0, "Z block height 5: 1 row [0-9]+ bytes "),
    "balance -100:": (2, "negative numbers are not allowed here\n"),
    "blocks -100:": (2, "not allowed here; for the last N blocks use --last N\n"),
    "transactions --last 3 --dry-run": (0, "each height from tip-2 to below tip.1"),
    "COLUMNS=200 full-blocks 12345 --table --columns transactions[].transaction.id": (0, "(at1[^ ]*…[^ ]*, ){6}at1"),
    "show credits.aleo --last 5 --no-trunc": (0, "at1[0-9a-z]{58}"),
    "COLUMNS=200 show credits.aleo --last 5": (0, "at1[0-9a-z]{58}"),
    "COLUMNS=80 show credits.aleo --last 5": (0, "at1[0-9a-z]{5}…"),
    "sql 5 'select 1.5, 2 as \"a.b\" from blocks' --table": (0, "1.5 +a.b\n"),
}


@pytest.mark.parametrize("words", SAID)
def test_words_of_an_output(words: str, chainq: Program) -> None:
    """A mistake is repeated, with the variable that has it; IDs can be copied where there is room."""
    line = shlex.split(words)
    env = dict(word.split("=", 1) for word in line if re.match("[A-Z]+_?[A-Z]*=", word))
    code, said = SAID[words]
    ran = chainq(*line[len(env) :], env={"CHAINQ_URL": "demo:", **env})
    shown = ran.out.decode() + ran.err
    assert ran.code == code, shown
    assert re.search(said, shown), shown


def test_messages_of_the_json_log_repeat_no_field(chainq: Program) -> None:
    """Each has the request and how it ended; time, size and attempt are fields."""
    (line,) = chainq("block", "5", "-v", "--log-format", "json", url="demo:").err.splitlines()
    assert json.loads(line)["message"] == "block height 5: ok"


def test_an_export_of_what_an_export_has(chainq: Program) -> None:
    """Without a range a new export begins where its source does. In the folder of another one it is refused."""
    for words in ("blocks 100:160 --to part --url demo:", "blocks --to all --url part"):
        ran = chainq("export", *words.split(), "--partition", "20", "-w", "1", "-q")
        assert ran.code == 0, ran.err
    ran = chainq("export", "records", "0:20", "--to", "all/records", url="demo:")
    assert "all/records is inside another export; pass another --to" in one_line(ran, 2)
    assert "blocks up to block 159, " in chainq("status", "all", "--max-age", "1h").out.decode()
