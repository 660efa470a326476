"""Chain: the rows of the sample chain, each computed from its height alone.

It needs no memory and no start-up time: millions of blocks are as cheap as ten. `pattern.py` decides the transactions
of each height; `bodies.py` makes full transactions and full blocks; `results.py` orders and slices.
"""

from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from chainq.demo import ids, planted
from chainq.demo.ids import WORD, mix
from chainq.demo.layout import ADDRESSES, Layout, Slot, TransactionPlan
from chainq.demo.pattern import sample_layout, source

_T = TypeVar("_T")
Row = dict[str, Any]
"""One row of a result, keys in the order of docs/reference.md. Integers are exact, also those above 64 bits."""

DEFAULT_TIP = 3_000_000
"""Tip height by default."""

NETWORK = 3
GENESIS_TIME = 1_685_577_600
"""Time of block 0 in seconds since 1970: 2023-06-01T00:00:00Z."""

SPACING = 10
"""Seconds between two blocks, give or take seven."""

FIRST_ROW = 65_275
"""Row id of block 0; row ids run ahead of heights, as in docs/protocol.md, "Results"."""

BEACON_ERA, BARE_ERA, OBJECT_ERA = range(1, 100), range(100, 200), range(200, 600)
"""Older eras (docs/protocol.md, "Values"): authority beacon; no authority at all and fields missing; certificates with
`certificate_id` and signatures as an object. From 600 on blocks look as in docs/protocol.md, "Values"."""

DYNAMIC_FROM = 2_900_000
"""The first height with inputs and outputs of the types of consensus V14 (docs/protocol.md, "Eras")."""

WEIGHT_JUMP, WEIGHT_OUTLIER = 1_000, 4_242
"""From the first height on, `cumulative_weight` exceeds 64 bits; at the second one it has 39 digits, more than 128
bits."""

EMPTY_ROOT = 7_245_163  # of the transactions of a block without any: the same for each, as on the network
_AGAIN = 100_000_000  # is added to the row id of a block that is stored again
_PER_TRANSACTION = 64  # transition numbers kept for each transaction
_FIRST_RECORD, _FIRST_TRANSACTION = 130_855, 310_411


_BLOCK, _TRANSACTION, _TRANSITION, _RECORD, _OTHER, _OWNER, _TIME = range(7)


@lru_cache(maxsize=256)
def key_of(seed: int, purpose: int) -> int:
    """Return what scrambles numbers into values of a kind."""
    return mix(seed & WORD, 0x51ED + purpose)


