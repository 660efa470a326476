"""Puts the rows of one answer in order, and checks their heights and hashes. No calls, no output."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.methods import Method
from chainq.rows import Picker, integer_of, text_of
from chainq.safe import excerpt
from chainq.span import Span

Key = tuple[int, int | str]  # height, and what orders rows inside it


class Arranger:
    """Puts the rows of a chunk in height order, newest first where `reverse`; made once for a run.

    Inside a height rows come by the method's `order`, always ascending. Rows without a readable height keep the
    server's order, turned round where `reverse`: deployed servers order by height.
    """

    def __init__(self, method: Method, reverse: bool = False) -> None:
        self._method = method
        self._reverse = reverse
        self._read = _reader(method.height, method.order) if method.height else None

    def __call__(self, rows: list[Raw], span: Span) -> tuple[list[Raw], list[int] | None]:
        """The rows in order and their heights, None where they have none.

        Raises IncompleteError where a row lies outside the heights asked for, or stands twice in the answer.
        """
        keys = [self._read(row) for row in rows] if self._read else []
        known = [key for key in keys if key is not None]
        if self._read is None or len(known) < len(keys):
            if not self._method.repeats and len(set(map(bytes, rows))) < len(rows):
                raise self._twice(span)
            return (rows[::-1] if self._reverse else rows), None
        low, high = (min(known)[0], max(known)[0]) if known else (span.start, span.start)
        if low < span.start or high >= span.end:
            raise IncompleteError(
                f"{self._method.name} {span}: the answer holds a row of height {low if low < span.start else high}",
                "the service contradicts the range it was asked for",
            )
        places = _sorted_places(known)
        for one, other in pairwise(places):
            if known[one] == known[other] and bytes(rows[one]) == bytes(rows[other]):
                raise self._twice(Span(known[one][0], known[one][0] + 1))
        if self._reverse:
            places.sort(key=lambda i: -known[i][0])
        return [rows[i] for i in places], [known[i][0] for i in places]

    def _twice(self, span: Span) -> IncompleteError:
        return IncompleteError(
            f"{self._method.name} {span}: a row stands twice in one answer", "the service repeats rows"
        )


def _sorted_places(keys: list[Key]) -> list[int]:
    try:
        return sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError:  # numbers and strings side by side
        return sorted(range(len(keys)), key=lambda i: (keys[i][0], str(keys[i][1])))


def _reader(height: str, order: str | None) -> Callable[[Raw], Key | None]:
    """Makes the function that reads a row's key: None where its height is missing or no number."""
    fast = msgspec.json.Decoder(_struct({height: int | str | None, **({order: int | str | None} if order else {})}))
    slow = Picker([height, order or ""])
    steps = height.split(".")

    def read(row: Raw) -> Key | None:
        try:
            found: Any = fast.decode(row)
            at: Any = found
            for step in steps:
                at = getattr(at, step)
            inside = getattr(found, order) if order else 0
        except (msgspec.DecodeError, AttributeError):
            sent = slow(row)
            at, inside = integer_of(sent[0]), text_of(sent[1])
        if type(at) is str:
            at = integer_of(msgspec.json.encode(at))
        if type(inside) is str and inside.isascii() and inside.isdecimal():
            inside = int(inside)
        if at is None:
            return None
        return at, inside if inside is not None else 0

    return read


def _struct(fields: dict[str, Any]) -> type[msgspec.Struct]:
    """A Struct that decodes only the given dotted paths."""
    nested: dict[str, dict[str, Any]] = {}
    flat: list[tuple[str, Any, Any]] = []
    for path, kind in fields.items():
        head, _, tail = path.partition(".")
        if tail:
            nested.setdefault(head, {})[tail] = kind
        else:
            flat.append((path, kind, None))
    flat += [(head, _struct(inner) | None, None) for head, inner in nested.items()]
    return msgspec.defstruct("Keys", flat)


class Links:
    """Checks, as blocks pass in order, that each names the hash of the one before; across chunk edges too."""

    def __init__(self, method: Method, reverse: bool = False) -> None:
        self._name = method.name
        self._reverse = reverse
        self._pick = Picker(["block_hash", "previous_hash"])
        self._last: tuple[int, str, str] | None = None  # height, block_hash, previous_hash

    def check(self, rows: Sequence[Raw], heights: Sequence[int]) -> None:
        """Raise IncompleteError at the first block that is not linked to its neighbour."""
        for row, height in zip(rows, heights, strict=True):
            own, previous = (text_of(value) for value in self._pick(row))
            if self._last is not None:
                last_height, last_own, last_previous = self._last
                named, found = (last_previous, own) if self._reverse else (previous, last_own)
                low, high = sorted((last_height, height))
                if not found or named != found:
                    raise IncompleteError(
                        f"{self._name}: block {high} names {excerpt(named, 80) or 'nothing'} as the block before it,"
                        f" but block {low} is {excerpt(found, 80) or 'without a hash'}",
                        "the chain is broken there, or changed while it was read; --no-verify reads on",
                    )
            self._last = (height, own, previous)
