"""What a server does not list: a row is lost only if other rows of each of its kinds are there, wherever they are."""

import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from chainq.rows.full_block import read_block
from chainq.verify.unlisted import Missing, Unlisted

kinds = st.lists(st.sampled_from(["of fees", "without inputs", "of a.aleo", "of b.aleo"]), unique=True, min_size=1)


@given(st.lists(st.tuples(st.booleans(), kinds), max_size=30))
def test_a_row_is_lost_if_all_of_its_kinds_are_listed_in_any_order(rows: list[tuple[bool, list[str]]]) -> None:
    """Each missing row is either lost, at once or later, or counted once."""
    unlisted, lost = Unlisted(), []
    for height, (there, of) in enumerate(rows):
        if there:
            lost += [missing.height for missing in unlisted.listed(of)]
        elif unlisted.is_lost(Missing(height, (), tuple(of))):
            lost.append(height)
    listed = {kind for there, of in rows if there for kind in of}
    due = [height for height, (there, of) in enumerate(rows) if not there and listed.issuperset(of)]
    assert sorted(lost) == due
    assert sum(unlisted.counts.values()) == sum(not there for there, _ in rows) - len(due)
    assert all(count == 0 for kind, count in unlisted.counts.items() if kind in listed)


def test_what_a_block_says_of_a_transition_and_of_a_rejected_transaction() -> None:
    """Kinds that servers may leave out, types that they may give, and what a rejected execution did not make."""
    made = {"type": "record", "value": "record1a"}
    call = {"id": "au1a", "program": "a.aleo", "function": "f", "inputs": [], "outputs": [made]}
    fee = {"id": "au1b", "program": "credits.aleo", "function": "fee_public", "inputs": [{"type": "public"}]}
    paid = {"transition": {**fee, "outputs": []}}
    wanted = {"type": "execution", "execution": {"transitions": [{**call, "id": "au1c"}]}}
    block = {
        "transactions": [
            {"type": "execute", "transaction": {"id": "at1a", "type": "execute", "execution": {"transitions": [call]}}},
            {
                "type": "deploy",
                "status": "rejected",
                "transaction": {"id": "at1b", "type": "fee", "fee": paid},
                "rejected": wanted,
            },
        ]
    }
    facts = read_block(Raw(json.dumps(block).encode()), 5)
    assert facts.kinds == {
        ("au1a",): ("without inputs", "of a.aleo"),
        ("au1b",): ("of fees", "of credits.aleo"),
    }
    assert [facts.due["transactions"][key,]["type"] for key in ("at1a", "at1b")] == ["execute", "deploy or fee"]
    assert facts.due["records"].keys() == {("au1a", "0")}
