"""Parts of a sealed block taken out or put in: found by its hashes, or within what docs/hashes.md lists as unbound."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chainq.demo.bodies import Bodies
from chainq.demo.sealed import SealedChain
from chainq.hashes.check import check_block
from harness.search import some

pytest.importorskip("aleo")

SAMPLE = (3, 24, 32, 48, 104, 118)  # of a beacon and of quorums; aborted, rejected and deployed transactions
UNBOUND = {
    "rejected",
    "finalize",
    "deployment",
    "owner",
    "aborted_transaction_ids",
    "signatures",
    "election_certificate_ids",
}
"""Objects and lists whose parts no check binds (docs/hashes.md, "What no check binds")."""
FOREIGN: list[dict[str, Any]] = [
    {"deployment": {}},
    {"deployment": {"edition": 0, "program": "program a.aleo;", "verifying_keys": []}},
    {"execution": {"transitions": []}},
    {"execution": None, "deployment": {}},
    {"execution": None, "fee": None, "deployment": {}},
    {"execution": None},
]


@pytest.fixture(scope="module")
def blocks() -> list[Any]:
    bodies = Bodies(SealedChain(0, max(SAMPLE) + 1))
    return [json.loads(json.dumps(bodies.block(height))) for height in SAMPLE]


def lists(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all lists with items."""
    if isinstance(value, list) and value:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from lists(inner, (*path, key))


@pytest.mark.parametrize("most", some([1, 1_000], 1))
def test_items_that_are_taken_out_or_repeated_are_found(blocks: list[Any], most: int) -> None:
    """Of so many lists of each kind in a block: transactions, transitions, inputs, outputs, certificates."""
    seen = set()
    for block in blocks:
        tried: Counter[tuple[str, ...]] = Counter()
        for path in lists(block):
            kind = tuple(part for part in path if isinstance(part, str) and not part.isdecimal())
            tried[kind] += 1
            if tried[kind] > most or UNBOUND.intersection(path):
                continue
            for change in ("taken out", "repeated"):
                altered = copy.deepcopy(block)
                found = altered
                for part in path:
                    found = found[part]
                found[:] = found[:-1] if change == "taken out" else [*found, found[-1]]
                seen.add(path[-1])
                assert check_block(altered).wrong, (path, change)
    assert {"transactions", "transitions", "inputs", "outputs", "ratifications"} <= seen


@pytest.mark.parametrize("parts", FOREIGN, ids=json.dumps)
def test_a_transaction_that_another_kind_hides_is_found(parts: dict[str, Any], blocks: list[Any]) -> None:
    """No object that is put in beside an execution, or in its place, turns the check of its ID off."""
    tried = 0
    for block in blocks:
        for at, confirmed in enumerate(block["transactions"]):
            was = confirmed["transaction"]
            if "execution" not in was or all(was.get(name) == part for name, part in parts.items()):
                continue
            altered = copy.deepcopy(block)
            altered["transactions"][at]["transaction"] |= parts
            tried += 1
            assert check_block(altered).wrong, (at, parts)
    assert tried
