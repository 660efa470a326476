"""Parses the text of a decrypted record into its members, in the network's notation for values."""

import re
from collections.abc import Iterator
from typing import Any

_WORD = re.compile(r'\s*([{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)')
_VISIBILITY = (".private", ".public", ".constant")
_WHOLE = re.compile(r"([0-9]+)u(?:8|16|32|64|128)")

Members = dict[str, Any]


def members_of(text: str) -> Members:
    """Return the members of a plaintext: literals with their type (`5u64`), structs as dicts, arrays as lists.

    Visibilities are left out. Raises ValueError for another text.
    """
    words = iter(_WORD.findall(text))
    found = _value(next(words, ""), words)
    if not isinstance(found, dict):
        raise ValueError("a record plaintext is not an object of members")
    return found


def amount_of(literal: object) -> int | None:
    """Return the number of an unsigned literal such as `5u64`; None for any other value."""
    found = _WHOLE.fullmatch(literal) if isinstance(literal, str) else None
    return int(found[1]) if found else None


def _value(word: str, words: Iterator[str]) -> Any:
    if word == "{":
        return dict(_members(words))
    if word == "[":
        return list(_items(words))
    if not word or word in "}],:":
        raise ValueError("a plaintext ends too early")
    for ending in _VISIBILITY:
        word = word.removesuffix(ending)
    return word


def _members(words: Iterator[str]) -> Iterator[tuple[str, Any]]:
    for name in words:
        if name == "}":
            return
        if name != ",":
            if next(words, "") != ":":
                raise ValueError("a member of a plaintext has no value")
            yield name, _value(next(words, ""), words)
    raise ValueError("a plaintext ends too early")


def _items(words: Iterator[str]) -> Iterator[Any]:
    for word in words:
        if word == "]":
            return
        if word != ",":
            yield _value(word, words)
    raise ValueError("a plaintext ends too early")
