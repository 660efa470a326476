"""The book of a wallet: its records and their spends as of a block, and their totals. Pure.

It can be rolled back: each entry has the heights at which it was created and spent, and marks record the blocks read.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from chainq.errors import ReorgError

NEAR = 128  # blocks below the last one that each have a mark
EACH = 8  # marks, or up to twice as many, for each doubling of the distance further down


class Entry(msgspec.Struct, omit_defaults=True):
    """One record. `owner`: number of its address among the sorted ones. `token`: its `token_id`, empty without one.

    `amount`: as digits, None for a record without one. `spent`: height of the block that spends it.
    """

    owner: int
    program: str
    token: str
    amount: str | None
    tag: str
    height: int
    transaction: str
    spent: int | None = None
    spender: str = ""


class Mark(msgspec.Struct, frozen=True):
    """A block that was read; `time`: in seconds since 1970, None if it has no readable one."""

    height: int
    hash: str
    time: int | None


class Total(NamedTuple):
    """The totals of a program and token: the counts of all and of unspent records, with their sums.

    `sum`, `unspent`: None if no record has an amount. `owner`: as in `Entry`.
    """

    owner: int
    program: str
    token: str
    records: int
    sum: int | None
    unspent_records: int
    unspent: int | None


class Book(msgspec.Struct):
    """Entries in the order of the chain, and marks in order of height; `next` is the first height that is not read."""

    next: int
    marks: list[Mark] = []
    entries: list[Entry] = []

    @property
    def as_of(self) -> Mark | None:
        """Return the last block in the book; None before the first."""
        return self.marks[-1] if self.marks else None

    def read(self, mark: Mark) -> None:
        """Record that everything up to a block is in the book."""
        self.next = mark.height + 1
        self.marks.append(mark)

    def thin(self) -> None:
        """Drop marks that are too close to each other: those further down are at multiples of greater powers of two."""
        last = self.next - 1
        self.marks = [mark for mark in self.marks if mark.height % _spacing(last - mark.height) == 0]

    def may_follow(self, height: int, hash_of: Callable[[int], str | None]) -> bool:
        """Return whether the chain up to a height may be the recorded one: its highest mark up to there matches."""
        mark = next((mark for mark in reversed(self.marks) if mark.height <= height), None)
        return mark is not None and hash_of(mark.height) == mark.hash

    def go_back(self, hash_of: Callable[[int], str | None]) -> Mark | None:
        """Remove blocks that are no longer on the chain; return the highest one removed, None if all are on it.

        `hash_of` returns the hash of a block now, None if there is none. Raises ReorgError if no mark is left.
        """
        there = (hash_of(mark.height) == mark.hash for mark in reversed(self.marks))
        gone = next((number for number, same in enumerate(there) if same), len(self.marks))
        if not gone:
            return None
        forgotten, kept = self.marks[-1], self.marks[:-gone]
        if not kept:  # the book stays as it is
            what = f"reorg: none of the recorded blocks up to {forgotten.height} is on the chain"
            raise ReorgError(what, "start a new checkpoint")
        self.marks, last = kept, kept[-1].height
        self.next = last + 1
        self.entries = [entry for entry in self.entries if entry.height <= last]
        for entry in self.entries:
            if entry.spent is not None and entry.spent > last:
                entry.spent, entry.spender = None, ""
        return forgotten

    def totals(self) -> list[Total]:
        """Return the totals by owner, program and token, in that order."""
        groups: dict[tuple[int, str, str], list[Entry]] = {}
        for entry in self.entries:
            groups.setdefault((entry.owner, entry.program, entry.token), []).append(entry)
        return [_total(*group, entries) for group, entries in sorted(groups.items())]


def _total(owner: int, program: str, token: str, entries: list[Entry]) -> Total:
    left = [entry for entry in entries if entry.spent is None]
    known = any(entry.amount is not None for entry in entries)
    return Total(
        *(owner, program, token),
        *(len(entries), _sum(entries) if known else None),
        *(len(left), _sum(left) if known else None),
    )


def _sum(entries: Iterable[Entry]) -> int:
    return sum(int(entry.amount) for entry in entries if entry.amount is not None)


def _spacing(gap: int) -> int:
    """Return the distance between marks at a depth below the last block: a power of two that grows with it."""
    return 1 if gap <= NEAR else 1 << (gap // EACH).bit_length()
