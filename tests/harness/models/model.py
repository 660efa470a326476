"""Model servers: chains of rows, and what servers do wrong. `attempts` runs plans against them.

Most of what they do wrong is in the registry of `chainq serve --fault`, over other chains.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.demo import faults as named
from chainq.demo.registry import NO_END, Ask, Item, Memory, RowSource, RpcError
from chainq.errors import ServiceError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Due, DueRequest, RowsRequest
from chainq.rows.sorting import name_reader

Row = TypeVar("Row", bytes, Item)
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
    """What a model server does wrong; each is off where it is 0, 0.0 or False. `lists`: as of `chainq serve --fault`;
    the others are of the chain, or of a gateway before the server."""

    lists: named.Faults = named.NO_FAULTS
    stable: bool = False  # rows of a height always come in one order
    unordered: bool = False
    late: int = 0  # rows come so many blocks after their block
    growing: float = 0.0  # share of calls before which a block comes
    lagging: int = 0  # blocks that one of two replicas lacks
    reorg: int = 0  # blocks that are replaced once, in the middle of the run
    stale_tip: int = 0
    no_blocks: bool = False  # no full blocks
    refused: int = 0  # ranges wider than this are an error
    flaky: float = 0.0  # share of requests that fail as a gateway does
    random_cut: float = 0.0  # share of responses that end somewhere
    elsewhere: float = 0.0  # share of responses to the range before or after

    @property
    def exclusive(self) -> bool:
        """Whether the first height of each range is left out."""
        return "exclusive-start" in self.lists

    @property
    def unsettled(self) -> int:
        """How many blocks below the tip may change or lack rows: what `--lag` leaves out."""
        return max(self.lagging, self.late, self.reorg)


def served(*texts: str, **more: Any) -> Faults:
    """The faults of `chainq serve --fault`, and others. Empty texts are left out."""
    return Faults(named.Faults(*filter(None, texts)), **more)


@dataclass
class Server(RowSource):
    """A model server."""

    chain: Chain
    faults: Faults
    rng: random.Random
    calls: int = 0
    seen: list[RowsRequest] = field(default_factory=list)
    orphans: list[bytes] = field(default_factory=list)  # rows of blocks that were replaced
    memory: Memory = field(default_factory=Memory)

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
        lacks = faults.lagging if faults.lagging and rng.random() < 0.5 else 0
        return max(0, len(self.chain.rows) - lacks)

    def due(self, request: DueRequest) -> Due:
        """What the full blocks of some heights say. Raises ServiceError where the server has none."""
        blocks, heights = self._blocks(), request.heights
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

    def row_ids(self, request: DueRequest) -> dict[int, int]:
        """The row ids of blocks. Raises ServiceError where the server has none."""
        blocks = self._blocks()
        if self.faults.no_blocks:
            raise ServiceError("unknown method", code="-32601")
        start, end = request.heights.edges
        again = [self.faults.lists.get("stored-again", -1)]
        return {height: height + 10**6 * (height in again) for height in range(start, min(end, blocks))}

    def records(self, request: RowsRequest) -> list[Raw]:
        """The records of some heights: rows as those of the chain, with their height. Raises ServiceError and
        TooHeavyError."""
        if self.faults.no_blocks:
            self._blocks()
            raise ServiceError("unknown method", code="-32601")
        lies = {row: height for height, rows in enumerate(self.chain.rows) for row in rows}
        rows, start = self.answer(request), request.heights.start
        return [Raw(b'{"height":%d,' % lies.get(bytes(row), start) + bytes(row)[1:]) for row in rows]

    def answer(self, request: RowsRequest) -> list[Raw]:
        """The rows of a response. Raises TooHeavyError."""
        blocks = self._blocks()
        self.seen.append(request)
        faults, rng = self.faults, self.rng
        start, end = request.heights.edges
        if rng.random() < faults.elsewhere:
            width = rng.choice([start - end, end - start])
            start, end = (max(0, edge + width) for edge in (start, end))
        if rng.random() < faults.flaky or (faults.refused and end - start > faults.refused):
            raise TooHeavyError("gateway")
        handler, size = self.chain.command.replace("-", "_"), request.page_size or NO_END
        ask = Ask(handler, start, end, blocks - 1, self.calls, self, faults.lists, self.memory, page=request.page)
        ask = ask._replace(size=size, offset=ask.page * size, limit=size)
        try:
            found = faults.lists.rows(faults.lists.applied("request", ask, ask))
        except RpcError as error:
            raise TooHeavyError(error.args[1]) from None
        if rng.random() < faults.random_cut:
            found = found[: rng.randint(0, len(found))]
        return [Raw(item.row) for item in found]

    def rows(self, ask: Ask) -> list[Item]:
        """The rows of a range, as `results.Results` has them of the sample chain."""
        found: list[Item] = []
        for height in range(ask.start, min(ask.heights.stop, len(self.chain.rows) - self.faults.late)):
            tied = self.chain.rows[height]
            ordered = tied if self.faults.stable or len(tied) < 2 else shuffled(tied, self.rng)
            found += [Item(height, at, row) for at, row in enumerate(ordered)]
            if len(found) >= ask.offset + ask.limit and not self.faults.unordered:
                break
        if self.faults.unordered:
            found = shuffled(found, self.rng)
        return found[ask.offset : ask.offset + ask.limit]


def shuffled(rows: list[Row], rng: random.Random) -> list[Row]:
    """Rows in another order; `Random.shuffle` takes several times as long."""
    return [row for _, row in sorted((rng.random(), row) for row in rows)]


MakeFaults = Callable[[random.Random], Faults]
KINDS: dict[str, MakeFaults] = {
    "honest": lambda rng: Faults(stable=rng.random() < 0.5),
    "row cap": lambda rng: served(f"row-cap:{rng.choice([60, 300, 1000])}", rng.choice(["", "offset-by-asked"])),
    "byte cap": lambda rng: served(f"byte-cap:{rng.choice([4_000, 40_000])}"),
    "varying cap": lambda rng: served(f"row-cap:{rng.choice([200, 1000])}", "cap-varies", "offset-by-asked"),
    "random cuts": lambda rng: Faults(random_cut=rng.choice([0.05, 0.3])),
    "clamped": lambda rng: served(f"clamp-heights:{rng.choice([100, 1000])}"),
    "empty when wide": lambda rng: served(f"empty-above:{rng.choice([100, 1000])}"),
    "empty at times": lambda rng: served("empty-rate:0.2", f"seed:{rng.randrange(1000)}"),
    "no pages": lambda rng: served("no-pages", rng.choice(["", "row-cap:200", "row-cap:700"])),
    "the same page": lambda rng: served("repeat-pages", rng.choice(["", "row-cap:200", "row-cap:700"])),
    "page size ignored": lambda rng: served(
        f"ignore-page-size:{rng.choice([100, 2000])}", rng.choice(["", "row-cap:70"]), "offset-by-asked"
    ),
    "end included": lambda _: served("inclusive-end"),
    "start excluded": lambda _: served("exclusive-start"),
    "wide ranges refused": lambda rng: Faults(refused=rng.choice([30, 100, 1000])),
    "heavy": lambda rng: served(f"heavy-rows:{rng.choice([100, 800])}"),
    "flaky": lambda rng: served(rng.choice(["", "row-cap:300"]), "offset-by-asked", flaky=0.1),
    "unordered": lambda rng: served(rng.choice(["", "row-cap:300"]), "offset-by-asked", unordered=True),
    "newest first": lambda _: served("newest-first"),
    "doubled": lambda rng: served("duplicate-rate:0.002", f"seed:{rng.randrange(1000)}"),
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
    "row cap": lambda rng: served(f"row-cap:{rng.choice([30, 60, 90, 150])}", rng.choice(["", "offset-by-asked"])),
    "byte cap": lambda rng: served(f"byte-cap:{rng.choice([2_000, 4_000, 9_000])}", stable=rng.random() < 0.5),
    "varying cap": lambda rng: served(f"row-cap:{rng.choice([40, 80])}", "cap-varies", "offset-by-asked"),
    "clamped": lambda rng: served(f"clamp-heights:{rng.choice([40, 60])}", stable=rng.random() < 0.5),
}
"""Of a chain whose heights often hold more rows than a response."""


NARROW: dict[str, MakeFaults] = {
    "clamped narrowly": lambda rng: served(f"clamp-heights:{rng.choice([3, 10, 20, 40])}"),
    "empty unless narrow": lambda rng: served(f"empty-above:{rng.choice([3, 10, 20, 40])}"),
}
"""Of ranges that most servers answer."""


WRONG: dict[str, MakeFaults] = {
    "range with many rows is empty": lambda rng: served(f"range-empty:{rng.choice([100, 800])}"),
    "hidden cap": lambda rng: served(f"result-window:{rng.choice([60, 300, 1000])}", stable=rng.random() < 0.5),
    "hidden cap, the same page": lambda rng: served(
        f"result-window:{rng.choice([60, 300])}", "repeat-pages", stable=rng.random() < 0.8
    ),
    "hidden cap, page size ignored": lambda rng: served(
        f"result-window:{rng.choice([60, 300])}", f"ignore-page-size:{rng.choice([30, 500])}", stable=rng.random() < 0.8
    ),
    "heights as text": lambda _: served("text-order"),
    "heights as text, row cap": lambda rng: served("text-order", f"row-cap:{rng.choice([60, 300])}", "offset-by-asked"),
    "no long row": lambda _: served("long-row-hides:400"),
    "first block": lambda _: served("first-block"),
    "first block, short pages": lambda rng: served("first-block", "short-pages", stable=rng.random() < 0.5),
    "short pages": lambda _: served("short-pages"),
    "gaps in full pages": lambda rng: served(f"page-gaps:{rng.choice([3, 100])}"),
    "one height higher": lambda _: served("shift-up"),
    "page 0 skipped": lambda _: served("page-0-skipped"),
    "late pages": lambda _: served("late-pages"),
    "shards": lambda rng: served(f"shards:{rng.choice([2, 8])}"),
    "few rows of a height": lambda rng: served(f"height-cap:{rng.choice([2, 20])}"),
    "ownership behind": lambda _: served("ownership-behind:5"),
}
"""Wrong in one plain way, in good faith (`chainq serve --fault`, and hidden caps)."""


def combined(rng: random.Random, *names: str) -> Faults:
    """Two kinds at once."""
    one, other = (KINDS[name](rng) for name in names)
    more = {name.name: getattr(one, name.name) or getattr(other, name.name) for name in fields(Faults)[1:]}
    return served(*one.lists.texts, *other.lists.texts, **more)
