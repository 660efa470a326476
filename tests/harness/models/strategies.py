"""Hypothesis draws chains and servers, not seeds, so that a counterexample shrinks to a few rows and one fault.

    @given(st.data())
    def test(data):
        chain = data.draw(chains("ownership"))
        server = data.draw(servers(chain))
        outcome = drive(server, 0, len(chain.rows), command="ownership", tip=chain.tip)

All that happens follows from what was drawn: the order of ties, and what happens by chance, from one number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson
from hypothesis import strategies as st

from chainq.demo.faults import FAULTS, RANGED
from harness.models.model import Chain, Faults, Server, served

COMMANDS = ("records", "ownership", "transitions", "address-transactions")
Block = tuple[int, ...]
"""The rows of a height: of each, how many bytes it is longer than it must be."""


@dataclass
class Drawn(Chain):
    """A chain of drawn blocks.

    Each row of a block is one transition, which takes a public input and makes a record; two transitions make up a
    transaction. So a block has as many records, ownership rows, transitions, and transactions of the one address there
    is, two by two the same. `coming`: the blocks that `grow` adds, first to last; blocks without rows after them.
    """

    coming: list[Block] = field(default_factory=list)

    def grow(self, fork: bytes = b"", parent: bytes = b"") -> None:
        """Add a block."""
        block = self.coming.pop(0) if self.coming else ()
        self.rows.append(rows_of(self.command, len(self.rows), fork, parent, block))


def rows_of(command: str, height: int, fork: bytes, parent: bytes, block: Block) -> list[bytes]:
    """The rows of a block as a method tells of them."""
    side = fork.decode()
    hashes = {"block_hash": f"b{side}{height}", "previous_hash": f"b{parent.decode()}{height - 1}"}
    if command == "blocks":
        return [orjson.dumps({**hashes, "height": str(height)})]
    rows = []
    for number, pad in enumerate(block):
        transition, transaction = f"t{side}{height}.{number}", f"x{side}{height}.{number // 2}"
        record = {"transition_id": transition, "output_index": number % 2}
        told: dict[str, dict[str, Any]] = {
            "records": {"id": 1000 * height + number, "height": height, "block_hash": hashes["block_hash"], **record},
            "ownership": {"nonce_x": f"{side}{height}.{number}", **record},
            "transitions": {"transition_id": transition, "height": str(height)},
            "address-transactions": {},
        }
        row = told[command]
        if command != "ownership":
            row["transaction_id"] = transaction
        if pad and command != "address-transactions":
            row["pad"] = "x" * pad
        rows.append(orjson.dumps(row))
    return rows


def blocks(most_heights: int = 12, most_rows: int = 6) -> st.SearchStrategy[list[Block]]:
    """Blocks from height 0 on; they shrink to few, without rows."""
    pads = st.sampled_from([0, 0, 0, 50, 500])
    return st.lists(st.lists(pads, max_size=most_rows).map(tuple), min_size=1, max_size=most_heights)


def chains(command: str = "records", most_heights: int = 12, most_rows: int = 6) -> st.SearchStrategy[Drawn]:
    """Chains, with blocks that are still to come. Heights of two digits are among them, for they sort as text apart."""

    def build(drawn: list[Block], coming: list[Block]) -> Drawn:
        chain = Drawn(Random(0), command, 0.0, bursts=False, coming=[*drawn, *coming])  # noqa: S311  # not drawn from
        for _ in drawn:
            chain.grow()
        return chain

    return st.builds(build, blocks(most_heights, most_rows), blocks(4, most_rows))


BYTES = (150, 200, 600, 2000)
"""Limits of bytes that matter for a few rows."""
_few = st.integers(1, 12)
_share = st.sampled_from([0.1, 0.5])
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "unordered": st.just(value=True),
    "late": _few,
    "growing": _share,
    "lagging": _few,
    "reorg": st.integers(1, 4),
    "stale_tip": _few,
    "refused": _few,
    "flaky": _share,
    "random_cut": _share,
    "elsewhere": _share,
}
"""What is drawn for fields of `Faults`."""

NAMES = tuple(
    name
    for name, fault in FAULTS.items()
    if fault.argument in ("", "N", "SHARE")
    and fault.stage in ("request", "rows", "page")
    and {*RANGED} & {*(fault.of or RANGED)}
    and name not in ("lag-blocks", "lag-rate")
)
"""The faults of the registry that model servers of ranges can have, but for those that FIELDS has."""


def list_faults(names: Sequence[str] = NAMES) -> st.SearchStrategy[str]:
    """One fault of the registry, with a small number where it takes one."""

    def numbered(name: str) -> st.SearchStrategy[str]:
        argument = FAULTS[name].argument
        if not argument:
            return st.just(name)
        few = _share if argument == "SHARE" else st.sampled_from(BYTES) if name.startswith(("long", "byte")) else _few
        return few.map(lambda number: f"{name}:{number}")

    return st.sampled_from(names).flatmap(numbered)


@st.composite
def faults(
    draw: Callable[[st.SearchStrategy[Any]], Any],
    fields: Sequence[str] = tuple(FIELDS),
    names: Sequence[str] = NAMES,
    most: int = 2,
) -> Faults:
    """Up to so many faults of these fields, and as many of the registry; none at the end of shrinking."""
    chosen = draw(st.lists(st.sampled_from(fields), max_size=most, unique=True)) if fields else []
    listed = (
        draw(st.lists(list_faults(names), max_size=most, unique_by=lambda text: text.partition(":")[0]))
        if names
        else []
    )
    values = {name: draw(FIELDS[name]) for name in chosen}
    return served(*listed, **values, stable=not draw(st.booleans()))


def servers(chain: Chain, wrong: st.SearchStrategy[Faults] | None = None) -> st.SearchStrategy[Server]:
    """Servers of a chain. One server is for one run, for it counts its calls; what is by chance follows from a number.

    `wrong`: their faults, `faults()` by default.
    """

    def build(drawn: Faults, seed: int) -> Server:
        return Server(chain, drawn, Random(seed))  # noqa: S311  # a seed is to be repeated

    return st.builds(build, faults() if wrong is None else wrong, st.integers(0, 2**16))
