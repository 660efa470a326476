"""Reads fields of rows by dotted path, without decoding the rest."""

import json
import re
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from chainq.rows.raw_json import (
    members,
)


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
