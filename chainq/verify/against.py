"""Files against a service: the rows of some heights, drawn at random, or all of them.

Rows are compared by what identifies them and by a hash of all their fields but row ids, which are each database's own.
Rows of which the hashes differ are fetched and read once more, so that the fields are named. Neither side is right by
itself: `expected` is what the service has.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Column, Method
from chainq.errors import UsageError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.text.sanitize import excerpt
from chainq.verify.blocks import IDENTITY, Key, Texts
from chainq.verify.compare import Contradiction
from chainq.verify.feeds import RangeFeed
from chainq.verify.findings import Finding, label

OWN = frozenset(("id", "block_id"))
"""Columns that hold row ids."""
_SHOWN = 120  # characters of a value in a finding


class Rows(Protocol):
    """The rows of one command in a file. `names`: the columns that are compared. `heights`: what the rows are of."""

    method: Method
    names: list[str]
    heights: HeightRange

    def rows(self) -> Iterator[Texts]:
        """Yield the rows of the file. May be called again."""

    def as_rows(self, sent: Sequence[Raw]) -> Iterator[Texts]:
        """Yield rows of a service as if they were in the file."""

    def finding(self, height: int | None, contradiction: Contradiction) -> Finding:
        """Return a finding about these rows."""


def odds(chosen: int, heights: int, lost: int) -> float:
    """Return how likely it is that at least one of `lost` heights is among those `chosen` at random of all `heights`.

    >>> round(odds(200, 40_000, 100), 3)
    0.395
    """
    unseen = 1.0
    for number in range(min(lost, heights)):
        unseen *= max(0, heights - chosen - number) / (heights - number)
    return 1 - unseen


def compare(rows: Rows, service: Service, chosen: Container[int], places: Iterable[HeightRange]) -> list[Finding]:
    """Return where the rows of a file differ from those of a service.

    `chosen`: the heights to compare; `places`: the same as ranges. Raises ChainqError where the service fails,
    UsageError where the file has no column that identifies rows.
    """
    command, method = rows.method.command, rows.method
    key_of = _key_of(rows)
    findings: list[Finding] = []
    due: dict[Key, tuple[int, int]] = {}
    compared = 0
    for place in places:
        compared += len(place)
        for part in RangeFeed(service, command, place).parts:
            if part.doubt:
                findings.append(rows.finding(part.heights.start, Contradiction("unproved", None, part.doubt)))
            for (height, _), texts in zip(part.rows, rows.as_rows([row for _, row in part.rows]), strict=True):
                due[key_of(texts)] = (part.heights.start if height is None else height, _hash(rows.names, texts))
    whole = compared == len(rows.heights)  # else rows without a height may be of others
    left = {} if method.linked else dict(due)  # a missing block was a finding before, of the file by itself
    altered: dict[Key, int] = {}
    for texts in rows.rows():
        key = key_of(texts)
        height = _height(method, texts)
        if key in due:
            left.pop(key, None)
            if due[key][1] != _hash(rows.names, texts):
                altered[key] = due[key][0]
        elif whole if height is None else height in chosen:
            findings.append(rows.finding(height, Contradiction("unexpected", None, label(command, key))))
    for key, (height, _) in left.items():
        findings.append(rows.finding(height, Contradiction("missing", label(command, key), None)))
    findings += _fields(rows, service, altered, key_of)
    return findings


def _fields(rows: Rows, service: Service, altered: dict[Key, int], key_of: Callable[[Texts], Key]) -> Iterator[Finding]:
    """Yield the fields in which rows differ, by reading both sides once more."""
    if not altered:
        return
    due: dict[Key, Texts] = {}
    for height in sorted(set(altered.values())):
        sent = [row for _, row in RangeFeed(service, rows.method.command, HeightRange(height, height + 1)).all_rows()]
        due |= {key: texts for texts in rows.as_rows(sent) if (key := key_of(texts)) in altered}
    for texts in rows.rows():
        key = key_of(texts)
        if key in altered and key in due:
            wrong = [name for name in rows.names if due[key].get(name) != texts.get(name)]
            expected, found = (
                ", ".join(f"{name}={_shown(side.get(name))}" for name in wrong) for side in (due[key], texts)
            )
            named = f"{label(rows.method.command, key)}: {expected}"
            yield rows.finding(altered[key], Contradiction("altered", named, found))


def _key_of(rows: Rows) -> Callable[[Texts], Key]:
    """Return what identifies a row. Raises UsageError where the columns do not."""
    height = rows.method.height
    names = IDENTITY.get(rows.method.command) or ((height,) if height else ())
    if not names or not set(names) <= set(rows.names):
        raise UsageError(f"comparing {rows.method.command} needs the columns {', '.join(names)}")
    return lambda texts: tuple(texts.get(name) or "" for name in names)


def _height(method: Method, texts: Texts) -> int | None:
    text = texts.get(method.height) if method.height else None
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 20 else None


def _hash(names: Sequence[str], texts: Texts) -> int:
    return hash(tuple(texts.get(name) for name in names))


def _shown(text: str | None) -> str:
    return "null" if text is None else excerpt(text, _SHOWN)


def columns_of(method: Method, names: Sequence[str]) -> list[Column]:
    """Return the columns of a method with these names, in their order."""
    return [column for name in names for column in method.columns if column.path == name]


def compared_names(command: str, names: Iterable[str]) -> list[str]:
    """Return the columns of a command that are compared."""
    known = {column.path for column in BY_COMMAND[command].columns}
    return [name for name in names if name in known and name not in OWN]
