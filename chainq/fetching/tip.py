"""The tip: the last block of the chain."""

from collections.abc import Callable
from typing import NamedTuple


class Tip(NamedTuple):
    """The tip: its height (-1 for a chain without blocks), hashes (empty where not sent), time in seconds."""

    height: int
    hash: str
    previous_hash: str
    time: int | None


def highest_block(known: int, most: int, exists: Callable[[int], bool]) -> int:
    """Return the height of the highest block from `known`, which exists, up to `most`.

    `exists` looks a block up: once where `known` is the highest one, else in steps that double, and then halve.
    """
    step = 1
    while known + step <= most and exists(known + step):
        known += step
        step *= 2
    while step > 1:
        step //= 2
        if known + step <= most and exists(known + step):
            known += step
    return known
