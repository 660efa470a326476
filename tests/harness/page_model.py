"""Model servers of lists in pages, and a driver without threads: the page plan is tested in process."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Role
from chainq.demo.faulty_lists import POOL_EMPTY, Asked, FaultyLists, Item, PoolEmptyError
from chainq.demo.list_faults import ListFault
from chainq.errors import ChainqError, GatewayError, TooHeavyError
from chainq.planning.page_plan import NewestPlan, PagePlan
from chainq.planning.page_requests import BlockRequest, PageRequest, PageResult
from chainq.query import Query
from harness.wrong import wrong

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
    """What a model server does wrong; each is off where it is 0, None or False.

    `row_cap`, `by_given`: pages are cut to so many rows, and begin at multiples of that. `varies`: the cap is doubled
    now and then. `byte_cap`: rows beyond so many bytes are left out, never the first. `empty`: the share of empty
    pages. `window`: the row at which the list ends too early, for pages that begin there or later (`offset`), that
    reach beyond (`end`), or for rows (`rows`). `ignored`: the page size, whatever is asked for. `heavy`: more rows than
    this are too heavy. `flaky`: share of failures. `swapped`: share of pages that are not in order. `doubled`: share
    of rows that come twice. `grow`: share of calls after which a block comes. `stable`: rows of a block keep their
    order. `once`: a transaction comes once, whatever it calls. `lists`: as of `chainq serve --fault`.
    `full`: what full blocks have: the rows, fewer of them (`lacking`), others (`other`), or nothing.
    """

    row_cap: int = 0
    by_given: bool = False
    varies: bool = False
    byte_cap: int = 0
    empty: float = 0.0
    window: int = 0
    window_kind: str = "offset"
    no_pages: bool = False
    same_page: bool = False
    ignored: int = 0
    heavy: int = 0
    flaky: float = 0.0
    swapped: float = 0.0
    doubled: float = 0.0
    grow: float = 0.0
    stable: bool = False
    once: bool = False
    lists: tuple[ListFault, ...] = ()
    full: str = ""


KINDS: dict[str, Callable[[random.Random], PageFaults]] = {
    "honest": lambda _: PageFaults(),
    "stable order": lambda _: PageFaults(stable=True),
    "a transaction once": lambda _: PageFaults(once=True),
    "row cap": lambda rng: PageFaults(row_cap=rng.choice([1, 3, 7, 50]), by_given=rng.random() < 0.5),
    "varying row cap": lambda rng: PageFaults(row_cap=rng.choice([3, 20]), varies=True, by_given=rng.random() < 0.5),
    "byte cap": lambda rng: PageFaults(byte_cap=rng.choice([100, 500, 2000, 10_000])),
    "empty at times": lambda rng: PageFaults(empty=rng.choice([0.02, 0.1])),
    "nothing from a row on": lambda rng: PageFaults(window=rng.randint(1, 200), window_kind="offset"),
    "nothing beyond a row": lambda rng: PageFaults(window=rng.randint(1, 200), window_kind="end"),
    "no pages": lambda _: PageFaults(no_pages=True),
    "page ignored": lambda _: PageFaults(same_page=True),
    "page size ignored": lambda rng: PageFaults(ignored=rng.choice([2, 5, 30, 200, 999])),
    "heavy": lambda rng: PageFaults(heavy=rng.choice([3, 10, 40])),
    "failing": lambda rng: PageFaults(flaky=rng.choice([0.05, 0.2])),
    "unordered": lambda rng: PageFaults(swapped=rng.choice([0.05, 1])),
    "growing": lambda rng: PageFaults(grow=rng.choice([0.02, 0.1, 0.3])),
    "two at once": lambda rng: PageFaults(
        row_cap=rng.choice([0, 40]),
        by_given=rng.random() < 0.5,
        heavy=rng.choice([0, 10, 50]),
        byte_cap=rng.choice([0, 20_000]),
        flaky=rng.choice([0, 0.05]),
        grow=rng.choice([0, 0.02]),
        once=rng.random() < 0.5,
    ),
}
"""What is tried: each makes the faults of a server by chance. Not among them, for nothing can find them out: a service
that ends its list early for all pages alike, and one that repeats a transaction no more often than it might."""


WRONG: dict[str, Callable[[random.Random], PageFaults]] = {
    "heavy is empty": lambda rng: PageFaults(lists=wrong(f"heavy-empty:{rng.choice([3, 10, 40])}")),
    "pool": lambda rng: PageFaults(lists=wrong(f"busy-pool:{rng.choice([3, 10, 40])}")),
    "heavy block": lambda rng: PageFaults(
        lists=wrong(f"heavy-block:{rng.choice([1, 3, 10, 40])}"),
        full=rng.choice(["", "rows", "lacking", "other"]),
        once=rng.random() < 0.5,
    ),
    "nothing after a long row": lambda _: PageFaults(lists=wrong("long-row-ends:800")),
    "no long row": lambda _: PageFaults(lists=wrong("long-row-hides:800")),
    "short pages": lambda _: PageFaults(lists=wrong("short-pages")),
    "gaps in full pages": lambda rng: PageFaults(lists=wrong(f"page-gaps:{rng.choice([3, 30])}")),
    "page 0 empty": lambda _: PageFaults(lists=wrong("page-0-empty")),
    "page 0 skipped": lambda _: PageFaults(lists=wrong("page-0-skipped")),
    "page repeated": lambda rng: PageFaults(lists=wrong(f"repeated-page:{rng.choice([1, 2, 5])}")),
    "late pages": lambda _: PageFaults(lists=wrong("late-pages")),
    "newest first": lambda _: PageFaults(lists=wrong("newest-first")),
    "each page reversed": lambda _: PageFaults(lists=wrong("reversed-pages")),
}
"""Servers that are wrong in one plain way, as in `harness.wrong`."""


class PageServer:
    """A list of blocks in pages, with faults."""

    def __init__(self, chain: Blocks, faults: PageFaults, seed: int) -> None:
        self.blocks = [list(dict.fromkeys(rows)) if faults.once else list(rows) for rows in chain]
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
        assert request.size > 0
        assert request.number >= 0
        if rng.random() < faults.grow:
            time = 10 * (len(self.blocks) + 1)
            self.blocks.append([transaction(1_000_000 + time, 0, time, 1)])
        if rng.random() < faults.flaky:
            raise GatewayError("HTTP 504")
        offset, given = self._slice(request)
        if rng.random() < faults.empty or self._refused(request, offset, given):
            return []
        rows = self._listed(request, offset, given) if faults.lists else self._list()[offset : offset + given]
        if faults.heavy and len(rows) > faults.heavy:
            raise TooHeavyError("query timeout")
        if rng.random() < faults.swapped:
            rows.reverse()
        rows = [row for row in rows for _ in range(1 + (rng.random() < faults.doubled))]
        if faults.byte_cap:
            fitting = sum(size <= faults.byte_cap for size in accumulate(map(len, rows)))
            rows = rows[: max(1, fitting)]
        return list(map(Raw, rows))

    def full_block(self, time: int) -> tuple[int, list[Raw]]:
        """The number of the block of a time, and its transactions, as far as its full block has them."""
        for height, block in enumerate(self.blocks if self.faults.full else []):
            rows = list(dict.fromkeys(block))
            if json.loads(rows[0])["finalizedAt"] == str(time):
                rows = rows[1:] if self.faults.full == "lacking" else rows
                return height, [
                    Raw(row.replace(b"pad", b"gap") if self.faults.full == "other" else row) for row in rows
                ]
        return -1, []

    def _listed(self, request: PageRequest, offset: int, given: int) -> list[bytes]:
        """A page of a server whose lists have faults. Raises GatewayError, as the transport does."""
        lists = FaultyLists(self.faults.lists)
        tip, calls = len(self.blocks) - 1, 1 + request.ahead
        asked = Asked("program_transactions", None, None, request.number, offset, given, tip, calls)
        items = []
        for height, block in enumerate(self.blocks):
            tied = block if self.faults.stable else self._rng.sample(block, len(block))
            items += [Item(height, row) for row in tied]
        try:
            return lists.page(items, lists.served(asked))
        except PoolEmptyError:
            raise GatewayError(POOL_EMPTY) from None

    def _slice(self, request: PageRequest) -> tuple[int, int]:
        """Where a page begins, and how many rows it has at most."""
        faults = self.faults
        asked = given = faults.ignored or request.size
        if faults.row_cap:
            given = min(asked, faults.row_cap * (2 if faults.varies and self._rng.random() < 0.5 else 1))
        return (0 if faults.same_page else request.number) * (given if faults.by_given else asked), given

    def _refused(self, request: PageRequest, offset: int, given: int) -> bool:
        """Whether the server has no such page."""
        faults = self.faults
        beyond = {"offset": offset >= faults.window, "end": offset + given > faults.window, "rows": False}
        return bool(faults.window and beyond[faults.window_kind]) or (faults.no_pages and request.number > 0)

    def _list(self) -> list[bytes]:
        """All rows, those of a block in another order each time."""
        rows = []
        for block in self.blocks:
            rows += block if self.faults.stable else self._rng.sample(block, len(block))
        return rows[: self.faults.window] if self.faults.window and self.faults.window_kind == "rows" else rows


def newest_plan(limit: int, page_size: int | None = None) -> NewestPlan:
    """A plan of the last rows of the list."""
    return NewestPlan(Query(METHOD, ARGUMENTS, newest=True, limit=limit, page_size=page_size), largest=999)


def plan(
    page_size: int | None = None, limit: int | None = None, largest: int | None = 999, *, strict: bool = False
) -> PagePlan:
    """A plan of a run over the whole list."""
    return PagePlan(Query(METHOD, ARGUMENTS, limit=limit, page_size=page_size), largest=largest, strict=strict)


def results(plan: PagePlan | NewestPlan, server: PageServer) -> Iterator[PageResult]:
    """Drive a plan. Raises what it raises."""
    steps = plan.steps()
    step = next(steps, None)
    while step is not None:
        try:
            if isinstance(step, PageResult):
                yield step
                step = next(steps)
                continue
            assert len(server.requests) < MOST_REQUESTS
            if isinstance(step, BlockRequest):
                step = steps.send(server.full_block(step.time))
                continue
            try:
                rows = server.page(step)
            except ChainqError as error:
                step = steps.throw(error)
            else:
                step = steps.send(rows)
        except StopIteration:
            return
