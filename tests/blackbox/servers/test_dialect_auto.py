"""--dialect auto, the default: what it costs, when it asks, what it remembers; and what the wrong dialect ends in."""

import json

import pytest

from chainq.catalog.dialects import is_shared
from chainq.catalog.methods import METHODS
from harness.models.belief import besides_belief
from harness.models.commands import Case, each_command
from harness.running.program import Program
from harness.running.truth import Truth, difference
from harness.servers.services import FULL_BLOCKS, Moving, serving

DIALECTS = ("chain", "aleo")
PROVED = {method.command for method in METHODS if method.identity}
SHARED = {method.command for method in METHODS if is_shared(method)}
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def where(url: str) -> tuple[str, str]:
    """The URL, and no word of the dialect."""
    return "--url", url


@each_command
@each_dialect
def test_every_command_finds_the_dialect_by_itself(case: Case, dialect: str, chainq: Program, truth: Truth) -> None:
    """All rows come without --dialect, with a call more of each method at most, and none the second time."""
    service = Moving(truth.tip, dialect=dialect)
    with serving(service) as url:
        words = (case.command, *case.args(truth), "--jsonl", *where(url))
        ran = chainq(*words)
        assert (ran.code, besides_belief(ran, case.command).err) == (0, "")
        assert difference(ran.rows, case.due(truth)) == ""
        first = len(service.calls)
        assert sorted(chainq(*words, "--dialect", "auto").rows) == sorted(ran.rows)
        again = len(service.calls) - first
    extra = first - again
    shared = case.command in SHARED  # of these, only those that full blocks prove may try the names of full blocks
    most = 0 if dialect == "chain" or (shared and case.command not in PROVED) else 2
    assert 0 <= extra <= most
    cache = chainq.home / "cache" / "chainq" / "dialects.json"
    assert cache.exists() == (case.command in PROVED or not shared)
    assert not cache.exists() or url.encode() not in cache.read_bytes()


def test_methods_that_are_the_same_everywhere_make_no_call_more(chainq: Program) -> None:
    """records, block and latest call what they need, and nothing else; full blocks by each name until one is known."""
    service = Moving(50_000, dialect="aleo")
    with serving(service) as url:
        assert chainq("latest", *where(url)).code == 0
        assert chainq("block", "5", "6", *where(url)).code == 0
        assert chainq("records", "--start", "5", "--end", "10", "--limit", "1", *where(url)).code == 0
    assert service.calls[:3] == ["latest/block", "block", "block"]
    assert service.calls[3:] == ["records/all", *FULL_BLOCKS]


@pytest.mark.parametrize("words", [("full-blocks", "0:1"), ("transactions", "640:645"), ("records", "640:645")])
def test_a_dialect_that_is_no_longer_right_is_detected_anew(words: tuple[str, ...], chainq: Program) -> None:
    """If a server speaks another dialect than is remembered, the same run detects it, remembers it, and works."""
    with serving(Moving(50_000)) as url:
        due = chainq("transactions", "640", *where(url)) and chainq(*words, *where(url))
    cache = chainq.home / "cache" / "chainq" / "dialects.json"
    cache.write_text(cache.read_text().replace("chain", "aleo"))
    with serving(Moving(50_000)) as other:
        (key,) = json.loads(cache.read_text())
        assert chainq("transactions", "640", *where(other)).code == 0
        (new,) = json.loads(cache.read_text()).keys() - {key}
        cache.write_text(json.dumps({new: "aleo"}))
        ran = chainq(*words, *where(other))
    assert (ran.code, ran.out, ran.err) == (0, due.out, "")
    if words[0] != "records":  # which is the same in all dialects
        assert json.loads(cache.read_text()) == {new: "chain"}
