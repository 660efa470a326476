"""The sample chain after reorgs."""

from chainq.demo.chain import DEFAULT_TIP, Chain, key_of


class Fork(Chain):
    """The sample chain with other hashes, transactions and records from a height on, but the same numbers of them, and
    no planted record. Its transactions are not found by their IDs. `sides`: the heights from which on a seed makes the
    values of blocks, and those seeds."""

    def __init__(self, at: int, tip: int = DEFAULT_TIP) -> None:
        super().__init__(tip=tip)
        self.sides = [(-1, self.seed)]
        self.turn(at)
        first = self.records.before(at)
        self.planted = {number: one for number, one in self.planted.items() if number < first}
        self.tags = {place: tag for place, tag in self.tags.items() if place[0] < at}

    def turn(self, at: int, seed: int = 0xF0_4B) -> None:
        """Replace the blocks from a height on. Another seed makes other blocks."""
        self.sides = [*(side for side in self.sides if side[0] < at), (at, self.seed ^ seed)]

    def _key(self, height: int, purpose: int) -> int:
        return key_of(next(seed for start, seed in reversed(self.sides) if height >= start), purpose)
