"""How the rows of a command are told apart, and values are compared as text."""

from collections.abc import Mapping

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.rows.block import RECORDS as RECORDS
from chainq.rows.block import UNLISTED as UNLISTED
from chainq.rows.fields import text_of

Key = tuple[str, ...]
"""The identity of a row inside a command."""

IDENTITY: Mapping[str, Key] = {
    "transactions": ("transaction_id",),
    **{command: BY_COMMAND[command].identity for command in ("records", "ownership", "transitions")},
}
"""The fields that identify a row of each command that a full block explains."""


def text(value: Raw | None) -> str | None:
    """Return a value as text, None for null and for no value: a number and a string of its digits are the same."""
    return None if value is None or bytes(value) == b"null" else text_of(value)
