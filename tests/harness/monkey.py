"""A monkey that asks: random, even absurd requests, of which the kernel of proofs must make nothing but the truth.

It knows nothing of how requests are chosen: any heights, pages and sizes, in any order, between them what other methods
say, and rows that were handed on or are to be forgotten. What the kernel then calls proved is compared with the chain.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.demo.registry import FAULTS
from chainq.errors import ChainqError, IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.evidence import Evidence, Proved
from chainq.planning.exchange import Due, DueRequest, Grade, Key, RowsRequest
from chainq.planning.range_plan import RangePlan
from chainq.query import Query
from harness.attempts import numbered
from harness.model import KINDS, NARROW, Faults, Server, served
from harness.strategies import BYTES, Drawn
from harness.wrong import WRONG, wrong

COMMANDS = ("records", "records", "ownership", "ownership", "transitions", "address-transactions", "blocks")
SERVERS = KINDS | NARROW | WRONG | {"each transaction once": lambda _: served("distinct")}


@dataclass
class Seen:
    """What came of a monkey's run: how many proofs by grade, and the contradictions that the kernel found.

    `wrong`: the first proof that is not the truth, with the requests before it.
    """

    proofs: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    wrong: str = ""


def small(faults: Faults, rng: Random) -> Faults:
    """Return faults with limits that matter for a few heights and rows."""
    values: dict[str, Any] = {
        name: rng.choice([1, 2, 5])
        for name in ("lagging", "late", "reorg", "stale_tip", "refused")
        if getattr(faults, name)
    }
    lists = []
    for text in faults.lists.texts:
        name, _, _ = text.partition(":")
        number = rng.choice(BYTES if name.startswith(("long", "byte")) else [1, 2, 3, 8, 20])
        lists.append(f"{name}:{number}" if FAULTS[name].argument in ("N", "[N]") else text)
    return replace(faults, **values, lists=wrong(*lists), stable=faults.stable or rng.random() < 0.3)


class Monkey:
    """One run: a chain, a server of that kind and the evidence of its responses, all by chance."""

    def __init__(self, seed: int, kind: str, command: str) -> None:
        rng = self.rng = Random(seed)  # noqa: S311  # a seed is to be repeated
        self.top = rng.choice([2, 6, 12, 25, 110])
        most = rng.choice([1, 2, 7])
        blocks = [
            tuple(rng.choice([0, 0, 50, 500]) for _ in range(rng.choice([0, 0, 1, most]))) for _ in range(self.top + 10)
        ]
        self.chain = Drawn(rng, command, 0.0, bursts=False, coming=blocks)
        for _ in range(self.top):
            self.chain.grow()
        faults = SERVERS[kind](rng)
        self.server = Server(self.chain, small(faults, rng) if rng.random() < 0.9 else faults, rng)
        self.method = BY_COMMAND[command]
        self.plan = RangePlan(Query(self.method), HeightRange(0, self.top))
        self.evidence: Evidence = self.plan.evidence
        self.reverse = rng.random() < 0.3
        self.optional = rng.random() < 0.3
        self.seen = Seen()
        self.asked: list[object] = []

    def heights(self) -> HeightRange:
        """Some heights, mostly of the chain."""
        start = self.rng.randrange(self.top)
        width = self.rng.choice([1, 1, 2, 4, 10, self.top, self.top + 5])
        return HeightRange(start, start + width)

    def run(self, requests: int) -> Seen:
        """Ask so often, and hold whatever is proved against the chain."""
        for _ in range(self.rng.randrange(1, requests)):
            try:
                self._ask()
                proved = self.evidence.prove(heights := self.heights(), reverse=self.reverse)
                if proved is not None and not self._true(proved, heights):
                    self.seen.wrong = f"{self.asked[-12:]}: {proved} of {heights}"
                    return self.seen
                if proved is not None and self.rng.random() < 0.2:
                    self.asked.append(("given", proved.heights))
                    self.evidence.given(proved.heights, reverse=self.reverse, edge=self.rng.choice([0, 2, 16]))
            except IncompleteError as error:
                self.seen.contradictions.append(f"{self.asked[-12:]}: {error.message}")
                self.asked.append("forget")
                self.evidence.forget(self.heights())
        return self.seen

    def _ask(self) -> None:
        rng, heights = self.rng, self.heights()
        chance = rng.random()
        if chance < 0.1 and self.method.identity:
            self.asked.append(("due", heights))
            self.evidence.witness(self._due(heights))
        elif chance < 0.2 and self.method.identity and self.method.height is None:
            records = DueRequest(heights, located=True, page_size=rng.choice([1, 3, 100]), page=rng.choice([0, 0, 1]))
            self.asked.append(records)
            try:
                located = self.server.located(records)
            except ChainqError:  # a request that failed, or rows of other heights
                return
            self.evidence.locate(records, located)
        elif chance < 0.25:
            self.evidence.forget(heights)
        elif chance < 0.3:
            rows = [
                (height, Raw(row)) for height in range(*heights.edges) for row in self.chain.due(height, height + 1)
            ]
            lie = [height for height, _ in rows] if self.method.height else []
            self.evidence.believe(heights, [row for _, row in rows], lie)
        else:
            request = RowsRequest(heights, rng.choice([1, 2, 5, 100, None]), rng.choice([0, 0, 0, 0, 1, 2]))
            self.asked.append(request)
            try:
                page = self.plan.page(request, self.server.answer(request))
            except ChainqError:  # the same
                return
            self.evidence.see(request, page)

    def _due(self, heights: HeightRange) -> Due:
        """What full blocks say; of some of them also their hashes."""
        due = self.server.due(heights)
        if self.method.command == "transitions" and self.optional:
            due = self._loose(due)
        hashes = {height: f"b{height}" for height in range(*due.heights.edges)}
        return due._replace(hashes=hashes if self.rng.random() < 0.5 and not self.server.faults.reorg else {})

    def _loose(self, due: Due) -> Due:
        """The same where full blocks have rows that the server does not list."""
        others: dict[Key, int] = {(f"unlisted{height}",): height for height in range(*due.heights.edges)}
        return due._replace(at={**due.at, **others}, kinds=dict.fromkeys(others, ("of fees",)))

    def _true(self, proved: Proved, heights: HeightRange) -> bool:
        """Count a proof, and return whether it is the truth: all rows, in order, at their heights, from the edge on."""
        self.seen.proofs[proved.grade] += 1
        if proved.grade is Grade.BELIEF:
            return True
        start, end = proved.heights.edges
        rows = [numbered(bytes(row)) for row in proved.rows]
        due = [[numbered(row) for row in self.chain.due(height, height + 1)] for height in range(start, end)]
        lie = [start + place for place, each in enumerate(due) for _ in each]
        edge = end == heights.end if self.reverse else start == heights.start
        inside = heights.start <= start < end <= heights.end
        at = iter(rows)
        same = all(Counter(next(at, b"") for _ in each) == Counter(each) for each in due) and next(at, None) is None
        return edge and inside and same and proved.row_heights == (lie if self.method.height else [])


def monkey(seed: int, kind: str, command: str, requests: int = 25) -> Seen:
    """Return what came of one run."""
    return Monkey(seed, kind, command).run(requests)
