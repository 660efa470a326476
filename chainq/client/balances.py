"""What `Client.balance` returns, and how it is found."""

from collections.abc import Sequence
from typing import NamedTuple

from chainq.client.progress import Progress
from chainq.client.row_types import Time
from chainq.errors import IncompleteError
from chainq.fetching.service import Service
from chainq.wallet.balance import Bookkeeper
from chainq.wallet.book import Book, Total
from chainq.wallet.keys import ViewKey


class TokenBalance(NamedTuple):
    """What an address has of a program, and of a token of it; amounts in the smallest unit, such as microcredits.

    `owner`: the address. `token_id`: None for a program without tokens. `received`, `unspent`: None if records have
    no amount.
    """

    owner: str
    program_id: str
    token_id: str | None
    records: int
    received: int | None
    unspent_records: int
    unspent: int | None


class Balance(NamedTuple):
    """The private balance as of a block: its height, its hash, and its time.

    `timestamp`: seconds since 1970, a datetime in UTC with `Client(typed=True)`; None if it is not readable.
    """

    height: int
    block_hash: str
    timestamp: Time | None
    totals: list[TokenBalance]


def find_balance(
    service: Service, keys: Sequence[ViewKey], start: int, end: int | None, workers: int, progress: Progress
) -> Balance:
    """Return the balance of view keys. Raises ChainqError, IncompleteError also for a range without blocks."""
    ordered, book = sorted(keys, key=lambda key: key.address), Book(start)
    with (
        progress.shown(None) as bar,
        Bookkeeper(ordered, service, workers, warn=progress.warn, progress=bar) as keeper,
    ):
        keeper.bring_up(book, service.blocks.tip(refresh=True), service.blocks.hash_of, end)
        keeper.check()
    mark = book.as_of
    if mark is None:
        raise IncompleteError(f"no block from height {start} on", "the balance is as of a block")
    return Balance(mark.height, mark.hash, mark.time, token_balances(book.totals(), [key.address for key in ordered]))


def token_balances(totals: Sequence[Total], addresses: Sequence[str]) -> list[TokenBalance]:
    """Return the totals of a book with the addresses of its keys, by their numbers there."""
    return [TokenBalance(addresses[one.owner], one.program, one.token or None, *one[3:]) for one in totals]
