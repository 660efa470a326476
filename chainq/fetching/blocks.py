"""What a service says about its blocks: the tip, and their hashes and times, each requested once where it can be."""

import time
from collections.abc import Callable, Iterator
from threading import Lock
from typing import NamedTuple, TypeVar

from msgspec import Raw

from chainq import tuning
from chainq.catalog.methods import BY_COMMAND
from chainq.errors import IncompleteError, LackingError, NotFoundError, ResponseError, StaleError
from chainq.fetching import lookups
from chainq.fetching.calls import Calls
from chainq.heights import bounds
from chainq.query import Batch
from chainq.rows import fields
from chainq.text.sanitize import printable

T = TypeVar("T")
_NO_BLOCK = "the chain has no blocks yet"
CHECK_CLOCK = "check the clock of this machine"


class Tip(NamedTuple):
    """The tip: its height (-1 for a chain without blocks), hashes (empty if not sent), time in seconds, and summary."""

    height: int
    hash: str = ""
    previous_hash: str = ""
    time: int | None = None
    summary: Raw | None = None


class Blocks:
    """The tip of a service, and the hashes and times of its blocks.

    Not thread-safe, except for `tip_height` and `tip_for`, which the threads of several ranges may call.

    `summary`: returns the summary of a block, perhaps from a data set. `asking`: called before a request for the tip or
    a hash. `first`: the lowest height of an export, of a served one once `from_first` has learned it; 0 for a network.
    `known`: the tip, None before it was requested; another process may have done that for the same run.
    """

    def __init__(self, calls: Calls, summary: Callable[[int], Raw], asking: Callable[[], None], first: int = 0) -> None:
        self._calls, self._summary, self._asking, self.first = calls, summary, asking, first
        self.known: Tip | None = None
        self._shown = -1  # the highest block that a lookup above that tip has shown
        self._lock = Lock()  # so that threads that need the tip request it once
        self._times: dict[int, int] = {}  # block times by height, for searches by time below one tip

    def from_first(self, read: Callable[[], T]) -> T:
        """Return what `read` returns; if an error of a served export tells a higher `first`, read again from there."""
        try:
            return read()
        except LackingError as error:
            if error.first <= self.first:
                raise
            self.first = error.first
        return read()

    def tip_height(self) -> int:
        """Return the tip height, -1 for a chain without blocks; requested once and then cached."""
        return self.tip().height

    def tip(self, *, refresh: bool = False) -> Tip:
        """Return the tip. It is requested once and then cached until a `refresh`, so a run has one end."""
        with self._lock:
            if self.known is None or refresh:
                self.known, self._shown = self._read_tip(), -1
            return self.known

    def _read_tip(self) -> Tip:
        """Request the tip, and cache its time as well."""
        self._asking()
        rows = self._latest()
        if not rows:
            return Tip(-1)
        sent = fields.Picker(["height", "timestamp", "block_hash", "previous_hash"])(rows[0])
        height = fields.integer_of(sent[0])
        if height is None or not 0 <= height <= bounds.HIGHEST:
            raise ResponseError("latest/block: the block has no valid height")
        time = fields.seconds_of(sent[1])
        self._times = {} if time is None else {height: time}
        return Tip(height, hash_text(sent[2]), hash_text(sent[3]), time, rows[0])

    def tip_for(self, end: int) -> int:
        """Return the tip height, as far as it matters to a range that ends before `end`.

        A response of latest/block may be stale and must not shorten the range: a lookup checks that no block follows.
        Of several servers behind a URL the next one may be behind, so a block that was shown once counts.
        """
        tip = max(self.tip_height(), self._shown)
        if tip < end - 1:
            tip = highest_block(tip, end - 1, lambda height: self.block_hash(height) is not None)
            self._shown = max(self._shown, tip)  # another thread may have seen a higher one
        return tip

    def hash_of(self, height: int) -> str | None:
        """Return the hash of a block, None if it does not exist; the tip has its own hash and the previous one."""
        tip = self.tip()
        if height == tip.height and tip.hash:
            return tip.hash
        if height == tip.height - 1 and tip.previous_hash:
            return tip.previous_hash
        return self.block_hash(height)

    def block_hash(self, height: int) -> str | None:
        """Return the hash of a block as the service has it now, None if it does not exist."""
        self._asking()
        return self.own_hash(height)

    def own_hash(self, height: int) -> str | None:
        """Return the same, ignoring the lake."""
        rows = lookups.fetch_block(self._calls.of(BY_COMMAND["block"]), height)
        return None if rows is None else hash_text(fields.value_at(rows[0], "block_hash"))

    def first_at(self, time: float) -> int:
        """Return the first height whose block time is `time` (seconds since 1970) or later; tip + 1 for none.

        Raises IncompleteError for a time before the first block of an export, LackingError if others serve it: blocks
        that it lacks may be of that time.
        """
        return self.from_first(lambda: self._search(time))

    def _search(self, time: float) -> int:
        from chainq.heights import block_time

        if 0 < self.first <= self.tip_height() and time < (begins := self.time_of(self.first)):
            from chainq.text.humanize import utc

            message = f"{utc(time)} is before the first block of the export: height {self.first}, {utc(begins)}"
            raise IncompleteError(message, f"the earliest time is {utc(begins).replace(' ', 'T')}")
        return block_time.first_at(time, self.tip_height(), self.time_of, self.first)

    def time_of(self, height: int) -> int:
        """Return the block time of a height, in seconds since 1970. Raises ChainqError."""
        if height not in self._times:
            time = fields.seconds_of(fields.value_at(self._summary(height), "timestamp"))
            if time is None:
                raise ResponseError(f"block {height} has no valid timestamp, so no block can be found by its time")
            self._times[height] = time
        return self._times[height]

    def _latest(self) -> list[Raw]:
        """Return the summary of the tip as one row; none for a chain without blocks (docs/protocol.md, "Methods")."""
        latest = self._calls.of(BY_COMMAND["latest"])
        rows = latest({}, lookups.row_of(latest.method))
        if not rows and lookups.fetch_block(self._calls.of(BY_COMMAND["block"]), 0):
            raise ResponseError("latest/block returned null, but block 0 exists", "run the command again later")
        return rows

    def fetch_latest(self, *, known: bool = False) -> Iterator[Batch]:
        """Yield the summary of the tip. With `known`, reuse the summary of an earlier request, if there is one.

        Raises NotFoundError for a chain without blocks.
        """
        rows = [self.known.summary] if known and self.known and self.known.summary else self._latest()
        if not rows:
            raise NotFoundError(_NO_BLOCK)
        yield Batch(rows)

    def latest_height(self, *, known: bool = True) -> int:
        """Return the height of the tip; unless `known`, request it anew. Raises NotFoundError if there is no block."""
        height = self.tip_height() if known else self._read_tip().height
        if height < 0:
            raise NotFoundError(_NO_BLOCK)
        return height


def hash_text(value: Raw | None) -> str:
    """Return a block hash as text that any file can hold, empty if there is none: it is only compared."""
    return printable(fields.text_of(value))


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
