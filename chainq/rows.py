"""JSON text cut into its parts without decoding them, so that every digit and escape stays as the server sent it.

Two ways stand side by side: msgspec, fast; and the standard library's scanner, slower, for what msgspec refuses
(lone surrogates). Nothing here knows of calls, methods or formats.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from chainq.errors import AnswerError
from chainq.safe import excerpt

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


class Picker:
    """Cuts the values of dotted paths out of rows: one object for many rows, made once.

    `stray`, where given, is told once of each field that a row has and no path shows.
    """

    def __init__(self, paths: Sequence[str], stray: Callable[[str], None] | None = None) -> None:
        self._steps = [path.split(".") for path in paths]
        self._stray = stray
        self._told: set[str] = set()
        self._shown: dict[str, set[str]] = {}  # by the place of an object in the row: its keys on the way to a path
        for steps in self._steps:
            for depth, step in enumerate(steps):
                self._shown.setdefault("".join(f".{above}" for above in steps[:depth]), set()).add(step)

    def __call__(self, row: bytes | Raw) -> list[Raw | None]:
        """The values in the order of the paths, as sent; None where the row has no such field.

        A row that is no object, or a path that runs into a value that is none, has no such field.
        """
        opened: dict[str, dict[str, Raw]] = {"": _open(bytes(row))}
        values: list[Raw | None] = []
        for steps in self._steps:
            place = ""
            for step in steps[:-1]:
                inner = f"{place}.{step}"
                if inner not in opened:
                    opened[inner] = self._enter(opened[place].get(step), inner)
                place = inner
            values.append(opened[place].get(steps[-1]))
        if self._stray:
            for place, found in opened.items():
                if not found.keys() <= self._shown[place]:
                    for key in found.keys() - self._shown[place]:
                        self._tell(f"{place}.{key}")
        return values

    def _enter(self, value: Raw | None, place: str) -> dict[str, Raw]:
        if value is None:
            return {}
        sent = bytes(value)
        if self._stray and sent[:1] != b"{" and sent != b"null":
            self._tell(place)
        return _open(sent)

    def _tell(self, place: str) -> None:
        if self._stray and place not in self._told:
            self._told.add(place)
            self._stray(place[1:])


def _open(text: bytes) -> dict[str, Raw]:
    return members(text) if text[:1] == b"{" else {}


def text_of(value: bytes | Raw | None) -> str:
    """A value as a person or a CSV cell reads it: a string's own characters, other values' JSON; null is empty.

    Lone surrogates stay in the string: whoever encodes it decides what becomes of them.
    """
    if value is None:
        return ""
    sent = bytes(value)
    if sent[:1] != b'"':
        return "" if sent == b"null" else sent.decode()
    return sent[1:-1].decode() if b"\\" not in sent else json.loads(sent)


_WHOLE = msgspec.json.Decoder(int, strict=False)


def integer_of(value: bytes | Raw | None) -> int | None:
    """The whole number that a value holds, sent as a number or as a string; None where it holds none.

    `5.0` and `1e3` are whole numbers too, by the same decoder that reads the heights of many rows at once (`arrange`).
    """
    if value is None:
        return None
    try:
        return _WHOLE.decode(value)
    except msgspec.DecodeError:  # a zero in front, say
        text = text_of(value)
    return int(text) if re.fullmatch(r"-?[0-9]{1,100}", text) else None
