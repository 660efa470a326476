"""Reads fields of rows without decoding the rest, so that every digit stays as the server sent it.

Fields are named by dotted paths: `header.metadata.height` is `height` in `metadata` in `header`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Raw, structs

from chainq.heights.bounds import HIGHEST
from chainq.rows.raw_json import items, members

Paths = dict[str, Any]
"""The paths below an object, by their first step: `{"a": {"b": {}}}` is `a.b`."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")


class Key(str):
    """A path that is the name of one field, even with dots and brackets in it: columns of SQL have any name."""

    __slots__ = ()


def struct_of(kinds: Mapping[str, Any], *, closed: bool = False) -> type[msgspec.Struct]:
    """Return a Struct that decodes only the given dotted paths, and is compared by them in their order.

    A `Raw` may be missing, and is None then, except inside an object that has other kinds. `closed`: there are no other
    fields. No path may lead through another one.
    """
    return _struct(tree_of((path.split("."), kind) for path, kind in kinds.items()), closed)


def _struct(tree: Paths, closed: bool) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any, Any]] = []
    for name, kind in tree.items():
        if isinstance(kind, dict):
            inner = _struct(kind, closed)
            whole = not any(one.required for one in structs.fields(inner))
            fields.append((name, inner, msgspec.field(default_factory=inner) if whole else msgspec.NODEFAULT))
        else:
            fields.append((name, kind, None if kind is Raw else msgspec.NODEFAULT))
    return msgspec.defstruct("Fields", fields, order=True, gc=False, kw_only=True, forbid_unknown_fields=closed)


@lru_cache
def _fast_picker(paths: tuple[str, ...], closed: bool) -> Callable[[bytes | Raw], list[Raw | None]] | None:
    """Return what reads the values of paths in a fifth of the time; it raises msgspec.DecodeError for other rows than
    usual. None if a path is not of plain names, or leads through another one."""
    through = any(path.startswith(f"{other}.") for path in paths for other in paths)
    if through or not paths or not all(map(_PLAIN.fullmatch, paths)):
        return None
    take: Callable[[Any], Any] = attrgetter(*paths)
    decode = msgspec.json.Decoder(struct_of(dict.fromkeys(paths, Raw), closed=closed)).decode
    return (lambda row: [take(decode(row))]) if len(paths) == 1 else (lambda row: [*take(decode(row))])


def tree_of(places: Iterable[tuple[Sequence[str], Any]]) -> Paths:
    """Return values by the steps that lead to each."""
    tree: Paths = {}
    for (*outer, name), value in places:
        inside = tree
        for step in outer:
            inside = inside.setdefault(step, {})
        inside.setdefault(name, value)
    return tree


class Picker:
    """Picks the values of dotted paths out of rows; make one for many rows.

    `a[].b` is the array of `b` of each item of the array `a`, null if an item has none. A `Key` is not divided.
    `on_unknown`, if given, is called with the path and the value of each field of a row that no path leads to.
    """

    def __init__(self, paths: Sequence[str], on_unknown: Callable[[str, Raw], None] | None = None) -> None:
        heads = [(path, "", "") if isinstance(path, Key) else path.partition("[]") for path in paths]
        self._steps = [[head] if isinstance(head, Key) else head.split(".") for head, _, _ in heads]
        divided = not any(isinstance(head, Key) for head, _, _ in heads)
        self._fast = _fast_picker(tuple(head for head, _, _ in heads), on_unknown is not None) if divided else None
        self._inner = {
            number: Picker([rest.removeprefix(".")]) if rest else None
            for number, (_, brackets, rest) in enumerate(heads)
            if brackets
        }
        self._on_unknown = on_unknown
        self._known = tree_of((steps, {}) for steps in self._steps)

    def __call__(self, row: bytes | Raw) -> list[Raw | None]:
        """Return the values in the order of the paths, as they were sent; None if the row has no such field.

        A row that is not an object has no fields, and a path through a value that is not an object leads to none.
        """
        try:
            values = self._fast(row) if self._fast else self._values(row)
        except msgspec.DecodeError:
            values = self._values(row)
        for number, pick in self._inner.items():
            values[number] = _each(values[number], pick)
        return values

    def _values(self, row: bytes | Raw) -> list[Raw | None]:
        top = object_of(row)
        if self._on_unknown:
            for path, value in unknown(top, self._known):
                self._on_unknown(path, value)
        return [_inside(top, steps) for steps in self._steps]


