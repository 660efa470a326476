"""Joins owned rows with their record rows, and decrypts the records.

An ownership row has no height, but in height order its position among the rows of its chunk is the position of a record
at the same height. One request for the record at that position shows the height, and one for the records of that height
contains its row. If a server's pages do not match, the records of the whole chunk are fetched. If an export has them,
they are read from there, and nothing shows a service which are owned.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import ChainqError, IncompleteError
from chainq.fetching.service import Service
from chainq.hashes.sdk import load
from chainq.heights.range import HeightRange
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
_HEIGHT = fields.Picker([_METHOD.height or ""])


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


class RecordFinder:
    """Finds the record rows of owned rows."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def find(self, batch: Batch, numbers: Sequence[int]) -> list[Raw]:
        """Return the record rows of these rows of a batch. Raises IncompleteError if the service has none."""
        known: dict[Key, Raw] = {}
        found = []
        wanted = {key_of(batch.rows[number]) for number in numbers}
        if wanted and batch.heights is not None and self._service.reads_files(_METHOD, batch.heights):
            known = self._all(batch.heights, wanted)
        for number in numbers:
            key = key_of(batch.rows[number])
            if key not in known and batch.heights is not None:
                known |= self._at_place(batch.heights, number, len(batch.rows))
                if key not in known:
                    known |= self._all(batch.heights, wanted)
            if key not in known:
                raise IncompleteError(f"records/all {batch.heights}: {shown(key)} is owned, but has no record")
            found.append(known[key])
        return found

    def _at_place(self, heights: HeightRange, number: int, count: int) -> dict[Key, Raw]:
        """Return the records of the height that has record `number` of the `count` in `heights`.

        Unverified: a row found here is the right one, and a row not found is searched for in the whole chunk.
        """
        try:
            if len(heights) > 1 and count > 1:
                (place,) = self._service.fetch_one_page(Query(_METHOD, page=number, page_size=1), heights)
                height = fields.integer_of(_HEIGHT(place.rows[0])[0]) if place.rows else None
                if height is None or not heights.start <= height < heights.end:
                    return {}
                heights = HeightRange(height, height + 1)
            (page,) = self._service.fetch_one_page(Query(_METHOD, page=0), heights)
        except ChainqError:  # only the shortcut is lost
            return {}
        return {key_of(row): row for row in page.rows}

    def _all(self, heights: HeightRange, wanted: Collection[Key]) -> dict[Key, Raw]:
        found: dict[Key, Raw] = {}
        for batch in self._service.fetch_range(Query(_METHOD), heights):
            found |= {key: row for row in batch.rows if (key := key_of(row)) in wanted}
            if len(found) == len(wanted):
                break
        return found


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
