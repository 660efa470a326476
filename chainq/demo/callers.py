"""Which address is in the public inputs of which call, and where on the chain an address occurs.

The addresses of most calls rotate from one period of their stretch to the next, so the heights of an address follow
from its number without reading the blocks between.
"""

from collections.abc import Iterator
from functools import lru_cache

from chainq.demo.layout import Call, Layout, Stretch

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
    stretches = layout.stretches
    for at, stretch in enumerate(stretches):
        low = max(start, stretch.start)
        high = min(end, stretches[at + 1].start) if at + 1 < len(stretches) else end
        if low < high:
            yield from _within(stretch, _turns(layout, address, at), low, high)


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


def _within(
    stretch: Stretch, turns: dict[int, list[tuple[int, int]]], low: int, high: int
) -> Iterator[tuple[int, int]]:
    period = len(stretch.pattern)
    for cycle in range((low - stretch.start) // period, (high - 1 - stretch.start) // period + 1):
        base = stretch.start + cycle * period
        for rest, index in turns[cycle % ADDRESSES]:
            if low <= base + rest < high:
                yield base + rest, index
