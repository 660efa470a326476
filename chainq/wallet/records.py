"""The identity of a record, how messages name it, and the rows of `records` that belong to ownership rows.

An ownership row has no height, so the records of all heights of its batch are read, and the service does not learn
which of them are owned. Rejected: finding the height by the position of the row, which takes fewer rows and shows them.
"""

from collections.abc import Collection, Mapping
from itertools import islice

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.fetching.service import Service
from chainq.query import Batch, Query
from chainq.rows import fields
from chainq.rows.block import RecordOutput
from chainq.text.sanitize import excerpt

Key = tuple[str, int | None]
MISTYPED = "check that this is your address (a mistyped key has another one) and the right network"
"""The hint if keys own nothing: a mistyped key may be a valid one, and its address shows that."""
NAMED = 5  # findings that get their own warning and are named in the error

_RECORDS = BY_COMMAND["records"]
_PLACE = fields.Picker(["transition_id", "output_index"])


def key_of(row: Raw) -> Key:
    """Return the key of a record in both methods: its transition and its output index."""
    transition, index = _PLACE(row)
    return fields.text_of(transition), fields.integer_of(index)


def place_of(output: RecordOutput) -> Key:
    """Return the key of an output of a full block."""
    return output.transition, output.place


def shown(key: Key) -> str:
    """Return the key of a record for a message."""
    return f"output {key[1]} of transition {excerpt(key[0], 80) or '(none)'}"


def in_words(findings: Mapping[Key, str]) -> str:
    """Return what is wrong with records, for the end of a message; only the first `NAMED` are given in full."""
    named = [f"{shown(key)} {problem}" for key, problem in islice(findings.items(), NAMED)]
    more = len(findings) - len(named)
    return f"{'; '.join(named)}{f'; and {more:,} more' if more else ''}"


def find_records(service: Service, batch: Batch, keys: Collection[Key]) -> dict[Key, Raw]:
    """Return the record rows of ownership rows of a batch. Raises IncompleteError if the service lacks one."""
    found: dict[Key, Raw] = {}
    for part in service.fetch_range(Query(_RECORDS), batch.heights) if keys and batch.heights else ():
        found |= {key: row for row in part.rows if (key := key_of(row)) in keys}
    for key in keys:
        if key not in found:
            raise IncompleteError(f"records/all {batch.heights}: {shown(key)} is owned, but has no record")
    return found
