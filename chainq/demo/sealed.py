"""SealedChain: a sample chain with true hashes, roots and IDs, for `chainq serve --sealed`.

It replaces each text that the sample chain makes up by the one computed from its contents, from the values up to the
block hash. That needs all blocks in order, so it is done at the start. Blocks look like today's, except the beacon's.
"""

from functools import cached_property
from itertools import chain as chained
from typing import Any

from chainq.demo import bodies, ids
from chainq.demo.chain import Chain, Row
from chainq.demo.layout import ADDRESSES
from chainq.hashes import formulas
from chainq.hashes.trees import bech32m, element, hashes, id_text

_VALUES = ("constant", "public", "future")


class SealedChain(Chain):
    """A sample chain with true hashes. The IDs of deployments are made up, like their programs, and so are state roots,
    which no formula of chainq has."""

    bare_era = object_era = range(0)
    outlier = -1
    dynamic_from = 0

    def __init__(self, seed: int, blocks: int) -> None:
        """Takes the seed of the chain, and the number of its blocks (1 or more).

        Raises UsageError without aleo-sdk. A block takes some milliseconds.
        """
        super().__init__(seed, blocks - 1)
        self._true: dict[str, str] = {}  # made-up text -> true text
        for height in range(blocks):
            self._seal_block(bodies.block(self, height))
        self._made = {true: made for made, true in self._true.items()}

    @cached_property
    def addresses(self) -> list[str]:
        """The addresses that occur on the chain: points of the curve, which the SDK reads."""
        sdk = hashes().sdk
        keys = ((self.word(0, 9, number) | 1).to_bytes(32, "little") for number in range(ADDRESSES))
        return [str(sdk.ViewKey.from_bytes(key).address) for key in keys]

    def word(self, height: int, purpose: int, number: int | None = None) -> int:
        """Return a word as in `Chain`, but never the same for two heights and purposes, whose texts differ."""
        return super().word(height, purpose << 32, number)

    def find_transaction(self, transaction_id: str) -> tuple[int, int] | None:
        """Return height and index of a transaction; None if the chain does not have it."""
        return super().find_transaction(self._made.get(transaction_id, transaction_id))

    def sealed(self, value: Any) -> Any:
        """Return a row, a full transaction or a full block with its true texts."""
        if isinstance(value, str):
            return self._true.get(value, value)
        if isinstance(value, dict):
            return {name: self.sealed(one) for name, one in value.items()}
        return [self.sealed(one) for one in value] if isinstance(value, list) else value

    def _seal_block(self, block: Row) -> None:
        """Add the true texts of a block."""
        header, network = block["header"], block["header"]["metadata"]["network"]
        for confirmed in block["transactions"]:
            self._seal_transaction(confirmed["transaction"], network)
        certificates = (block["authority"].get("subdag") or {}).get("subdag")
        for certificate in chained.from_iterable((certificates or {}).values()):
            batch = certificate["batch_header"]
            self._true[batch["batch_id"]] = f"{formulas.batch_id(self.sealed(batch))}field"
        subdag = self.sealed(certificates) if certificates else None
        named = [self._true[confirmed["transaction"]["id"]] for confirmed in block["transactions"]]
        roots = {
            "previous_state_root": id_text("sr", element(self.sealed(block["previous_hash"]))),
            "transactions_root": f"{formulas.transactions_root(named, network)}field",
            "ratifications_root": f"{formulas.ratifications_root(block['ratifications'] or ())}field",
            "subdag_root": f"{formulas.subdag_root(subdag) if subdag else 0}field",
        }
        self._true |= {header[name]: root for name, root in roots.items()}
        summary = self.sealed({**header, **header["metadata"], "previous_hash": block["previous_hash"]})
        self._true[block["block_hash"]] = id_text("ab", formulas.block_hash(summary))

    def _seal_transaction(self, transaction: Row, network: int) -> None:
        fees = [transaction["fee"]["transition"]] if "fee" in transaction else []
        for transition in (*transaction.get("execution", {}).get("transitions", ()), *fees):
            self._seal_transition(transition, network)
        if "deployment" in transaction:
            number = ids.element(int.from_bytes(transaction["id"][-8:].encode()))
        else:
            number = formulas.transaction_id(self.sealed(transaction))
        self._true[transaction["id"]] = id_text("at", number)

    def _seal_transition(self, transition: Row, network: int) -> None:
        function = formulas.function_id(transition["program"], transition["function"], network)
        for at, part in enumerate(chained(transition["inputs"], transition["outputs"])):
            if part["type"] == "private":
                data = ids.element(int.from_bytes(part["value"][-8:].encode())).to_bytes(32, "little")
                self._true[part["value"]] = value = bech32m("ciphertext", b"\1\0" + data)
                self._true[part["id"]] = f"{formulas.private_id(value)}field"
            elif part["type"] in _VALUES:
                self._true[part["id"]] = f"{formulas.value_id(function, part['value'], transition['tcm'], at)}field"
        self._true[transition["id"]] = id_text("au", formulas.transition_id(self.sealed(transition)))
