"""The tip: the last block of the chain."""

import time
from collections.abc import Callable
from typing import NamedTuple

from chainq import tuning
from chainq.errors import StaleError

CHECK_CLOCK = "check the clock of this machine"


class Tip(NamedTuple):
    """The tip: its height (-1 for a chain without blocks), hashes (empty if not sent), time in seconds."""

    height: int
    hash: str
    previous_hash: str
    time: int | None


def check_age(tip: Tip, max_age: float) -> None:
    """Raise StaleError for a tip that is older than `max_age` in seconds, or whose time does not tell that: it has
    none, or one in the future."""
    from chainq.heights.block_time import format_age
    from chainq.text.humanize import duration

    limit = f"--max-age {format_age(max_age)}"
    if tip.time is None:
        said = f"block {tip.height} has no readable time" if tip.height >= 0 else "the chain has no blocks"
        raise StaleError(f"{said}, so its age cannot be compared with {limit}")
    age = time.time() - tip.time
    if age < -tuning.AHEAD:
        ahead = f"block {tip.height} is {duration(-age)} in the future, so {limit} cannot be checked"
        raise StaleError(ahead, CHECK_CLOCK)
    if age > max_age:
        raise StaleError(
            f"block {tip.height} is {duration(age)} old, older than {limit}",
            "the chain or the service may have stopped",
        )


def highest_block(known: int, most: int, exists: Callable[[int], bool]) -> int:
    """Return the height of the highest block from `known`, which exists, up to `most`.

    `exists` looks up a block: once if `known` is the highest, else in steps that double and then halve.
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
