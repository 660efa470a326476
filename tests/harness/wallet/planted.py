"""Faults of one row of a block, as values, and the methods whose rows show them."""

from typing import NamedTuple

from chainq.demo.chain import Chain
from chainq.demo.faults import Faults


class Plant(NamedTuple):
    """One wrong row: what is wrong (one of `plants.KINDS`), and the height of its block."""

    kind: str
    height: int

    @property
    def action(self) -> str:
        """`lost`, `doubled`, `altered`, `misplaced`, or the kind itself for a whole block."""
        return self.kind.partition("-")[0]

    @property
    def row(self) -> str:
        """The kind of row; empty for the whole block."""
        return self.kind.partition("-")[2]


def plantable(chain: Chain, plant: Plant) -> bool:
    """Whether the block has what the plant needs."""
    plan = chain.layout.plan(plant.height)
    needed = {"record": plan.records, "ownership": plan.records, "transition": len(plan.open_calls)}
    needed |= dict.fromkeys(("transaction", "count"), len(plan.transactions))
    return needed.get(plant.row or plant.kind, 1) > 0


def planted(*plants: Plant, seed: int = 0) -> Faults:
    """A server with these plants."""
    return Faults(f"seed:{seed}", *(f"{plant.kind}:{plant.height}" for plant in plants))
