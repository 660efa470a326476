"""Model servers of lists in pages, and a driver without threads: the page plan is tested in process."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Role
from chainq.demo.faults import NO_FAULTS, Faults
from chainq.demo.registry import NO_END, TOO_HEAVY, Ask, Item, Memory, RowSource, RpcError
from chainq.errors import ChainqError, GatewayError, TooHeavyError
from chainq.planning.page_plan import PagePlan, PageRequest
from chainq.query import Query

METHOD = BY_COMMAND["program-transactions"]
ARGUMENTS: dict[Role, int | str] = {Role.PROGRAM: "a.aleo", Role.FUNCTION: "f"}
MOST_REQUESTS = 100_000  # a server that gives a row at a time takes 30,000 for 1,250 rows

Blocks = list[list[bytes]]
"""The rows of each block, in the order of the output."""


def transaction(number: int, index: int, time: int, calls: int, pad: int = 0, *, fee: bool = False) -> bytes:
    """A transaction with so many matching transitions among others, one of them in its fee if asked for."""
    matching = {"program": "a.aleo", "function": "f"}
    transitions = [
        {"program": "a.aleo", "function": "g"},
        *[matching] * (calls - fee),
        {"program": "b", "function": "f"},
    ]
    inner: dict[str, Any] = {"id": f"at{number}", "execution": {"transitions": transitions}, "pad": "x" * pad}
    inner["fee"] = {"transition": matching if fee else transitions[0]}
    return json.dumps({"index": index, "transaction": inner, "finalizedAt": str(time)}, separators=(",", ":")).encode()


def blocks(rng: random.Random, count: int, largest: int, *, repeats: bool = True) -> Blocks:
    """Blocks with up to so many transactions; with `repeats` some have several matching transitions."""
    made, number = [], 0
    for time in range(1, count + 1):
        rows: list[bytes] = []
        for index in range(rng.choice([1, 1, 1, 2, 3, rng.randint(1, largest)])):
            number += 1
            calls = rng.choice([1, 1, 1, 2, 5]) if repeats else 1
            row = transaction(number, index, 10 * time, calls, rng.choice([0, 0, 50, 900]), fee=rng.random() < 0.2)
            rows += [row] * calls
        made.append(rows)
    return made


@dataclass
class PageFaults:
    """What a model server does wrong; each is off where it is 0, empty or False. `lists`: as of `chainq serve --fault`.

    `none_from`, `none_beyond`: no page that begins at this row or later, or that reaches beyond it. `flaky`: share of
    failures. `swapped`: share of pages that are not in order. `grow`: share of calls after which a block comes.
    `stable`: rows of a block keep their order. `full`: what full blocks have: the rows, fewer of them (`lacking`),
    others (`other`), or nothing. `pool`: a page of more rows, or one more than three ahead, fails if it has rows of a
    block with more.
    """

    lists: Faults = NO_FAULTS
    none_from: int = 0
    none_beyond: int = 0
    flaky: float = 0.0
    swapped: float = 0.0
    grow: float = 0.0
    stable: bool = False
    full: str = ""
    pool: int = 0


def served(*texts: str, **more: Any) -> PageFaults:
    """The faults of `chainq serve --fault`, and others. Empty texts are left out."""
    return PageFaults(Faults(*filter(None, texts)), **more)


_STEPS = ("", "offset-by-asked")
KINDS: dict[str, Callable[[random.Random], PageFaults]] = {
    "honest": lambda _: PageFaults(),
    "stable order": lambda _: PageFaults(stable=True),
    "a transaction once": lambda _: served("distinct"),
    "row cap": lambda rng: served(f"row-cap:{rng.choice([1, 3, 7, 50])}", rng.choice(_STEPS)),
    "varying row cap": lambda rng: served(f"row-cap:{rng.choice([3, 20])}", "cap-varies", rng.choice(_STEPS)),
    "byte cap": lambda rng: served(f"byte-cap:{rng.choice([100, 500, 2000, 10_000])}"),
    "empty at times": lambda rng: served(f"empty-rate:{rng.choice([0.02, 0.1])}", f"seed:{rng.randrange(1000)}"),
    "nothing from a row on": lambda rng: PageFaults(none_from=rng.randint(1, 200)),
    "nothing beyond a row": lambda rng: PageFaults(none_beyond=rng.randint(1, 200)),
    "no pages": lambda _: served("no-pages"),
    "page ignored": lambda _: served("repeat-pages"),
    "page size ignored": lambda rng: served(f"ignore-page-size:{rng.choice([2, 5, 30, 200, 999])}"),
    "heavy": lambda rng: served(f"heavy-rows:{rng.choice([3, 10, 40])}"),
    "failing": lambda rng: PageFaults(flaky=rng.choice([0.05, 0.2])),
    "unordered": lambda rng: PageFaults(swapped=rng.choice([0.05, 1])),
    "growing": lambda rng: PageFaults(grow=rng.choice([0.02, 0.1, 0.3])),
    "two at once": lambda rng: served(
        rng.choice(["", "row-cap:40"]),
        rng.choice(_STEPS),
        rng.choice(["", "heavy-rows:10", "heavy-rows:50"]),
        rng.choice(["", "byte-cap:20000"]),
        rng.choice(["", "distinct"]),
        flaky=rng.choice([0, 0.05]),
        grow=rng.choice([0, 0.02]),
    ),
}
"""What is tried: each makes the faults of a server by chance. Not among them, for nothing can find them out: a service
that ends its list early for all pages alike, and one that repeats a transaction no more often than it might."""


WRONG: dict[str, Callable[[random.Random], PageFaults]] = {
    "pool": lambda rng: PageFaults(pool=rng.choice([3, 10, 40])),
    "heavy block": lambda rng: served(
        f"heavy-block:{rng.choice([1, 3, 10, 40])}",
        rng.choice(["", "distinct"]),
        full=rng.choice(["", "rows", "lacking", "other"]),
    ),
    "no long row": lambda _: served("long-row-hides:800"),
    "short pages": lambda _: served("short-pages"),
    "gaps in full pages": lambda rng: served(f"page-gaps:{rng.choice([3, 30])}"),
    "page 0 skipped": lambda _: served("page-0-skipped"),
    "late pages": lambda _: served("late-pages"),
    "newest first": lambda _: served("newest-first"),
}
"""Servers that are wrong in one plain way, as in `harness.models.model`."""


class PageServer(RowSource):
    """A list of blocks in pages, with faults."""

    def __init__(self, chain: Blocks, faults: PageFaults, seed: int) -> None:
        once = "distinct" in faults.lists
        self.blocks = [list(dict.fromkeys(rows)) if once else list(rows) for rows in chain]
        self.faults = faults
        self._rng = random.Random(seed)  # noqa: S311  # a seed is to be repeated
        self.requests: list[PageRequest] = []

    @property
    def due(self) -> list[bytes]:
        """All rows, in the order of the output."""
        return [row for rows in self.blocks for row in rows]

    def page(self, request: PageRequest) -> list[Raw]:
        """The rows of a page. Raises TooHeavyError and GatewayError."""
        faults, rng = self.faults, self._rng
        self.requests.append(request)
        assert len(self.requests) < MOST_REQUESTS
        assert request.size > 0
        assert request.number >= 0
        if rng.random() < faults.grow:
            time = 10 * (len(self.blocks) + 1)
            self.blocks.append([transaction(1_000_000 + time, 0, time, 1)])
        if rng.random() < faults.flaky:
            raise GatewayError("HTTP 504")
        lists, number, size = faults.lists, request.number, request.size
        ask = Ask("program_transactions", 0, NO_END, NO_END, len(self.requests), self, lists, Memory(), page=number)
        ask = ask._replace(size=size, offset=number * size, limit=size)
        ask = lists.applied("request", ask, ask)
        if 0 < faults.none_from <= ask.offset or 0 < faults.none_beyond < ask.offset + ask.limit:
            return []
        try:
            items = lists.rows(ask)
        except RpcError as error:
            raise (TooHeavyError if error.args[1] == TOO_HEAVY else GatewayError)(error.args[1]) from None
        heavy = any(len(self.blocks[item.height]) > faults.pool for item in items)
        if heavy and faults.pool and (size > faults.pool or request.ahead > 3):
            raise GatewayError("pool")
        rows = [Raw(item.row) for item in items]
        return rows[::-1] if rng.random() < faults.swapped else rows

    def full_block(self, time: int) -> list[Raw]:
        """The transactions of the block of a time, as far as its full block has them."""
        for block in self.blocks if self.faults.full else []:
            rows = list(dict.fromkeys(block))
            if json.loads(rows[0])["finalizedAt"] == str(time):
                rows = rows[1:] if self.faults.full == "lacking" else rows
                return [Raw(row.replace(b"pad", b"gap") if self.faults.full == "other" else row) for row in rows]
        return []

    def rows(self, ask: Ask) -> list[Item]:
        """The rows of the list, as `results.Results` has them of the sample chain."""
        items = []
        for height, block in enumerate(self.blocks):
            tied = block if self.faults.stable else self._rng.sample(block, len(block))
            items += [Item(height, at, row) for at, row in enumerate(tied)]
        return items[ask.offset : ask.offset + ask.limit]


def plan(
    server: PageServer,
    page_size: int | None = None,
    limit: int | None = None,
    *,
    newest: bool = False,
    strict: bool = False,
) -> PagePlan:
    """A plan of a run over the whole list, or of its last rows."""
    query = Query(METHOD, ARGUMENTS, newest=newest, limit=limit, page_size=page_size)
    return PagePlan(query, server.page, server.full_block, largest=999, strict=strict)


def run(
    server: PageServer, page_size: int | None = None, limit: int | None = None, *, newest: bool = False
) -> tuple[list[bytes], str]:
    """The rows of a run, and the error that ended it."""
    rows: list[bytes] = []
    try:
        for found, _ in plan(server, page_size, limit, newest=newest).results():
            rows += map(bytes, found)
    except ChainqError as error:
        return rows, str(error)
    return rows, ""
