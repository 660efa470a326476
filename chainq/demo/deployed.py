"""Deployed: a chain as the indexers of deployed servers list it."""

from collections.abc import Iterable, Sequence

from chainq.demo.chain import Chain, Row
from chainq.demo.layout import BlockPlan, Tally

UNLISTED = "tile_gallery.aleo"
"""The program that the server's table of programs lacks."""


class Deployed(Chain):
    """The rows of `chain`. Lists omit the same rows as on deployed servers: transitions of a fee, without any input, or
    of the program UNLISTED. A rejected transaction has the type `Fee` in a list, like its inner one."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain.seed, chain.tip, chain.dense, chain.owned)
        self.open_calls = Tally(self.layout.stretches, lambda block: len(_listed(block)))

    def open_rows(self, height: int, positions: Iterable[int]) -> list[Row]:
        """Return the transitions of a block at these positions among those that are listed."""
        listed = _listed(self.layout.plan(height))
        return super().open_rows(height, [listed[position] for position in positions])

    def transaction_row(self, height: int, index: int) -> Row:
        """Return a transaction summary."""
        row = super().transaction_row(height, index)
        return {**row, "type": "Fee"} if self.layout.plan(height).transactions[index].kind == "rejected" else row


def _listed(block: BlockPlan) -> Sequence[int]:
    """Return the positions in `open_calls` of the listed transitions."""
    return [
        place
        for place, (_, _, function) in enumerate(block.open_calls)
        if function.inputs and not function.name.startswith("fee_") and function.program != UNLISTED
    ]
