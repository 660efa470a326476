"""Layout: which transactions each height has, and counts along the chain without walking it.

The chain is a list of stretches; inside a stretch a pattern of blocks repeats. The number of records (transactions,
calls of a function ...) before a height is therefore a sum of closed forms, and the inverse is a search among a few
numbers: a page far into a chain of millions of blocks costs the same as the first. The patterns of the sample chain are
in `pattern.py`, values (IDs, amounts, times) in `chain.py`. Rejected: drawing each block's contents from its height
alone, because finding a row number would need a sum over all earlier blocks.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, zip_longest
from typing import NamedTuple


class Function:
    """One function: program ID, name, and the kinds of its inputs and outputs in order.

    `records`: the indices of outputs that are records. `addresses`: how many public inputs are addresses. `spends`:
    whether an input is a record, so that `transitionsWithoutRecordInputs` omits the transition.

    A kind is `record`, `external_record`, `private`, `future`, or a public type (`address`, `field`, `u32`, `u64`,
    `u128`).
    """

    def __init__(self, program: str, name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        self.program, self.name, self.inputs, self.outputs = program, name, inputs, outputs
        self.records = tuple(i for i, kind in enumerate(outputs) if kind == "record")
        self.addresses = inputs.count("address")
        self.spends = "record" in inputs or "external_record" in inputs


class Call(NamedTuple):
    """One transition. `address`: number of the address in its public inputs; -1: it changes every period."""

    function: Function
    address: int = -1


class Slot(NamedTuple):
    """One output record of a block: index of its transaction, number of the transition there, output index,
    function."""

    transaction: int
    call: int
    output: int
    function: Function


class TransactionPlan:
    """One transaction without its values.

    `kind`: execute, deploy, rejected (its calls failed, only the fee counts) or fee. `status` as in the service's rows.
    `calls`: the transitions of its execution. `fee`: the fee transition or None. `transitions`: every transition that
    took effect, the fee last. `records`: the number of records that they create.
    """

    def __init__(self, kind: str, status: str | None, calls: tuple[Call, ...], fee: Call | None) -> None:
        self.kind, self.status, self.calls, self.fee = kind, status, calls, fee
        happened = calls if kind == "execute" else ()
        self.transitions = (*happened, fee) if fee else happened
        self.records = sum(len(call.function.records) for call in self.transitions)


class BlockPlan:
    """The transactions of one block, in the order of their indexes, without their values."""

    def __init__(self, transactions: Sequence[TransactionPlan]) -> None:
        self.transactions = tuple(transactions)
        self.records = sum(plan.records for plan in self.transactions)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The records of the block, in the order of their row ids."""
        return tuple(
            Slot(index, call, output, function) for index, call, function in self.calls() for output in function.records
        )

    @cached_property
    def ranks(self) -> dict[tuple[int, int, int], int]:
        """The positions in `slots`, by index of the transaction, number of the transition and output index."""
        return {slot[:3]: rank for rank, slot in enumerate(self.slots)}

    @cached_property
    def open_calls(self) -> tuple[tuple[int, int, Function], ...]:
        """The transitions without record inputs: transaction index, number of the transition, function."""
        return tuple(row for row in self.calls() if not row[2].spends)

    def calls(self) -> Iterator[tuple[int, int, Function]]:
        """Yield every transition: transaction index, number of the transition, function."""
        for index, plan in enumerate(self.transactions):
            for number, call in enumerate(plan.transitions):
                yield index, number, call.function


class Stretch(NamedTuple):
    """Heights from `start` to the next stretch; block `start + i` has the plan `pattern[i % len(pattern)]`."""

    start: int
    pattern: tuple[BlockPlan, ...]


class Tally:
    """Counts items along the chain in constant time; each block has a fixed number of them."""

    def __init__(self, stretches: Sequence[Stretch], count: Callable[[BlockPlan], int]) -> None:
        """Takes the stretches and a function that counts the items in a block."""
        self._starts = [stretch.start for stretch in stretches]
        self._sums: list[list[int]] = []  # for each stretch: the count before each height of a period; the total
        self._bases = [0]  # the count before each stretch
        for stretch, following in zip(stretches, [*stretches[1:], None], strict=True):
            sums = [0, *accumulate(map(count, stretch.pattern))]
            self._sums.append(sums)
            if following:
                cycles, rest = divmod(following.start - stretch.start, len(stretch.pattern))
                self._bases.append(self._bases[-1] + cycles * sums[-1] + sums[rest])

    def before(self, height: int) -> int:
        """Return the count in all blocks below `height` (0 or more)."""
        at = bisect_right(self._starts, height) - 1
        sums = self._sums[at]
        cycles, rest = divmod(height - self._starts[at], len(sums) - 1)
        return self._bases[at] + cycles * sums[-1] + sums[rest]

    def count(self, height: int) -> int:
        """Return the count in the block at `height`."""
        return self.before(height + 1) - self.before(height)

    def locate(self, rank: int) -> tuple[int, int] | None:
        """Return the height and the position in its block of item number `rank` (from 0); None if the chain never has
        it."""
        at = bisect_right(self._bases, rank) - 1
        sums = self._sums[at]
        if not sums[-1]:
            return None
        cycles, rest = divmod(rank - self._bases[at], sums[-1])
        offset = bisect_right(sums, rest) - 1
        return self._starts[at] + cycles * (len(sums) - 1) + offset, rest - sums[offset]


