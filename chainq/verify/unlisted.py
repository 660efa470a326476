"""Learns what a server does not list at all, so that only rows that it lost are findings. Pure.

Deployed servers leave whole kinds of transitions out of `transitionsWithoutRecordInputs`: those of a fee, those without
any input, and those of programs that their table of programs lacks (docs/protocol.md, "Results"). A row that is missing
was lost only if the server lists other rows of each of its kinds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chainq.rows.full_block import Key

MOST = 100_000  # rows that are remembered; what is missing beyond them is only counted


class Missing(NamedTuple):
    """A row that is missing at a height; `kinds`: of it."""

    height: int
    key: Key
    kinds: tuple[str, ...]


class Unlisted:
    """Takes rows that a server lists and rows that it does not; tells which of these are lost.

    `counts`: how many are not listed, by their first kind that no row showed so far.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._listed: set[str] = set()  # kinds
        self._waiting: dict[str, list[Missing]] = {}  # by a kind that was not listed

    def listed(self, kinds: Iterable[str]) -> Iterator[Missing]:
        """Take the kinds of a row that is there; yield the rows that were lost, as is known now."""
        for kind in kinds:
            if kind not in self._listed:
                self._listed.add(kind)
                waiting = self._waiting.pop(kind, [])
                self.counts[kind] -= len(waiting)
                yield from filter(self.is_lost, waiting)

    def is_lost(self, missing: Missing) -> bool:
        """Return whether a row that is missing was lost; else it is remembered until its kinds are listed."""
        unseen = next((kind for kind in missing.kinds if kind not in self._listed), None)
        if unseen is None:
            return True
        self.counts[unseen] += 1
        if self.counts[unseen] <= MOST:
            self._waiting.setdefault(unseen, []).append(missing)
        return False
