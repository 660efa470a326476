"""Lookups, a few calls each: blocks and transactions by height, transactions by ID.

Rows come in the order of the lookups. What does not exist is an error at the end, after all that does.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import Raw

from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import Method, Role, Shape
from chainq.errors import NotFoundError
from chainq.fetching.single_rows import fetch_block, fetch_transaction
from chainq.heights.range import HeightRange
from chainq.process.threads import in_order
from chainq.query import Batch, Lookup
from chainq.transport.connection import Connection

_Found = list[Raw] | None
_Fetch = Callable[[Any], _Found]


def fetch_lookups(
    connection: Connection,
    dialect_for: Callable[[Method], Dialect],
    method: Method,
    keys: Iterable[Lookup | HeightRange | None],
    concurrency: int,
    stored: Callable[[Any], _Found] | None = None,
) -> Iterator[Batch]:
    """Yield one batch for each height or ID that exists, in their order; of a height it names the height.

    `dialect_for` returns the dialect in which to call a method. A range stands for each of its heights. A key of None
    means that the next one is not known yet. `stored` returns the rows that need no request, None if one is needed.
    Raises NotFoundError after the last batch if a key does not exist, ResponseError or IncompleteError for rows that
    are not those of their key, and what `dialect_for` and `Connection.call` raise.
    """
    missing: list[str] = []
    fetch, expect = _fetcher(connection, dialect_for, method)
    if stored is not None:
        fetch = partial(_stored_first, stored, fetch)
    jobs = (None if key is None else partial(_keyed, fetch, key) for key in _single(keys, expect))
    for key, found in in_order(concurrency, jobs, concurrency + 2):
        if found is None:
            missing.append(str(key))
        else:
            yield Batch(found, HeightRange(key, key + 1) if isinstance(key, int) else None)
    if missing:
        kind = "transaction" if method.param(Role.ID) else "block"
        raise NotFoundError(f"{kind} {', '.join(missing)} not found", missing=missing)


def _single(
    keys: Iterable[Lookup | HeightRange | None], expect: Callable[[HeightRange], None]
) -> Iterator[Lookup | None]:
    """Yield each key by itself. `expect` is called with each range before its first height."""
    for key in keys:
        if isinstance(key, HeightRange):
            expect(key)
            yield from range(*key.edges)
        else:
            yield key


def _stored_first(stored: _Fetch, fetch: _Fetch, key: Lookup) -> _Found:
    return stored(key) or fetch(key)


def _keyed(fetch: _Fetch, key: Lookup) -> tuple[Lookup, _Found]:
    return key, fetch(key)


def _fetcher(
    connection: Connection, dialect_for: Callable[[Method], Dialect], method: Method
) -> tuple[_Fetch, Callable[[HeightRange], None]]:
    """Return what fetches the rows of one height or ID, and what to call before all heights of a range are fetched."""
    if method.shape is Shape.ROWS:
        from chainq.fetching.block_transactions import BlockTransactions

        transactions = BlockTransactions(connection, dialect_for)
        return transactions.fetch, transactions.expect
    fetch: Callable[[Connection, Dialect, Any], _Found] = fetch_transaction if method.param(Role.ID) else fetch_block
    return partial(fetch, connection, dialect_for(method)), lambda _: None
