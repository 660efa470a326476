"""Real blocks against their own hashes: those of `../shared/data/real`, or of the folder CHAINQ_REAL_DATA."""

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from chainq.hashes import formulas
from chainq.hashes.check import check_block, check_summary
from chainq.hashes.trees import element
from harness.running.program import ROOT, Program

pytest.importorskip("aleo")

REAL = Path(os.environ.get("CHAINQ_REAL_DATA", ROOT.parent / "shared/data/real"))
BLOCKS, CHAIN = REAL / "full_blocks.jsonl", REAL / "real_chain.json"
pytestmark = pytest.mark.skipif(not BLOCKS.exists(), reason="the real blocks are not here")
PROVED = {0, 1, 2, 3, 91681, 2758584}
"""The heights whose headers have the fields of today."""
WHOLE = 2758584  # nothing in this block is of an older era
ANCHOR = "3:ab1wcrlzt3pgtrku466pujpcea44av0vmtzplqqqq26nnh28tgymyqqc2tngy"


def blocks() -> dict[int, Any]:
    found = map(json.loads, BLOCKS.read_text("utf-8").splitlines())
    return {block["header"]["metadata"]["height"]: block for block in found}


def test_real_blocks_hold() -> None:
    """Nothing real is called wrong; what an era computed otherwise is counted."""
    for height, block in blocks().items():
        checked = check_block(block)
        assert checked.wrong == []
        assert checked.proved == (height in PROVED)
        assert (height == WHOLE) == (not checked.skipped)


def test_headers_of_two_networks_hold() -> None:
    """A summary as a service sends it, and the genesis block of the main network."""
    for header in json.loads(CHAIN.read_text("utf-8"))["headers"]:
        assert check_summary(header).proved


def test_a_transition_of_the_main_network_holds() -> None:
    """Its ID, and the IDs of its public and private values."""
    for transition in json.loads(CHAIN.read_text("utf-8"))["transitions"]:
        assert formulas.transition_id(transition) == element(transition["id"])
        function = formulas.function_id(transition["program"], transition["function"], network=0)
        for at, part in enumerate([*transition["inputs"], *transition["outputs"]]):
            if part["type"] == "public":
                assert formulas.value_id(function, part["value"], transition["tcm"], at) == element(part["id"])
            else:
                assert formulas.private_id(part["value"]) == element(part["id"])


@pytest.mark.parametrize("line", range(2), ids=("deploy", "execute"))
def test_transactions_of_the_main_network_hold(line: int) -> None:
    """A deployment, whose program the SDK reads, and an execution with records, futures and private values."""
    transaction = json.loads((REAL / "transactions.jsonl").read_text("utf-8").splitlines()[line])
    block = copy.deepcopy(blocks()[WHOLE])
    block["header"]["metadata"]["network"] = 0
    block["transactions"] = [{"transaction": transaction}]
    checked = check_block(block)
    assert {wrong.check for wrong in checked.wrong} == {"hash", "root"}  # it is not of this block
    assert not checked.skipped


def test_a_file_of_real_blocks_is_anchored(program: Program, tmp_path: Path) -> None:
    """Four linked blocks against one hash, and against another one."""
    file = tmp_path / "blocks.jsonl"
    file.write_bytes(b"".join(BLOCKS.read_bytes().splitlines(keepends=True)[:4]))
    ran = program("verify", str(file), "--hashes", "--anchor", ANCHOR)
    assert ran.code == 0, ran.err
    assert f"anchored: block 3 is {ANCHOR[2:]}" in ran.err
    ran = program("verify", str(file), "--hashes", "--anchor", ANCHOR.replace("3:", "2:"), "--jsonl")
    assert ran.code == 6
    assert [json.loads(row)["check"] for row in ran.rows] == ["anchor"]
