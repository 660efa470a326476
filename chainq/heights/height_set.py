"""A set of heights, as a few ranges: the heights whose rows rest on belief, or were not compared."""

from collections.abc import Iterable, Iterator, Mapping

from chainq.heights.range import HeightRange
from chainq.text.humanize import counted

MOST = 64  # ranges; beyond, the two nearest ones are merged
NAMED = 5  # ranges in words


class HeightSet:
    """Heights as ordered ranges that neither touch nor overlap. If there are too many, it also includes heights between
    them; it never loses a height that was added."""

    def __init__(self, ranges: Iterable[HeightRange] = ()) -> None:
        self._ranges: list[HeightRange] = []
        for heights in ranges:
            self.add(heights)

    def __iter__(self) -> Iterator[HeightRange]:
        return iter(self._ranges)

    def __len__(self) -> int:
        """Return the number of ranges."""
        return len(self._ranges)

    def __str__(self) -> str:
        more = f" and {counted(len(self) - NAMED, 'more range')}" if len(self) > NAMED else ""
        return f"{', '.join(map(str, self._ranges[:NAMED]))}{more}"

    def add(self, heights: HeightRange) -> None:
        """Add heights."""
        if not len(heights):
            return
        near = [r for r in self._ranges if r.start <= heights.end and heights.start <= r.end]
        start, end = min([heights.start, *(r.start for r in near)]), max([heights.end, *(r.end for r in near)])
        apart = [r for r in self._ranges if r not in near]
        self._ranges = sorted([*apart, HeightRange(start, end)], key=lambda r: r.start)
        if len(self._ranges) > MOST:
            at = min(range(MOST), key=lambda i: self._ranges[i + 1].start - self._ranges[i].end)
            self._ranges[at : at + 2] = [HeightRange(self._ranges[at].start, self._ranges[at + 1].end)]

    def cut(self, height: int) -> None:
        """Remove all heights from one on."""
        self._ranges = [HeightRange(r.start, min(r.end, height)) for r in self._ranges if r.start < height]


def of_tables(found: Mapping[str, Iterable[HeightRange]]) -> str:
    """Return some heights of tables in words, those that several tables have once; none stand for the whole table.

    >>> ranges = [HeightRange(5, 10), HeightRange(10, 20), HeightRange(30, 31)]
    >>> of_tables({"records": ranges, "ownership": ranges, "calls": ()})
    'records, ownership of heights 5-19, height 30 and calls'
    """
    alike: dict[str, list[str]] = {}
    for table, ranges in found.items():
        alike.setdefault(str(HeightSet(ranges)), []).append(table)
    return " and ".join(f"{', '.join(tables)}{heights and f' of {heights}'}" for heights, tables in alike.items())
