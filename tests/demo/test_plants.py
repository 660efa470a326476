"""Plants: one row is wrong as its kind says, in every call and page alike, and all others are the chain's."""

from collections import Counter

import pytest

from chainq.demo.chain import Chain
from chainq.demo.faults import KINDS
from chainq.demo.service import SampleService
from harness.running.sample import ask, paged
from harness.wallet.planted import Plant, planted

CHAIN = Chain(tip=330)
QUIET = SampleService(CHAIN, shuffle=False)
METHODS = {"record": "records/all", "ownership": "records/isOwner", "transition": "transitionsWithoutRecordInputs"}
AT = 172  # a block with rows of every kind, and so is the next one


def rows(service: SampleService) -> dict[str, Counter[str]]:
    """All rows of some blocks, by method, each with its height where it has none."""
    found = {name: Counter(map(str, paged(service, name, AT - 5, AT + 5, 0, 10_000))) for name in METHODS.values()}
    for name in ("getBlocks", "getChainBlocks"):
        found[name] = Counter(map(str, ask(service, name, start=AT - 5, end=AT + 5)))
    for height in range(AT - 5, AT + 5):
        found[f"transactions {height}"] = Counter(map(str, ask(service, "transactions", blockId=height)))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_only_the_planted_row_differs(kind: str, seed: int) -> None:
    """Of one method one row is gone, doubled, another, or elsewhere; a whole block's fault is in both its methods."""
    service = SampleService(CHAIN, planted(Plant(kind, AT), seed=seed), shuffle=False)
    due, found = rows(QUIET), rows(service)
    lost = sum((due[name] - found[name] for name in due), Counter[str]())
    added = sum((found[name] - due[name] for name in found), Counter[str]())
    expected = {"lost": (1, 0), "doubled": (0, 1), "altered": (1, 1), "misplaced": (1, 1)}
    assert (lost.total(), added.total()) == expected.get(Plant(kind, AT).action, (2, 2)), (lost, added)


def test_a_seed_picks_the_row() -> None:
    assert len({str(rows(SampleService(CHAIN, planted(Plant("lost-record", AT), seed=seed)))) for seed in range(9)}) > 1
