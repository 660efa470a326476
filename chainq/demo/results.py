"""Results: the honest rows of every method of a chain, sliced and ordered.

For a range that extends past the tip, there are the rows that exist (docs/protocol.md, "Methods"). Values come from the
chain; names, limits and envelopes (`service.py`) and faults (`faults.py`) do not belong here.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

import msgspec

from chainq.demo import bodies
from chainq.demo.chain import Chain, Row
from chainq.demo.ids import mix, scattered
from chainq.demo.layout import Tally, calls_of, occurrences
from chainq.demo.registry import Ask, Book, Item

_T = TypeVar("_T")
_Rows = Callable[[int, Sequence[int]], list[Row]]


class Results(Book):
    """The rows of one chain. Immutable, so threads may share it."""

    def __init__(self, chain: Chain, shuffle: bool = True) -> None:
        """Takes the chain, and whether rows are unordered as on deployed servers."""
        self._chain, self._shuffle = chain, shuffle

    def rows(self, ask: Ask) -> list[Item]:
        """Return the rows `offset` to `offset + limit` of a range: blocks unordered, other rows by height.

        A method without lists has one row, or none (docs/protocol.md, "Methods").
        """
        if ask.handler == "latest":
            return [self._item(ask.tip, self._chain.block(ask.tip))] if ask.tip >= 0 else []
        if ask.handler == "transaction":
            at = self._chain.find_transaction(ask.args["id"])
            return [self._item(at[0], bodies.transaction(self._chain, *at))] if at and at[0] <= ask.tip else []
        if ask.handler == "address_transactions":
            return self._of_address(ask)
        if ask.handler not in ("block", "blocks", "full_blocks"):
            return self._slice(*self._list(ask), ask)
        heights = self._disorder(ask.heights, 0, ask.number)[ask.offset :][: ask.limit]
        return [self._item(height, self._block(ask.handler, height)) for height in heights]

    @staticmethod
    def _item(height: int, row: Row, position: int = 0) -> Item:
        return Item(height, position, msgspec.json.encode(row))

    def _block(self, handler: str, height: int) -> Row:
        return bodies.block(self._chain, height) if handler == "full_blocks" else self._chain.block(height)

    def _of_address(self, ask: Ask) -> list[Item]:
        """Return references to the transactions with an address in a public input: one row per input."""
        chain = self._chain
        if ask.args["address"] not in chain.addresses:
            return []
        found: list[tuple[int, int]] = []
        number = chain.addresses.index(ask.args["address"])
        inputs = occurrences(chain.layout, number, ask.heights.start, ask.heights.stop)
        for height, group in groupby(inputs, itemgetter(0)):
            found += self._disorder(list(group), height, ask.number)
        return [
            self._item(at[0], chain.sealed({"transaction_id": chain.transaction_id(*at)}))
            for at in found[ask.offset : ask.offset + ask.limit]
        ]

    def _list(self, ask: Ask) -> tuple[Tally, _Rows]:
        """Return the tally of the rows of a list, and a function that makes a height's rows at some positions."""
        chain = self._chain
        if ask.handler == "program_transactions":
            function = f"{ask.args['program']}/{ask.args['function']}"
            return chain.layout.calls(function), lambda height, positions: self._calls(function, height, positions)
        return {
            "records": (chain.records, chain.record_rows),
            "ownership": (chain.records, chain.ownership_rows),
            "transitions": (chain.open_calls, chain.open_rows),
            "transactions": (chain.transactions, chain.transaction_rows),
        }[ask.handler]

    def _calls(self, function: str, height: int, positions: Sequence[int]) -> list[Row]:
        """Return the transactions of a block that call a function: one row per call, so a transaction can repeat."""
        calls = calls_of(self._chain.layout.plan(height), function)
        return [bodies.transaction(self._chain, height, calls[position][0]) for position in positions]

    def _slice(self, tally: Tally, rows: _Rows, ask: Ask) -> list[Item]:
        if not ask.heights:
            return []
        rank = tally.before(ask.heights.start) + ask.offset
        stop = min(rank + ask.limit, tally.before(ask.heights.stop))
        sliced: list[Item] = []
        while rank < stop and (found := tally.locate(rank)):
            height, position = found
            taken = min(tally.count(height) - position, stop - rank)
            order = self._disorder(range(tally.count(height)), height, ask.number)[position : position + taken]
            made = zip(order, rows(height, order), strict=True)
            sliced += [self._item(height, self._chain.sealed(row), place) for place, row in made]
            rank += taken
        return sliced

    def _disorder(self, rows: Sequence[_T], height: int, number: int) -> Sequence[_T]:
        # The order inside a height depends on the call, so walking pages loses rows, as on deployed servers
        # (docs/protocol.md, "Pagination").
        return scattered(rows, mix(height, mix(number, 0x0DDE))) if self._shuffle else rows
