"""Checks that the service lists an ownership row for each record in the full blocks."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.query import Batch, Query
from chainq.rows.block import Block
from chainq.wallet.records import key_of

_FULL_BLOCKS = BY_COMMAND["full-blocks"]


class Listed:
    """The ownership rows that a service lists: 8 bytes of each, a hash, because ranges can have millions."""

    def __init__(self) -> None:
        self._parts: list[tuple[HeightRange, array[int]]] = []  # in order of height
        self._last: tuple[HeightRange, set[int]] = HeightRange(0, 0), set()  # the part of the last block

    def add(self, heights: HeightRange, rows: Sequence[Raw]) -> None:
        """Add all rows of heights that are new."""
        self._parts.insert(self._at(heights.start), (heights, array("q", map(hash, map(key_of, rows)))))

    def lacks(self, block: Block) -> bool:
        """Return whether a record in a block is not listed. Blocks in order of height cost least."""
        if block.height is not None and block.height not in self._last[0] and (at := self._at(block.height)):
            heights, hashes = self._parts[at - 1]
            self._last = heights, set(hashes)
        heights, known = self._last
        listed = known if block.height is not None and block.height in heights else ()
        return any(hash((output.transition, output.place)) not in listed for output in block.outputs)

    def _at(self, height: int) -> int:
        return bisect_right(self._parts, height, key=lambda part: part[0].start)


def full_blocks(service: Service, heights: HeightRange, hint: str = "run the command again later") -> Iterator[Batch]:
    """Yield the full blocks of heights.

    Raises Stopped as the service closes, and ChainqError. If the service sends incomplete blocks, the error has this
    hint in place of its own, which is for commands that print blocks. Errors of an export keep theirs.
    """
    try:
        for batch in service.fetch_range(Query(_FULL_BLOCKS), heights):
            service.connection.check_open()
            yield batch
    except IncompleteError as error:
        if not error.again:
            raise
        raise IncompleteError(error.message, hint) from error


def fewer(height: int) -> str:
    """Return the message for a block with a record that is not listed."""
    return f"records/isOwner height {height}: the service lists fewer records than the full block has"


def advice(height: int) -> str:
    """Return the hint with it."""
    return f"run the command again later; chainq verify {height} shows which are missing"
