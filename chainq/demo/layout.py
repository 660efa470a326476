"""What stands at which height: the pattern of transactions, and counting along it without walking.

The chain is a list of stretches; inside a stretch a pattern of blocks repeats. So how many records (transactions, calls
of a function ...) come before a height is a sum of closed forms, and the way back is a search among a few numbers: a
page far into a chain of millions of blocks costs what the first one costs. Values (IDs, amounts, times) have no place
here, they come from `chain.py`. Rejected: drawing each block's contents from its height alone, where a row number could
only be found by adding up all blocks before it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from chainq.demo.ids import mix
from chainq.demo.programs import PROGRAMS, Function

ADDRESSES = 100
"""How many addresses occur on the chain."""

PERIOD = 160
"""Heights after which the ordinary pattern repeats."""

HUGE, FAR_HUGE = 777, 2_000_000
"""Heights of the blocks with 25,000 and with 12,000 records."""

HELLO = range(1_200, 1_240)
"""Heights that hold all calls of hello_hello.aleo/hello."""

WIDE = 2_345
"""The height that calls the program whose text has 100 KB."""

EMPTY = range(40_000, 44_000)
"""Heights without any record."""


class Call(NamedTuple):
    """One transition. `address` is the number of the address in its public inputs; -1: another one in each period."""

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

    `kind`: execute, deploy, rejected (its calls failed, only the fee counts) or fee. `status` as the service gives it.
    `calls`: the transitions of its execution. `fee`: the fee transition or None. `transitions`: every transition that
    really happened, the fee last. `records`: how many records come out of them.
    """

    __slots__ = ("calls", "fee", "kind", "records", "status", "transitions")

    def __init__(self, kind: str, status: str | None, calls: tuple[Call, ...], fee: Call | None) -> None:
        self.kind, self.status, self.calls, self.fee = kind, status, calls, fee
        happened = calls if kind == "execute" else ()
        self.transitions = (*happened, fee) if fee else happened
        self.records = sum(len(call.function.records) for call in self.transitions)


