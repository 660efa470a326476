"""Fork: a chain after a reorg."""

from collections.abc import Callable
from typing import Any

from chainq.demo.chain import Chain, Row
from chainq.demo.planted import Input


class Fork(Chain):
    """A chain that has other blocks than `chain` from the height `at` on: other hashes, transactions and records, in
    the same numbers."""

    def __init__(self, chain: Chain, at: int) -> None:
        super().__init__(chain.seed, chain.tip, chain.dense, chain.owned)
        self._at, self._trunk = at, chain
        self._branch = Chain(chain.seed ^ 0xF0_4B, chain.tip, chain.dense, (), chain.genesis)

    def _side(self, height: int) -> Chain:
        return self._branch if height >= self._at else self._trunk

    def block(self, height: int) -> Row:
        """Return a block summary; the first block of the branch names the last one that both sides have."""
        return {**self._side(height).block(height), "previous_hash": self.block_hash(height - 1)}

    def find_transaction(self, transaction_id: str) -> tuple[int, int] | None:
        """Return height and index of a transaction; None if it was never there, or is not there any more."""
        for side in (self._trunk, self._branch):
            found = side.find_transaction(transaction_id)
            if found and self._side(found[0]) is side:
                return found
        return None

    def planted_tag(self, place: Input) -> str | None:
        """Return the tag of an input that spends a planted record; the branch spends none."""
        return None if place[0] >= self._at else self._trunk.planted_tag(place)

    def record_text(self, number: int) -> str:
        """Return the ciphertext of a record; the branch has no planted ones."""
        side = self._branch if number >= self.records.before(self._at) else self._trunk
        return side.record_text(number)


def _of_side(name: str) -> Callable[..., Any]:
    return lambda fork, height, *more: getattr(fork._side(height), name)(height, *more)


for _name in (
    *("block_hash", "state_root", "timestamp", "transaction_id", "aborted_ids", "transition_word"),
    *("record_rows", "ownership_rows", "open_rows"),
):
    setattr(Fork, _name, _of_side(_name))  # a method of the chain whose block is at that height
