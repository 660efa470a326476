"""What a text is, by its form, and what a message says of one in the wrong place."""

import pytest

from chainq.catalog.identifiers import TextKind, check_kind, kind_of
from chainq.errors import UsageError
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
    "test" + ADDRESS[4:]: None,  # the prefix or another character is mistyped
    str(BLOCK["block_hash"]): TextKind.BLOCK_HASH,
    str(BLOCK["previous_state_root"]): TextKind.STATE_ROOT,
    str(BLOCK["transactions_root"]): TextKind.FIELD,
    "credits.aleo": TextKind.PROGRAM,
    "credits.aleo/transfer_public": TextKind.FUNCTION,
    f"{TRANSACTION[:8]}…{TRANSACTION[-6:]}": TextKind.SHORTENED,
    f"{TRANSACTION[:8]}...{TRANSACTION[-6:]}": TextKind.SHORTENED,
    "APrivateKey1zkp8CZNn3yeCseEtxuVPbDCwSyhGW6yZKUYKfgXmcpoGPWH": TextKind.SECRET,
    "AViewKey1mSnpFFC8Mj4fXbK5YiWgZ3mjiV8CxA79bYNa8ymUpTrw": TextKind.SECRET,
}


@pytest.mark.parametrize(("text", "kind"), TEXTS.items())
def test_each_kind_is_recognised(text: str, kind: TextKind | None) -> None:
    """By its form alone, in either case."""
    assert kind_of(text) is kind


@pytest.mark.parametrize(
    "text", ["", "-", "x", "latest", "12a", "at1", "a1b", "credits", "rows.txt", "é.aleo", "1x" * 40]
)
def test_anything_else_is_of_no_kind(text: str) -> None:
    """What looks like nothing that is known passes; other checks say what is wrong with it."""
    assert kind_of(text) is None
    check_kind(text, "height")


def test_a_secret_is_not_repeated() -> None:
    """A key that was typed by mistake does not appear in the message, which may be logged."""
    with pytest.raises(UsageError) as caught:
        check_kind("APrivateKey1zkp8CZNn3yeCseEtxuVPbDCwSyhGW6yZKUYKfgXmcpoGPWH", "height")
    assert "zkp8" not in str(caught.value)
    assert "a secret key" in str(caught.value)