class BlockPlan:
    """The transactions of one block without their values."""

    def __init__(self, transactions: Sequence[TransactionPlan]) -> None:
        """Takes the transactions in the order of their indexes."""
        self.transactions = tuple(transactions)
        self.records = sum(plan.records for plan in self.transactions)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The records of the block, in the order of their row ids."""
        slots: list[Slot] = []
        for index, plan in enumerate(self.transactions):
            for call, made in enumerate(plan.transitions):
                slots += [Slot(index, call, output, made.function) for output in made.function.records]
        return tuple(slots)

    @cached_property
    def first_record(self) -> tuple[int, ...]:
        """For each transaction: how many records of the block come before its own."""
        sums = [0]
        for plan in self.transactions:
            sums.append(sums[-1] + plan.records)
        return tuple(sums)

    @cached_property
    def open_calls(self) -> tuple[tuple[int, int, Function], ...]:
        """The transitions without record inputs: transaction index, number of the transition, function."""
        return tuple(row for row in self.calls() if not row[2].spends)

    def calls(self) -> Iterator[tuple[int, int, Function]]:
        """Gives every transition: transaction index, number of the transition, function."""
        for index, plan in enumerate(self.transactions):
            for number, call in enumerate(plan.transitions):
                yield index, number, call.function


class Stretch(NamedTuple):
    """Heights from `start` to the next stretch; block `start + i` has the plan `pattern[i % len(pattern)]`."""

    start: int
    pattern: tuple[BlockPlan, ...]


class Tally:
    """Counts things along the chain, each block having a fixed number of them; everything takes the same short time."""

    def __init__(self, stretches: Sequence[Stretch], weigh: Callable[[BlockPlan], int]) -> None:
        """Takes the stretches and how many of the things a block has."""
        self._starts = [stretch.start for stretch in stretches]
        self._sums: list[list[int]] = []  # for each stretch: how many come before each height of a period; the total
        self._bases = [0]  # how many come before each stretch
        known: dict[int, list[int]] = {}
        for stretch, following in zip(stretches, [*stretches[1:], None], strict=True):
            sums = known.get(id(stretch.pattern))
            if sums is None:
                sums = known[id(stretch.pattern)] = [0]
                for plan in stretch.pattern:
                    sums.append(sums[-1] + weigh(plan))
            self._sums.append(sums)
            if following:
                cycles, rest = divmod(following.start - stretch.start, len(stretch.pattern))
                self._bases.append(self._bases[-1] + cycles * sums[-1] + sums[rest])

    def before(self, height: int) -> int:
        """Gives how many there are in all blocks below `height` (0 or more)."""
        at = bisect_right(self._starts, height) - 1
        sums = self._sums[at]
        cycles, rest = divmod(height - self._starts[at], len(sums) - 1)
        return self._bases[at] + cycles * sums[-1] + sums[rest]

    def count(self, height: int) -> int:
        """Gives how many there are in the block at `height`."""
        at = bisect_right(self._starts, height) - 1
        sums = self._sums[at]
        rest = (height - self._starts[at]) % (len(sums) - 1)
        return sums[rest + 1] - sums[rest]

    def locate(self, rank: int) -> tuple[int, int] | None:
        """Gives height and position inside the block of the one that has `rank` before it; None if there never is
        one."""
        at = bisect_right(self._bases, rank) - 1
        sums = self._sums[at]
        if not sums[-1]:
            return None
        cycles, rest = divmod(rank - self._bases[at], sums[-1])
        place = bisect_right(sums, rest) - 1
        return self._starts[at] + cycles * (len(sums) - 1) + place, rest - sums[place]


def _call(text: str) -> Call:
    name, _, address = text.partition("@")
    program, _, function = name.rpartition("/")
    return Call(PROGRAMS[f"{program or 'credits'}.aleo"][function], int(address or -1))


def _plan(
    calls: str, fee: str = "fee_public", kind: str = "execute", status: str | None = "accepted"
) -> TransactionPlan:
    return TransactionPlan(kind, status, tuple(map(_call, calls.split())), _call(fee) if fee else None)


# Address 0 is the busy one, address 1 comes twice in one transaction; the others take turns.
_ORDINARY = (
    _plan("transfer_public"),
    _plan("transfer_public@0"),
    _plan("transfer_private", "fee_private"),
    _plan("transfer_private"),
    _plan("split", ""),
    _plan("join"),
    _plan("transfer_public_to_private"),
    _plan("transfer_private_to_public"),
    _plan("mint", ""),
    _plan("token_registry/transfer_public"),
    _plan("token_registry/transfer_private token_registry/transfer_private"),
    _plan("wrapped_credits/deposit_credits_private token_registry/transfer_public_to_private transfer_private"),
    _plan("wrapped_credits/withdraw_credits_private transfer_private_to_public"),
    _plan("token_registry/transfer_public_to_private"),
    _plan("token_registry/mint_public"),
    _plan("tile_gallery/claim"),
)
_RARE = {
    17: _plan("token_registry/transfer_from_public@1"),
    31: _plan("transfer_private", "fee_private", "rejected", "rejected"),
    47: _plan("", "fee_public", "deploy"),
    63: _plan("", "fee_private", "deploy"),
    79: _plan("", "fee_public", "fee", None),
    95: _plan("token_registry/mint_public", "fee_public", "rejected", "rejected"),
    111: _plan("tile_gallery/show@1 transfer_public@1"),
    127: _plan("transfer_public", status=None),
}
_SPLITS = _plan("split " * 25, "")
_HELLO = _plan("hello_hello/hello")


def _ordinary(offset: int) -> BlockPlan:
    if offset == 40:
        return BlockPlan([_plan("split " * 10, "")] * 2)
    if offset % 13 == 12:
        return BlockPlan([])
    word = mix(offset, 0xC4A1)
    plans = [_ORDINARY[word >> 8 * i & 15] for i in range(1, 2 + word % 7)]
    return BlockPlan([*plans, _RARE[offset]] if offset in _RARE else plans)


def _hello(offset: int) -> BlockPlan:
    if offset == 20:
        return BlockPlan([_HELLO] * 60)
    several = _plan("hello_hello/hello " * (5 if offset == 21 else 3))
    return BlockPlan(([_HELLO] * 12, [several] * (10 if offset == 21 else 2), [_ORDINARY[2], _HELLO], [])[offset % 4])


@lru_cache
def stretches() -> tuple[Stretch, ...]:
    """Gives the stretches of the chain in order of height; the last one never ends."""
    ordinary = tuple(map(_ordinary, range(PERIOD)))
    quiet = (BlockPlan([_ORDINARY[0]] * 2), BlockPlan([]), BlockPlan([_ORDINARY[9]]), BlockPlan([]), BlockPlan([]))
    return (
        Stretch(0, (BlockPlan([_plan("mint", "")] * 4),)),
        Stretch(1, ordinary),
        Stretch(HUGE, (BlockPlan([_SPLITS] * 500),)),
        Stretch(HUGE + 1, ordinary),
        Stretch(HELLO.start, tuple(map(_hello, range(len(HELLO))))),
        Stretch(HELLO.stop, ordinary),
        Stretch(WIDE, (BlockPlan([_plan("wide_library/run"), _ORDINARY[0]]),)),
        Stretch(WIDE + 1, ordinary),
        Stretch(EMPTY.start, quiet),
        Stretch(EMPTY.stop, ordinary),
        Stretch(FAR_HUGE, (BlockPlan([_SPLITS] * 240),)),
        Stretch(FAR_HUGE + 1, ordinary),
    )


def plan(height: int) -> BlockPlan:
    """Gives the plan of the block at `height` (0 or more)."""
    found, offset = place(height)
    return found.pattern[offset % len(found.pattern)]


def place(height: int) -> tuple[Stretch, int]:
    """Gives the stretch of `height` and how far inside it the height lies."""
    all_ = stretches()
    found = all_[bisect_right(all_, height, key=lambda stretch: stretch.start) - 1]
    return found, height - found.start


@lru_cache(maxsize=256)
def tally(what: str, function: str = "") -> Tally:
    """Gives the count of `records`, `transactions`, `open` transitions (no record inputs), or of the `calls` of a
    function, named `program/function`; a function that does not exist is never called."""
    if what == "records":
        return Tally(stretches(), lambda block: block.records)
    if what == "transactions":
        return Tally(stretches(), lambda block: len(block.transactions))
    if what == "open":
        return Tally(stretches(), lambda block: len(block.open_calls))
    return Tally(stretches(), lambda block: len(calls_of(block, function)))


@lru_cache(maxsize=4096)
def calls_of(block: BlockPlan, function: str) -> tuple[tuple[int, int], ...]:
    """Gives transaction index and transition number of each call of `program/function` in a block."""
    wanted = tuple(function.rpartition("/")[::2])
    return tuple((i, n) for i, n, called in block.calls() if (called.program, called.name) == wanted)
