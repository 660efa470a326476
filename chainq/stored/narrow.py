"""The values that a store may hold. Anybody may host an export, so all of it is foreign.

Whatever is read of `chainq.json`, receipts, the last run and names is decoded into these types, and paths
and messages are made of such values only. What does not fit is damage, an error with the name of the file.
"""

import shlex
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from chainq.catalog.dialects import DIALECTS
from chainq.catalog.tables import TABLES
from chainq.errors import IncompleteError
from chainq.heights.grid import parse_name

HIGHEST = 2**32 - 1  # a height is a u32 (snarkVM, `Header::height`)
if TYPE_CHECKING:
    Table = str
    Dialect = str
else:
    Table = Literal[tuple(TABLES)]
    Dialect = Literal[tuple(DIALECTS)]
Height = Annotated[int, Meta(ge=0, le=HIGHEST)]
End = Annotated[int, Meta(ge=0, le=HIGHEST + 1)]
"""The end of a range, excluded, or the number of its heights."""
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A number of rows, bytes or requests."""
Digest = Annotated[str, Meta(pattern=r"\A([0-9a-f]{16}|0)\Z")]
"""A block hash in the name of a receipt (`receipt.digest`)."""
Sha256 = Annotated[str, Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
"""A SHA-256 in hexadecimal digits; empty if it is unknown."""
OWN = frozenset(("chainq.json", "_chainq", *TABLES))
"""The files and folders of a data set; others beside them are not looked into."""
UNFIT = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for JSON that is invalid, does not fit a type or is nested too deeply."""


def partition_of(name: str) -> tuple[str, int] | None:
    """Return the table and the first height in the name of a partition's file; None for another name."""
    key = parse_name(name)
    return key if key and key[0] in TABLES and key[1] <= HIGHEST else None


def damaged(label: str, name: str, why: str, hint: str = "") -> IncompleteError:
    """Return the error of a file of the data set with that label. `hint`: what to do instead of `chainq verify`."""
    return lacking(f"{name} of {label} is damaged: {why}", hint or f"see chainq verify {shlex.quote(label)}")


def check_size(label: str, name: str, size: int, most: int) -> None:
    """Raise IncompleteError for a file of the data set with that label that has too many bytes to be read whole."""
    if size > most:
        raise damaged(label, name, f"{size} bytes, expected {most} at most")


def lacking(message: str, hint: str) -> IncompleteError:
    """Return the error of a data set that lacks data: until what the hint says is done, no rest can be read."""
    error = IncompleteError(message, hint)
    error.again = False
    return error
