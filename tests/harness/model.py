"""Model servers, and a driver without threads: planning is tested in process, thousands of runs a minute."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.errors import ChainqError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.range_plan import RangePlan
from chainq.planning.steps import ChunkResult, Request, TipRequest

MOST_REQUESTS = 20_000


@dataclass
class Chain:
    """Rows by height, newest block at `tip`. A row is its JSON text."""

    rows: list[list[bytes]]

    @property
    def tip(self) -> int:
        return len(self.rows) - 1

    def due(self, start: int, end: int) -> list[bytes]:
        """All rows of a range, in the order of the output."""
        return [row for height in range(start, min(end, len(self.rows))) for row in self.rows[height]]


def chain(rng: random.Random, heights: int, density: float, *, with_height: bool = True, bursts: bool = True) -> Chain:
    """A chain with so many rows a height, now and then a burst of them."""
    rows: list[list[bytes]] = []
    number = 0
    for height in range(heights):
        count = int(rng.expovariate(1 / density)) if density else 0
        if bursts and rng.random() < 0.002:
            count = rng.choice([50, 400, 1500])
        made = []
        for _ in range(count):
            number += 1
            pad = "x" * rng.choice([10, 80, 80, 400])
            made.append(
                (
                    f'{{"id":{number},"height":{height},"pad":"{pad}"}}'
                    if with_height
                    else f'{{"nonce":{number},"pad":"{pad}"}}'
                ).encode()
            )
        rows.append(made)
    return Chain(rows)


@dataclass
class Faults:
    """What a model server does wrong; each is off where it is 0, 1.0 or False."""

    row_cap: int = 0
    byte_cap: int = 0
    varying_cap: int = 0  # this, or twice as many rows, by chance
    random_cut: float = 0.0  # share of responses that end somewhere
    clamp: int = 0  # heights of a range that are looked at
    too_wide: int = 0  # ranges wider than this are empty
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


@dataclass
class Server:
    """A model server."""

    chain: Chain
    faults: Faults
    rng: random.Random
    calls: int = 0
    seen: list[Request] = field(default_factory=list)

    def tip(self) -> int:
        """The tip height."""
        self.calls += 1
        stale = self.faults.stale_tip
        return self.chain.tip - (self.rng.randint(0, stale) if stale else 0)

    def answer(self, request: Request) -> list[Raw]:
        """The rows of a response. Raises TooHeavyError."""
        self.calls += 1
        self.seen.append(request)
        faults, rng = self.faults, self.rng
        start, end = request.heights.start, request.heights.end
        size = request.page_size or 10**9
        if faults.ignore_size:
            size = faults.ignore_size
        if rng.random() < faults.flaky:
            raise TooHeavyError("gateway")
        if faults.clamp:
            end = min(end, start + faults.clamp)
        if (faults.too_wide and end - start > faults.too_wide) or rng.random() < faults.empty:
            return []
        if faults.inclusive:
            end += 1
        if faults.exclusive:
            start += 1
        found = self._select(start, end)
        if faults.heavy and len(found) > faults.heavy and len(found[: size * (request.page + 1)]) > faults.heavy:
            raise TooHeavyError("query timeout")
        found = self._damage(self._cut(found, size, request.page))
        if rng.random() < faults.neighbours and end < len(self.chain.rows):
            found += self.chain.rows[end]
        return [Raw(row) for row in found]

    def _select(self, start: int, end: int) -> list[bytes]:
        """The rows of a range, in the order of the server."""
        found: list[bytes] = []
        for height in range(start, min(end, len(self.chain.rows))):
            rows = self.chain.rows[height][:]
            if not self.faults.stable:
                self.rng.shuffle(rows)
            found += rows
        if self.faults.unordered:
            self.rng.shuffle(found)
        if self.faults.reversed_order:
            found.reverse()
        return found

    def _cut(self, found: list[bytes], size: int, page: int) -> list[bytes]:
        """A page of them, as much of it as the server's caps let through."""
        faults = self.faults
        cap = faults.row_cap or 10**9
        if faults.varying_cap:
            cap = min(cap, self.rng.choice([faults.varying_cap, 2 * faults.varying_cap]))
        step = min(size, cap) if faults.offset_by_cap else size
        if faults.no_pages:
            found = [] if page else found[:size]
        elif faults.same_page:
            found = found[:size]
        else:
            found = found[page * step : page * step + size]
        found = found[:cap]
        if faults.byte_cap:
            total = 0
            for place, row in enumerate(found):
                total += len(row)
                if total > faults.byte_cap:
                    return found[:place]
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


@dataclass
class Outcome:
    """How a run ended: the rows it gave, its error, the number of requests."""

    rows: list[bytes]
    results: list[ChunkResult]
    error: ChainqError | None
    calls: int


def drive(
    server: Server,
    start: int,
    end: int,
    *,
    command: str | Method = "records",
    page_size: int | None = None,
    reverse: bool = False,
    limit: int | None = None,
    window: int = 10,
    tip: int | None = None,
) -> Outcome:
    """Run a plan against a server; responses arrive in an order by chance."""
    method = BY_COMMAND[command] if isinstance(command, str) else command
    plan = RangePlan(
        method, HeightRange(start, end), page_size=page_size, reverse=reverse, limit=limit, window=window, tip=tip
    )
    under_way: dict[int, Any] = {}
    results: list[ChunkResult] = []
    error: ChainqError | None = None
    idle = 0
    try:
        while not plan.done:
            results += plan.ready()
            if limit is not None and sum(len(result.rows) for result in results) >= limit:
                break
            under_way.update(plan.requests())
            if not under_way:
                results += plan.ready()
                idle += 1
                assert idle < 1000, "nothing is under way, and nothing complete"
                continue
            number = server.rng.choice(list(under_way))
            request = under_way.pop(number)
            assert server.calls < MOST_REQUESTS, "the plan does not come to an end"
            outcome: Any
            try:
                outcome = server.tip() if isinstance(request, TipRequest) else server.answer(request)
            except ChainqError as failure:
                outcome = failure
            plan.receive(number, outcome)
            for result in plan.ready():
                results.append(result)
    except ChainqError as failure:
        error = failure
    rows = [bytes(row) for result in results for row in result.rows]
    return Outcome(rows, results, error, server.calls)


def verdict(outcome: Outcome, due: list[bytes], *, exact_order: bool = False) -> str:
    """`truth`, `error` (what was given until then is a part of the truth), or what is wrong."""
    given, wanted = Counter(outcome.rows), Counter(due)
    if outcome.error is not None:
        return "error" if given <= wanted else "wrong rows before an error"
    if given == wanted and (not exact_order or outcome.rows == due):
        return "truth"
    lost, more = sum((wanted - given).values()), sum((given - wanted).values())
    return f"silent: {lost} of {len(due)} rows lost, {more} too many"


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
    "heavy": lambda rng: Faults(heavy=rng.choice([100, 800])),
    "flaky": lambda rng: Faults(flaky=0.1, row_cap=rng.choice([0, 300])),
    "unordered": lambda rng: Faults(unordered=True, row_cap=rng.choice([0, 300])),
    "newest first": lambda _: Faults(reversed_order=True),
    "doubled": lambda _: Faults(doubled=0.2),
    "neighbours": lambda _: Faults(neighbours=0.2),
    "stale tip": lambda _: Faults(stale_tip=50),
}


def combined(rng: random.Random) -> Faults:
    """Two kinds at once."""
    one, other = (KINDS[name](rng) for name in rng.sample(list(KINDS), 2))
    return Faults(**{name: getattr(one, name) or getattr(other, name) for name in Faults.__dataclass_fields__})
