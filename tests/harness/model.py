"""Model servers: chains of rows, and what servers do wrong. `attempts` runs plans against them."""

import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.demo import faults as named
from chainq.demo.exchange import Ask, Book, Item
from chainq.errors import IncompleteError, ServiceError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Due, DueRequest, Located, RowsRequest
from chainq.rows.response import name_reader

PADS = (b"x" * 10, b"x" * 80, b"x" * 80, b"x" * 400)
BURSTS = (50, 400, 1500)  # rows of a height that holds many
MAKE_ROW = {
    "records": b'{"id":%(number)d,"height":%(height)d,"transition_id":"t%(number)d","output_index":0,"pad":"%(pad)b"}',
    "blocks": b'{"block_hash":"%(fork)b%(height)d","previous_hash":"%(parent)b%(previous)d","height":%(height)d}',
}
"""By command. The rows of all other commands carry no height."""
WITHOUT_HEIGHT = b'{"nonce":%(number)d,"transition_id":"t%(number)d","output_index":0,"pad":"%(pad)b"}'


@dataclass
class Chain:
    """Rows by height, the last one at `tip`. A row is its JSON text.

    `command`: whose rows they are. `density`: rows of a height, on average.
    """

    rng: random.Random
    command: str
    density: float
    bursts: bool
    rows: list[list[bytes]] = field(default_factory=list)
    number: int = 0  # of rows

    @property
    def tip(self) -> int:
        return len(self.rows) - 1

    def due(self, start: int, end: int) -> list[bytes]:
        """All rows of a range, in the order of the output."""
        return [row for height in range(start, min(end, len(self.rows))) for row in self.rows[height]]

    def grow(self, fork: bytes = b"", parent: bytes = b"") -> None:
        """Add a block. `fork`, `parent`: what sets the hashes of this block and the one before apart."""
        rng = self.rng
        count = int(rng.expovariate(1 / self.density)) if self.density else 0
        if self.bursts and rng.random() < 0.002:
            count = rng.choice(BURSTS)
        if self.command == "blocks":
            count = 1
        make, made, height = MAKE_ROW.get(self.command, WITHOUT_HEIGHT), [], len(self.rows)
        values: dict[bytes, int | bytes] = {
            b"height": height,
            b"previous": height - 1,
            b"fork": fork,
            b"parent": parent,
        }
        for _ in range(count):
            self.number += 1
            values |= {b"number": self.number, b"pad": PADS[int(4 * rng.random())]}
            made.append(make % values)
        self.rows.append(made)

    def reorg(self, depth: int) -> None:
        """Replace the last blocks by others."""
        fork = len(self.rows) - depth
        del self.rows[fork:]
        for _ in range(depth):
            self.grow(b"fork", b"" if len(self.rows) == fork else b"fork")


def chain(rng: random.Random, heights: int, density: float, *, command: str = "records", bursts: bool = True) -> Chain:
    """A chain with so many rows a height, now and then a burst of them."""
    made = Chain(rng, command, density, bursts)
    for _ in range(heights):
        made.grow()
    return made


@dataclass
class Faults:
    """What a model server does wrong; each is off where it is 0, 0.0 or False."""

    row_cap: int = 0
    byte_cap: int = 0
    varying_cap: int = 0  # this, or twice as many rows, by chance
    random_cut: float = 0.0  # share of responses that end somewhere
    clamp: int = 0  # heights of a range that are looked at
    too_wide: int = 0  # ranges wider than this are empty
    refused: int = 0  # ranges wider than this are an error
    empty: float = 0.0  # share of responses that are empty
    no_pages: bool = False
    same_page: bool = False
    ignore_size: int = 0  # rows of a page, whatever is asked
    offset_by_cap: bool = False  # page k begins at k times the rows that a response may hold
    inclusive: bool = False
    exclusive: bool = False
    heavy: int = 0  # more rows in a range than this time out
    flaky: float = 0.0  # share of requests that fail as a gateway does
    unordered: bool = False
    reversed_order: bool = False
    doubled: float = 0.0
    neighbours: float = 0.0
    stale_tip: int = 0
    lost: float = 0.0  # share of responses that lack one row somewhere
    stable: bool = False  # rows of a height always come in one order
    elsewhere: float = 0.0  # share of responses to the range before or after
    growing: float = 0.0  # share of calls before which a block comes
    lagging: int = 0  # blocks that one of two replicas lacks
    late: int = 0  # rows come so many blocks after their block
    reorg: int = 0  # blocks that are replaced once, in the middle of the run
    hidden_cap: int = 0  # rows of a range that there are for all pages together
    lists: named.Faults = named.NO_FAULTS  # as of `chainq serve --fault`
    no_blocks: bool = False  # no full blocks

    @property
    def unsettled(self) -> int:
        """How many blocks below the tip may change or lack rows: what `--lag` leaves out."""
        return max(self.lagging, self.late, self.reorg)


