"""The values that pass between the layers: the validated query of one command, and its batches of rows.

Tuples and not dataclasses: every run loads this module, and a dataclass takes several times as long to make.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Raw

from chainq.catalog.dialects import Value
from chainq.catalog.methods import Method, Role, Shape
from chainq.heights.bounds import Bounds
from chainq.heights.range import HeightRange

if TYPE_CHECKING:
    from chainq.planning.exchange import Proof
    from chainq.rows.where import Where

STDIN = "-"
"""As a lookup: those on standard input, one per line."""
Lookup = int | str


class Query(NamedTuple):
    """The validated arguments of one command: all that decides which rows it yields, and in which order.

    `method`: the entry of the catalogue. `arguments`: sent with every request (program, function, address).
    `lookups`: heights, ranges of heights or IDs in the order of the output, LATEST and STDIN among them; None for a
    method without.
    `bounds`: the height range as requested, None for a method without one; what it resolves to depends on the tip and
    is handed over beside the query. `reverse`: highest heights first. `newest`: the last `limit` rows
    of a list without heights, the newest first. `limit`: rows after which no further request is
    made. `page`: the one page to send as is, unverified. `page_size`: rows that requests ask for at first,
    None for what suits the method. `verify`: check that every height is present and linked to the one before.
    `check`: whether arguments are checked against the catalogue and the dialect. `where`: which rows are printed, all
    for None; `limit` counts these. `hash_workers`: processes that recompute the hashes of blocks, 0 for no check of
    hashes. `located`: rows of a range begin with their height, which they lack. `pick`: picks rows of a range and may
    add to them, None for all as they are sent; `limit` counts those that it picks.
    """

    method: Method
    arguments: Mapping[Role, Value] = MappingProxyType({})
    lookups: tuple[Lookup | Bounds, ...] | None = None
    bounds: Bounds | None = None
    reverse: bool = False
    newest: bool = False
    limit: int | None = None
    page: int | None = None
    page_size: int | None = None
    verify: bool = True
    check: bool = True
    where: "Where | None" = None
    hash_workers: int = 0
    located: bool = False
    pick: "Callable[[Any, Query, HeightRange], Iterator[Batch]] | None" = None  # of a service, which is a layer above

    @property
    def single(self) -> bool:
        """Return whether the result is one object by nature, not a list of one."""
        if self.lookups is None:
            return self.method.shape is not Shape.ROWS and self.bounds is None
        one = len(self.lookups) == 1 and self.lookups[0] != STDIN and not isinstance(self.lookups[0], Bounds)
        return one and self.method.shape is not Shape.ROWS

    @property
    def by_height(self) -> bool:
        """Return whether heights are looked up, one by one."""
        return self.method.param(Role.HEIGHT) is not None


class Batch(NamedTuple):
    """Rows in order, the heights that they make complete, and how that was proved; both None for a method without.

    `scanned`: the number of rows that these were picked from, None if they are all.
    """

    rows: list[Raw]
    heights: HeightRange | None = None
    proof: "Proof | None" = None
    scanned: int | None = None

    @property
    def shown(self) -> int:
        """Return the number of rows that the service showed for these heights."""
        return len(self.rows) if self.scanned is None else self.scanned

    def joined(self, other: "Batch") -> "Batch":
        """Return this batch and the one after it as one."""
        a, b = self.heights, other.heights
        heights = HeightRange(min(a.start, b.start), max(a.end, b.end)) if a and b else a or b
        return other._replace(rows=[*self.rows, *other.rows], heights=heights, scanned=self.shown + other.shown)


def matching(batches: Iterator[Batch], where: "Where | None") -> Iterator[Batch]:
    """Yield batches with only the rows that meet a condition; all rows for None."""
    if where is None:
        return batches
    return (
        batch._replace(rows=where.rows(batch.rows, batch.heights.start if batch.heights else None), scanned=batch.shown)
        for batch in batches
    )


def limited(batches: Iterator[Batch], limit: int | None) -> Iterator[Batch]:
    """Yield batches up to `limit` rows, all of them for None. The last batch is truncated, and no more are read.

    Only this function truncates rows to `--limit`. Plans also get the limit, to request no more than it needs.
    """
    while limit is None or limit > 0:
        batch = next(batches, None)
        if batch is None:
            return
        if limit is not None:
            if len(batch.rows) > limit:
                batch = batch._replace(rows=batch.rows[:limit])
            limit -= len(batch.rows)
        yield batch
