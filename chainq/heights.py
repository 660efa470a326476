"""The grammar of heights, and a range of them as asked for and as resolved against the newest block (cli.md, "Ranges").

Pure: who knows the newest block, or block times, hands them in.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

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
    value = Decimal(whole.replace("_", "") + (fraction or "")) * _UNIT[unit.lower()]
    if value != value.to_integral_value():
        raise UsageError(f"{text!r} is no whole number of blocks")
    if value > _MOST:
        raise UsageError(f"{text!r} is beyond any chain")
    return int(value)


def parse_bound(text: str) -> int:
    """The value of `--start` or `--end`: a height, or below 0 a distance from the end. Raises UsageError."""
    stripped = text.strip()
    return -parse_height(stripped[1:]) if stripped.startswith("-") else parse_height(stripped)


@dataclass(frozen=True, slots=True)
class RangeAsk:
    """A range as it was asked for. Bounds below 0 count back from the end; `last` is a number of blocks.

    `whole`: with nothing given, the whole chain and not the newest blocks is meant.
    """

    start: int | None = None
    end: int | None = None
    last: int | None = None
    whole: bool = False

    def check(self) -> None:
        """Raise UsageError for what can be seen to be wrong without asking the service."""
        if self.last is not None and (self.start is not None or self.end is not None):
            raise UsageError("--last stands alone: it excludes the other ways to give a range")
        start, end = self.start, self.end
        if start is not None and end is not None and start > end and (start < 0) == (end < 0):
            raise UsageError(f"--start {start} is above --end {end}")

    @property
    def fixed(self) -> bool:
        """Whether the range is known without the newest block."""
        return self.start is not None and self.end is not None and self.start >= 0 and self.end >= 0


def resolve(ask: RangeAsk, newest: Callable[[], int]) -> tuple[int, int]:
    """The heights asked for as (start included, end excluded), start <= end.

    `newest` gives the newest block's height, -1 for a chain without blocks; it is called only where the range needs it.
    Raises UsageError.
    """
    ask.check()
    if ask.fixed and ask.start is not None and ask.end is not None:
        return ask.start, ask.end
    top = newest() + 1
    if ask.last is not None:
        return max(0, top - ask.last), top
    if ask.start is None and ask.end is None:
        return (0 if ask.whole else max(0, top - DEFAULT_LAST)), top
    start = _absolute(ask.start, top) if ask.start is not None else 0
    end = _absolute(ask.end, top) if ask.end is not None else max(start, top)
    if start > end:
        raise UsageError(f"--start {ask.start} is above --end {ask.end}: the newest block is {top - 1}")
    return start, end


def _absolute(bound: int, top: int) -> int:
    return bound if bound >= 0 else max(0, top + bound)