@dataclass
class Server(Book):
    """A model server."""

    chain: Chain
    faults: Faults
    rng: random.Random
    calls: int = 0
    seen: list[RowsRequest] = field(default_factory=list)
    orphans: list[bytes] = field(default_factory=list)  # rows of blocks that were replaced
    memory: named.Memory = field(default_factory=named.Memory)

    def tip(self, end: int) -> int:
        """The tip height, as `Service.tip_for` finds it for a range: one that cuts the range is looked into."""
        tip, stale = self._blocks() - 1, self.faults.stale_tip
        named = tip - (self.rng.randint(0, stale) if stale else 0)
        return named if named >= end - 1 else tip

    def _blocks(self) -> int:
        """How many blocks the replica has that answers a call; time passes before it does."""
        self.calls += 1
        faults, rng = self.faults, self.rng
        if faults.growing and rng.random() < faults.growing:
            self.chain.grow()
        if faults.reorg and self.calls == 4 and self.chain.tip > faults.reorg:
            self.orphans += self.chain.due(len(self.chain.rows) - faults.reorg, len(self.chain.rows))
            self.chain.reorg(faults.reorg)
            self.memory.fork = self  # from now on cached rows are those of replaced blocks
        lacks = faults.lagging if faults.lagging and rng.random() < 0.5 else 0
        return max(0, len(self.chain.rows) - lacks)

    def due(self, heights: HeightRange) -> Due:
        """What the full blocks of some heights say. Raises ServiceError where the server has none."""
        blocks = self._blocks()
        if self.faults.no_blocks:
            raise ServiceError("unknown method", code="-32601")
        end = max(heights.start, min(heights.end, blocks))
        names = name_reader(BY_COMMAND[self.chain.command].identity)
        at = {
            key: height
            for height in range(heights.start, end)
            for key in names(list(map(Raw, self.chain.rows[height])))
        }
        return Due(HeightRange(heights.start, end), at)

    def due_of(self, request: DueRequest) -> Due:
        """The same for a request."""
        return self.due(request.heights)

    def row_ids(self, request: DueRequest) -> dict[int, int]:
        """The row ids of blocks. Raises ServiceError where the server has none."""
        blocks = self._blocks()
        if self.faults.no_blocks:
            raise ServiceError("unknown method", code="-32601")
        start, end = request.heights.edges
        again = [self.faults.lists.get("stored-again", -1)]
        return {height: height + 10**6 * (height in again) for height in range(start, min(end, blocks))}

    def located(self, request: DueRequest) -> Located:
        """What a page of `records` shows of some heights. Raises IncompleteError for rows of others."""
        heights = request.heights
        if self.faults.no_blocks:
            raise ServiceError("unknown method", code="-32601")
        rows = self.answer(RowsRequest(heights, request.page_size, request.page))
        lies = {row: height for height, rows in enumerate(self.chain.rows) for row in rows}
        found = [lies.get(bytes(row), heights.start) for row in rows]
        if found and not heights.start <= min(found) <= max(found) < heights.end:
            raise IncompleteError(f"{heights}: rows of others")
        return Located(name_reader(BY_COMMAND[self.chain.command].identity)(rows), found, found == sorted(found))

    def answer(self, request: RowsRequest) -> list[Raw]:
        """The rows of a response. Raises TooHeavyError."""
        blocks = self._blocks()
        self.seen.append(request)
        faults, rng = self.faults, self.rng
        start, end = request.heights.start, request.heights.end
        if faults.elsewhere and rng.random() < faults.elsewhere:
            width = rng.choice([start - end, end - start])
            start, end = (max(0, edge + width) for edge in (start, end))
        size = request.page_size or 10**9
        if faults.ignore_size:
            size = faults.ignore_size
        wanted = size * (request.page + 1)
        self._fail(start, min(end, blocks), wanted)
        if faults.clamp:
            end = min(end, start + faults.clamp)
        if (faults.too_wide and end - start > faults.too_wide) or rng.random() < faults.empty:
            return []
        if faults.inclusive:
            end += 1
        if faults.exclusive:
            start += 1
        if faults.lists:
            found = self._listed(start, end, size, request.page, blocks)
        else:
            found = self._select(start, min(end, blocks), wanted)
            offset, limit = self._slice(size, request.page)
            found = found[offset : offset + limit]
        found = self._damage(self._fitting(found))
        if rng.random() < faults.neighbours and end < blocks:
            found += self.chain.rows[end]
        return [Raw(row) for row in found]

    def _fail(self, start: int, end: int, wanted: int) -> None:
        """Raise TooHeavyError where the server does not answer."""
        faults = self.faults
        if self.rng.random() < faults.flaky:
            raise TooHeavyError("gateway")
        if faults.refused and end - start > faults.refused:
            raise TooHeavyError("the range is too wide")
        if faults.heavy and min(wanted, sum(map(len, self.chain.rows[start : max(start, end)]))) > faults.heavy:
            raise TooHeavyError("query timeout")

    def _select(self, start: int, end: int, wanted: int) -> list[bytes]:
        """The rows of a range in the order of the server, as many as are wanted or more."""
        rng, found = self.rng, []
        all_of_them = self.faults.unordered or self.faults.reversed_order
        for height in range(start, min(end, len(self.chain.rows) - self.faults.late)):
            rows = self.chain.rows[height]
            found += rows if self.faults.stable or len(rows) < 2 else shuffled(rows, rng)
            if len(found) >= wanted and not all_of_them:
                break
        if self.faults.unordered:
            found = shuffled(found, rng)
        if self.faults.reversed_order:
            found.reverse()
        return found

    def _listed(self, start: int, end: int, size: int, page: int, blocks: int) -> list[bytes]:
        """The rows of a page of a server whose lists have faults."""
        lists = self.faults.lists
        offset, limit = self._slice(size, page)
        step = size if not page else offset // page  # from one page to the next
        handler = self.chain.command.replace("-", "_")
        ask = Ask(handler, start, end, blocks - 1, self.calls, self, lists, self.memory, page=page, size=size)
        turn = page if offset else 0
        return [item.row for item in lists.rows(lists.asked(ask._replace(turn=turn, step=step, limit=limit)))]

    def rows(self, ask: Ask) -> list[Item]:
        """The rows of a range, as `results.Results` has them of the sample chain."""
        found: list[Item] = []
        for height in range(ask.start, min(ask.heights.stop, len(self.chain.rows) - self.faults.late)):
            tied = self.chain.rows[height]
            ordered = tied if self.faults.stable else shuffled(tied, self.rng)
            found += [Item(height, at, row) for at, row in enumerate(ordered)]
            if len(found) >= ask.offset + ask.limit:
                break
        return found[ask.offset : ask.offset + ask.limit]

    def _slice(self, size: int, page: int) -> tuple[int, int]:
        """Where a page begins, and how many rows it has at most."""
        faults = self.faults
        cap = faults.row_cap or 10**9
        if faults.varying_cap:
            cap = min(cap, self.rng.choice([faults.varying_cap, 2 * faults.varying_cap]))
        step = min(size, cap) if faults.offset_by_cap else size
        offset = 0 if faults.same_page else page * step
        limit = 0 if faults.no_pages and page else min(size, cap)
        if faults.hidden_cap:
            limit = max(0, min(limit, faults.hidden_cap - offset))
        return offset, limit

    def _fitting(self, found: list[bytes]) -> list[bytes]:
        """As much of a page as the server's cap in bytes lets through."""
        if self.faults.byte_cap:
            found = found[: bisect_right(list(accumulate(map(len, found))), self.faults.byte_cap)]
        return found

    def _damage(self, found: list[bytes]) -> list[bytes]:
        """What is left when accidents have happened."""
        if found and self.rng.random() < self.faults.random_cut:
            found = found[: self.rng.randint(0, len(found))]
        if found and self.rng.random() < self.faults.doubled:
            found = [*found, found[-1]]
        if found and self.rng.random() < self.faults.lost:
            place = self.rng.randrange(len(found))
            found = [*found[:place], *found[place + 1 :]]
        return found


