"""Adds details to transaction IDs, from one lookup each, for a person who reads a list of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Raw

from chainq import tuning
from chainq.catalog.kinds import TextKind, kind_of
from chainq.catalog.methods import BY_COMMAND
from chainq.errors import NotFoundError, ServiceError, UnreachableError
from chainq.fetching.service import Service
from chainq.query import Batch
from chainq.rows.fields import Picker, object_of, text_of
from chainq.rows.raw_json import put_first
from chainq.rows.transaction import details_of
from chainq.text.humanize import counted


def joined(service: Service, batches: Iterator[Batch], warn: Callable[[str], None]) -> Iterator[Batch]:
    """Yield the batches, the first rows of all, up to `tuning.DETAILED`, with the details of their transactions.

    `warn` is called once for each of these: later rows have no details; which transactions the service does not find;
    and why no further row has any, if a lookup fails. Raises ResponseError and IncompleteError like `fetch_lookups`, if
    a response is invalid or of another transaction: wrong data must not pass as a missing detail.
    """
    left = tuning.DETAILED
    missing: list[str] = []
    for batch in batches:
        some = batch.rows[:left]
        if some and len(batch.rows) > left:
            warn(f"the first {tuning.DETAILED} transactions have details; chainq transaction ID looks another one up")
        if some:
            left -= len(some)
            ids = dict.fromkeys(filter(None, map(_id_of, some)))
            try:
                details = _look_up(service, ids, missing)
            except (ServiceError, UnreachableError) as error:
                warn(f"the table has no details: {error}; --no-details omits them")
                details, left = {}, 0
            batch = batch._replace(rows=[*(_with(row, details) for row in some), *batch.rows[len(some) :]])
            if not left and missing:  # now, because a reader that has its rows does not read to the end
                _warn_missing(missing, warn)
                missing = []
        yield batch
    if missing:
        _warn_missing(missing, warn)


def _warn_missing(missing: Sequence[str], warn: Callable[[str], None]) -> None:
    warn(f"no details of {counted(len(missing), 'transaction')} not found: {', '.join(dict.fromkeys(missing))}")


def _id_of(row: Raw) -> str:
    """Return the transaction ID of a row; empty for an invalid ID, which no service could look up."""
    text = text_of(object_of(row).get("transaction_id"))
    return text if kind_of(text) is TextKind.TRANSACTION else ""


def _look_up(service: Service, ids: Iterable[str], missing: list[str]) -> dict[str, dict[str, Raw]]:
    """Return the details of transactions by their IDs; IDs that do not exist are added to `missing`."""
    pick = Picker(["transaction.id"])
    found: dict[str, dict[str, Raw]] = {}
    try:
        for batch in service.fetch_lookups(BY_COMMAND["transaction"], ids):
            found |= {text_of(pick(row)[0]): details_of(row) for row in batch.rows}
    except NotFoundError as error:  # raised after the last row
        missing += error.missing
    return found


def _with(row: Raw, details: Mapping[str, Mapping[str, Raw]]) -> Raw:
    """Return a row with the details of its transaction before its own fields, which win if both have one."""
    own = object_of(row)
    more = details.get(_id_of(row), {})
    return put_first(row, {name: value for name, value in more.items() if name not in own})
