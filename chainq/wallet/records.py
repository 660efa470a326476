"""Joins owned rows with their record rows, and decrypts the records.

An ownership row has no height, so the records of all heights of its batch are read, and the service does not learn
which of them are owned. Rejected: finding the height by the position of the row, which takes fewer rows and shows them.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.fetching.service import Service
from chainq.hashes.sdk import load
from chainq.query import Batch, Query
from chainq.rows import fields
from chainq.text.sanitize import excerpt
from chainq.wallet.genuine import Opened
from chainq.wallet.keys import ViewKey

Key = tuple[str, int | None]
MISTYPED = "check that this is your address (a mistyped key has another one) and the right network"
"""The hint if keys own nothing: a mistyped key may be a valid one, and its address shows that."""
NAMED = 5  # findings that get their own warning and are named in the error

_METHOD = BY_COMMAND["records"]
_PLACE = fields.Picker(["transition_id", "output_index"])


def key_of(row: Raw) -> Key:
    """Return the key of a record in both methods: its transition and its output index."""
    transition, index = _PLACE(row)
    return fields.text_of(transition), fields.integer_of(index)


def shown(key: Key) -> str:
    """Return the key of a record for a message."""
    return f"output {key[1]} of transition {excerpt(key[0], 80) or '(none)'}"


def in_words(findings: Mapping[Key, str]) -> str:
    """Return what is wrong with records, for the end of a message; only the first `NAMED` are given in full."""
    named = [f"{shown(key)} {problem}" for key, problem in islice(findings.items(), NAMED)]
    more = len(findings) - len(named)
    return f"{'; '.join(named)}{f'; and {more:,} more' if more else ''}"


def find_records(service: Service, batch: Batch, numbers: Sequence[int]) -> list[Raw]:
    """Return the record rows of these rows of a batch. Raises IncompleteError if the service has none."""
    keys = [key_of(batch.rows[number]) for number in numbers]
    wanted, found = set(keys), dict[Key, Raw]()
    for part in service.fetch_range(Query(_METHOD), batch.heights) if keys and batch.heights else ():
        found |= {key: row for row in part.rows if (key := key_of(row)) in wanted}
    for key in keys:
        if key not in found:
            raise IncompleteError(f"records/all {batch.heights}: {shown(key)} is owned, but has no record")
    return [found[key] for key in keys]


def decrypt(record: Raw, key: ViewKey) -> Opened:
    """Return the record row decrypted with the key that owns it.

    Raises IncompleteError if it cannot be decrypted: the ownership row and the record contradict each other.
    """
    (ciphertext,) = fields.Picker(["record_ciphertext"])(record)
    opened = opened_by(key, fields.text_of(ciphertext))
    if opened is None:
        raise IncompleteError(
            f"records/all: {shown(key_of(record))} is owned by {key.address}, but its ciphertext cannot be decrypted by"
            " that key",
            "report it to the operator of the server",
        )
    return opened


def opened_by(key: ViewKey, ciphertext: str) -> Opened | None:
    """Return the decrypted ciphertext; None if it is invalid or belongs to another key."""
    sdk = load()
    try:
        parsed: Any = sdk.RecordCiphertext.from_string(ciphertext)
        view_key = sdk.ViewKey.from_string(key.text)
        return Opened(parsed.decrypt(view_key), parsed.record_view_key(view_key))
    except (RuntimeError, ValueError):
        return None
