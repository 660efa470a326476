"""Fork: a chain after a reorg."""

from collections.abc import Iterable

from chainq.demo.chain import Chain, Row
from chainq.demo.planted import Input


class Fork(Chain):
    """A chain whose blocks differ from `chain` starting at height `at`: other hashes, transactions and records, but
    the same numbers of them."""

    def __init__(self, chain: Chain, at: int) -> None:
        super().__init__(chain.seed, chain.tip, chain.dense, chain.owned)
        self._at, self._trunk = at, chain
        self._branch = Chain(chain.seed ^ 0xF0_4B, chain.tip, chain.dense, (), chain.genesis)

    def _side(self, height: int) -> Chain:
        return self._branch if height >= self._at else self._trunk

    def block(self, height: int) -> Row:
        """Return a block summary; the first block of the branch names the last common block."""
        return {**self._side(height).block(height), "previous_hash": self.block_hash(height - 1)}

    def find_transaction(self, transaction_id: str) -> tuple[int, int] | None:
        """Return height and index of a transaction; None if it never existed or the reorg removed it."""
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

    def block_hash(self, height: int) -> str:
        """Return the hash of a block."""
        return self._side(height).block_hash(height)

    def state_root(self, height: int) -> str:
        """Return the state root that a block names."""
        return self._side(height).state_root(height)

    def timestamp(self, height: int) -> int:
        """Return the time of a block."""
        return self._side(height).timestamp(height)

    def transaction_id(self, height: int, index: int) -> str:
        """Return the ID of a transaction."""
        return self._side(height).transaction_id(height, index)

    def aborted_ids(self, height: int) -> list[str]:
        """Return the IDs of a block's aborted transactions."""
        return self._side(height).aborted_ids(height)

    def transition_word(self, height: int, index: int, call: int) -> int:
        """Return the word of a transition."""
        return self._side(height).transition_word(height, index, call)

    def ownership_rows(self, height: int, positions: Iterable[int]) -> list[Row]:
        """Return ownership records of a block."""
        return self._side(height).ownership_rows(height, positions)
