"""chainq export of fields that are new, rare, or do not fit their columns."""

import json
from typing import Any

import pytest

from chainq.demo.registry import Reply
from harness.lake import Lake, due
from harness.program import Program
from harness.services import Canned, Moving, canned, serving
from harness.truth import Truth

duckdb = pytest.importorskip("duckdb")


def test_values_that_do_not_fit_their_columns(chainq: Program, truth: Truth, lake: Lake) -> None:
    """Numbers beyond 128 bits, strings for numbers, numbers for strings, null, nothing: all is kept, nothing fails."""
    odd: list[dict[str, Any]] = [
        {"coinbase_target": "340282366920938463463374607431768211455", "proof_target": "9" * 38},
        {"coinbase_target": 10**37, "proof_target": None, "network": "3", "round": 7},
        {"coinbase_target": "007", "proof_target": "1.5", "timestamp": "9" * 30, "network": 2**70},
        {"finalize_root": 12.50, "solutions_root": True, "subdag_root": {"a": [1]}, "new": {"x": "\u00e9"}},
    ]
    rows = [json.loads(truth.block(height)) | one for height, one in enumerate(odd)]
    del rows[3]["round"]

    def answer(request: Any) -> Canned:
        params, method = request.get("params") or {}, request["method"]
        start = params.get("start", params.get("startHeight", 0))
        end = params.get("end", params.get("endHeight", 4))
        if method == "latest/block":
            value: Any = rows[3]
        elif method == "block":
            value = [rows[params["block"]]]
        else:
            value = rows[start:end]
        return Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": value}).encode())

    with canned(answer) as (url, _):
        ran = chainq("export", "blocks", "0:", "--partition", "2", "--to", "lake", "-w", "1", url=url)
    assert ran.code == 0, ran.err
    assert "a value of 'coinbase_target' does not fit decimal128(38, 0): as sent it goes to the column extra" in ran.err
    found = lake.rows("blocks")
    assert found == due([json.dumps(row).encode() for row in rows])
    file = str(lake.root / "blocks/*/*.parquet")
    targets = duckdb.sql(f"select coinbase_target, extra from read_parquet('{file}') order by height").fetchall()  # noqa: S608
    assert targets[1] == (10**37, None)
    assert targets[0] == (None, '{"coinbase_target":"340282366920938463463374607431768211455"}')


class Drifting(Moving):
    """A service that changes what it sends of records from a height on."""

    def respond(self, body: bytes) -> Reply:
        reply = super().respond(body)
        content = json.loads(reply.body) if json.loads(body)["method"].startswith("records/all") else {}
        for row in content.get("result", ()):
            if row["height"] >= 2500:
                del row["block_hash"]
                row["function_name"] = {"name": row["function_name"]}
                row["gained"] = "new"
        return reply._replace(body=json.dumps(content).encode()) if content else reply


def test_a_service_that_sends_other_fields(chainq: Program) -> None:
    """Said; all values are kept, in one table."""
    with serving(Drifting(2900)) as url:
        words = ("--partition", "50", "--to", "lake", "-w", "2")
        assert chainq("export", "records", "2400:2500", *words, "-q", url=url).code == 0
        ran = chainq("export", "records", "2500:2650", *words, "--max-memory", "1G", url=url)
        assert ran.code == 0, ran.err
        for told in ("gained", "value of 'function_name'"):
            assert told in ran.err
    assert chainq("verify", "lake").code == 0
    query = "select count(*) as n, count(function_name) as named from records"
    (row,) = (json.loads(row) for row in chainq("sql", "lake", query, "--jsonl").rows)
    assert 0 < row["named"] < row["n"]


class Nesting(Moving):
    """A service that changes what is inside of the transactions of full blocks from a height on."""

    def respond(self, body: bytes) -> Reply:
        reply = super().respond(body)
        content = json.loads(reply.body) if json.loads(body)["method"].startswith("getChainBlocks") else {}
        for block in content.get("result", ()):
            if block["header"]["metadata"]["height"] < 2500:
                continue
            for confirmed in block["transactions"]:
                for one in confirmed["transaction"].get("execution", {}).get("transitions", ()):
                    del one["tcm"]
                    one["gained"] = {"x": 1}
        return reply._replace(body=json.dumps(content).encode()) if content else reply


def test_a_service_that_sends_other_members(chainq: Program) -> None:
    """Inside of lists, too, and in the middle of a run: verified, and read back as they were sent."""
    with serving(Nesting(2900)) as url:
        words = ("export", "full-blocks", "--to", "lake", "--partition", "20", "-w", "2")
        ran = chainq(*words, "2440:2600", url=url)
        assert ran.code == 0, ran.err
        sent = chainq("full-blocks", "2498:2502", "--jsonl", url=url).rows
    assert list(map(json.loads, chainq("full-blocks", "2498:2502", "--jsonl", url="lake").rows)) == list(
        map(json.loads, sent)
    )
    assert chainq("verify", "lake").code == 0
