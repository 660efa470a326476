"""`Client.balance` and `AsyncClient.balance`: the balance of the command, with integers."""

import asyncio
from datetime import UTC, datetime

import pytest

from chainq import AsyncClient, Client, IncompleteError, UsageError
from harness.wallet import PUBLISHED

pytest.importorskip("aleo")

from chainq.client.balances import TokenBalance

DUE = [TokenBalance(PUBLISHED.address, "credits.aleo", None, 2, 3_000_000, 1, 1_000_000)]


def test_a_balance_as_of_a_block() -> None:
    """`end` is exclusive, as everywhere."""
    with Client("demo:") as client:
        balance = client.balance(PUBLISHED.text, 0, 150, workers=1)
        block = client.block(149)
    assert (balance.height, balance.block_hash) == (149, block["block_hash"])
    assert str(balance.timestamp) == block["timestamp"]
    assert balance.totals == DUE
    with Client("demo:", typed=True) as client:
        typed = client.balance(PUBLISHED.text, 0, 150, workers=1)
    assert typed == balance._replace(timestamp=datetime.fromtimestamp(int(block["timestamp"]), UTC))


def test_the_same_for_asyncio() -> None:
    """As a coroutine."""

    async def found() -> list[TokenBalance]:
        async with AsyncClient("demo:") as client:
            return (await client.balance([PUBLISHED.text], 0, 150)).totals

    assert asyncio.run(found()) == DUE


def test_errors() -> None:
    """An invalid key is not repeated; a range without blocks has no balance."""
    with Client("demo:") as client:
        with pytest.raises(UsageError) as raised:
            client.balance("AViewKey1secret")
        assert "secret" not in str(raised.value)
        with pytest.raises(IncompleteError, match="no block from height 5000000 on"):
            client.balance(PUBLISHED.text, 5_000_000)
