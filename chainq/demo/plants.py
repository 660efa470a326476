"""Plants: single rows of the chain that a service returns wrongly, as if they were wrong in its database.

A plant is one fault at one height: `lost-record:672` is a record of block 672 that no call returns. A seed decides
which row or field it hits. Unlike the faults of a call (`faults.py`), it is the same in every response, so only a
comparison with the full blocks shows it. Those are right, except for the plants of WHOLE_BLOCK.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from chainq.demo.chain import Chain, Row
from chainq.demo.ids import mix
from chainq.demo.layout import Tally
from chainq.demo.results import Call, Results, Rows

ALTERED = {
    "record": ("program_id", "timestamp", "block_hash", "transaction_id", "function_name", "record_ciphertext"),
    "ownership": ("output_index", "transition_id"),
    "transition": ("transaction_id", "function_name", "tpk", "tcm", "timestamp"),
    "transaction": ("type", "status", "index"),
    "block": ("transactions_root", "finalize_root", "coinbase_target", "proof_target", "last_coinbase_timestamp"),
}
"""What of a row `altered-…` may change: never its identity, but for ownership, which has nothing else to compare."""

ACTIONS = ("lost", "doubled", "altered", "misplaced")
WHOLE_BLOCK = ("link", "time", "round", "checksum", "count")
"""Faults of a block that its summary and the full block share: previous_hash, timestamp, round, a wrong character in
previous_state_root, and a gap in the indexes of its transactions."""

KINDS = (
    *(f"{action}-{row}" for row in ALTERED for action in ACTIONS if (action, row) not in {
        ("misplaced", "ownership"),  # ownership rows have no height, so they cannot be misplaced
        ("misplaced", "block"),
    }),
    *WHOLE_BLOCK,
)  # fmt: skip
"""Every kind of plant. A misplaced row is returned with the next block's rows instead of its own."""


class Plant(NamedTuple):
    """One wrong row: what is wrong (one of KINDS), and the height of its block."""

    kind: str
    height: int

    @property
    def action(self) -> str:
        """The change: `lost`, `doubled`, `altered`, `misplaced`, or the kind itself if it has no row."""
        return self.kind.partition("-")[0]

    @property
    def row(self) -> str:
        """The kind of row that it changes, a key of ALTERED; empty for the whole block."""
        return self.kind.partition("-")[2]


def parse_plant(text: str) -> Plant:
    """Return the plant that `KIND:HEIGHT` names. Raises ValueError."""
    found = re.fullmatch(r"([a-z-]+):([0-9]{1,9})", text)
    if not found or found[1] not in KINDS:
        raise ValueError(f"expected KIND:HEIGHT, where KIND is one of {', '.join(KINDS)}")
    return Plant(found[1], int(found[2]))


def _needs(tally: Tally, height: int, row: str) -> None:
    """Raise ValueError, with the nearest height that has such a row, if this height has none."""
    if tally.count(height):
        return
    rank = tally.before(height)  # of the first row above
    near = [found[0] for found in (tally.locate(rank - 1) if rank else None, tally.locate(rank)) if found]
    nearest = min(near, key=lambda at: abs(at - height), default=None)
    raise ValueError(f"block {height} has no {row}" + ("" if nearest is None else f"; block {nearest} has one"))


_Edit = Callable[[Row], Row]
_Entry = tuple[int, int, tuple[_Edit, ...]]  # height and position of the chain's own row, and its changes


