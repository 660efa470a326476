"""Rows against those that are due: whatever is done to them is named, and what is right is not."""

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.demo.bodies import Bodies
from chainq.demo.chain import Chain
from chainq.rows.full_block import IDENTITY, BlockFacts, Key, Texts, read_block, texts
from chainq.verify.compare import ChainCheck, by_identity, check_block, compare_rows, compare_summary

CHAIN = Chain(tip=2500)
BODIES = Bodies(CHAIN)
RICH = [height for height in range(2500) if height != 777 and CHAIN.records.count(height) > 1]
heights = st.sampled_from(RICH)


def raw(row: Any) -> Raw:
    return Raw(json.dumps(row).encode())


def identity(command: str, row: Texts) -> Key:
    (key,) = by_identity(command, [row])
    return key


def facts_of(height: int) -> BlockFacts:
    return read_block(raw(BODIES.block(height)), height)


def rows_of(height: int) -> dict[str, list[Texts]]:
    """The rows that the chain has of a block, by command."""
    layout = CHAIN.layout.plan(height)
    made = {
        "transactions": CHAIN.transaction_rows(height, range(len(layout.transactions))),
        "records": CHAIN.record_rows(height, range(layout.records)),
        "ownership": CHAIN.ownership_rows(height, range(layout.records)),
        "transitions": CHAIN.open_rows(height, range(len(layout.open_calls))),
    }
    return {command: [texts(raw(row)) for row in rows] for command, rows in made.items()}


@given(heights)
def test_the_rows_of_a_block_are_those_that_its_full_block_explains(height: int) -> None:
    """A clean block: each command has just the rows that are due, and the summary agrees."""
    facts = facts_of(height)
    for command, rows in rows_of(height).items():
        assert (
            list(compare_rows(command, facts.due[command], by_identity(command, rows), optional=facts.optional)) == []
        )
    assert list(compare_summary(facts, texts(raw(CHAIN.block(height))))) == []
    assert list(check_block(facts)) == []


@given(heights)
def test_records_with_a_dynamic_id_are_records(height: int) -> None:
    """Since consensus V14: the same rows are due, whether a record has a second ID or not."""
    block = json.dumps(BODIES.block(height))
    dynamic = read_block(Raw(block.replace('"type": "record"', '"type": "record_with_dynamic_id"').encode()), height)
    assert dynamic == facts_of(height)


@given(heights)
def test_transitions_that_take_a_dynamic_record_may_be_listed(height: int) -> None:
    """The interface does not say whether a dynamic record is a record input: no finding either way."""
    block = BODIES.block(height)
    transition = block["transactions"][0]["transaction"].get("fee", {}).get("transition")
    if transition is not None:
        transition["inputs"] = [{"type": "record_dynamic", "id": "1field"}]
        facts = read_block(raw(block), height)
        assert (transition["id"],) in facts.optional
        assert (transition["id"],) not in facts.due["transitions"]


@given(heights, st.sampled_from(sorted(IDENTITY)), st.randoms(use_true_random=False))
def test_whatever_is_done_to_rows_is_named(height: int, command: str, rng: random.Random) -> None:
    """Any mix of lost, doubled, strange and altered rows: each is named once, by its check and its identity."""
    due, rows = facts_of(height).due[command], rows_of(height)[command]
    expected: dict[str, set[str]] = {"missing": set(), "doubled": set(), "altered": set(), "unexpected": set()}
    found: list[Texts] = []
    for row in rows:
        key = ":".join(identity(command, row))
        fate = rng.choice(["kept", *expected])
        if fate == "altered" and not due[identity(command, row)]:
            fate = "kept"  # nothing of an ownership row can be compared
        if fate != "kept":
            expected[fate].add(key)
        if fate == "altered":
            name = rng.choice([name for name in due[identity(command, row)] if name in row and name != "program"])
            row = {**row, name: f"{row[name]}0"}
        if fate == "unexpected":
            stranger = {**row, IDENTITY[command][0]: f"{row[IDENTITY[command][0]]}x"}
            expected["unexpected"] = expected["unexpected"] - {key} | {":".join(identity(command, stranger))}
            found.append(stranger)
        found += {"missing": [], "doubled": [row, row]}.get(fate, [row])
    rng.shuffle(found)
    seen: dict[str, set[str]] = {check: set() for check in expected}
    for one in compare_rows(command, due, by_identity(command, found)):
        words = (one.found if one.check == "unexpected" else one.expected) or ""
        seen[one.check].add(words.split()[1].rstrip(":"))
    assert seen == expected


@given(heights, heights)
def test_a_row_of_another_block_is_misplaced(here: int, there: int) -> None:
    """Rows of another block say where they belong, as far as that is known."""
    due, rows = facts_of(here).due["records"], rows_of(here)["records"]
    stranger = rows_of(there)["records"][0]
    if here == there:
        return
    found = list(compare_rows("records", due, by_identity("records", [*rows, stranger]), elsewhere=lambda _: there))
    (only,) = found
    assert only.check == "misplaced"
    assert (only.expected or "").endswith(f"at height {there}")


@given(st.binary(max_size=40) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_blocks_of_any_shape_are_read(value: bytes | str) -> None:
    """What is not there, or is something else, explains nothing."""
    text = value if isinstance(value, str) else json.dumps(value.hex())
    for block in (
        text,
        f'{{"header":{text},"transactions":{text}}}',
        f'{{"transactions":[{text},{{"transaction":1}}]}}',
    ):
        facts = read_block(Raw(block.encode()), 5)
        assert facts.height == 5
        list(check_block(facts))


def test_external_records_may_be_listed_or_not() -> None:
    """Whether an external record is a record input nothing says: the transition is neither missing nor unexpected."""
    transition = {"id": "au1a", "program": "a.aleo", "function": "f", "inputs": [{"type": "external_record"}]}
    block = {"transactions": [{"transaction": {"id": "at1a", "execution": {"transitions": [transition]}}}]}
    facts = read_block(raw(block), 5)
    assert list(compare_rows("transitions", facts.due["transitions"], {}, optional=facts.optional)) == []
    row: Texts = {"transition_id": "au1a"}
    assert (
        list(
            compare_rows(
                "transitions", facts.due["transitions"], by_identity("transitions", [row]), optional=facts.optional
            )
        )
        == []
    )


def test_a_chain_is_followed() -> None:
    """Links between neighbours, times and rounds that never go back; across a gap no link is due."""
    chain = ChainCheck()
    summaries = [texts(raw(CHAIN.block(height))) for height in range(10)]
    for height in (0, 1, 2, 4):
        assert list(chain.follow(height, summaries[height])) == []
    wrong = {**summaries[5], "previous_hash": "ab1", "timestamp": "1", "round": "1"}
    assert [found.check for found in chain.follow(5, wrong)] == ["link", "time", "round"]


def test_rejected_transactions_made_no_records() -> None:
    """What a rejected transaction wanted to do is not due; its fee is."""
    height = next(
        height
        for height in RICH
        for plan in CHAIN.layout.plan(height).transactions
        if plan.kind == "rejected" and plan.fee and plan.fee.function.records
    )
    block = BODIES.block(height)
    (rejected,) = (row for row in block["transactions"] if "rejected" in row)
    due = facts_of(height).due["records"]
    assert not {(transition["id"], "0") for transition in rejected["rejected"]["transitions"]} & due.keys()
    assert (rejected["transaction"]["fee"]["transition"]["id"], "0") in due
