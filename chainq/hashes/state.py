"""The state root: the root of a tree over the hashes of all blocks, contained in the header of the next block."""

from functools import cache

from chainq.hashes.trees import Bits, bits_of, element, empty_nodes, hashes, number_of

BLOCKS_DEPTH = 32


class StateTree:
    """A tree over the hashes of blocks from the first one on, kept as its last leaf and at most 32 nodes left of it.

    Source: ProvableHQ/snarkVM, `console/program/src/state_path/configuration/mod.rs` (BLOCKS_DEPTH),
    `console/collections/src/merkle_tree/mod.rs`; the root of the genesis block: `ledger/block/src/header/genesis.rs`.
    """

    def __init__(self) -> None:
        self._last: Bits | None = None
        self._before = 0  # leaves before the last one
        self._nodes: dict[int, Bits] = {}  # that hold these leaves, by level: one for each bit of `_before`

    def append(self, block_hash: object) -> None:
        """Add the hash of the next block. Raises NotAnElementError."""
        leaf = hashes().leaf(bits_of(element(block_hash)))
        if self._last is not None:
            node, level = self._last, 0
            while self._before >> level & 1:
                node = hashes().node(self._nodes.pop(level), node)
                level += 1
            self._nodes[level] = node
            self._before += 1
        self._last = leaf

    def root(self) -> int:
        """Return the root; 0 without a leaf, as in the genesis block."""
        if self._last is None:
            return 0
        node, empty = self._last, _empty_nodes()
        for level in range(BLOCKS_DEPTH):
            place = self._before >> level
            if place & 1:
                node = hashes().node(self._nodes[level], node)
            else:  # above all leaves the sibling is the empty node itself
                node = hashes().node(node, empty[level if place else 0])
        return number_of(node)


@cache
def _empty_nodes() -> list[Bits]:
    """Return the nodes without leaves, by level."""
    nodes = [empty_nodes()[0]]
    while len(nodes) < BLOCKS_DEPTH:
        nodes.append(hashes().node(nodes[-1], nodes[-1]))
    return nodes
