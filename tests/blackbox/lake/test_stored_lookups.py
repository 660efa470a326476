"""Transactions by ID, function and address from the files of an export: the rows of the service, exactly."""

import json
import shutil
from pathlib import Path

import pytest

from chainq.demo.registry import Reply
from harness.lake.exports import Exports
from harness.running.jobs import said
from harness.running.program import Program, Servers, one_line
from harness.servers.services import Moving, serving

pytest.importorskip("pyarrow")
TIP = ("--tip", "219")
CALLED = "credits.aleo/transfer_public"
CALLS = ("program-transactions", "credits.aleo", "transfer_public")
ABSENT = "au1" + "q" * 52 + "8yygwk"  # a transition ID with its checksum


@pytest.fixture
def made(exports: Exports) -> Path:
    """A data set of a whole chain, in many partitions."""
    return exports("indexed")


@pytest.fixture
def lake(made: Path) -> str:
    """Its folder."""
    return str(made)


def test_the_rows_of_the_service(chainq: Program, server: Servers, lake: str) -> None:
    """Each transaction, each call once, each public input once; an ID that no block has is not found."""
    url = server(*TIP)
    called = chainq(*CALLS, "--jsonl", url=lake)
    assert (called.code, called.err) == (0, "")
    assert sorted(called.rows) == sorted(chainq(*CALLS, "--jsonl", url=url).rows)
    assert chainq(*CALLS, "--limit", "3", "--jsonl", url=lake).rows == called.rows[:3]
    some = {json.loads(row)["transaction"]["id"]: row for row in called.rows[::20]}
    found = chainq("transaction", *some, "--jsonl", url=lake)
    assert found.rows == list(some.values()), found.err
    (address,) = {
        inner["value"]
        for transition in json.loads(called.rows[0])["transaction"]["execution"]["transitions"]
        for inner in transition["inputs"]
        if inner["type"] == "public" and inner["value"].startswith("aleo1")
    }
    for order in ((), ("--reverse",)):
        words = ("address-transactions", address, "10:215", "--jsonl", *order)
        ran = chainq(*words, "--strict", url=lake)
        assert (ran.code, ran.err) == (0, "")
        assert sorted(ran.rows) == sorted(chainq(*words, "-q", url=url).rows)
        assert len(ran.rows) == 2
    absent = next(iter(some))[:-1] + "x"
    assert "not found" in one_line(chainq("transaction", absent, "--no-check", url=lake), 1)
    assert chainq("program-transactions", "credits.aleo", "nothing", url=lake).out == b""


def test_screens(chainq: Program, server: Servers, made: Path) -> None:
    """What is shown of a transaction, an address and a function."""
    url = server(*TIP)
    transaction = json.loads(chainq(*CALLS, "--limit", "1", "--jsonl", url=str(made)).rows[0])["transaction"]["id"]
    screens = [chainq("show", transaction, "--json", url=where) for where in (url, str(made))]
    assert [ran.code for ran in screens] == [0, 0], screens[1].err
    assert json.loads(screens[0].out)["transaction"] == json.loads(screens[1].out)["transaction"]
    calls = json.loads(chainq("show", CALLED, "--json", url=str(made)).out)["transactions"]
    newest = chainq(*CALLS, "--newest", "--limit", "10", "--jsonl", url=str(made)).rows
    assert calls == [json.loads(row) for row in newest], "and no others are read"


def parts_of(chainq: Program, made: Path) -> tuple[str, str, str]:
    """A transition without records, its transaction, and the tag of a record that is spent, both far below the tip."""
    calls = [json.loads(row) for row in chainq(*CALLS, "--jsonl", url=str(made)).rows]
    inner = next(call["transaction"] for call in calls if call["transaction"].get("execution"))
    query = "select tag, transaction_id from inputs where tag is not null order by height limit 1"
    spent = json.loads(chainq("sql", str(made), query, "--jsonl").out)
    return inner["execution"]["transitions"][0]["id"], spent["tag"], spent["transaction_id"]


def test_a_transition_and_a_tag(chainq: Program, made: Path, lake: str) -> None:
    """An export finds them at any height; a service knows no tags."""
    transition, tag, spender = parts_of(chainq, made)
    ran = chainq("show", transition, "--last", "1", "--json", url=lake)
    assert ran.code == 0, ran.err
    assert transition in ran.out.decode()
    ran = chainq("show", tag, "--json", url=lake)
    assert (ran.code, json.loads(ran.out)["transaction_id"]) == (0, spender), ran.err
    assert "tag 1field not found" in one_line(chainq("show", "1field", url=lake), 1)
    assert f"transition {ABSENT} not found" in one_line(chainq("show", ABSENT, url=lake), 1)
    assert "cannot show '1field': only an export is searched" in one_line(chainq("show", "1field", url="demo:"), 2)


class Burning(Moving):
    """A service whose transitions that take records make none."""

    def respond(self, body: bytes) -> Reply:
        reply = super().respond(body)
        content = json.loads(reply.body) if json.loads(body)["method"].startswith("getChainBlocks") else {}
        for block in content.get("result", ()):
            for confirmed in block["transactions"]:
                for one in confirmed["transaction"].get("execution", {}).get("transitions", ()):
                    if any(value["type"] == "record" for value in one["inputs"]):
                        one["outputs"] = []
        return reply._replace(body=json.dumps(content).encode()) if content else reply


def test_a_transition_that_no_list_has(chainq: Program) -> None:
    """One that takes records and makes none: what is shown is its transaction."""
    with serving(Burning(59)) as url:
        assert chainq("export", "chain", "0:", "--to", "lake", "--partition", "60", "-w", "1", "-q", url=url).code == 0
    query = (
        "select transition_id, transaction_id, height from calls where record_inputs > 0 and kind = 'execution' limit 1"
    )
    found = json.loads(chainq("sql", "lake", query, "--jsonl").out)
    ran = chainq("show", found["transition_id"], "--json", url="lake")
    assert ran.code == 0, ran.err
    shown = json.loads(ran.out)
    assert (shown["transaction_id"], shown["height"]) == (found["transaction_id"], found["height"])
    screen = chainq("show", found["transaction_id"], url="lake").out.decode()
    assert f"in block {found['height']}\n" in screen


def test_heights_that_are_missing(chainq: Program, made: Path) -> None:
    """What another block has is found; that there is none cannot be known, and no list is complete."""
    shutil.copytree(made, chainq.home / "lake")
    first = json.loads(chainq(*CALLS, "--limit", "1", "--jsonl", url="lake").rows[0])["transaction"]["id"]
    for table in ("transactions", "calls", "inputs"):
        shutil.rmtree(chainq.home / "lake" / table / "start=0000000100")
    assert chainq("transaction", first, url="lake").code == 0
    said(chainq("transaction", "at1" + "q" * 58, "--no-check", url="lake"), 6, "no whole partition of transactions")
    said(chainq(*CALLS, url="lake"), 6, "no whole partition of calls for heights 100-119")
    shutil.rmtree(chainq.home / "lake" / "full-blocks")
    said(chainq("transaction", first, url="lake"), 6, "lake has no table full-blocks")
