"""`Client.balance`: the balance of the command, with integers."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from chainq import Client, IncompleteError, UsageError
from harness.wallet.wallet import PUBLISHED, fresh_key

pytest.importorskip("aleo")

from chainq.client import TokenBalance
from chainq.fetching.service import Service
from chainq.options import ServiceOptions
from chainq.wallet.balance import Bookkeeper
from chainq.wallet.book import Book
from chainq.wallet.keys import checked
from chainq.wallet.ownership import Findings, Matcher
from chainq.wallet.scan import AHEAD

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


@pytest.mark.parametrize(
    "read",
    [
        lambda client: client.balance(PUBLISHED.text, workers=1),
        lambda client: list(client.owned(PUBLISHED.text, workers=1)),
    ],
    ids=["balance", "owned"],
)
def test_a_closed_client_ends_them(read: Callable[[Client], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that have arrived, more than a second's work, are not compared any more, except those of blocks that are."""
    client, compared = Client("demo:"), list[int]()

    def match(_: Matcher, block: bytes) -> Findings:
        client.close()
        compared.append(len(block))
        return Findings([], [])

    monkeypatch.setattr(Matcher, "match", match)
    with pytest.raises(UsageError, match="the client is closed"):
        read(client)
    assert len(compared) <= AHEAD


def test_errors() -> None:
    """An invalid key is not repeated; a range without blocks has no balance."""
    with Client("demo:") as client:
        with pytest.raises(UsageError) as raised:
            client.balance("AViewKey1secret")
        assert "secret" not in str(raised.value)
        with pytest.raises(UsageError, match="no heights from 5 to 4: --end is below --start"):
            client.balance(PUBLISHED.text, 5, 4)
        with pytest.raises(IncompleteError, match="no block from height 5000000 on"):
            client.balance(PUBLISHED.text, 5_000_000)


def test_the_book_is_recorded_as_blocks_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """But not while an owned record is expected in a later one: the last one is at 261."""
    monkeypatch.setattr("chainq.wallet.balance.RECORDED", 25)
    service = Service(ServiceOptions(url="demo:", dialect="chain"))
    recorded: list[int] = []
    keys, book = checked([("key", PUBLISHED.text)]), Book(30)
    record = lambda: recorded.append(book.next)  # noqa: E731
    with service, Bookkeeper(keys, service, 1, recorded=record) as keeper:
        keeper.bring_up(book, service.blocks.tip(), service.blocks.hash_of, 300)
    assert recorded == [262, 287, 300]


@pytest.mark.parametrize(
    "read",
    [lambda client, key: client.balance(key, 0, 9), lambda client, key: list(client.owned(key, 0, 9))],
    ids=["balance", "owned"],
)
def test_a_key_that_owns_nothing_is_noted_once(
    read: Callable[[Client, str], object], caplog: pytest.LogCaptureFixture
) -> None:
    """A mistyped key can be a valid one, and only its address shows that."""
    key = fresh_key()
    with Client("demo:") as client:
        for _ in range(2):
            read(client, key.text)
    (record,) = caplog.records
    assert re.search(rf"of {key.address}; check that this is your address", record.getMessage())
