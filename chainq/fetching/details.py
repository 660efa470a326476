"""Adds to transaction IDs what one lookup each can tell, for a person who reads a list of them."""

import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import ChainqError, NotFoundError
from chainq.fetching.service import Service
from chainq.planning.query import Batch
from chainq.rows.fields import Picker, array_of, object_of, text_of
from chainq.text.humanize import in_credits

ROWS = 100  # that are looked up: a few screens
_PATHS = ("transaction.id", "finalizedAt", "type", "status", "transaction.execution.transitions")
_DEPLOYED = re.compile(r"^program ([^;\s]{1,100});", re.MULTILINE)


def joined(service: Service, batches: Iterator[Batch], rows: int, warn: Callable[[str], None]) -> Iterator[Batch]:
    """Yield the batches, the first `rows` rows of all with the details of their transactions.

    `warn` is told once that later rows have none, and why no row has any where a lookup fails.
    """
    left = rows
    for batch in batches:
        some = batch.rows[:left]
        if some and len(batch.rows) > left and rows == ROWS:
            warn(f"the first {ROWS} transactions have details; chainq transaction ID looks another one up")
        if some:
            try:
                details = _look_up(service, some)
            except ChainqError as error:
                warn(f"the table has no details: {error}; --no-details omits them")
                details, left = {}, 0
            left = max(left - len(some), 0)
            batch = batch._replace(rows=[*(_with(row, details) for row in some), *batch.rows[len(some) :]])
        yield batch


def _look_up(service: Service, rows: list[Raw]) -> dict[str, dict[str, Raw]]:
    """Return the details of the transactions of rows by their IDs; a transaction that does not exist has none."""
    ids = dict.fromkeys(text_of(object_of(row).get("transaction_id")) for row in rows)
    pick = Picker(_PATHS)
    found: dict[str, dict[str, Raw]] = {}
    try:
        for batch in service.fetch_lookups(BY_COMMAND["transaction"], filter(None, ids)):
            for row in batch.rows:
                transaction_id, *values = pick(row)
                details = dict(zip(("finalizedAt", "type", "status"), values, strict=False))
                found[text_of(transaction_id)] = {
                    **{name: value for name, value in details.items() if value is not None},
                    **_call_of(row),
                }
    except NotFoundError:
        pass
    return found


def _with(row: Raw, details: dict[str, dict[str, Raw]]) -> Raw:
    members = object_of(row)
    more = details.get(text_of(members.get("transaction_id")), {})
    return Raw(msgspec.json.encode({**more, **members})) if more else row


def _call_of(row: Raw) -> dict[str, Raw]:
    """Return program, function and amount of a transaction.

    Of an execution they are those of its last transition, which is the call that was signed (those before are the
    calls that it made), and of a transaction that only pays a fee, those of the fee.
    """
    inner = object_of(object_of(row).get("transaction"))
    transitions = array_of(object_of(inner.get("execution")).get("transitions"))
    if not transitions and (source := text_of(object_of(inner.get("deployment")).get("program"))):
        program = _DEPLOYED.search(source)
        return {"program": Raw(msgspec.json.encode(program[1]))} if program else {}
    call = object_of(transitions[-1] if transitions else object_of(inner.get("fee")).get("transition"))
    found: dict[str, Raw] = {name: call[name] for name in ("program", "function") if name in call}
    values = [text_of(object_of(given).get("value")) for given in array_of(call.get("inputs"))]
    amounts = [int(value[:-3]) for value in values if re.fullmatch(r"[0-9]{1,20}u64", value)]
    if amounts and text_of(call.get("program")) == "credits.aleo":
        found["credits"] = Raw(msgspec.json.encode(in_credits(amounts[0])))
    return found
