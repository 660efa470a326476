"""JSON text cut into its parts without decoding them, so that every digit and escape stays as the server sent it.

Two ways stand side by side: msgspec, fast; and the standard library's scanner, slower, for what msgspec refuses
(lone surrogates). Nothing here knows of calls, methods or formats.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from chainq.errors import AnswerError
from chainq.text.sanitize import excerpt

SPACES = (b" ", b"\n", b"\t", b"\r")  # what JSON allows between tokens (RFC 8259, section 2)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
_SPACE = re.compile(r"[ \t\n\r]*")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


# Numbers stay text: Python refuses integers of more than 4,300 digits, and a float would lose some of its own.
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)


def compact(text: bytes) -> bytes:
    """The same JSON text without white space between tokens. Raises ValueError where it is no JSON."""
    if not any(space in text for space in SPACES):
        return text
    try:
        return msgspec.json.format(text, indent=-1)
    except msgspec.DecodeError:
        loose = text.decode()
        _SCANNER.decode(loose)
        return "".join(_TOKEN.findall(loose)).encode()


def _parts(text: str, at: int, close: str) -> Iterator[tuple[str, str]]:
    """Walk the object or array that opens at `at`, as (key, value's text); the key is empty in an array."""
    at = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]  # the pattern matches the empty string
    while text[at] != close:
        key = ""
        if close == "}":
            key, at = _SCANNER.raw_decode(text, at)
            at = _SPACE.match(text, text.index(":", at) + 1).end()  # type: ignore[union-attr]  # as above
        end = _SCANNER.raw_decode(text, at)[1]
        yield key, text[at:end]
        at = _SPACE.match(text, end).end()  # type: ignore[union-attr]  # as above
        if text[at] == ",":
            at = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]  # as above


def members(text: bytes) -> dict[str, Raw]:
    """The members of a JSON object, values as they were sent. Raises ValueError where it is no JSON object."""
    try:
        return msgspec.json.decode(text, type=dict[str, Raw])
    except msgspec.ValidationError:
        raise ValueError("no JSON object") from None
    except msgspec.DecodeError:
        loose = text.decode()
        if not isinstance(_SCANNER.decode(loose), dict):
            raise ValueError("no JSON object") from None
        return {key: Raw(value.encode()) for key, value in _parts(loose, loose.index("{"), "}")}


def items(text: bytes) -> list[Raw]:
    """The items of a JSON array, each as it was sent. Raises ValueError where it is no JSON array."""
    try:
        return msgspec.json.decode(text, type=list[Raw])
    except msgspec.ValidationError:
        raise ValueError("no JSON array") from None
    except msgspec.DecodeError:
        loose = text.decode()
        if not isinstance(_SCANNER.decode(loose), list):
            raise ValueError("no JSON array") from None
        return [Raw(value.encode()) for _, value in _parts(loose, loose.index("["), "]")]


def check_objects(found: list[Raw]) -> list[Raw]:
    """The rows themselves. Raises AnswerError where one is no object."""
    for row in found:
        if memoryview(row)[0] != ord("{"):
            raise AnswerError(f"a row is no object: {excerpt(bytes(row).decode(), 60)}")
    return found
