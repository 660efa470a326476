"""Follows a chain from block to block: hash links, times and rounds. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from chainq.verify.blocks import Texts
from chainq.verify.compare import Contradiction


class _Block(NamedTuple):
    height: int
    fields: Texts


class ChainCheck:
    """Takes blocks in order of height; one for each command that returns blocks."""

    def __init__(self) -> None:
        self._last: _Block | None = None

    @property
    def last_hash(self) -> str:
        """The hash of the last block, empty where it is not known."""
        return (self._last.fields.get("block_hash") or "") if self._last else ""

    def follow(self, height: int, fields: Texts) -> Iterator[Contradiction]:
        """Yield what does not follow from the block before: a previous hash, an earlier time, a lower round.

        `fields` of a block, by the names of its summary. Only neighbours are compared by hash.
        """
        last, self._last = self._last, _Block(height, fields)
        if last is None:
            return
        if last.height == height - 1:
            due, found = last.fields.get("block_hash"), fields.get("previous_hash")
            if due != found:
                yield Contradiction("link", f"previous_hash={due}", f"previous_hash={found}")
        for check, name in (("time", "timestamp"), ("round", "round")):
            before, now = _number(last.fields.get(name)), _number(fields.get(name))
            if before is not None and now is not None and now < before:
                yield Contradiction(check, f"{name}={before} or more", f"{name}={now}")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 100 else None
