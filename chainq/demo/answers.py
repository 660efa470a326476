"""Answers: checked arguments in, the JSON of a `result` out. Paging and the order of rows live here.

One method for each `answer` of `wire.py`, named alike. Every one takes an `Asked` and gives JSON bytes. A range may
reach past the tip, then the rows that exist come (docs/protocol.md, "Methods"). Errors are `AnswerError`. Values come
from the chain; names, limits and envelopes do not belong here.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import gcd
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import orjson

from chainq.demo import layout
from chainq.demo.bodies import Bodies
from chainq.demo.callers import occurrences
from chainq.demo.chain import Chain, Row
from chainq.demo.faults import Faults
from chainq.demo.ids import WORD, mix
from chainq.demo.layout import Tally

_T = TypeVar("_T")

TOO_HEAVY = "Defined query timeout of 5000ms exceeded when running query."
"""What a deployed server says when its database gives up (docs/protocol.md, "Envelope and errors")."""


class AnswerError(Exception):
    """The call gets a JSON-RPC error: `code` and `message` of its error object."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Asked(NamedTuple):
    """One call: `args` by the names of wire.Param (heights, page, size in rows), `tip` = height of the newest block,
    `turn` = number of the call, on which the order of rows depends."""

    args: dict[str, Any]
    tip: int
    turn: int


