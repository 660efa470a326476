"""Transitions of a program that was deployed twice: the service lists each once for each text, and both are rows."""

import json
from collections import Counter

import pytest

from harness.running.program import Program, Servers
from harness.running.truth import Truth

FAULT = ("--tip", "700", "--fault", "two-texts")
DOUBLED = b"program token_registry.aleo;"


@pytest.mark.parametrize(
    "words", [(), ("--strict", "--page-size", "9"), ("--reverse",), ("-j", "1", "--page-size", "3", "-q")]
)
def test_a_row_for_each_text(words: tuple[str, ...], chainq: Program, server: Servers, truth: Truth) -> None:
    """Each row of that program comes twice, with another text each time, up to the tip, in one order."""
    url = server(*FAULT)
    ran = chainq("transitions", "640:701", *words, url=url)
    assert (ran.code, ran.err) == (0, "")
    listed = truth.rows("transitions", 640, 701)
    due = Counter(listed)
    for row in [*due]:
        due[row.replace(DOUBLED + b"\\n", DOUBLED + b"\\n\\n")] = 1
    assert Counter(ran.rows) == due
    assert len(due) > len(listed)
    assert chainq("transitions", "640:701", *words, url=url).out == ran.out


def test_verify_takes_both_for_rows(chainq: Program, server: Servers) -> None:
    """Of a service, of a file, and of both: no finding, but for a row that the file lacks or has twice."""
    url = server(*FAULT)
    ran = chainq("verify", "640:680", "--jsonl", url=url)
    assert (ran.code, ran.out) == (0, b""), ran.err
    for name in ("rows.jsonl", "rows.csv", "rows.parquet"):
        assert chainq("transitions", "640:680", "-o", name, url=url).code == 0
        ran = chainq("verify", name, "--url", url, "--jsonl")
        assert (ran.code, ran.out) == (0, b""), (name, ran.err)
    lines = (chainq.home / "rows.jsonl").read_bytes().splitlines(keepends=True)
    lost = next(line for line in lines if DOUBLED in line)
    (chainq.home / "rows.jsonl").write_bytes(b"".join(line for line in lines if line != lost))
    (found,) = chainq("verify", "rows.jsonl", "--full", "--url", url, "--jsonl").rows
    assert json.loads(found)["check"] in ("altered", "missing")
    (chainq.home / "rows.jsonl").write_bytes(b"".join([*lines, lost]))
    assert b'"doubled"' in chainq("verify", "rows.jsonl", "--url", url, "--jsonl").out
