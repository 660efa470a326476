"""What a text is, by its form, and what a message says of one in the wrong place."""

import pytest

from chainq.catalog.kinds import Kind, check_kind, kind_of
from chainq.errors import UsageError
from harness.truth import Truth

TRUTH = Truth()
BLOCK = TRUTH.chain.block(12345)
ADDRESS = TRUTH.chain.addresses[0]
TRANSACTION = TRUTH.chain.transaction_id(12345, 0)

TEXTS = {
    "12345": Kind.HEIGHT,
    "12_345": Kind.HEIGHT,
    "1.5M": Kind.HEIGHT,
    TRANSACTION: Kind.TRANSACTION,
    TRANSACTION.upper(): Kind.TRANSACTION,
    ADDRESS: Kind.ADDRESS,
    "test" + ADDRESS[4:]: Kind.ADDRESS,  # of another network
    str(BLOCK["block_hash"]): Kind.BLOCK_HASH,
    str(BLOCK["previous_state_root"]): Kind.STATE_ROOT,
    str(BLOCK["transactions_root"]): Kind.FIELD,
    "credits.aleo": Kind.PROGRAM,
    "credits.aleo/transfer_public": Kind.FUNCTION,
    f"{TRANSACTION[:8]}…{TRANSACTION[-6:]}": Kind.SHORTENED,
    f"{TRANSACTION[:8]}...{TRANSACTION[-6:]}": Kind.SHORTENED,
    "APrivateKey1zkp8CZNn3yeCseEtxuVPbDCwSyhGW6yZKUYKfgXmcpoGPWH": Kind.SECRET,
    "AViewKey1mSnpFFC8Mj4fXbK5YiWgZ3mjiV8CxA79bYNa8ymUpTrw": Kind.SECRET,
}


@pytest.mark.parametrize(("text", "kind"), TEXTS.items())
def test_each_kind_is_recognised(text: str, kind: Kind) -> None:
    """By its form alone, in either case."""
    assert kind_of(text) is kind


@pytest.mark.parametrize("text", ["", "-", "x", "latest", "12a", "at1", "a1b", "credits", "é.aleo", "1x" * 40])
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