class Answers:
    """Answers the eleven methods for one chain. Holds nothing that changes."""

    def __init__(self, chain: Chain, faults: Faults, shuffle: bool) -> None:
        """Takes the chain, the faults that concern rows, and whether rows come in the disorder of deployed servers."""
        self._chain, self._faults, self._shuffle = chain, faults, shuffle
        self._bodies = Bodies(chain)

    # --- blocks

    def blocks(self, asked: Asked) -> bytes:
        """Block summaries of a range, in no order."""
        return orjson.dumps([self._linked(self._chain.block(h), h) for h in self._heights(asked)])

    def block(self, asked: Asked) -> bytes:
        """An array of one Block summary, or of none."""
        height = asked.args["block"]
        known = height <= asked.tip and height != self._faults.missing_height
        return orjson.dumps([self._chain.block(height)] if known else [])

    def latest(self, asked: Asked) -> bytes:
        """The newest Block summary; null on an empty database."""
        return orjson.dumps(self._chain.block(asked.tip) if asked.tip >= 0 else None)

    def full_blocks(self, asked: Asked) -> bytes:
        """Full blocks of a range, in no order."""
        pieces = []
        for height in self._heights(asked):
            row = self._linked(self._bodies.block(height), height)
            metadata = row["header"]["metadata"]
            if metadata["cumulative_weight"] > WORD:  # orjson refuses such a number, but takes its digits as they are
                metadata["cumulative_weight"] = orjson.Fragment(str(metadata["cumulative_weight"]))
            pieces.append(orjson.dumps(row))
        return b"[" + b",".join(pieces) + b"]"

    def _heights(self, asked: Asked) -> list[int]:
        heights = range(asked.args["start"], min(asked.args["end"], asked.tip + 1))
        self._weigh(len(heights))
        return [h for h in self._disorder(heights, 0, asked.turn) if h != self._faults.missing_height]

    def _linked(self, row: Row, height: int) -> Row:
        if height == self._faults.broken_link:
            row["previous_hash"] = self._chain.block_hash(height + 1)
        return row

    # --- transactions

    def transactions(self, asked: Asked) -> bytes:
        """Transaction summaries of the block at a height, in no order."""
        return self._summaries(asked.args["block"], asked)

    def transactions_of_row(self, asked: Asked) -> bytes:
        """The same for a block's row id (docs/protocol.md, "Dialects")."""
        height = self._chain.height_of_row(asked.args["block"])
        return b"[]" if height is None else self._summaries(height, asked)

    def _summaries(self, height: int, asked: Asked) -> bytes:
        count = self._chain.transactions.count(height) if height <= asked.tip else 0
        self._weigh(count)
        return orjson.dumps(
            [self._chain.transaction_row(height, i) for i in self._disorder(range(count), height, asked.turn)]
        )

    def transaction(self, asked: Asked) -> bytes:
        """A Transaction by its ID; null when there is none (docs/protocol.md, "Methods")."""
        found = self._chain.find_transaction(asked.args["id"])
        return orjson.dumps(self._bodies.transaction(*found) if found and found[0] <= asked.tip else None)

    def program_transactions(self, asked: Asked) -> bytes:
        """Transactions that call a function, by height: one row for each call, so a transaction can come again."""
        function = f"{asked.args['program']}/{asked.args['function']}"

        def rows(height: int, positions: Iterable[int]) -> list[Row]:
            calls = layout.calls_of(layout.plan(height), function)
            made: dict[int, Row] = {}
            for position in positions:
                index = calls[position][0]
                if index not in made:
                    made[index] = self._bodies.transaction(height, index)
            return [made[calls[position][0]] for position in positions]

        everything = asked._replace(args={**asked.args, "start": 0, "end": asked.tip + 1})
        return self._paged(layout.tally("calls", function), rows, everything)

    def address_transactions(self, asked: Asked) -> bytes:
        """References to the transactions with an address in a public input, by height: one row for each such input."""
        address = self._chain.address_numbers.get(asked.args["address"])
        if address is None:
            return b"[]"
        found: list[tuple[int, int]] = []
        places = occurrences(address, asked.args["start"], min(asked.args["end"], asked.tip + 1))
        for height, group in groupby(places, itemgetter(0)):
            found += self._disorder(list(group), height, asked.turn)
        low = asked.args["page"] * self._size(asked)
        found = found[low : low + self._size(asked)]
        self._weigh(len(found))
        return orjson.dumps([{"transaction_id": self._chain.transaction_id(*at)} for at in found])

    # --- records and transitions

    def records(self, asked: Asked) -> bytes:
        """Records of a range, by height."""
        return self._paged(self._chain.records, self._chain.record_rows, asked)

    def ownership(self, asked: Asked) -> bytes:
        """Ownership records of a range, by height: the same records as `records` has."""
        return self._paged(self._chain.records, self._chain.ownership_rows, asked)

    def transitions(self, asked: Asked) -> bytes:
        """Transitions without record inputs of a range, by height."""
        return self._paged(self._chain.open_calls, self._chain.open_rows, asked)

    # --- paging

    def _paged(
        self,
        tally: Tally,
        rows: Callable[[int, Sequence[int]], list[Row]],
        asked: Asked,
    ) -> bytes:
        size, end = self._size(asked), min(asked.args["end"], asked.tip + 1)
        if asked.args["start"] >= end:
            return b"[]"
        first, last = tally.before(asked.args["start"]), tally.before(end)
        rank = first + asked.args["page"] * size
        stop = min(rank + size, last)
        self._weigh(stop - rank)
        pieces = []
        while rank < stop and (found := tally.locate(rank)):
            height, position = found
            count = tally.count(height)
            taken = min(count - position, stop - rank)
            order = self._disorder(range(count), height, asked.turn)
            pieces.append(orjson.dumps(rows(height, order[position : position + taken]))[1:-1])
            rank += taken
        return b"[" + b",".join(pieces) + b"]"

    def _size(self, asked: Asked) -> int:
        size: int = asked.args["size"]
        return min(size, self._faults.row_cap) if self._faults.row_cap else size

    def _weigh(self, rows: int) -> None:
        if self._faults.heavy_rows and rows > self._faults.heavy_rows:
            raise AnswerError(0, TOO_HEAVY)

    def _disorder(self, rows: Sequence[_T], height: int, turn: int) -> Sequence[_T]:
        # The order inside a height depends on the call, so walking pages loses rows, as on deployed servers
        # (docs/protocol.md, "Pagination"). A stride through the rows does for that; rejected: a true shuffle, as costly
        # as the rows themselves.
        count = len(rows)
        if not self._shuffle or count < 2:
            return rows
        word = mix(height, mix(turn, 0x0DDE))
        at, stride = word % count, 1 + (word >> 20) % (count - 1)
        while gcd(stride, count) > 1:
            stride = stride % (count - 1) + 1
        return [rows[(at + stride * i) % count] for i in range(count)]
