"""A single row as lines of fields: every field, and transactions as trees."""

from typing import Any

import pytest

from chainq.catalog.methods import BY_COMMAND
from harness.tables import BLOCK, FIELD, HASH, TRANSITION, drawn, nested, spec


def test_one_object_shows_every_field() -> None:
    """One object shows all columns, and the unknown fields that the server sent, marked as such."""
    found = {**BLOCK, "later\x1b": {"deep": [1, "two"]}, "flag\n": True}
    text = drawn(spec("latest", single=True), [found])
    for column in BY_COMMAND["latest"].columns:
        assert f"\n{column.path}" in f"\n{text}"
    lines = [line.split() for line in text.splitlines()]
    assert ["timestamp", "2024-06-02", "11:36:49Z"] in lines
    assert ["flag\\n", "*", "true"] in lines
    assert "later\\x1b *\n└── deep\n    ├── 0  1\n    └── 1  two\n" in text
    assert text.endswith("* not in the published interface\n")
    assert "row" not in text.splitlines()[-1]


def test_text_keeps_its_lines() -> None:
    """A text of several lines has a line for each; a long one is truncated unless --no-trunc is given."""
    found = {"program": "\n".join(f"line {number}\t" for number in range(30))}
    text = drawn(spec("transitions", "program", single=True), [found])
    assert "program  line 0\\t\n         line 1\\t\n" in text
    assert text.endswith("         … 18 more lines\n")
    assert "line 29" in drawn(spec("transitions", "program", single=True, abbreviate=False), [found])


TRANSACTION = {
    "status": "accepted",
    "type": "execute",
    "index": 1,
    "transaction": {
        "type": "execute",
        "id": "at1" + HASH,
        "execution": {"transitions": [{**TRANSITION, "function": "transfer"}]},
        "fee": {"transition": TRANSITION},
    },
    "finalizedAt": "1717328209",
}


def test_transaction_is_a_summary_and_trees() -> None:
    """A full transaction shows status, ID, time and fee, then its transitions with their inputs and outputs."""
    text = drawn(spec("transaction", single=True, width=100), [TRANSACTION])
    assert "status          accepted\n" in text
    assert "finalizedAt     2024-06-02 11:36:49Z" in text
    assert "fee             273,388 microcredits  0.273388 credits  263,388 + 10,000 priority\n" in text
    assert "execution  1 transition\n└── credits.aleo/transfer  au1" in text
    assert "├── input  1  public  10000u64\n" in text
    assert "├── output 0  future  { program_id: credits.aleo }\n" in text
    assert "└── output 1  record  id 592151" in text


def test_texts_in_trees_keep_their_lines_unabbreviated() -> None:
    """With --no-trunc a text in a tree has lines of its own."""
    text = drawn(spec("transaction", single=True, abbreviate=False), [TRANSACTION])
    assert "program_id: credits.aleo\n" in text
    assert f"id {FIELD}" in text


def test_deployment_shows_its_program() -> None:
    """A deploy transaction shows program, edition and functions."""
    source = "program foo.aleo;\n\nfunction mint:\n  input r0\n\nfunction burn:\n"
    inner = {"type": "deploy", "id": "at1", "deployment": {"edition": 2, "program": source}}
    text = drawn(spec("transaction", single=True), [{"status": "accepted", "type": "deploy", "transaction": inner}])
    assert "deployment  foo.aleo, edition 2, 2 functions\n├── functions  mint, burn\n" in text


@pytest.mark.parametrize(
    ("rejected", "shown"),
    [
        ({"transitions": [TRANSITION]}, "rejected execution  1 transition\n└── credits.aleo/fee_public"),
        ({"type": "execution", "execution": {"transitions": [TRANSITION]}}, "rejected execution  1 transition"),
        ({"deployment": {"edition": 0, "program": "program foo.aleo;\n"}}, "rejected deployment  foo.aleo, edition 0"),
        ("id1", "rejected  id1"),
    ],
)
def test_rejected_transaction_shows_what_was_rejected(rejected: Any, shown: str) -> None:
    """What a rejected transaction wanted to do is shown, in every shape that servers send."""
    row = {"status": "rejected", "rejected": rejected, "transaction": {"type": "fee", "id": "at1"}}
    text = drawn(spec("transaction", single=True, width=120), [row])
    assert "✗ rejected" in text
    assert shown in text


@pytest.mark.parametrize("place", ["execution", "fee", "deployment", "owner", "execution.transitions", "finalize"])
@pytest.mark.parametrize("odd", ["odd", ["odd"], {"odd": "odd"}])
def test_unexpected_shapes_are_shown(place: str, odd: Any) -> None:
    """A part of a transaction that has another shape than expected is shown as it is."""
    text = drawn(spec("transaction", single=True), [nested({"transaction.id": "at1", f"transaction.{place}": odd})])
    assert "odd" in text
    inner = {"id": "at1", "execution": {"transitions": [{**TRANSITION, "inputs": odd}]}}
    assert "odd" in drawn(spec("transaction", single=True), [{"transaction": inner, "status": "accepted"}])


def test_full_block_has_its_transactions_as_a_tree() -> None:
    """A single full block is shown as lines of fields, its transactions below; several are one line each."""
    block = {"block_hash": HASH, "header": {"metadata": {"height": 7}}, "transactions": [TRANSACTION] * 2}
    text = drawn(spec("full-blocks", single=True, width=100), [block])
    assert "transactions  2\n├── 1  execute  at1" in text
    assert "    ├── execution  1 transition\n" in text
    assert "    └── fee  273,388 microcredits  0.273388 credits" in text
    assert drawn(spec("full-blocks", width=120), [block] * 2).count("\n") == 4


_WHOLE = (
    "transfer_public_to_private",
    "{ program_id: token_registry.aleo/transfer_public_to_private }",
    "{ function_name: mint_v2_for_everybody_and_all, amount: 1000000000000000000000000u128.private }",
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *[(text, text) for text in _WHOLE],
        (f"{{ owner: aleo1{'q2' * 29}, at: 1 }}", "{ owner: aleo1q2q…q2q2q2, at: 1 }"),
        (", ".join(f"{number}194770579942920u128" for number in range(10, 50)), "19194770579942920u128, …"),
    ],
)
def test_names_and_amounts_are_whole(text: str, shown: str) -> None:
    """In values of several words names and amounts are not abbreviated; what is cut is cut between values."""
    outputs = {"outputs": [{"type": "future", "value": text}]}
    inner = {"type": "execute", "id": "at1", "execution": {"transitions": [{**TRANSITION, **outputs}]}}
    lines = drawn(spec("transaction", single=True, width=120), [{"status": "accepted", "transaction": inner}])
    found = " ".join(lines.replace("│", " ").split())
    assert f"{shown} " in f"{found} "
