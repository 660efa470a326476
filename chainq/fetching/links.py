"""Checks that each block names the hash of the block before it."""

from collections.abc import Sequence
from operator import attrgetter

import msgspec
from msgspec import Raw

from chainq.catalog.methods import Method
from chainq.errors import IncompleteError
from chainq.planning.exact_heights import NO_VERIFY
from chainq.rows.fields import Picker, struct_of, text_of
from chainq.text.sanitize import excerpt


class Links:
    """Checks that each block in order names the hash of the previous block, also across chunk edges."""

    def __init__(self, method: Method, reverse: bool = False) -> None:
        self._name = method.name
        self._reverse = reverse
        names = ("block_hash", "previous_hash")
        self._decode = msgspec.json.Decoder(struct_of(dict.fromkeys(names, str))).decode
        self._take, self._pick = attrgetter(*names), Picker(names)
        self._last: tuple[int, tuple[str, ...]] | None = None  # height, and block_hash with previous_hash

    def check(self, rows: Sequence[Raw], heights: Sequence[int]) -> None:
        """Raise IncompleteError at the first block that is not linked to the previous block."""
        try:
            hashes: list[tuple[str, ...]] = list(map(self._take, map(self._decode, rows)))
        except msgspec.DecodeError:  # one is missing, or not a string
            hashes = [tuple(map(text_of, self._pick(row))) for row in rows]
        if self._last is not None:
            hashes, heights = [self._last[1], *hashes], [self._last[0], *heights]
        own, previous = zip(*hashes, strict=True) if hashes else ((), ())
        named, found = (previous[:-1], own[1:]) if self._reverse else (previous[1:], own[:-1])
        if named != found or "" in found:
            at = next(i for i in range(len(found)) if not found[i] or named[i] != found[i])
            low, high = sorted(heights[at : at + 2])
            raise IncompleteError(
                f"{self._name}: block {high} names {excerpt(named[at], 80) or 'nothing'} as its previous block,"
                f" but block {low} is {excerpt(found[at], 80) or 'without a hash'}",
                "the chain is broken there, or changed while it was read; " + NO_VERIFY,
            )
        if hashes:
            self._last = heights[-1], hashes[-1]
