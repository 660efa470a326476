"""The JSON-RPC error by which a served export (`chainq serve --lake`) says what it lacks, as it is written and read.

Other servers may use the codes for something else, so its data say what it is.
"""

from contextlib import suppress

import msgspec
from msgspec import Raw

from chainq.errors import ChainqError, IncompleteError, LackingError
from chainq.text.sanitize import excerpt

HEIGHTS, TABLE = -32001, -32002
"""The codes: heights, or the table or index that a method needs."""


class _Data(msgspec.Struct, frozen=True, omit_defaults=True):
    """`first`: the lowest height of the export; 0 also if an earlier version does not say it. `table`: the one that it
    does not have, or ""."""

    incomplete: bool
    first: int = 0
    table: str = ""


def written(failure: ChainqError, first: int) -> tuple[int, str, Raw]:
    """Return code, message and data of the error for a failure to read an export whose lowest height is `first`.

    Without the hint of the failure, a command for who can write to the export.
    """
    table = failure.table if isinstance(failure, IncompleteError) else ""
    code, message = (TABLE, f"this export has no table {table}") if table else (HEIGHTS, failure.message)
    return code, message, Raw(msgspec.json.encode(_Data(incomplete=True, first=first, table=table)))


def read(code: str, text: str, data: bytes) -> LackingError | None:
    """Return the error with that code and data, None if it is of another server. `text`: its message."""
    with suppress(msgspec.DecodeError):
        if code in (str(HEIGHTS), str(TABLE)) and (found := msgspec.json.decode(data, type=_Data)).incomplete:
            hint, table = "have what is missing exported there", excerpt(found.table, 40)
            return LackingError(text, hint, code=code, first=found.first, table=table)
    return None
