"""Splits JSON text into its parts without decoding them, so that every digit and escape stays as the server sent it.

Each function has two ways: msgspec, fast; and the scanner of the standard library, slower, for text that msgspec
refuses (lone surrogates). Nothing here depends on requests, methods or formats.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from chainq.errors import ResponseError
from chainq.text.sanitize import excerpt

SPACES = (b" ", b"\n", b"\t", b"\r")  # what JSON allows between tokens (RFC 8259, section 2)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not valid JSON")


# Numbers stay text: Python refuses integers of more than 4,300 digits, and a float would lose digits.
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)


def compact(text: bytes) -> bytes:
    """Return the same JSON text without white space between tokens. Raises ValueError for invalid JSON in white space,
    and for what is not UTF-8."""
    if not text.isascii():
        text.decode()
    if not any(space in text for space in SPACES):
        return text
    try:
        return msgspec.json.format(text, indent=-1)
    except msgspec.DecodeError:
        decoded = text.decode()
        _SCANNER.decode(decoded)
        return "".join(_TOKEN.findall(decoded)).encode()


def members(text: bytes | memoryview) -> dict[str, Raw]:
    """Return the members of a JSON object, values as they were sent. Raises ValueError for anything else."""
    try:
        return msgspec.json.decode(text, type=dict[str, Raw])
    except msgspec.DecodeError:
        return dict(_parts(text, "{"))


def items(text: bytes | memoryview) -> list[Raw]:
    """Return the items of a JSON array, each as it was sent. Raises ValueError for anything else."""
    try:
        return msgspec.json.decode(text, type=list[Raw])
    except msgspec.DecodeError:
        return [value for _, value in _parts(text, "[")]


def _parts(sent: bytes | memoryview, opening: str) -> Iterator[tuple[str, Raw]]:
    """Yield the keys and values of a text that msgspec refuses; in an array each key is empty."""
    text = compact(bytes(sent)).decode()
    _SCANNER.decode(text)
    if text[0] != opening:
        raise ValueError(f"expected a JSON {'object' if opening == '{' else 'array'}")
    at, key = 1, ""
    while at < len(text) - 1:
        if opening == "{":
            key, at = _SCANNER.raw_decode(text, at)
            at += 1
        end = _SCANNER.raw_decode(text, at)[1]
        yield key, Raw(text[at:end].encode())
        at = end + 1


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
