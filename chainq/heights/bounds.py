"""Parses heights, and resolves the bounds of a range to heights (docs/reference.md, "Range options").

Pure: callers pass in the tip height and a search by block time.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from chainq.errors import UsageError

DEFAULT_LAST = 10  # blocks, where no range is given
_HEIGHT = re.compile(r"([0-9]+(?:_[0-9]+)*)(\.[0-9]+)?([KkMm]?)")
_UNIT = {"": 1, "k": 1000, "m": 1_000_000}
HIGHEST = 2**53  # JavaScript servers round larger numbers


def parse_height(text: str) -> int:
    """Return a height, 0 or above, from `12345`, `12_345`, `12K` or `1.5M`. Raises UsageError."""
    match = _HEIGHT.fullmatch(text.strip())
    if not match:
        hint = "for the last N blocks use --last N" if re.fullmatch(r"-[0-9_.KkMm]+", text.strip()) else ""
        raise UsageError(f"invalid height {text!r}: expected a whole number such as 12345, 12_345, 12K or 1.5M", hint)
    whole, fraction, unit = match.groups()
    digits = (fraction or ".")[1:]
    if len(whole) + len(digits) > 100:
        raise UsageError(f"invalid height {text[:20] + '…'!r}: the highest is {HIGHEST}")
    value, rest = divmod(int(whole.replace("_", "") + digits) * _UNIT[unit.lower()], int(10 ** len(digits)))
    if rest:
        raise UsageError(f"invalid height {text!r}: expected a whole number of blocks")
    if value > HIGHEST:
        raise UsageError(f"invalid height {text!r}: the highest is {HIGHEST}")
    return value


def parse_bound(text: str) -> int:
    """Return the value of `--start` or `--end`: a height, or a negative distance from the end. Raises UsageError."""
    stripped = text.strip()
    return -parse_height(stripped[1:]) if stripped.startswith("-") else parse_height(stripped)


class Bounds(NamedTuple):
    """The bounds of a height range as given. Negative `start` and `end` count back from the end of the chain.

    `last`: a number of blocks. `since`, `until`: block times in seconds since 1970; the range has the blocks of `since`
    and later, before `until`. `whole`: without any other bound the range is the whole chain, not the last blocks.
    """

    start: int | None = None
    end: int | None = None
    last: int | None = None
    since: float | None = None
    until: float | None = None
    whole: bool = False

    def check(self) -> None:
        """Raise UsageError for bounds that are wrong whatever the tip height is."""
        given = [self.start, self.end, self.since, self.until]
        if self.last is not None and any(bound is not None for bound in given):
            raise UsageError("--last cannot be combined with --start, --end, --since or --until")
        if self.start is not None and self.since is not None:
            raise UsageError("--start cannot be combined with --since")
        if self.end is not None and self.until is not None:
            raise UsageError("--end cannot be combined with --until")
        start, end = self.start, self.end
        if start is not None and end is not None and start > end and (start < 0) == (end < 0):
            raise UsageError(f"--start {start} is greater than --end {end}")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise UsageError("--since is later than --until")

    @property
    def fixed(self) -> bool:
        """Return whether the range is known without the tip height."""
        return self.start is not None and self.end is not None and self.start >= 0 and self.end >= 0


def resolve(bounds: Bounds, tip_height: Callable[[], int], first_at: Callable[[float], int]) -> tuple[int, int]:
    """Return the height range (start included, end excluded) that the bounds mean, start <= end.

    `tip_height` returns the tip height, -1 for a chain without blocks; `first_at` the first height of a
    block time or later. They are called only where the range needs them. Raises UsageError.
    """
    bounds.check()
    if bounds.fixed and bounds.start is not None and bounds.end is not None:
        return bounds.start, bounds.end
    top = tip_height() + 1
    if bounds.last is not None:
        return max(0, top - bounds.last), top
    if bounds == Bounds(whole=bounds.whole):
        return (0 if bounds.whole else max(0, top - DEFAULT_LAST)), top
    start = first_at(bounds.since) if bounds.since is not None else _absolute(bounds.start or 0, top)
    if bounds.until is not None:
        end = max(first_at(bounds.until), start) if bounds.start is None else first_at(bounds.until)
    else:
        end = _absolute(bounds.end, top) if bounds.end is not None else max(start, top)
    if start > end:
        tip = f"the tip height is {top - 1}" if top else "the chain has no blocks"
        raise UsageError(f"the range starts at height {start}, after its end {end}; {tip}")
    return start, end


def _absolute(bound: int, end: int) -> int:
    """Return a bound as a height; a negative one counts back from `end`."""
    return bound if bound >= 0 else max(0, end + bound)
