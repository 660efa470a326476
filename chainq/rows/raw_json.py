"""Splits JSON text into its parts without decoding them, so that every digit and escape stays as the server sent it.

A text with half of a surrogate pair is not valid here: UTF-8 cannot hold it, and no chain does. Nothing here depends on
requests, methods or formats.
"""

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Raw

from chainq.errors import ResponseError
from chainq.text.sanitize import excerpt

T = TypeVar("T")
SPACES = (b" ", b"\n", b"\t", b"\r")  # what JSON allows between tokens (RFC 8259, section 2)


def compact(text: bytes) -> bytes:
    """Return the same JSON text without white space between tokens. Raises ValueError for invalid JSON."""
    if not any(space in text for space in SPACES):
        return text
    try:
        return msgspec.json.format(text, indent=-1)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def members(text: bytes | memoryview) -> dict[str, Raw]:
    """Return the members of a JSON object, values as they were sent. Raises ValueError for anything else."""
    return _decoded(text, dict[str, Raw])


def items(text: bytes | memoryview) -> list[Raw]:
    """Return the items of a JSON array, each as it was sent. Raises ValueError for anything else."""
    return _decoded(text, list[Raw])


def _decoded(text: bytes | memoryview, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def is_valid(text: bytes | memoryview) -> bool:
    """Return whether a text is JSON, of any kind."""
    try:
        msgspec.json.decode(text, type=Raw)
    except msgspec.DecodeError:
        return False
    return True


def put_first(row: Raw, values: Mapping[str, bytes | Raw]) -> Raw:
    """Return a JSON object without white space with other members before its own; not one byte of its own changes.

    >>> bytes(put_first(Raw(b'{"a":1.0}'), {"height": b"5"}))
    b'{"height":5,"a":1.0}'
    """
    pairs = [msgspec.json.encode(name) + b":" + bytes(value) for name, value in values.items()]
    own = bytes(row)[1:-1]
    return Raw(b"{" + b",".join([*pairs, own] if own else pairs) + b"}")


def check_objects(rows: list[Raw]) -> list[Raw]:
    """Return the rows. Raises ResponseError if one of them is not a JSON object."""
    for row in rows:
        if memoryview(row)[0] != ord("{"):
            raise ResponseError(f"a row is not a JSON object: {excerpt(bytes(row).decode(), 60)}")
    return rows


class ResponseRows(list[Raw]):
    """Rows that make up the array `result` of a JSON object, which is `text`. Not to be changed."""

    def __init__(self, rows: list[Raw], text: memoryview) -> None:
        super().__init__(rows)
        self.text = text
