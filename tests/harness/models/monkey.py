"""A monkey that asks: random, even absurd requests, of which the kernel of proofs must make nothing but the truth.

It knows nothing of how requests are chosen: any heights, pages and sizes, in any order, and full blocks of any heights.
What the kernel then calls proved is compared with the chain.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from chainq.catalog.methods import BY_COMMAND
from chainq.demo import faults as named
from chainq.errors import ChainqError, IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Due, DueRequest, Grade, Key, RowsRequest
from chainq.planning.kernel import Kinds, Named, Order, Proved, by_height, by_order, by_witness, compare, demote
from chainq.rows.sorting import Page, Sorter, name_reader
from harness.models.attempts import numbered
from harness.models.model import KINDS, NARROW, WRONG, Faults, Server, served
from harness.models.strategies import BYTES, Drawn

COMMANDS = ("records", "records", "transitions", "blocks")
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
        lists.append(f"{name}:{number}" if named.FAULTS[name].argument == "N" else text)
    return replace(faults, **values, lists=named.Faults(*lists), stable=faults.stable or rng.random() < 0.3)


class Monkey:
    """One run: a chain, a server of that kind and the proofs of its responses, all by chance."""

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
        self.sort, self.order, self.kinds = Sorter(self.method), Order(), Kinds()
        self.names = name_reader(self.method.identity)
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
                for proof in self._proofs():
                    low, high = sorted(self.rng.randrange(self.top + 6) for _ in range(2))
                    for part in (proof, proof.cut(low, high)):
                        if not self._true(part):
                            self.seen.wrong = f"{self.asked[-12:]}: {part}"
                            return self.seen
            except IncompleteError as error:
                self.seen.contradictions.append(f"{self.asked[-12:]}: {error.message}")
        return self.seen

    def _proofs(self) -> list[Proved]:
        """Ask, and return what is proved then."""
        if self.method.identity and self.rng.random() < 0.3:
            named = Named(self._due(self.heights()), self.names, self.kinds)
            for _ in range(self.rng.randrange(4)):
                request, page = self._page(named.heights)
                if page is not None:
                    named.see(request.heights, page)
            return [by_witness(named)]
        request, page = self._page(self.heights())
        if page is None:
            return []
        if self.method.single:
            blocks = by_height(request, page)
            return [blocks] if blocks else []
        proof = by_order(request, page, self.order)
        if proof is not None and self.method.identity and self.rng.random() < 0.3:
            return demote(proof, compare(proof, Named(self._due(self.heights()), self.names, self.kinds)))
        return [proof] if proof else []

    def _page(self, heights: HeightRange) -> tuple[RowsRequest, Page | None]:
        """Ask for a page; None of a request that failed, or rows of other heights."""
        rng = self.rng
        request = RowsRequest(heights, rng.choice([1, 2, 5, 100, None]), rng.choice([0, 0, 0, 0, 1, 2]))
        self.asked.append(request)
        try:
            page = self.sort(self.server.answer(request), heights)
        except ChainqError:
            return request, None
        if page.ordered:
            self.order.note(page)
        else:
            self.order.refute(page)
        return request, page

    def _due(self, heights: HeightRange) -> Due:
        """What full blocks say; of some of them also their hashes."""
        due = self.server.due(DueRequest(heights))
        self.asked.append(("due", due.heights))
        if self.method.command == "transitions" and self.optional:
            due = self._loose(due)
        hashes = {height: f"b{height}" for height in range(*due.heights.edges)}
        return due._replace(hashes=hashes if self.rng.random() < 0.5 and not self.server.faults.reorg else {})

    def _loose(self, due: Due) -> Due:
        """The same where full blocks have rows that the server does not list."""
        others: dict[Key, int] = {(f"unlisted{height}",): height for height in range(*due.heights.edges)}
        return due._replace(at={**due.at, **others}, kinds=dict.fromkeys(others, ("of fees",)))

    def _true(self, proved: Proved) -> bool:
        """Count a proof, and return whether it is the truth: all rows, in order of height."""
        self.seen.proofs[proved.grade] += 1
        start, end = proved.heights.edges
        if proved.grade is Grade.BELIEF:
            return True
        rows = Counter(zip(proved.row_heights, map(numbered, map(bytes, proved.rows)), strict=True))
        due = Counter((at, numbered(row)) for at in range(start, end) for row in self.chain.due(at, at + 1))
        return rows == due and proved.row_heights == sorted(proved.row_heights)


def monkey(seed: int, kind: str, command: str, requests: int = 25) -> Seen:
    """Return what came of one run."""
    return Monkey(seed, kind, command).run(requests)
