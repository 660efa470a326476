"""Parses heights, and resolves the bounds of a range to heights (docs/reference.md, "Ranges").

Pure: callers pass in the tip height and a search by block time.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from chainq.defaults import DEFAULT_LAST
from chainq.errors import UsageError
from chainq.heights.block_time import parse_time
from chainq.text.sanitize import quoted

_HEIGHT = re.compile(r"([0-9]+(?:_[0-9]+)*)(?:\.([0-9]+))?([KkMm]?)")
_UNIT = {"": 1, "k": 1000, "m": 1_000_000}
HIGHEST = 2**53  # JavaScript servers round larger numbers
LATEST = "latest"  # in the place of a height: the tip


def none_below(start: int, end: int) -> str:
    """Return that there are no heights from `start` to `end`, because the end is exclusive, or below the start."""
    why = "--end is exclusive" if end == start else "--end is below --start"
    return f"no heights from {start} to {end}: {why}"


def parse_height(text: str) -> int:
    """Return a height, 0 or above, from `12345`, `12_345`, `12K` or `1.5M`. Raises UsageError."""
    match = _HEIGHT.fullmatch(text.strip())
    if not match or len(text) > 100:
        below = text.strip().startswith("-")
        raise UsageError(
            f"invalid height {quoted(text)}: expected a whole number such as 12345, 12_345, 12K or 1.5M",
            "for the last N blocks use --last N" if below else "",
        )
    whole, fraction, unit = match.groups("")
    value, rest = divmod(int(whole.replace("_", "") + fraction) * _UNIT[unit.lower()], int(10 ** len(fraction)))
    if rest or value > HIGHEST:
        raise UsageError(f"invalid height {quoted(text)}: expected a whole number of blocks, at most {HIGHEST}")
    return value


def parse_count(text: str, option: str = "last") -> int:
    """Return the value of an option that is a number, written as heights are. Raises UsageError."""
    try:
        return parse_height(text)
    except UsageError:
        raise UsageError(f"invalid --{option} {quoted(text)}: expected a number such as 100 or 10K") from None


def parse_start(text: str) -> int:
    """Return the value of `--start`: a height, or a negative distance from the end of the chain. Raises UsageError."""
    stripped = text.strip()
    if stripped == LATEST:
        return -1
    return -parse_height(stripped[1:]) if stripped.startswith("-") else parse_height(stripped)


def parse_end(text: str) -> int | None:
    """Return the value of `--end`: as `parse_start`, but None (through the tip) for `latest`. Raises UsageError."""
    # Rejected: the height of the tip, which would exclude the named block itself.
    return None if text.strip() == LATEST else parse_start(text)


def parse_range(text: str, *, whole: bool = False) -> "Bounds":
    """Return the bounds of a range in one word: `H`, `A:B`, `A:`, `:B`, `latest`. Raises UsageError.

    >>> parse_range("12K:12_100")[:2]
    (12000, 12100)
    """
    text = text.strip()
    first, colon, last = text.partition(":")
    if ":" in last or not (colon or text == LATEST or _HEIGHT.fullmatch(text)):
        raise UsageError(f"invalid range {quoted(text)}: expected a height or a range such as 5, 5:10, 5: or :10")
    if not colon:
        start = parse_start(text)
        return Bounds(start, start + 1 or None, whole=whole, one_word=True)
    return Bounds(parse_start(first or "0"), parse_end(last) if last else None, whole=whole, one_word=True)


class Bounds(NamedTuple):
    """The bounds of a height range as given. Negative `start` and `end` count back from the end of the chain.

    `last`: a number of blocks. `since`, `until`: block times in seconds since 1970; the range has the blocks of `since`
    and later, before `until`. `whole`: without any other bound the range is the whole chain, not the last blocks.
    `one_word`: the range was given as one argument, and messages name it so.
    """

    start: int | None = None
    end: int | None = None
    last: int | None = None
    since: float | None = None
    until: float | None = None
    whole: bool = False
    one_word: bool = False

    def check(self) -> None:
        """Raise UsageError for bounds that are wrong whatever the tip height is."""
        given = [self.start, self.end, self.since, self.until]
        if self.last is not None and any(bound is not None for bound in given):
            raise UsageError("--last cannot be combined with --start, --end, --since or --until")
        for height, time in (("start", "since"), ("end", "until")):
            if getattr(self, height) is not None and getattr(self, time) is not None:
                raise UsageError(f"--{height} cannot be combined with --{time}")
        start, end = self.start, self.end
        if start is not None and end is not None and start > end and (start < 0) == (end < 0):
            raise UsageError(f"the range starts at {start}, after its end {end}")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise UsageError("--since is later than --until")

    @property
    def fixed(self) -> tuple[int, int] | None:
        """Return the heights (start included, end excluded) if they are known without the tip height, else None."""
        start, end = self.start or 0, self.end
        return (start, end) if end is not None and end >= 0 <= start and self.since is None else None


def bounds_of(
    start: str | None,
    end: str | None,
    last: str | None,
    since: str | float | None,
    until: str | float | None,
    *,
    whole: bool,
    now: float,
) -> Bounds:
    """Return the bounds that `--start`, `--end`, `--last`, `--since` and `--until` give, `whole` as there.

    Times are texts, of which `now` is the current time, or seconds since 1970. Raises UsageError.
    """
    bounds = Bounds(
        None if start is None else parse_start(start),
        None if end is None else parse_end(end),
        None if last is None else parse_count(last),
        parse_time(since, now, "since") if isinstance(since, str) else since,
        parse_time(until, now, "until") if isinstance(until, str) else until,
        whole,
    )
    if end is not None and bounds == Bounds(whole=whole):  # `--end latest`
        bounds = bounds._replace(start=0)
    bounds.check()
    return bounds


def resolve(bounds: Bounds, tip_height: Callable[[], int], first_at: Callable[[float], int]) -> tuple[int, int]:
    """Return the height range (start included, end excluded) that the bounds mean, start <= end.

    `tip_height` returns the tip height, -1 for a chain without blocks; `first_at` the first height of a
    block time or later. They are called only if the range needs them. Raises UsageError.
    """
    bounds.check()
    if bounds.fixed:
        return bounds.fixed
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
