"""Fields of a sealed block changed alone, and parts taken out or put in: found, or on the list of docs/hashes.md."""

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chainq.demo import bodies
from chainq.demo.sealed import SealedChain
from chainq.hashes.check import check_block, check_summary
from chainq.rows.block import RECORDS
from harness.models.search import some
from harness.running.program import ROOT

pytest.importorskip("aleo")

TRANSITION = re.compile(r"transactions\[\]\.transaction\.(execution\.transitions\[\]|fee\.transition)")
WHOLE = re.compile(
    r"(transactions\[\]\.rejected|transactions\[\]\.finalize|transactions\[\]\.transaction\.(?:deployment|owner))\b.*"
)
NO_HASH = {"id", "coinbase_reward"}
"""The fields of a summary that its hash does not bind."""
SAMPLE = (3, 24, 32, 48, 104, 118)  # of a beacon and of quorums; aborted, rejected and deployed transactions


def test_no_two_values_of_a_sealed_chain_begin_as_the_same_text() -> None:
    """Each text that the sample chain makes up has one true text: else blocks from height 96 on lose their own."""
    chain = SealedChain(0, 1)
    made = [chain.word(height, purpose) for height in range(2_000) for purpose in range(1, 10)]
    assert len({*made}) == len(made)


def documented() -> set[str]:
    """The fields that docs/hashes.md names as bound by nothing."""
    page = (ROOT / "docs/hashes.md").read_text("utf-8").partition("## What no check binds")[2].partition("\n## ")[0]
    return set(re.findall(r"^    (\S.*)$", page, re.MULTILINE))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values that hold no others."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    else:
        yield path


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def field(block: Any, path: tuple[Any, ...]) -> str:
    """The name of a field as the page has it: without positions, and with what it depends on."""
    name = "".join("[]" if isinstance(part, int) else f".{part}" for part in path)[1:]
    name = re.sub(r"authority\.subdag\.subdag\.\d+\[\]", "certificate", WHOLE.sub(r"\1", name))
    if not TRANSITION.match(name):
        return name
    name = TRANSITION.sub("transition", name)
    if name == "transition.outputs[].value":
        return f"{name} of a record" if at(block, path[:-1])["type"] in RECORDS else name
    if name in ("transition.program", "transition.function"):
        transition = at(block, path[:-1])
        types = {part["type"] for part in (*transition["inputs"], *transition["outputs"])}
        return name if types & {"public", "constant", "future"} else f"{name} without public values"
    return name


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    digits = re.search(r"\d(?=\D*$)", value)
    if digits and not value.partition("1")[0].isalpha():
        return value[: digits.start()] + str(9 - int(digits[0])) + value[digits.end() :]
    return value[:-1] + ("q" if value[-1:] != "q" else "p")


def changed(row: Any, path: tuple[Any, ...], value: Any) -> Any:
    row = copy.deepcopy(row)
    at(row, path[:-1])[path[-1]] = value
    return row


def missed(chain: SealedChain, heights: Any, most: int) -> dict[str, Counter[bool]]:
    """For each field, how many of its changes were found and how many were not."""
    found: dict[str, Counter[bool]] = {}
    for height in heights:
        block = json.loads(json.dumps(bodies.block(chain, height)))
        seen: Counter[str] = Counter()
        for path in leaves(block):
            name = field(block, path)
            seen[name] += 1
            if seen[name] <= most:
                wrong = check_block(changed(block, path, other(at(block, path)))).wrong
                found.setdefault(name, Counter())[bool(wrong)] += 1
    return found


@pytest.fixture(scope="module")
def chain() -> SealedChain:
    return SealedChain(0, max(SAMPLE) + 1)


@pytest.mark.search
def test_changes_of_all_fields_but_those_of_the_page_are_found(chain: SealedChain) -> None:
    """What no check binds is what docs/hashes.md says, no more and no less: three changes of a field in a block."""
    found = missed(chain, SAMPLE, 3)
    assert {name for name, counts in found.items() if counts[False]} == documented()
    assert {name for name, counts in found.items() if counts[False] and counts[True]} == set()


def test_changes_of_all_fields_of_a_summary_are_found(chain: SealedChain) -> None:
    """All but two, whether a number comes as one or as a text."""
    for height in SAMPLE:
        row = chain.block(height)
        assert check_summary(row).proved
        unbound = {name for name in row if check_summary(changed(row, (name,), other(row[name]))).proved}
        assert unbound == NO_HASH


def test_a_field_in_another_place_proves_nothing(chain: SealedChain) -> None:
    """A true hash beside the metadata does not stand in for the block's own, nor a root for the header's."""
    block = json.loads(json.dumps(bodies.block(chain, 24)))
    for path in (("block_hash",), ("previous_hash",), ("header", "finalize_root")):
        wrong = changed(block, path, other(at(block, path)))
        wrong["header"]["metadata"][path[-1]] = at(block, path)
        assert not check_block(wrong).proved


# --- parts that are taken out or put in


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
def blocks(chain: SealedChain) -> list[Any]:
    return [json.loads(json.dumps(bodies.block(chain, height))) for height in SAMPLE]


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
