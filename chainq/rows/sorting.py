"""Sorts the rows of one response, and checks that their heights were requested."""

from collections.abc import Callable, Sequence
from itertools import accumulate, groupby, islice
from operator import attrgetter, le, lt
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import Method
from chainq.errors import IncompleteError, ResponseError
from chainq.heights.range import HeightRange
from chainq.rows.fields import Picker, integer_of, struct_of, text_of
from chainq.rows.raw_json import ResponseRows, check_objects


class Page(NamedTuple):
    """The rows of one response, sorted by height and inside a height by the method's order.

    `heights`: the height of each row; empty if rows of the method carry none. `ordered`: whether the rows came in
    height order; `as_text`: else, whether they came in the order of heights as text ("10" before "9"); `strays`: else,
    the heights whose rows came after those of a higher one, if they are few.
    """

    rows: list[Raw]
    heights: list[int]
    ordered: bool = True
    as_text: bool = False
    strays: frozenset[int] = frozenset()


_Read = tuple[Sequence[Any], list[int]] | None  # keys and heights; None if the height of a row is not to be read


class Sorter:
    """Sorts the rows of a response by height, and inside a height by the method's `order`; made once for a run."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._read = _reader(method.height, method.order) if method.height else _unread
        self._text = Picker([method.text]) if method.text else None

    def __call__(self, rows: list[Raw], heights: HeightRange, *, verify: bool = True) -> Page:
        """Return the rows of a response to a request for `heights`.

        Rows without a height get it if `heights` is a single one. Raises ResponseError if a row is not an object or is
        nested too deeply; IncompleteError if a row is outside the heights, has no valid height, or appears twice
        (blocks without `verify` are passed on).
        """
        try:
            read = self._read(rows)
        except (ResponseError, RecursionError) as error:
            said = error.message if isinstance(error, ResponseError) else "a row is nested too deeply"
            raise ResponseError(f"{self._method.name} {heights}: {said}") from None
        if read is None:
            return self._without_heights(rows, heights, verify=verify)
        keys, found = read
        rising = _rising(keys)
        ends = [found[0], found[-1]] if rising and found else found
        if ends and (min(ends) < heights.start or max(ends) >= heights.end):
            height = min(ends) if min(ends) < heights.start else max(ends)
            raise IncompleteError(
                f"{self._method.name} {heights}: the response contains a row of height {height}",
                "it is outside the requested range",
            )
        if rising:
            return Page(rows, found)
        ordered = all(map(le, found, islice(found, 1, None)))
        places = sorted(range(len(keys)), key=keys.__getitem__)
        if not _rising([keys[i] for i in places]) and (verify or not self._method.single):
            if self._text is not None:  # rows of several texts, in an order that does not depend on the response's
                places.sort(key=lambda i: (keys[i], bytes(rows[i])))
            self._refuse_duplicates(rows, keys, places, found)
        texts = [] if ordered else list(map(str, found))
        strays = frozenset() if ordered else _strays(found)
        return Page([rows[i] for i in places], [found[i] for i in places], ordered, texts == sorted(texts), strays)

    def _without_heights(self, rows: list[Raw], heights: HeightRange, *, verify: bool) -> Page:
        if self._method.height and not self._method.single:
            raise IncompleteError(
                f"{self._method.name} {heights}: a row has no valid height",
                "without heights no response can be proved complete",
            )
        if not self._method.repeats and (verify or not self._method.single) and len(set(map(bytes, rows))) < len(rows):
            raise self._twice(heights)
        located = len(heights) == 1 and not self._method.single
        return Page(rows, [heights.start] * len(rows) if located else [])

    def _refuse_duplicates(self, rows: list[Raw], keys: Sequence[Any], places: list[int], found: list[int]) -> None:
        """Raise IncompleteError for a duplicate row, or one identity with different content and the same text."""
        for key, same in groupby(places, keys.__getitem__):
            first, *others = alike = [*same]
            if not others:
                continue
            heights = HeightRange(found[first], found[first] + 1)
            if len({bytes(rows[i]) for i in alike}) <= len(others):
                raise self._twice(heights)
            if self._text is not None and len({bytes(self._text(rows[i])[0] or b"") for i in alike}) > len(others):
                continue
            # A row without an id has no name but its bytes.
            if self._method.order and (not isinstance(key, tuple) or key[1][1]):
                raise IncompleteError(
                    f"{self._method.name} {heights}: two different rows have the same {self._method.order}",
                    "the service contradicts itself",
                )

    def _twice(self, heights: HeightRange) -> IncompleteError:
        return IncompleteError(
            f"{self._method.name} {heights}: a row appears twice in one response", "the service repeats rows"
        )


def _rising(keys: Sequence[Any]) -> bool:
    """Return whether each key is above the previous one, so the rows are in order without duplicates."""
    return all(map(lt, keys, islice(keys, 1, None)))


def _strays(found: list[int]) -> frozenset[int]:
    strays = frozenset(height for height, top in zip(found, accumulate(found, max), strict=True) if height < top)
    return strays if len(strays) <= tuning.FEW_STRAYS else frozenset()


def _unread(rows: list[Raw]) -> None:
    """No keys: rows of this method have no height."""
    check_objects(rows)


def _reader(height: str, order: str | None) -> Callable[[list[Raw]], _Read]:
    """Return the function that reads the sort keys and the heights of rows.

    A key is the height and the order inside it. Numbers come before texts there, whatever else the response holds: the
    order of a height must not depend on other heights. If all are of one kind, the loops run in C, because a Python
    function for each row takes longer than all other processing of it.
    """
    kinds: list[type] = [int, str] if order else [int]
    decoders = [RowDecoder(struct_of({height: int, order or height: kind})) for kind in kinds]
    height_of, inside_of = attrgetter(height), attrgetter(order or height)
    slow = Picker([height, order or height])

    def read(rows: list[Raw]) -> _Read:
        for decode, kind in zip(decoders, kinds, strict=True):
            try:
                found = decode(rows)
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


def turned(rows: list[Raw], heights: list[int]) -> tuple[list[Raw], list[int]]:
    """Return rows and heights with the highest height first, inside a height in their order.

    Rows without heights are returned in reverse.
    """
    if not heights:
        return rows[::-1], []
    places = sorted(range(len(rows)), key=heights.__getitem__, reverse=True)
    return [rows[place] for place in places], [heights[place] for place in places]


class RowDecoder:
    """Decodes all rows of a response as `kind`, a Struct. Strings may stand for numbers."""

    def __init__(self, kind: type[msgspec.Struct]) -> None:
        envelope = msgspec.defstruct("Envelope", [("result", list[kind])])  # type: ignore[valid-type]  # known here only
        self._decode = msgspec.json.Decoder(envelope, strict=False).decode

    def __call__(self, rows: list[Raw]) -> list[Any]:
        """Return a `kind` for each row. Raises msgspec.DecodeError if a row does not fit it, or RecursionError."""
        text = rows.text if isinstance(rows, ResponseRows) else b'{"result":[%b]}' % b",".join(rows)
        return self._decode(text).result  # type: ignore[attr-defined, no-any-return]  # as above


def name_reader(paths: Sequence[str]) -> Callable[[list[Raw]], list[tuple[str, ...]]]:
    """Return a function that reads the values of rows at some paths as text: their identity in every method."""
    slow = Picker(list(paths))
    decode = RowDecoder(struct_of({path: Raw if at else str for at, path in enumerate(paths)})) if paths else None
    others = paths[1:]

    def read(rows: list[Raw]) -> list[tuple[str, ...]]:
        try:
            found = decode(rows) if decode else []
        except msgspec.DecodeError:  # a value of another type, or one that is missing
            found = []
        if len(found) != len(rows):
            return [tuple(map(text_of, slow(row))) for row in rows]
        first = [getattr(row, paths[0]) for row in found]
        rest = [[text_of(getattr(row, path)) for row in found] for path in others]
        return list(zip(first, *rest, strict=True))

    return read
