"""Sealed: a sample chain with true hashes, roots and IDs, for `chainq serve --sealed`.

It replaces each ID of the sample chain with the one computed from its contents, from the values up to the block hash.
That needs all blocks in order, so it is done at the start. Blocks look like today's, except the beacon's.
"""

from functools import cached_property
from itertools import chain as chained
from typing import Any

from chainq.demo import ids
from chainq.demo.bodies import Bodies
from chainq.demo.callers import ADDRESSES
from chainq.demo.chain import Chain, Row
from chainq.hashes import formulas
from chainq.hashes.state import StateTree
from chainq.hashes.trees import bech32m, hashes, id_text

_VALUES = ("constant", "public", "future")


class SealedChain(Chain):
    """A sample chain with true hashes. The IDs of deployments are made up, like their programs."""

    bare_era = object_era = range(0)
    outlier = -1
    dynamic_from = 0

    def __init__(self, seed: int, blocks: int, dense: tuple[int, int] | None = None) -> None:
        """Takes the seed of the chain, the number of its blocks (1 or more), and a height with its number of records.

        Raises UsageError without aleo-sdk. A block takes some milliseconds.
        """
        super().__init__(seed, blocks - 1, dense)
        self._true: dict[str, str] = {}
        self._made: dict[str, str] = {}  # the inverse, for transactions
        self._roots: dict[int, Row] = {}
        bodies, previous, state = Bodies(self), self.block_hash(-1), StateTree()
        for height in range(blocks):
            previous = self._seal(height, bodies.block(height), previous, state)
            state.append(previous)

    @cached_property
    def addresses(self) -> list[str]:
        """The addresses that occur on the chain: points of the curve, which the SDK reads."""
        sdk = hashes().sdk
        keys = ((self.word(number, 9) | 1).to_bytes(32, "little") for number in range(ADDRESSES))
        return [str(sdk.ViewKey.from_bytes(key).address) for key in keys]

    # --- sealing

    def _seal(self, height: int, block: Row, previous: str, state: StateTree) -> str:
        """Compute the true texts of a block; return its hash."""
        header, network = block["header"], block["header"]["metadata"]["network"]
        for confirmed in block["transactions"]:
            self._seal_transaction(confirmed, network)
        certificates = (block["authority"].get("subdag") or {}).get("subdag")
        for certificate in chained.from_iterable((certificates or {}).values()):
            batch = certificate["batch_header"]
            self._true[batch["batch_id"]] = f"{formulas.batch_id(self.sealed(batch))}field"
        subdag = self.sealed(certificates) if certificates else None
        named = [confirmed["transaction"]["id"] for confirmed in self.sealed(block)["transactions"]]
        roots = {
            "previous_state_root": id_text("sr", state.root()),
            "transactions_root": f"{formulas.transactions_root(named, network)}field",
            "ratifications_root": f"{formulas.ratifications_root(block['ratifications'] or ())}field",
            "subdag_root": f"{formulas.subdag_root(subdag) if subdag else 0}field",
        }
        made, summary = str(block["block_hash"]), {**header, **header["metadata"], **roots, "previous_hash": previous}
        self._true[made] = id_text("ab", formulas.block_hash(summary))
        self._roots[height] = {**roots, "previous_hash": previous}
        return self._true[made]

    def _seal_transaction(self, confirmed: Row, network: int) -> None:
        transaction = confirmed["transaction"]
        fee = transaction.get("fee")
        for transition in chained(
            transaction.get("execution", {}).get("transitions", ()), [fee["transition"]] if fee else ()
        ):
            self._seal_transition(transition, network)
        if "deployment" in transaction:
            number = ids.element(int.from_bytes(transaction["id"][-8:].encode()))
        else:
            number = formulas.transaction_id(self.sealed(transaction))
        true = id_text("at", number)
        self._true[transaction["id"]], self._made[true] = true, transaction["id"]

    def _seal_transition(self, transition: Row, network: int) -> None:
        function = formulas.function_id(transition["program"], transition["function"], network, sized=network != 3)
        for at, part in enumerate(chained(transition["inputs"], transition["outputs"])):
            if part["type"] == "private":
                data = ids.element(int.from_bytes(part["value"][-8:].encode())).to_bytes(32, "little")
                self._true[part["value"]] = value = bech32m("ciphertext", b"\1\0" + data)
                self._true[part["id"]] = f"{formulas.private_id(value)}field"
            elif part["type"] in _VALUES:
                self._true[part["id"]] = f"{formulas.value_id(function, part['value'], transition['tcm'], at)}field"
        self._true[transition["id"]] = id_text("au", formulas.transition_id(self.sealed(transition)))

    def sealed(self, row: Row) -> Row:
        """Return a row, a full transaction or a full block with its true texts."""
        found: Row = self._sealed(row)
        if "metadata" in found.get("header", {}):
            roots = self._roots.get(found["header"]["metadata"]["height"])
            if roots is not None:
                found["previous_hash"] = roots["previous_hash"]
                found["header"] |= {name: root for name, root in roots.items() if name != "previous_hash"}
        return found

    def _sealed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._true.get(value, value)
        if isinstance(value, dict):
            return {name: self._sealed(one) for name, one in value.items()}
        return [self._sealed(one) for one in value] if isinstance(value, list) else value

    # --- rows

    def block_hash(self, height: int) -> str:
        """Return the hash of a block; a made-up one if it is not on the chain."""
        made = super().block_hash(height)
        return self._true.get(made, made)

    def block(self, height: int) -> Row:
        """Return a block summary."""
        return {**super().block(height), **self._roots.get(height, {})}

    def transaction_id(self, height: int, index: int) -> str:
        """Return the ID of transaction `index` of a block."""
        made = super().transaction_id(height, index)
        return self._true.get(made, made)

    def find_transaction(self, transaction_id: str) -> tuple[int, int] | None:
        """Return height and index of a transaction; None if the chain does not have it."""
        return super().find_transaction(self._made.get(transaction_id, transaction_id))
