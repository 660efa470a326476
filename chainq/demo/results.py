"""Results: checked arguments in, the rows of a `result` out, sliced and ordered.

There is one method per `handler` of `wire.py`, with the same name; each takes a `Call`. For a range that extends past
the tip, it returns the rows that exist (docs/protocol.md, "Methods"). Errors are `RpcError`. Values come from the
chain; names, limits, envelopes and faults (`faulty_results.py`) do not belong here.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import gcd
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import orjson

from chainq.demo.bodies import Bodies
from chainq.demo.callers import occurrences
from chainq.demo.chain import Chain, Row
from chainq.demo.ids import WORD, mix
from chainq.demo.layout import Tally, calls_of

_T = TypeVar("_T")
Rows = Callable[[int, Sequence[int]], list[Row]]


class RpcError(Exception):
    """The call gets a JSON-RPC error: `code` and `message` of its error object."""

    def __init__(self, code: int | str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Call(NamedTuple):
    """One call. `args` by the names of wire.Param, with `offset` and `limit` (rows) in place of a page; `tip`: the tip
    height; `number`: the number of the call, on which the order of rows depends."""

    args: dict[str, Any]
    tip: int
    number: int


def encoded(result: list[Row] | Row | None) -> bytes:
    """Return a result as compact JSON."""
    return orjson.dumps(result)


def scattered(rows: Sequence[_T], word: int) -> Sequence[_T]:
    """Return the rows in an order that depends on a word.

    A stride through the rows. Rejected: a true shuffle, as costly as the rows themselves.
    """
    count = len(rows)
    if count < 2:
        return rows
    at, stride = word % count, 1 + (word >> 20) % (count - 1)
    while gcd(stride, count) > 1:
        stride = stride % (count - 1) + 1
    return [rows[(at + stride * i) % count] for i in range(count)]


class Results:
    """The results of the eleven methods for one chain. Immutable, so threads may share it."""

    def __init__(self, chain: Chain, shuffle: bool = True) -> None:
        """Takes the chain, and whether rows are unordered as on deployed servers."""
        self._chain, self._shuffle = chain, shuffle
        self._bodies = Bodies(chain)

    # --- blocks

    def blocks(self, call: Call) -> list[Row]:
        """Return the block summaries of a range, unordered."""
        return [row for height in self._heights(call) for row in self._block(height)]

    def block(self, call: Call) -> list[Row]:
        """Return one block summary in a list, or an empty list; never two."""
        height = call.args["block"]
        return self._block(height)[:1] if height <= call.tip else []

    def _block(self, height: int) -> list[Row]:
        return [self._chain.block(height)]

    def latest(self, call: Call) -> Row | None:
        """Return the block summary of the tip; None for an empty database."""
        return self._chain.block(call.tip) if call.tip >= 0 else None

    def full_blocks(self, call: Call) -> list[Row]:
        """Return the full blocks of a range, unordered."""
        rows = []
        for height in self._heights(call):
            row = self._bodies.block(height)
            metadata = row["header"]["metadata"]
            if metadata["cumulative_weight"] > WORD:  # orjson refuses such a number, but accepts its raw digits
                metadata["cumulative_weight"] = orjson.Fragment(str(metadata["cumulative_weight"]))
            rows.append(row)
        return rows

    def _heights(self, call: Call) -> Sequence[int]:
        heights = range(call.args["start"], min(call.args["end"], call.tip + 1))
        return self._disorder(heights, 0, call.number)

    # --- transactions

    def transactions(self, call: Call) -> list[Row]:
        """Return the transaction summaries of the block at a height, unordered."""
        return self._summaries(call.args["block"], call)

    def transactions_of_row(self, call: Call) -> list[Row]:
        """Return the transaction summaries of the block with a row id (docs/protocol.md, "Dialects")."""
        height = self._chain.height_of_row(call.args["block"])
        return [] if height is None else self._summaries(height, call)

    def _summaries(self, height: int, call: Call) -> list[Row]:
        count = self._chain.transactions.count(height) if height <= call.tip else 0
        return self._transaction_rows(height, self._disorder(range(count), height, call.number))

    def _transaction_rows(self, height: int, positions: Sequence[int]) -> list[Row]:
        return [self._chain.transaction_row(height, position) for position in positions]

    def transaction(self, call: Call) -> Row | None:
        """Return a transaction by its ID; None if there is none (docs/protocol.md, "Methods")."""
        found = self._chain.find_transaction(call.args["id"])
        return self._bodies.transaction(*found) if found and found[0] <= call.tip else None

    def program_transactions(self, call: Call) -> list[Row]:
        """Return the transactions that call a function, by height: one row per call, so a transaction can repeat."""
        function = f"{call.args['program']}/{call.args['function']}"

        def rows(height: int, positions: Iterable[int]) -> list[Row]:
            calls = calls_of(self._chain.layout.plan(height), function)
            made: dict[int, Row] = {}
            for position in positions:
                index = calls[position][0]
                if index not in made:
                    made[index] = self._bodies.transaction(height, index)
            return [made[calls[position][0]] for position in positions]

        everything = call._replace(args={**call.args, "start": 0, "end": call.tip + 1})
        return self._slice(self._chain.layout.calls(function), rows, everything)

    def address_transactions(self, call: Call) -> list[Row]:
        """Return references to the transactions with an address in a public input, by height: one row per input."""
        address = self._chain.address_numbers.get(call.args["address"])
        if address is None:
            return []
        found: list[tuple[int, int]] = []
        inputs = occurrences(self._chain.layout, address, call.args["start"], min(call.args["end"], call.tip + 1))
        for height, group in groupby(inputs, itemgetter(0)):
            found += self._disorder(list(group), height, call.number)
        found = found[call.args["offset"] : call.args["offset"] + call.args["limit"]]
        return [{"transaction_id": self._chain.transaction_id(*at)} for at in found]

    # --- records and transitions

    def records(self, call: Call) -> list[Row]:
        """Return the records of a range, by height."""
        return self._listed("record", call)

    def ownership(self, call: Call) -> list[Row]:
        """Return the ownership records of a range, by height, for the same records as in `records`."""
        return self._listed("ownership", call)

    def transitions(self, call: Call) -> list[Row]:
        """Return the transitions without record inputs of a range, by height."""
        return self._listed("transition", call)

    # --- slices and order

    def _list(self, row: str) -> tuple[Tally, Rows]:
        """Return the tally of rows of that kind, and a function that makes a height's rows at some positions."""
        chain = self._chain
        return {
            "record": (chain.records, chain.record_rows),
            "ownership": (chain.records, chain.ownership_rows),
            "transition": (chain.open_calls, chain.open_rows),
            "transaction": (chain.transactions, self._transaction_rows),
        }[row]

    def _listed(self, row: str, call: Call) -> list[Row]:
        return self._slice(*self._list(row), call)

    def _slice(self, tally: Tally, rows: Rows, call: Call) -> list[Row]:
        end = min(call.args["end"], call.tip + 1)
        if call.args["start"] >= end:
            return []
        first, last = tally.before(call.args["start"]), tally.before(end)
        rank = first + call.args["offset"]
        stop = min(rank + call.args["limit"], last)
        sliced: list[Row] = []
        while rank < stop and (found := tally.locate(rank)):
            height, position = found
            count = tally.count(height)
            taken = min(count - position, stop - rank)
            order = self._disorder(range(count), height, call.number)
            sliced += rows(height, order[position : position + taken])
            rank += taken
        return sliced

    def _disorder(self, rows: Sequence[_T], height: int, number: int) -> Sequence[_T]:
        # The order inside a height depends on the call, so walking pages loses rows, as on deployed servers
        # (docs/protocol.md, "Pagination").
        return scattered(rows, mix(height, mix(number, 0x0DDE))) if self._shuffle else rows