class PlantedResults(Results):
    """The results for a chain with plants. Immutable, so threads may share it."""

    def __init__(self, chain: Chain, plants: Sequence[Plant], seed: int, shuffle: bool) -> None:
        """Takes the arguments of `Results`, the plants, and the seed that decides which rows they hit.

        Raises ValueError if a block has no suitable row.
        """
        super().__init__(chain, shuffle)
        self._plants, self._seed = plants, seed
        self._edits: dict[str, dict[int, list[_Entry]]] = {row: {} for row in ALTERED}
        for plant in plants:
            if plant.row and plant.row != "block":
                self._plant(plant, self._list(plant.row)[0])
            elif plant.kind == "count":
                _needs(chain.transactions, plant.height, "transaction")
            elif plant.kind in ("link", "time", "round") and not plant.height:
                raise ValueError("block 0 has no block before it")

    def _plant(self, plant: Plant, tally: Tally) -> None:
        height, edits = plant.height, self._edits[plant.row]
        _needs(tally, height, plant.row)
        entries = self._entries(edits, tally, height)
        at = self._word(plant) % len(entries)
        source, position, done = entries[at]
        if plant.action == "doubled":
            entries.append((source, position, (*done, partial(_renumber, self._word(plant) >> 32 & 1))))
        elif plant.action == "altered":
            entries[at] = source, position, (*done, partial(self._alter, plant, ALTERED[plant.row]))
        else:
            del entries[at]
            if plant.action == "misplaced":
                after = self._entries(edits, tally, height + 1)
                after.append((source, position, (*done, partial(_refile, height + 1))))

    @staticmethod
    def _entries(edits: dict[int, list[_Entry]], tally: Tally, height: int) -> list[_Entry]:
        return edits.setdefault(height, [(height, position, ()) for position in range(tally.count(height))])

    def _word(self, plant: Plant) -> int:
        return mix(plant.height << 8 | KINDS.index(plant.kind), mix(self._seed & (1 << 64) - 1, 0x91A7))

    def _alter(self, plant: Plant, fields: Sequence[str], row: Row) -> Row:
        word = self._word(plant)
        field = fields[(word >> 16) % len(fields)]
        return {**row, field: _changed(row[field], word >> 24)}

    # --- the methods

    def full_blocks(self, call: Call) -> list[Row]:
        """Return full blocks with the plants of whole blocks."""
        return [self._whole(row) for row in super().full_blocks(call)]

    def _summaries(self, height: int, call: Call) -> list[Row]:
        edits = self._edits["transaction"]
        if height > call.tip or height not in edits:
            rows = super()._summaries(height, call)
        else:
            rows = _made(self._transaction_rows, edits[height])
        return [self._counted(height, row) for row in rows]

    def _listed(self, row: str, call: Call) -> list[Row]:
        edits, (tally, rows) = self._edits[row], self._list(row)
        if not edits:
            return self._slice(tally, rows, call)
        places: list[_Entry] = []
        for height in range(call.args["start"], min(call.args["end"], call.tip + 1)):
            entries = edits.get(height, self._entries({}, tally, height))
            places += self._disorder(entries, height, call.number)
        return _made(rows, places[call.args["offset"] :][: call.args["limit"]])

    # --- blocks

    def _block(self, height: int) -> list[Row]:
        row = self._chain.block(height)
        row = self._faulty(height, row, row)
        for plant in self._plants:
            if plant.height == height and plant.row == "block":
                if plant.action == "lost":
                    return []
                if plant.action == "doubled":
                    return [row, row]
                row = self._alter(plant, [field for field in ALTERED["block"] if field in row], row)
        return [row]

    def _whole(self, row: Row) -> Row:
        height = row["header"]["metadata"]["height"]
        row = self._faulty(height, row, row["header"]["metadata"])
        row["transactions"] = [self._counted(height, transaction) for transaction in row["transactions"]]
        return row

    def _faulty(self, height: int, row: Row, metadata: Row) -> Row:
        """Change a block's fields: `row` has the hashes, `metadata` the time and the round, as text or as number."""
        kinds = {plant.kind for plant in self._plants if plant.height == height}
        if "link" in kinds:
            row["previous_hash"] = self._chain.block_hash(height + 1)
        if "time" in kinds:
            metadata["timestamp"] = type(metadata["timestamp"])(self._chain.timestamp(height - 1) - 1)
        if "round" in kinds:
            metadata["round"] = type(metadata["round"])(height * 2 - 3)
        if "checksum" in kinds:
            roots = row.get("header", row)
            plant = Plant("checksum", height)
            roots["previous_state_root"] = _changed(roots["previous_state_root"], self._word(plant))
        return row

    def _counted(self, height: int, row: Row) -> Row:
        """Raise the index of a block's last transaction by one, if that is planted."""
        last = self._chain.transactions.count(height) - 1
        if Plant("count", height) in self._plants and row["index"] == last:
            return {**row, "index": last + 1}
        return row


def _made(rows: Rows, entries: Iterable[_Entry]) -> list[Row]:
    made = []
    for height, position, edits in entries:
        (row,) = rows(height, [position])
        for edit in edits:
            row = edit(row)
        made.append(row)
    return made


def _renumber(wanted: int, row: Row) -> Row:
    """Give a row another row id, like a row that was stored twice; or leave it unchanged."""
    return {**row, "id": row["id"] + 500_000_000} if wanted and "id" in row else row


def _refile(height: int, row: Row) -> Row:
    return {**row, "height": type(row["height"])(height)} if "height" in row else row


def _changed(value: Any, word: int) -> Any:
    """Return another value of the same kind: a number plus one, a text with one other character."""
    if isinstance(value, int):
        return value + 1
    if not value:
        return "another"
    if value.isdecimal():
        return str(int(value) + 1)
    at = word % len(value)
    if value[:at].count("1") == 0:  # not in the prefix, which names the kind of ID
        at = len(value) - 1 - word % min(20, len(value))
    other = "q" if value[at] != "q" else "p"
    return value[:at] + other + value[at + 1 :]
