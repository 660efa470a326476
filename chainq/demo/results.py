"""The methods that servers have, and Results: the honest rows of each, sliced and ordered.

Methods are data: their names in each dialect, their parameters, and their limits. The `chain` dialect follows
docs/protocol.md, "Methods", row by row; `aleo` follows its table in "Dialects". A third dialect would be a third table.
The client does not share these tables, so that an error cannot be on both sides.

For a range that extends past the tip, there are the rows that exist (docs/protocol.md, "Methods"). Values come from the
chain; envelopes (`service.py`) and faults (`faults.py`) do not belong here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import msgspec

from chainq.demo import bodies
from chainq.demo.chain import Chain, Row
from chainq.demo.ids import mix, scattered
from chainq.demo.layout import Tally, calls_of, occurrences
from chainq.demo.registry import NO_END, Ask, Item, RowSource

_T = TypeVar("_T")
_Rows = Callable[[int, Sequence[int]], list[Row]]


class SampleMethod(NamedTuple):
    """One method: its handler in `Results`, and its parameters: the name of each there, and the names under which a
    caller may send it, with `|` between them.

    `span`: the most heights in a call's range (None: no limit). `size`: the page size by default, with which the page
    is 0 by default (None: both must be sent). `most`: the greatest page size. `positional`: parameters are an array,
    and named ones cause an error with code 0.
    """

    handler: str
    params: Mapping[str, str] = MappingProxyType({})
    span: int | None = None
    size: int | None = None
    most: int = NO_END
    positional: bool = False


_RANGE = {"start": "start", "end": "end"}


# If the published interface states no default, the default of records/all applies. It states no limit for
# getChainBlocks either, so the limit of deployed servers applies: 1,000 blocks.
def _listed(handler: str, sent: str, size: int = 10_000) -> SampleMethod:
    """Return a method of rows of a range in pages, given the name of the page size."""
    return SampleMethod(handler, {**_RANGE, "page": "page", "size": sent}, size=size)


def _of_address(sent: str, size: int = 10_000) -> SampleMethod:
    paged = _listed("address_transactions", sent, size)
    return paged._replace(params={"address": "address", **paged.params}, span=50_000)


_CALLED = {"program": "programId", "function": "functionName", "page": "page", "size": "maxTransactions"}
_BOTH = {
    "block": SampleMethod("block", {"block": "block"}),
    "latest/block": SampleMethod("latest"),
    "records/all": _listed("records", "recordsPerRequest"),
    "transitionsWithoutRecordInputs": _listed("transitions", "transitionsPerRequest"),
}

DIALECTS: dict[str, dict[str, SampleMethod]] = {
    "chain": {
        **_BOTH,
        "getBlocks": SampleMethod("blocks", {"start": "start|startHeight", "end": "end|endHeight"}, span=1_000),
        "getChainBlocks": SampleMethod("full_blocks", _RANGE, span=1_000),
        "transactions": SampleMethod("transactions", {"block": "blockId"}),
        "chainTransaction": SampleMethod("transaction", {"id": "id"}),
        "chainTransactionsForProgram": SampleMethod("program_transactions", _CALLED, most=999),
        "records/isOwner": _listed("ownership", "recordsPerRequest"),
        "getPublicTransactionsForAddress": _of_address("transitionsPerRequest"),
    },
    "aleo": {
        **_BOTH,
        "blocks": SampleMethod("blocks", {"start": "startHeight", "end": "endHeight"}, span=1_000),
        "getBlocks": SampleMethod("blocks", _RANGE, span=1_000, positional=True),
        "getAleoBlocks": SampleMethod("full_blocks", _RANGE, span=1_000),
        "transactions": SampleMethod("transactions_of_row", {"block": "blockId"}),
        "aleoTransaction": SampleMethod("transaction", {"id": "id"}),
        "aleoTransactionsForProgram": SampleMethod("program_transactions", _CALLED, most=1_000),
        "records/isOwner": _listed("ownership", "recordsPerRequest", 100_000),
        "getPublicTransactionsForAddress": _of_address("transactionsPerRequest", 100_000),
    },
}
"""Dialect -> method name on the wire -> SampleMethod."""


class Results(RowSource):
    """The rows of one chain. Immutable, so threads may share it."""

    def __init__(self, chain: Chain, shuffle: bool = True) -> None:
        """Takes the chain, and whether rows are unordered as on deployed servers."""
        self._chain, self._shuffle = chain, shuffle
        self._singles: dict[str, Callable[[int], Row]] = {
            "block": chain.block,
            "blocks": chain.block,
            "full_blocks": partial(bodies.block, chain),
        }

    def rows(self, ask: Ask) -> list[Item]:
        """Return the rows `offset` to `offset + limit` of a range: one for each height unordered, lists by height.

        A method without lists has one row, or none (docs/protocol.md, "Methods").
        """
        if ask.handler == "latest":
            return [self._item(ask.tip, self._chain.block(ask.tip))] if ask.tip >= 0 else []
        if ask.handler == "transaction":
            at = self._chain.find_transaction(ask.args["id"])
            return [self._item(at[0], bodies.transaction(self._chain, *at))] if at and at[0] <= ask.tip else []
        if ask.handler == "address_transactions":
            return self._of_address(ask)
        if ask.handler not in self._singles:
            return self._slice(*self._list(ask), ask)
        heights = self._disorder(ask.heights, 0, ask.number)[ask.offset :][: ask.limit]
        return [self._item(height, self._singles[ask.handler](height)) for height in heights]

    @staticmethod
    def _item(height: int, row: Row, position: int = 0) -> Item:
        return Item(height, position, msgspec.json.encode(row))

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
            "transitions": (chain.layout.open_calls, chain.open_rows),
            "transactions": (chain.transactions, chain.transaction_rows),
        }[ask.handler]

    def _calls(self, function: str, height: int, positions: Sequence[int]) -> list[Row]:
        """Return the transactions of a block that call a function: one row per call, so a transaction can repeat."""
        calls = calls_of(self._chain.layout.plan(height), function)
        return [bodies.transaction(self._chain, height, calls[position][0]) for position in positions]

    def _slice(self, tally: Tally, rows: _Rows, ask: Ask) -> list[Item]:
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
