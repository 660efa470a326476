"""The grammar of heights, and a range of them as asked for and as resolved against the newest block.

Pure: who knows the newest block, or block times, hands them in.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from chainq.errors import UsageError

DEFAULT_LAST = 10  # blocks, where no range is given
_HEIGHT = re.compile(r"([0-9]+(?:_[0-9]+)*)(\.[0-9]+)?([KkMm]?)")
_UNIT = {"": 1, "k": 1000, "m": 1_000_000}
_MOST = 2**53  # JSON numbers beyond are not safe on every server


def parse_height(text: str) -> int:
    """A height, 0 or above, from `12345`, `12_345`, `12K` or `1.5M`. Raises UsageError."""
    match = _HEIGHT.fullmatch(text.strip())
    if not match:
        hint = "for the newest N blocks use --last N" if re.fullmatch(r"-[0-9_.KkMm]+", text.strip()) else ""
        raise UsageError(f"{text!r} is no height: whole numbers such as 12345, 12_345, 12K or 1.5M are", hint)
    whole, fraction, unit = match.groups()
    digits = (fraction or ".")[1:]
    if len(whole) + len(digits) > 100:
        raise UsageError(f"{text[:20]}... is beyond any chain")
    value, rest = divmod(int(whole.replace("_", "") + digits) * _UNIT[unit.lower()], int(10 ** len(digits)))
    if rest:
        raise UsageError(f"{text!r} is no whole number of blocks")
    if value > _MOST:
        raise UsageError(f"{text!r} is beyond any chain")
    return value


def parse_bound(text: str) -> int:
    """The value of `--start` or `--end`: a height, or below 0 a distance from the end. Raises UsageError."""
    stripped = text.strip()
    return -parse_height(stripped[1:]) if stripped.startswith("-") else parse_height(stripped)


class Bounds(NamedTuple):
    """A range as it was asked for. Bounds below 0 count back from the end; `last` is a number of blocks.

    `since`, `until`: block times in seconds since 1970; the range holds the blocks of `since` and later, before
    `until`. `whole`: with nothing given, the whole chain and not the newest blocks is meant.
    """

    start: int | None = None
    end: int | None = None
    last: int | None = None
    since: float | None = None
    until: float | None = None
    whole: bool = False

    def check(self) -> None:
        """Raise UsageError for what can be seen to be wrong without asking the service."""
        given = [self.start, self.end, self.since, self.until]
        if self.last is not None and any(bound is not None for bound in given):
            raise UsageError("--last stands alone: it excludes the other ways to give a range")
        if self.start is not None and self.since is not None:
            raise UsageError("--start and --since both give the beginning of the range: give one of them")
        if self.end is not None and self.until is not None:
            raise UsageError("--end and --until both give the end of the range: give one of them")
        start, end = self.start, self.end
        if start is not None and end is not None and start > end and (start < 0) == (end < 0):
            raise UsageError(f"--start {start} is above --end {end}")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise UsageError("--since is later than --until")

    @property
    def fixed(self) -> bool:
        """Whether the range is known without the newest block."""
        return self.start is not None and self.end is not None and self.start >= 0 and self.end >= 0


def resolve(ask: Bounds, tip_height: Callable[[], int], first_at: Callable[[float], int]) -> tuple[int, int]:
    """The heights asked for as (start included, end excluded), start <= end.

    `newest` gives the newest block's height, -1 for a chain without blocks; `first_at` the first height of a block
    time or later. They are called only where the range needs them. Raises UsageError.
    """
    ask.check()
    if ask.fixed and ask.start is not None and ask.end is not None:
        return ask.start, ask.end
    top = tip_height() + 1
    if ask.last is not None:
        return max(0, top - ask.last), top
    if ask == Bounds(whole=ask.whole):
        return (0 if ask.whole else max(0, top - DEFAULT_LAST)), top
    start = first_at(ask.since) if ask.since is not None else _absolute(ask.start or 0, top)
    if ask.until is not None:
        end = max(first_at(ask.until), start) if ask.start is None else first_at(ask.until)
    else:
        end = _absolute(ask.end, top) if ask.end is not None else max(start, top)
    if start > end:
        raise UsageError(f"the range begins at height {start}, above its end {end}: the newest block is {top - 1}")
    return start, end


def _absolute(bound: int, top: int) -> int:
    return bound if bound >= 0 else max(0, top + bound)