class Layout:
    """The blocks of a chain without their values; `records`, `transactions` and `open_calls` (transitions without
    record inputs) count them. Immutable, so threads may share it."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        """Takes stretches in order of height, starting at 0; the last one never ends."""
        self.stretches = tuple(stretches)
        self.records = Tally(self.stretches, lambda block: block.records)
        self.transactions = Tally(self.stretches, lambda block: len(block.transactions))
        self.open_calls = Tally(self.stretches, lambda block: len(block.open_calls))

    def plan(self, height: int) -> BlockPlan:
        """Return the plan of the block at `height` (0 or more)."""
        stretch, offset = self.locate(height)
        return stretch.pattern[offset % len(stretch.pattern)]

    def locate(self, height: int) -> tuple[Stretch, int]:
        """Return the stretch of `height` and the number of heights from the stretch's start."""
        found = self.stretches[bisect_right(self.stretches, height, key=lambda stretch: stretch.start) - 1]
        return found, height - found.start

    @lru_cache(maxsize=256)  # noqa: B019  # a process has one layout, or a few
    def calls(self, function: str) -> Tally:
        """Return the tally of the calls of `program/function`; a function that does not exist is never called."""
        return Tally(self.stretches, lambda block: len(calls_of(block, function)))


@lru_cache(maxsize=4096)
def calls_of(block: BlockPlan, function: str) -> tuple[tuple[int, int], ...]:
    """Return the transaction index and the transition number of each call of `program/function` in a block."""
    wanted = tuple(function.rpartition("/")[::2])
    return tuple((i, n) for i, n, called in block.calls() if (called.program, called.name) == wanted)


# --- which address is in the public inputs of which call

ADDRESSES = 100
"""How many addresses occur on the chain."""

_STEP = 7  # per period; coprime to ADDRESSES, so that every call gets every address
_BACK = pow(_STEP, -1, ADDRESSES)


def address_of(layout: Layout, height: int, index: int, number: int, call: Call) -> int:
    """Return the number of the address in the public inputs of call `number` of transaction `index` at `height`."""
    if call.address >= 0:
        return call.address
    stretch, offset = layout.locate(height)
    cycle, rest = divmod(offset, len(stretch.pattern))
    return (cycle * _STEP + _first(rest, index, number)) % ADDRESSES


def occurrences(layout: Layout, address: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield height and transaction index for each public input with the address, in order, from `start` up to `end`
    (excluded). A transaction with the address in several inputs repeats its pair."""
    for at, (stretch, after) in enumerate(zip_longest(layout.stretches, layout.stretches[1:])):
        period, turns = len(stretch.pattern), _turns(layout, address, at)
        low, high = max(start, stretch.start), min(end, after.start) if after else end
        for cycle in range((low - stretch.start) // period, (high - 1 - stretch.start) // period + 1):
            base = stretch.start + cycle * period
            yield from ((base + rest, index) for rest, index in turns[cycle % ADDRESSES] if low <= base + rest < high)


def _first(rest: int, index: int, number: int) -> int:
    return rest * 31 + index * 11 + number * 3


@lru_cache(maxsize=1024)
def _turns(layout: Layout, address: int, at: int) -> dict[int, list[tuple[int, int]]]:
    # cycle modulo ADDRESSES -> offset in the period and transaction index, in that order, once per public input
    turns: dict[int, list[tuple[int, int]]] = {cycle: [] for cycle in range(ADDRESSES)}
    for rest, block in enumerate(layout.stretches[at].pattern):
        for index, plan in enumerate(block.transactions):
            for number, call in enumerate(plan.transitions):
                found = [(rest, index)] * call.function.addresses
                if call.address < 0:
                    turns[(address - _first(rest, index, number)) * _BACK % ADDRESSES] += found
                elif call.address == address:
                    for cycle in turns.values():
                        cycle += found
    return turns
