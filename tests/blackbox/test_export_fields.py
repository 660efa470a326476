"""chainq export of fields that are new, rare, or do not fit their columns."""

import json
import os
from typing import Any

import pytest

from chainq.demo.service import Reply
from harness.lake import Lake, due
from harness.program import Program, Servers
from harness.services import Canned, Gaining, Moving, canned, serving
from harness.truth import Truth

duckdb = pytest.importorskip("duckdb")


def test_values_that_do_not_fit_their_columns(chainq: Program, truth: Truth, lake: Lake) -> None:
    """Numbers beyond 128 bits, strings for numbers, numbers for strings, null, nothing: all is kept, nothing fails."""
    odd: list[dict[str, Any]] = [
        {"coinbase_target": "340282366920938463463374607431768211455", "proof_target": "9" * 38},
        {"coinbase_target": 10**37, "proof_target": None, "network": "3", "round": 7},
        {"coinbase_target": "007", "proof_target": "1.5", "timestamp": "9" * 30, "network": 2**70},
        {"finalize_root": 12.50, "solutions_root": True, "subdag_root": {"a": [1]}, "new": {"x": "\ud800"}},
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
        ran = chainq("export", "blocks", "--partition", "2", "--to", "lake", "-w", "1", url=url)
    assert ran.code == 0, ran.err
    assert "a value of 'coinbase_target' does not fit decimal128(38, 0): as sent it goes to the column extra" in ran.err
    found = lake.rows("blocks")
    assert found == due([json.dumps(row).encode() for row in rows])
    file = str(lake.root / "blocks/*/data.parquet")
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
                row["transition_id"] = {"id": row["transition_id"]}
                row["gained"] = "new"
        return reply._replace(body=json.dumps(content).encode()) if content else reply


def test_a_partition_that_is_written_again_lacks_what_it_lacked(chainq: Program, server: Servers) -> None:
    """Heights 100-199 of the sample chain have no subdag_root, and those after have one: no field was lost."""
    words, url = ("export", "blocks", "0:300", "--partition", "100", "--to", "lake", "-w", "1"), server("--tip", "400")
    assert "sends none" not in chainq(*words, url=url).err
    os.truncate(chainq.home / "lake/blocks/start=000000100/data.parquet", 1000)
    again = chainq(*words, url=url)
    assert "1 partition written, 2 skipped" in again.err
    assert "sends none" not in again.err


def test_a_service_that_sends_other_fields(chainq: Program) -> None:
    """Said once each; all values are kept, in one table, and rows that cannot be told apart are not called doubled."""
    with serving(Drifting(2900)) as url:
        words = ("--partition", "50", "--to", "lake", "-w", "2")
        assert chainq("export", "records", "2400:2500", *words, "-q", url=url).code == 0
        ran = chainq("export", "records", "2500:2650", *words, "--max-memory", "1G", url=url)
        assert ran.code == 0, ran.err
        for told in (
            "no values of block_hash, transition_id from the partition at height 2500 on: the service sends none",
            "gained",
            "value of 'transition_id'",
        ):
            assert ran.err.count(told) == 1, ran.err
        assert ran.err.count("no values of") == 1
    checks = {json.loads(row)["check"] for row in chainq("verify", "lake", "--jsonl").rows}
    assert checks == {"invalid"}
    query = "select count(*) as n, count(transition_id) as named from records"
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
    """Inside of lists, too, and in the middle of a run: said once, verified, and read back as they were sent."""
    inner = "transactions.transaction.execution.transitions"
    with serving(Nesting(2900)) as url:
        words = ("export", "full-blocks", "--to", "lake", "--partition", "20", "-w", "2")
        ran = chainq(*words, "2440:2600", url=url)
        assert ran.code == 0, ran.err
        assert ran.err.count(f"full-blocks: no values of {inner}.tcm from the partition at height 2500 on") == 1
        assert ran.err.count(f"full-blocks: unknown fields {inner}.gained from the partition at height 2500 on") == 1
        assert "no values of" not in ran.err.replace(f"no values of {inner}.tcm from", "")
        ran = chainq(*words, "2600:2700", url=url)
        assert ran.code == 0, ran.err
        for told in ("no values of", "unknown fields"):
            assert told not in ran.err, "as in the partition before"
        sent = chainq("full-blocks", "2498:2502", "--jsonl", url=url).rows
    assert list(map(json.loads, chainq("full-blocks", "2498:2502", "--jsonl", url="lake").rows)) == list(
        map(json.loads, sent)
    )
    assert chainq("verify", "lake").code == 0


def test_an_unknown_field_is_said_once_in_a_data_set(chainq: Program) -> None:
    """By the first run, not by those that write after it or write its last partition again; nor is it lost there."""
    with serving(Gaining(2900)) as url:
        for bounds, said in (("2440:2470", 1), ("2440:2475", 0), ("2475:2520", 0)):
            ran = chainq("export", "records", "--to", "lake", "--partition", "20", "-w", "2", bounds, url=url)
            assert ran.code == 0, ran.err
            assert ran.err.count("unknown field 'gained': it goes to the column extra") == said, bounds
    assert all('"gained":' in row for row in map(bytes.decode, chainq("records", "2440:2520", url="lake").rows))


def test_fields_that_few_rows_have(chainq: Program, server: Servers) -> None:
    """A partition of a few blocks may have no tag or aborted transaction: nothing is said to be lost."""
    words = ("export", "chain", "--to", "lake", "--partition", "50", "-w", "1")
    for start in (2400, 2450):
        ran = chainq(*words, f"{start}:{start + 50}", url=server())
        assert (ran.code, "no values of" in ran.err) == (0, False), ran.err
    ran = chainq(*words, "2500:2503", url=server())
    assert (ran.code, "no values of" in ran.err) == (0, False), ran.err
