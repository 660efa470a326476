"""What a text is, by its form."""

import pytest

from chainq.catalog.identifiers import TextKind, kind_of
from chainq.hashes.trees import bech32m
from harness.truth import Truth

TRUTH = Truth()
BLOCK = TRUTH.chain.block(12345)
ADDRESS = TRUTH.chain.addresses[0]
TRANSACTION = TRUTH.chain.transaction_id(12345, 0)

TEXTS = {
    "12345": TextKind.HEIGHT,
    "12_345": TextKind.HEIGHT,
    "1.5M": TextKind.HEIGHT,
    TRANSACTION: TextKind.TRANSACTION,
    TRANSACTION.upper(): TextKind.TRANSACTION,
    ADDRESS: TextKind.ADDRESS,
    bech32m("test", bytes(32)): TextKind.ADDRESS,  # of another network
    str(BLOCK["block_hash"]): TextKind.BLOCK_HASH,
    str(BLOCK["transactions_root"]): TextKind.FIELD,
    "credits.aleo": TextKind.PROGRAM,
    "credits.aleo/transfer_public": TextKind.FUNCTION,
}


@pytest.mark.parametrize(("text", "kind"), TEXTS.items())
def test_each_kind_is_recognised(text: str, kind: TextKind | None) -> None:
    """By its form alone, in either case."""
    assert kind_of(text) is kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "x",
        "latest",
        "12a",
        "at1",
        "a1b",
        "credits",
        f"{TRANSACTION[:8]}…{TRANSACTION[-6:]}",
        "rows.txt",
        "é.aleo",
        "1x" * 40,
    ],
)
def test_anything_else_is_of_no_kind(text: str) -> None:
    """Nor is what a table abbreviated."""
    assert kind_of(text) is None