class Chain:
    """A chain of `tip + 1` blocks. The same `seed` makes the same chain; another seed changes the values but not the
    shapes.

    Rows exist for any height of 0 or more, even above `tip`: the caller decides what is beyond the tip. `tip` -1 is an
    empty database. Threads may share it. `again`: the height of a block that was stored again: it has another row id,
    in all its rows, one above those of all other blocks.
    """

    bare_era, object_era, outlier, dynamic_from = BARE_ERA, OBJECT_ERA, WEIGHT_OUTLIER, DYNAMIC_FROM

    def __init__(self, seed: int = 0, tip: int = DEFAULT_TIP, genesis: int = GENESIS_TIME) -> None:
        """Takes a seed (any integer), the tip height (-1 or more), and the time of block 0 in seconds since 1970."""
        self.seed, self.tip, self.genesis = seed, tip, genesis
        self.planted, self.tags = planted.PLANTED, planted.TAGS
        self.again: int | None = None
        self.records = self.layout.records
        self.transactions = self.layout.transactions

    @cached_property
    def layout(self) -> Layout:
        """The transactions of each block."""
        return sample_layout()

    def _key(self, height: int, purpose: int) -> int:  # noqa: ARG002  # for those that have others from a height on
        """Return what makes the values of a kind of a block."""
        return key_of(self.seed, purpose)

    @cached_property
    def addresses(self) -> list[str]:
        """The addresses on the chain. Number 0 is a busy one; number 1 occurs twice in some transactions."""
        return [ids.ADDRESS.text(mix(number, key_of(self.seed, _OWNER))) for number in range(ADDRESSES)]

    def word(self, height: int, purpose: int, number: int | None = None) -> int:
        """Return a word (64 bits) for values of a block that have no method of their own, or of `number`; `purpose` (a
        small number) makes them differ."""
        return mix(height if number is None else number, self._key(height, _OTHER) + purpose & WORD)

    def sealed(self, value: _T) -> _T:
        """Return a text, a row, a full transaction or a full block, unchanged here; a sealed chain replaces its
        texts."""
        return value

    # --- blocks

    def block_row(self, height: int) -> int:
        """Return the row id of a block: greater with every height, and never the height itself."""
        return FIRST_ROW + height + height // 40 + (_AGAIN if height == self.again else 0)

    def height_of_row(self, row: int) -> int | None:
        """Return the height of the block with that row id; None if there is none."""
        height = (row % _AGAIN - FIRST_ROW) * 40 // 41 + 1
        while height >= 0 and self.block_row(height) % _AGAIN > row % _AGAIN:
            height -= 1
        return height if height >= 0 and self.block_row(height) == row else None

    def block_hash(self, height: int) -> str:
        """Return the hash of a block; for -1, the previous hash of block 0."""
        return self.sealed(ids.BLOCK.text(mix(height, self._key(height, _BLOCK)) if height >= 0 else 0))

    def state_root(self, height: int) -> str:
        """Return the state root that block `height` names as the previous one."""
        return ids.ROOT.text(self.word(height, 1))

    def timestamp(self, height: int) -> int:
        """Return the time of a block in seconds since 1970; strictly greater with every height."""
        return self.genesis + SPACING * height + (mix(height, self._key(height, _TIME)) >> 61 if height else 0)

    def height_at(self, time: float) -> int:
        """Return the height of the newest block at a time in seconds since 1970; -1 before the first one."""
        height = max(-1, int(time - self.genesis) // SPACING)
        return height - 1 if height >= 0 and self.timestamp(height) > time else height

    def weight(self, height: int) -> int:
        """Return `cumulative_weight`: exact, above 64 bits from `WEIGHT_JUMP` on (docs/protocol.md, "Values")."""
        if height == self.outlier:
            return 340_282_366_920_938_463_463_374_607_431_768_211_507
        if height >= WEIGHT_JUMP:
            return 18_741_903_340_503_531_150 + (height - WEIGHT_JUMP) * 4_294_967_297
        return height * 4_095

    def block(self, height: int) -> Row:
        """Return a block summary (docs/reference.md). In `bare_era` it lacks two fields and has one other."""
        word = self.word(height, 2)
        row: Row = {
            "id": self.block_row(height),
            "height": str(height),
            "block_hash": self.block_hash(height),
            "previous_hash": self.block_hash(height - 1),
            "previous_state_root": self.state_root(height),
            "transactions_root": ids.field(word if self.transactions.count(height) else EMPTY_ROOT),
            "round": str(height * 2),
            "coinbase_target": str(4_294_967_295 - height % 4_096),
            "proof_target": "33554432",
            "last_coinbase_target": str(4_294_967_295 - (height - height % 32) % 4_096),
            "last_coinbase_timestamp": str(self.timestamp(height - height % 32)),
            "timestamp": str(self.timestamp(height)),
            "coinbase_reward": str(23_000_000 + word % 1_000_000) if height % 3 == 0 else None,
            "finalize_root": ids.field(word ^ 1),
            "network": NETWORK,
            "ratifications_root": ids.field(word ^ 2),
            "solutions_root": ids.field(word ^ 3) if height % 32 == 0 else "0field",
            "subdag_root": ids.field(word ^ 4),
            "cumulative_weight": str(self.weight(height)),
            "cumulative_proof_target": str(height * 1_257),
        }
        if height in self.bare_era:
            del row["subdag_root"], row["cumulative_proof_target"]
            row["total_supply_in_microcredits"] = str(1_500_000_000_000_000 - height * 25_000)
        return self.sealed(row)

    # --- transactions

    def transaction_id(self, height: int, index: int) -> str:
        """Return the ID of transaction `index` of a block. It encodes the number of the transaction."""
        return ids.TRANSACTION.text(mix(self.transactions.before(height) + index, self._key(height, _TRANSACTION)))

    def find_transaction(self, transaction_id: str) -> tuple[int, int] | None:
        """Return height and index of a transaction, decoded from its ID; None if the chain can never have it."""
        word = ids.TRANSACTION.word(transaction_id)
        if word is None:
            return None
        number = ids.unmix(word, key_of(self.seed, _TRANSACTION))
        return self.transactions.locate(number) if number < 1 << 48 else None

    def aborted_ids(self, height: int) -> list[str]:
        """Return the IDs of a block's aborted transactions (most blocks have none); no method has more of them."""
        word = self.word(height, 3)
        return [ids.TRANSACTION.text(word ^ i) for i in range(1 + height % 2)] if height % 25 == 24 else []

    def transition_id(self, height: int, index: int, call: int) -> str:
        """Return the ID of transition `call` (the fee is last) of transaction `index` of a block."""
        return ids.TRANSITION.text(self.transition_word(height, index, call))

    def transition_word(self, height: int, index: int, call: int) -> int:
        """Return the word from which all values of a transition are derived."""
        number = (self.transactions.before(height) + index) * _PER_TRANSACTION + call
        return mix(number, self._key(height, _TRANSITION))

    def transaction_rows(self, height: int, indexes: Iterable[int]) -> list[Row]:
        """Return transaction summaries; their `block_id` is the block's row id (docs/protocol.md, "Results")."""
        plans, before = self.layout.plan(height).transactions, self.transactions.before(height)
        return [
            {
                "id": _FIRST_TRANSACTION + before + index,
                "block_id": self.block_row(height),
                "transaction_id": self.transaction_id(height, index),
                "type": outer_type(plans[index]).capitalize(),
                "index": index,
                "status": plans[index].status,
            }
            for index in indexes
        ]

    # --- records and transitions

    def record_text(self, height: int, number: int) -> str:
        """Return the ciphertext of a record of a block; `number`: how many records precede it on the chain."""
        owned = self.planted.get(number)
        return owned.record_ciphertext if owned else ids.RECORD.text(mix(number, self._key(height, _RECORD)))

    def record_rows(self, height: int, positions: Iterable[int]) -> list[Row]:
        """Return the records (docs/reference.md) of a block at these positions, in that order.

        `block_id` is the block's row id; `id` grows with height and position.
        """
        block_id, timestamp, block_hash = self.block_row(height), str(self.timestamp(height)), self.block_hash(height)
        return [
            {
                "record_ciphertext": self.record_text(height, number),
                "program_id": slot.function.program,
                "block_id": block_id,
                "height": height,
                "id": _FIRST_RECORD + number,
                "timestamp": timestamp,
                "block_hash": block_hash,
                "transition_id": self.transition_id(height, slot.transaction, slot.call),
                "transaction_id": self.transaction_id(height, slot.transaction),
                "function_name": slot.function.name,
                "output_index": slot.output,
            }
            for number, slot in self._outputs(height, positions)
        ]

    def _outputs(self, height: int, positions: Iterable[int]) -> list[tuple[int, Slot]]:
        """Return the records of a block at these positions, each with the number of records before it."""
        first, slots = self.records.before(height), self.layout.plan(height).slots
        return [(first + position, slots[position]) for position in positions]

    def ownership_rows(self, height: int, positions: Iterable[int]) -> list[Row]:
        """Return the ownership records (docs/reference.md) at the same positions as `record_rows`.

        The nonces are real points and `owner_x` are field elements, but no known view key owns them, except the planted
        records. Records of `mint` have a public owner, so their nonces are empty (docs/protocol.md, "Ownership rows").
        """
        key, rows = self._key(height, _RECORD), []
        for number, slot in self._outputs(height, positions):
            word, owned = mix(number, key), self.planted.get(number)
            nonce_x, nonce_y = ("", "") if slot.function.name == "mint" else planted.NONCES[word % len(planted.NONCES)]
            owner_x = str(ids.element(word ^ 3))
            if owned:
                nonce_x, nonce_y, owner_x = owned.nonce_x, owned.nonce_y, owned.owner_x
            rows.append(
                {
                    "nonce_x": nonce_x,
                    "nonce_y": nonce_y,
                    "owner_x": owner_x,
                    "transition_id": self.transition_id(height, slot.transaction, slot.call),
                    "output_index": slot.output,
                }
            )
        return rows

    def open_rows(self, height: int, positions: Iterable[int]) -> list[Row]:
        """Return the transitions without record inputs of a block at these positions; `program` is source text."""
        calls = self.layout.plan(height).open_calls
        timestamp = str(self.timestamp(height))
        rows = []
        for position in positions:
            index, call, function = calls[position]
            word = self.transition_word(height, index, call)
            rows.append(
                {
                    "transition_id": ids.TRANSITION.text(word),
                    "transaction_id": self.transaction_id(height, index),
                    "program": source(function.program),
                    "function_name": function.name,
                    "height": str(height),
                    "tpk": ids.group(word ^ 1),
                    "tcm": ids.field(word ^ 2),
                    "timestamp": timestamp,
                }
            )
        return rows


def outer_type(plan: TransactionPlan) -> str:
    """Return the `type` beside `status`: for a rejected transaction `execute`, while its inner one is a `fee`."""
    return "execute" if plan.kind == "rejected" else plan.kind