def shuffled(rows: list[bytes], rng: random.Random) -> list[bytes]:
    """Rows in another order; `Random.shuffle` takes several times as long."""
    return [row for _, row in sorted((rng.random(), row) for row in rows)]


MakeFaults = Callable[[random.Random], Faults]
KINDS: dict[str, MakeFaults] = {
    "honest": lambda rng: Faults(stable=rng.random() < 0.5),
    "row cap": lambda rng: Faults(row_cap=rng.choice([60, 300, 1000]), offset_by_cap=rng.random() < 0.5),
    "byte cap": lambda rng: Faults(byte_cap=rng.choice([4_000, 40_000])),
    "varying cap": lambda rng: Faults(varying_cap=rng.choice([200, 1000])),
    "random cuts": lambda rng: Faults(random_cut=rng.choice([0.05, 0.3])),
    "clamped": lambda rng: Faults(clamp=rng.choice([100, 1000])),
    "empty when wide": lambda rng: Faults(too_wide=rng.choice([100, 1000])),
    "empty at times": lambda _: Faults(empty=0.2),
    "no pages": lambda rng: Faults(no_pages=True, row_cap=rng.choice([0, 200, 700])),
    "the same page": lambda rng: Faults(same_page=True, row_cap=rng.choice([0, 200, 700])),
    "page size ignored": lambda rng: Faults(ignore_size=rng.choice([100, 2000]), row_cap=rng.choice([0, 70])),
    "end included": lambda _: Faults(inclusive=True),
    "start excluded": lambda _: Faults(exclusive=True),
    "wide ranges refused": lambda rng: Faults(refused=rng.choice([30, 100, 1000])),
    "heavy": lambda rng: Faults(heavy=rng.choice([100, 800])),
    "flaky": lambda rng: Faults(flaky=0.1, row_cap=rng.choice([0, 300])),
    "unordered": lambda rng: Faults(unordered=True, row_cap=rng.choice([0, 300])),
    "newest first": lambda _: Faults(reversed_order=True),
    "doubled": lambda _: Faults(doubled=0.2),
    "neighbours": lambda _: Faults(neighbours=0.2),
    "other ranges": lambda _: Faults(elsewhere=0.1),
    "stale tip": lambda _: Faults(stale_tip=50),
    "moving tip": lambda rng: Faults(growing=0.3, stable=rng.random() < 0.5),
    "lagging replica": lambda rng: Faults(lagging=rng.choice([1, 5, 40]), growing=rng.choice([0, 0.3])),
    "late rows": lambda rng: Faults(late=rng.choice([1, 5]), growing=0.3),
    "reorg": lambda rng: Faults(reorg=rng.choice([1, 5, 40]), growing=rng.choice([0, 0.3])),
}


