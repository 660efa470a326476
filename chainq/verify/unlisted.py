"""Finds the kinds of rows that a server never lists, so that only rows that it lost are findings. Pure.

Deployed servers omit whole kinds of transitions from `transitionsWithoutRecordInputs`: fees, transitions without any
input, and transitions of programs missing from their program table (docs/protocol.md, "Results"). A missing row was
lost only if the server lists other rows of each of its kinds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chainq.planning.exchange import Key

MOST = 100_000  # rows that are remembered; further missing rows are only counted


class Missing(NamedTuple):
    """A row that is missing at a height, and its `kinds`."""

    height: int
    key: Key
    kinds: tuple[str, ...]


class Unlisted:
    """A record of listed and missing rows that determines which missing rows are lost.

    `counts`: how many rows are not listed, by their first kind that no listed row has had so far.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._listed: set[str] = set()  # kinds
        self._waiting: dict[str, list[Missing]] = {}  # by a kind that was not listed

    def listed(self, kinds: Iterable[str]) -> Iterator[Missing]:
        """Record the kinds of a listed row; yield the rows that are now known to be lost."""
        for kind in kinds:
            if kind not in self._listed:
                self._listed.add(kind)
                waiting = self._waiting.pop(kind, [])
                self.counts[kind] -= len(waiting)
                yield from filter(self.is_lost, waiting)

    def is_lost(self, missing: Missing) -> bool:
        """Return whether a missing row was lost; otherwise remember it until its kinds are listed."""
        unseen = next((kind for kind in missing.kinds if kind not in self._listed), None)
        if unseen is None:
            return True
        self.counts[unseen] += 1
        if self.counts[unseen] <= MOST:
            self._waiting.setdefault(unseen, []).append(missing)
        return False