def _inside(top: Mapping[str, Raw], steps: Sequence[str]) -> Raw | None:
    for step in steps[:-1]:
        top = object_of(top.get(step))
    return top.get(steps[-1])


def unknown(top: Mapping[str, Raw], known: Paths, path: str = "") -> Iterator[tuple[str, Raw]]:
    """Yield the members that are not known, with their paths, and values that are no objects though paths lead
    through."""
    for name, value in top.items():
        if name not in known or (known[name] and bytes(value)[:1] != b"{" and bytes(value) != b"null"):
            yield f"{path}{name}", value
        elif known[name]:
            yield from unknown(object_of(value), known[name], f"{path}{name}.")


def _each(value: Raw | None, pick: Picker | None) -> Raw | None:
    """Return the array of the value that `pick` reads from each item, or None if the value is not an array."""
    if value is None or bytes(value)[:1] != b"[":
        return None
    if pick is None:
        return value
    found = (pick(item)[0] for item in array_of(value))
    return Raw(b"[" + b",".join(b"null" if one is None else bytes(one) for one in found) + b"]")


class Flattener:
    """Makes a flat JSON object of the values of dotted paths: `{"b.c":1}`, values as they were sent.

    `rest`: then of all else that was sent, by its path. Objects on the way to a path are opened, others stay whole:
    their keys are data, or nobody knows them.
    """

    def __init__(self, paths: Sequence[str], *, rest: bool = False) -> None:
        self._rest: dict[str, Raw] = {}
        self._pick = Picker(paths, self._rest.__setitem__ if rest else None)
        self._keys = [msgspec.json.encode(str(path)) + b":" for path in paths]  # of Key, too

    def __call__(self, row: Raw) -> bytes:
        """Return the object of a row, in the order of the paths; null if the row has no such field."""
        self._rest.clear()
        values = [b"null" if value is None else bytes(value) for value in self._pick(row)]
        pairs = [key + value for key, value in zip(self._keys, values, strict=True)]
        pairs += [msgspec.json.encode(path) + b":" + bytes(value) for path, value in self._rest.items()]
        return b"{" + b",".join(pairs) + b"}"


def value_at(row: bytes | Raw | None, path: str) -> Raw | None:
    """Return the value of one dotted path, None if the row has no such field. For many rows make a `Picker`."""
    return _inside(object_of(row), path.split("."))


def object_of(value: bytes | Raw | None) -> dict[str, Raw]:
    """Return the members of an object; none for any other value."""
    sent = b"" if value is None else bytes(value)
    return members(sent) if sent[:1] == b"{" else {}


def array_of(value: bytes | Raw | None) -> list[Raw]:
    """Return the items of an array; none for any other value."""
    sent = b"" if value is None else bytes(value)
    return items(sent) if sent[:1] == b"[" else []


def count_of(value: bytes | Raw) -> int | None:
    """Return the number of items of an array or of members of an object; None for any other value."""
    nested = bytes(value)[:1] in (b"[", b"{")
    return len(array_of(value) or object_of(value)) if nested else None


def text_of(value: bytes | Raw | None) -> str:
    """Return a value as a person or a CSV cell reads it: a string's characters, other values' JSON; null is empty."""
    if value is None:
        return ""
    sent = bytes(value)
    if sent[:1] != b'"':
        return "" if sent == b"null" else sent.decode()
    return sent[1:-1].decode() if b"\\" not in sent else json.loads(sent)


_INTEGER = msgspec.json.Decoder(int, strict=False)


def integer_of(value: bytes | Raw | None) -> int | None:
    """Return the whole number in a value, sent as a number or as a string; None if there is none.

    `5.0` and `1e3` are whole numbers too, as for the decoder that reads the heights of many rows at once
    (`chainq.rows.sorting`).
    """
    if value is None:
        return None
    try:
        return _INTEGER.decode(value)
    except msgspec.DecodeError:  # a leading zero, for example
        text = text_of(value)
    return int(text) if re.fullmatch(r"-?[0-9]{1,100}", text) else None


def seconds_of(value: bytes | Raw | None) -> int | None:
    """Return a block time, or None if it is not a whole number or is out of range."""
    seconds = integer_of(value)
    return seconds if seconds is not None and abs(seconds) <= HIGHEST else None


def in_place(found: list[Raw], path: str) -> list[Raw]:
    """Return rows sorted by the number at `path`; rows without one are last, in their given order."""
    pick = Picker([path])
    places = [integer_of(pick(row)[0]) for row in found]
    order = sorted(range(len(found)), key=lambda i: (places[i] is None, places[i] or 0))
    return [found[i] for i in order]