CROWDED: dict[str, MakeFaults] = {
    kind: KINDS[kind]
    for kind in ("honest", "no pages", "the same page", "page size ignored", "end included", "unordered")
} | {
    "row cap": lambda rng: Faults(row_cap=rng.choice([30, 60, 90, 150]), offset_by_cap=rng.random() < 0.5),
    "byte cap": lambda rng: Faults(byte_cap=rng.choice([2_000, 4_000, 9_000]), stable=rng.random() < 0.5),
    "varying cap": lambda rng: Faults(varying_cap=rng.choice([40, 80]), stable=rng.random() < 0.5),
    "clamped": lambda rng: Faults(clamp=rng.choice([40, 60]), stable=rng.random() < 0.5),
}
"""Of a chain whose heights often hold more rows than a response."""


NARROW: dict[str, MakeFaults] = {
    "clamped narrowly": lambda rng: Faults(clamp=rng.choice([3, 10, 20, 40])),
    "empty unless narrow": lambda rng: Faults(too_wide=rng.choice([3, 10, 20, 40])),
}
"""Of ranges that most servers answer."""


def combined(rng: random.Random, *names: str) -> Faults:
    """Two kinds at once."""
    one, other = (KINDS[name](rng) for name in names)
    return Faults(**{name: getattr(one, name) or getattr(other, name) for name in Faults.__dataclass_fields__})
