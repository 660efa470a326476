"""Puts the rows of one answer in order, and checks their heights and hashes. No calls, no output."""

from collections.abc import Callable, Sequence
from itertools import groupby, islice
from operator import attrgetter, lt
from typing import Any

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.errors import IncompleteError, ResponseError
from chainq.heights.range import HeightRange
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.rows.raw_json import check_objects

_Read = tuple[Sequence[Any], list[int]] | None  # keys and heights; None where the height of a row is not to be read


class Arranger:
    """Puts the rows of a chunk in height order, newest first where `reverse`; made once for a run.

    Inside a height rows come by the method's `order`, always ascending. Rows without a readable height keep the
    server's order, turned round where `reverse`: deployed servers order by height.
    """

    def __init__(self, method: Method, reverse: bool = False) -> None:
        self._method = method
        self._reverse = reverse
        self._read = _reader(method.height, method.order) if method.height else _unread

    def __call__(self, rows: list[Raw], span: HeightRange) -> tuple[list[Raw], list[int] | None]:
        """The rows in order and their heights, None where they have none.

        Raises ResponseError where a row is no object or nested too deeply, IncompleteError where one lies outside the
        heights asked for or stands twice in the answer.
        """
        try:
            read = self._read(rows)
        except (ResponseError, RecursionError) as error:
            said = error.message if isinstance(error, ResponseError) else "a row is nested too deeply"
            raise ResponseError(f"{self._method.name} {span}: {said}") from None
        if read is None:
            if not self._method.repeats and len(set(map(bytes, rows))) < len(rows):
                raise self._twice(span)
            return (rows[::-1] if self._reverse else rows), None
        keys, heights = read
        low, high = (min(heights), max(heights)) if heights else (span.start, span.start)
        if low < span.start or high >= span.end:
            raise IncompleteError(
                f"{self._method.name} {span}: the answer holds a row of height {low if low < span.start else high}",
                "the service contradicts the range it was asked for",
            )
        if not _rising(keys):
            places = sorted(range(len(keys)), key=keys.__getitem__)
            if not _rising([keys[i] for i in places]):
                for _, same in groupby(places, keys.__getitem__):
                    first, *others = same
                    if len({bytes(rows[i]) for i in (first, *others)}) <= len(others):
                        raise self._twice(HeightRange(heights[first], heights[first] + 1))
            rows, heights = [rows[i] for i in places], [heights[i] for i in places]
        if self._reverse:
            places = sorted(range(len(rows)), key=heights.__getitem__, reverse=True)
            rows, heights = [rows[i] for i in places], [heights[i] for i in places]
        return rows, heights

    def _twice(self, span: HeightRange) -> IncompleteError:
        return IncompleteError(
            f"{self._method.name} {span}: a row stands twice in one answer", "the service repeats rows"
        )


def _rising(keys: Sequence[Any]) -> bool:
    """Whether each key is above the one before, so that the rows are in order and none stands twice."""
    return all(map(lt, keys, islice(keys, 1, None)))


def _unread(rows: list[Raw]) -> None:
    """No keys: rows of this method have no height."""
    check_objects(rows)


def _reader(height: str, order: str | None) -> Callable[[list[Raw]], _Read]:
    """Makes the function that reads of rows what they are sorted by, and their heights.

    A key is the height, and what orders rows inside it. Numbers stand before texts there, whatever else the answer
    holds: the order of a height must not hang on its neighbours. Where all are of one kind, the loops are C's, for a
    Python function for each row takes longer than all else that becomes of it.
    """
    kinds: list[type] = [int, str] if order else [int]
    decoders = [
        msgspec.json.Decoder(_struct({height: int, order or height: kind}), strict=False).decode for kind in kinds
    ]
    height_of, inside_of = attrgetter(height), attrgetter(order or height)
    slow = Picker([height, order or height])

    def read(rows: list[Raw]) -> _Read:
        for decode, kind in zip(decoders, kinds, strict=True):
            try:
                found: list[Any] = list(map(decode, rows))
            except msgspec.DecodeError:  # a value of another type, or one that is missing
                continue
            if kind is int or not any(inside.lstrip("-").isdecimal() for inside in map(inside_of, found)):
                return found, list(map(height_of, found))
        check_objects(rows)
        keys, heights = [], []
        for sent in map(slow, rows):
            at, inside = map(integer_of, sent)
            if at is None:
                return None
            text = "" if inside is not None else text_of(sent[1])
            keys.append((at, (bool(text), text or inside or 0)))
            heights.append(at)
        return keys, heights

    return read


def _struct(fields: dict[str, Any]) -> type[msgspec.Struct]:
    """A Struct that decodes only the given dotted paths, and is compared by them in their order."""
    parts: dict[str, Any] = {}
    for path, kind in fields.items():
        head, _, tail = path.partition(".")
        if tail:
            parts.setdefault(head, {})[tail] = kind
        else:
            parts[head] = kind
    kinds = [(name, _struct(kind) if isinstance(kind, dict) else kind) for name, kind in parts.items()]
    return msgspec.defstruct("Keys", kinds, order=True, gc=False)


def in_place(found: list[Raw], path: str) -> list[Raw]:
    """Rows by the number at `path`; those without one last, as they came."""
    pick = Picker([path])
    places = [integer_of(pick(row)[0]) for row in found]
    order = sorted(range(len(found)), key=lambda i: (places[i] is None, places[i] or 0))
    return [found[i] for i in order]
