"""The balance for programs: one object of JSON, or a row per program and token as csv and jsonl."""

from collections.abc import Sequence
from io import BytesIO

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Column
from chainq.client.balances import TokenBalance, token_balances
from chainq.formats import registry
from chainq.formats.protocol import OutputSpec
from chainq.wallet.book import Mark, Total

_AMOUNTS = ("received", "unspent")
_COLUMNS = tuple(Column(name, "") for name in ("height", "block_hash", "timestamp", *TokenBalance._fields))


def encoded(
    form: str,
    mark: Mark | None,
    found: Sequence[Total],
    addresses: Sequence[str],
    start: int,
    *,
    resumed: bool,
    terminal: bool,
) -> bytes:
    """Return the balance in a form: `json`, `jsonl` or `csv`. Amounts are strings, for they can have 39 digits.

    `mark`: the block that it is as of; `found`: its totals; `start`: the first height that counts; `resumed`: the
    balance follows others, so that a header is there already.
    """
    totals = [one._asdict() for one in token_balances(found, addresses)]
    for total in totals:
        total |= {name: str(total[name]) for name in _AMOUNTS if total[name] is not None}
    height, block_hash, timestamp = (mark.height, mark.hash, mark.time) if mark else (None, None, None)
    as_of = {"height": height, "block_hash": block_hash, "timestamp": timestamp}
    if form == "json":
        return msgspec.json.encode({**as_of, "start": start, "owners": addresses, "totals": totals}) + b"\n"
    out = BytesIO()
    writer = registry.load(form)(out, OutputSpec("balance", _COLUMNS, resumed=resumed, terminal=terminal))
    writer.write([Raw(msgspec.json.encode({**as_of, **total})) for total in totals])
    writer.close()
    return out.getvalue()
