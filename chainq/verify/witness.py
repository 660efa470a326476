"""Holds two services against each other, height by height: hashes first, rows only where these differ.

The rows of the first service are hashed as the audit reads them, so that it is not asked twice. A hash adds up those of
the rows, so that their order does not matter; row ids are left out, for they are each database's own. Where hashes
differ the rows of that height are fetched from both, and compared by their values: a number and a string of its digits
are the same, and so are objects with other orders of keys.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.rows.fields import array_of, integer_of, object_of, text_of
from chainq.text.sanitize import excerpt
from chainq.verify.blocks import IDENTITY, Key
from chainq.verify.feeds import ListFeed, Part, RangeFeed
from chainq.verify.findings import Finding, label
from chainq.verify.repair import Repair

WINDOW = 500
"""Heights that are compared at a time."""
_OWN = ("id", "block_id")  # row ids


def row_hash(command: str, row: Raw) -> int:
    """Return the hash of a row without its row ids. Hashes of the rows of a height add up to that of the height."""
    if command == "full-blocks":
        return int.from_bytes(sha256(row).digest())
    members = object_of(row)
    text = b"\0".join(name.encode() + b"\0" + bytes(members[name]) for name in sorted(members) if name not in _OWN)
    return int.from_bytes(sha256(text).digest())


class Witness:
    """A second service that is expected to have the same rows."""

    def __init__(self, service: Service, witness: Service, commands: Iterable[str], repair: Repair) -> None:
        self._sides = (service, witness)
        self._commands, self._repair = tuple(commands), repair

    def compare(self, heights: HeightRange, hashes: Mapping[tuple[str, int], int]) -> Iterator[Finding]:
        """Yield where the witness differs. `hashes`: of the rows of the first service, by command and height."""
        row_ids: dict[int, int] = {}
        for command in self._commands:
            theirs: dict[int, int] = {}
            for part in self._parts(1, command, heights, row_ids):
                for height, row in part.rows:
                    at = heights.start if height is None else height
                    theirs[at] = theirs.get(at, 0) + row_hash(command, row)
                    if command == "blocks" and (row_id := integer_of(object_of(row).get("id"))) is not None:
                        row_ids[at] = row_id
            if command == "ownership":  # its rows have no heights
                own = sum(hashes.get((command, height), 0) for height in range(heights.start, heights.end))
                if own != sum(theirs.values()):
                    yield from self._narrow(heights)
                continue
            for height in range(heights.start, heights.end):
                if hashes.get((command, height), 0) != theirs.get(height, 0):
                    yield from self._differences(command, height, row_ids)

    def _parts(self, side: int, command: str, heights: HeightRange, row_ids: dict[int, int]) -> Iterator[Part]:
        service = self._sides[side]
        if BY_COMMAND[command].ranged:
            yield from RangeFeed(service, command, heights).parts
        else:
            yield ListFeed(service).pull(heights, row_ids)

    def _narrow(self, heights: HeightRange) -> Iterator[Finding]:
        """Yield the differences of ownership rows, by asking both for ever fewer heights."""
        if len(heights) == 1:
            yield from self._differences("ownership", heights.start, {})
            return
        for half in heights.halves():
            own, theirs = (
                sum(
                    row_hash("ownership", row)
                    for part in self._parts(side, "ownership", half, {})
                    for _, row in part.rows
                )
                for side in (0, 1)
            )
            if own != theirs:
                yield from self._narrow(half)

    def _differences(self, command: str, height: int, row_ids: dict[int, int]) -> Iterator[Finding]:
        """Fetch the rows of a height from both, and yield what differs."""
        sides: list[dict[Key, list[str]]] = []
        for side, service in enumerate(self._sides):
            parts: Iterable[Part]
            if BY_COMMAND[command].ranged:
                parts = [
                    RangeFeed(service, command, HeightRange(height, height + 1)).single(height, "more pages follow")
                ]
            else:
                known = row_ids if side else self._own_row_ids(height)
                parts = self._parts(side, command, HeightRange(height, height + 1), known)
            rows: dict[Key, list[str]] = {}
            for part in parts:
                if part.doubt:
                    return  # the audit says so
                for _, row in part.rows:
                    members = object_of(row)
                    names = IDENTITY.get(command, ())
                    key = tuple(text_of(members.get(name)) for name in names) or (str(height),)
                    rows.setdefault(key, []).append(_canonical(row, top=True))
            sides.append(rows)
        own, theirs = sides
        for key in sorted(own.keys() | theirs.keys()):
            mine, others = sorted(own.get(key, [])), sorted(theirs.get(key, []))
            if mine != others:
                expected, found = _apart(others, mine)
                name = label(command, key)
                yield Finding(
                    height,
                    command,
                    "differs",
                    f"{name}: {expected}" if others else None,
                    f"{name}: {found}" if mine else None,
                    self._repair(command, height),
                )

    def _own_row_ids(self, height: int) -> dict[int, int]:
        part = RangeFeed(self._sides[0], "blocks", HeightRange(height, height + 1)).single(height)
        found = [integer_of(object_of(row).get("id")) for _, row in part.rows]
        return {height: found[0]} if found and found[0] is not None else {}


def _canonical(value: Raw, *, top: bool = False) -> str:
    """Return a value in a form that is the same for values that mean the same; of a row without its row ids."""
    sent = bytes(value)
    if sent[:1] == b"{":
        members = object_of(sent)
        names = [name for name in sorted(members) if not (top and name in _OWN)]
        return "{" + ", ".join(f"{name}={_canonical(members[name])}" for name in names) + "}"
    if sent[:1] == b"[":
        return "[" + ", ".join(map(_canonical, array_of(sent))) + "]"
    return "null" if sent == b"null" else text_of(sent)


def _apart(others: list[str], mine: list[str]) -> tuple[str, str]:
    """Return what two sides have, from shortly before the first character in which they differ."""
    if len(others) != len(mine):
        return f"{len(others)} times", f"{len(mine)} times"
    other, own = next(pair for pair in zip(others, mine, strict=True) if pair[0] != pair[1])
    at = next(
        (i for i, pair in enumerate(zip(other, own, strict=False)) if pair[0] != pair[1]), min(map(len, (other, own)))
    )
    begin = max(0, other.rfind(", ", 0, at) + 2, at - 60) if at else 0
    return excerpt(other[begin:], 120), excerpt(own[begin:], 120)
