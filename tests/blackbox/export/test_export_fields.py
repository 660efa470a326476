"""chainq export of fields that are new, rare, or do not fit their columns."""

import json
from typing import Any

import pytest

from chainq.demo.registry import Reply
from harness.lake.lake import Lake, due
from harness.running.program import Program
from harness.running.truth import Truth
from harness.servers.services import Canned, Moving, canned, serving

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
    """A service that changes what it sends of records, and inside of the transactions of full blocks, from a height
    on."""

    def respond(self, body: bytes) -> Reply:
        reply, method = super().respond(body), json.loads(body)["method"]
        if not method.startswith(("records/all", "getChainBlocks")):
            return reply
        content = json.loads(reply.body)
        for row in content["result"]:
            if int(row["height"] if "height" in row else row["header"]["metadata"]["height"]) < 2500:
                continue
            if "height" in row:
                del row["block_hash"]
                row["function_name"] = {"name": row["function_name"]}
                row["gained"] = "new"
            for confirmed in row.get("transactions", ()):
                for one in confirmed["transaction"].get("execution", {}).get("transitions", ()):
                    del one["tcm"]
                    one["gained"] = {"x": 1}
        return reply._replace(body=json.dumps(content).encode())


@pytest.mark.parametrize("table", ["records", "full-blocks"])
def test_a_service_that_sends_other_fields(chainq: Program, table: str) -> None:
    """Said; all values are kept, in one table, and read back as they were sent."""
    words = ("export", table, "--partition", "50", "--to", "lake", "-w", "2")
    with serving(Drifting(2900)) as url:
        assert chainq(*words, "2400:2500", "-q", url=url).code == 0
        ran = chainq(*words, "2500:2600", "--max-memory", "1G", url=url)
        assert ran.code == 0, ran.err
        sent = chainq(table, "2498:2502", "--jsonl", url=url).rows
    if table == "records":
        for told in ("gained", "value of 'function_name'"):
            assert told in ran.err
    assert chainq("verify", "lake").code == 0
    stored = chainq(table, "2498:2502", "--jsonl", url="lake").rows
    assert [json.loads(row) for row in stored] == [json.loads(row) for row in sent]
