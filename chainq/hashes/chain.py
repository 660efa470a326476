"""Follows blocks up to an anchor: a block whose hash is trusted."""

import re
from contextlib import suppress
from typing import NamedTuple

from chainq.catalog.bech32 import fault
from chainq.errors import UsageError
from chainq.hashes.trees import NotAnElementError, element
from chainq.text.sanitize import quoted


class Anchor(NamedTuple):
    """A block hash that is trusted, and its height."""

    height: int
    hash: str


def parse_anchor(text: str) -> Anchor:
    """Return the anchor that `HEIGHT:HASH` names. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,10}):([A-Za-z]+1[!-~]*)", text)
    why = "expected HEIGHT:HASH, such as 1000:ab1..."
    if found:
        height, block_hash = int(found[1]), found[2].lower()
        wrong = fault(found[2], "ab")
        with suppress(NotAnElementError):
            if not wrong and element(block_hash):
                return Anchor(height, block_hash)
        why = f"HASH is wrong: {wrong or 'it is not the hash of a block (those of the sample chain are made up)'}"
    raise UsageError(f"invalid --anchor {quoted(text)}: {why}")


class Walk:
    """A walk over blocks in order of height that determines whether an anchor proves all of them.

    An anchor proves blocks whose hashes were recomputed, if each contains the hash of the previous block, without a gap
    up to the anchor.
    """

    def __init__(self, anchor: Anchor | None) -> None:
        self.anchor, self.anchored = anchor, False
        self.next: int | None = None  # the height after the last block
        self._last: object = None
        self._broken = ""

    def take(self, height: int, block_hash: object, previous_hash: object, proved: bool) -> str | None:
        """Add a block; if it is the anchor's and wrong, return what is wrong, in words, else None.

        `proved`: its hash was recomputed and matches.
        """
        if self.anchor is None or height > self.anchor.height:
            return None
        if not self._broken:
            if self.next is not None and height != self.next:
                self._broken = f"block {self.next} does not follow block {self.next - 1}"
            elif not proved:
                self._broken = f"the hash of block {height} was not proved"
            elif self.next is not None and previous_hash != self._last:
                self._broken = f"block {height} is not linked to the block before it"
        self.next, self._last = height + 1, block_hash
        if height < self.anchor.height:
            return None
        if block_hash != self.anchor.hash:
            return f"block_hash={block_hash}"
        self.anchored = not self._broken
        return self._broken or None
