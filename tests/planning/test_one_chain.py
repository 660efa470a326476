"""Rows that are confirmed to be of one chain are so, whenever a reorg comes."""

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.errors import ChainqError, ServiceError
from chainq.heights.range import HeightRange
from chainq.planning.evidence import Proved
from chainq.planning.exchange import ChunkResult, Due, DueRequest, Grade, Key, Located, RowsRequest, TipRequest
from chainq.planning.one_chain import OneChain
from chainq.planning.range_plan import RangePlan
from chainq.query import Query

EXAMPLES = int(os.environ.get("CHAINQ_EXAMPLES", "100"))
ROW = b'{"id":%d,"height":%d,"block_hash":"%b","transition_id":"t%d","output_index":0}'
BARE = b'{"nonce":%d,"transition_id":"t%d","output_index":0}'


class Forked:
    """A service whose chain is another one from height `fork_at` on while a number of calls is in one of `spells`.

    With spells `records` have no full blocks: only rows can confirm rows.
    """

    def __init__(self, command: str, counts: list[int], fork_at: int, spells: list[tuple[int, int]]) -> None:
        self.bare, self.counts, self.fork_at, self.spells = command == "ownership", counts, fork_at, spells
        self.calls = 0
        self.last: object = None  # the last request

    def hash(self, height: int) -> str:
        """Return the hash of a block as it is now."""
        return f"b{height}{'-' * (self.forked and height >= self.fork_at)}"

    @property
    def forked(self) -> bool:
        return any(low <= self.calls < high for low, high in self.spells)

    def rows(self, height: int) -> list[bytes]:
        """Return the rows of a height as they are now; those of the other chain are others, and fewer."""
        other = self.forked and height >= self.fork_at
        count = self.counts[height] // 2 if other else self.counts[height]
        numbers = [height * 1000 + 500 * other + place for place in range(count)]
        if self.bare:
            return [BARE % (number, number) for number in numbers]
        return [ROW % (number, height, self.hash(height).encode(), number) for number in numbers]

    def answer(self, plan: RangePlan, request: RowsRequest | TipRequest | DueRequest) -> Any:
        """Return what answers a request."""
        self.calls += 1
        self.last = request
        if isinstance(request, TipRequest):
            return len(self.counts) - 1
        start, end = request.heights.start, min(request.heights.end, len(self.counts))
        found = [(height, row) for height in range(start, end) for row in self.rows(height)]
        if isinstance(request, RowsRequest):
            size = request.page_size or 10_000
            part = found[request.page * size : (request.page + 1) * size]
            return plan.page(request, [Raw(row) for _, row in part])
        if self.spells and not request.located and not self.bare:
            raise ServiceError("unknown method", code="-32601")
        keys: list[Key] = [
            (row.partition(b'"transition_id":"')[2].partition(b'"')[0].decode(), "0") for _, row in found
        ]
        heights = [height for height, _ in found]
        if request.located:
            return Located(keys[: request.page_size], heights[: request.page_size])
        if request.row_ids:
            return dict(zip(range(start, end), range(start, end), strict=True))
        hashes = {height: self.hash(height) for height in range(start, end)}
        return Due(HeightRange(start, end), dict(zip(keys, heights, strict=True)), hashes=hashes)


def results(server: Forked, plan: RangePlan, rng: Random, known: dict[int, str]) -> Iterator[ChunkResult]:
    """Yield what a plan gives that knows the hash of its last block; responses are made in an order by chance."""
    under_way = dict(plan.requests())
    plan.know_hashes(known)
    turns = 0
    while not plan.done:
        turns += 1
        assert turns < 5000, "the plan does not come to an end"
        yield from plan.ready()
        under_way.update(plan.requests())
        if under_way:
            number = rng.choice(list(under_way))
            outcome: Any
            try:
                outcome = server.answer(plan, under_way.pop(number))
            except ChainqError as error:
                outcome = error
            plan.receive(number, outcome)


def attempt(rng: Random, command: str, spells: list[tuple[int, int]]) -> tuple[bool, list[bytes], Forked]:
    """Run once; return whether the rows were confirmed, the rows, and the server."""
    few = rng.choice([(0, 1, 3, 9), (0, 0, 0, 0, 0, 1), (0, 0, 1, 20)])
    counts = [rng.choice(few) for _ in range(rng.choice([12, 150]))]
    end = rng.choice([len(counts), len(counts) * 2 // 3])
    server = Forked(command, counts, rng.randrange(end), spells)
    known = {end - 1: server.hash(end - 1)}
    query = Query(BY_COMMAND[command], page_size=rng.choice([30, 100]))
    plan = RangePlan(query, HeightRange(0, end), window=4, tip=len(counts) - 1)
    confirmed, rows = False, list[bytes]()
    for result in results(server, plan, rng, known):
        assert not confirmed, "only the last rows can be"
        confirmed = result.confirmed
        rows += map(bytes, result.rows)
    server.calls = 0  # as it was before the first call
    due = [row for height in range(end) for row in server.rows(height)]
    assert not confirmed or sorted(rows) == sorted(due)
    return confirmed, rows, server


@pytest.mark.parametrize("command", ["records", "ownership"])
def test_confirmed_rows_are_of_the_chain_of_the_last_block(command: str) -> None:
    """A reorg at any moment of a run is never confirmed; nor is one that comes and goes, where rows name their block.

    What other methods say between two responses that name the same block counts as of its chain.
    """
    held = 0
    for seed in range(EXAMPLES):
        rng = Random(seed)  # noqa: S311  # a seed is to be repeated
        first = rng.randrange(1, 12)
        for_good = command == "ownership" or rng.random() < 0.5
        spells = [(first, 10**9 if for_good else first + rng.choice([1, 3]))]
        try:
            held += attempt(rng, command, spells)[0]
        except ChainqError:  # responses contradict each other
            continue
    assert held  # where it came after the run, or goes unseen for good reason


@pytest.mark.parametrize("command", ["records", "ownership"])
def test_rows_are_confirmed_where_no_reorg_comes(command: str) -> None:
    """Where rows name the last block, or another method names it at the tip."""
    confirmed = [attempt(Random(seed), command, [])[0] for seed in range(EXAMPLES)]  # noqa: S311  # as above
    assert sum(confirmed) > EXAMPLES * (0.5 if command == "records" else 0.2)


def test_what_names_the_last_block_is_requested_last() -> None:
    """After all rows, so that it tells of them."""
    server = Forked("ownership", [3] * 20, 0, [])
    plan = RangePlan(Query(BY_COMMAND["ownership"]), HeightRange(0, 20), window=4, tip=19, edges=(19,))
    found = list(results(server, plan, Random(0), {19: "b19"}))  # noqa: S311  # as above
    assert found[-1].confirmed
    assert isinstance(server.last, DueRequest)
    assert server.last.heights == HeightRange(19, 20)


def part(start: int, *named: str, beyond: str | None = None, grade: Grade = Grade.ORDER) -> Proved:
    """Return rows of one height each, which name these blocks; `beyond`: the block of the next row, None if the
    response shows none."""
    rows = [Raw(name.encode()) for name in named]
    end = start + len(rows)
    after = None if beyond is None else (end, Raw(beyond.encode()))
    return Proved(HeightRange(start, end), rows, list(range(start, end)), grade, after)


@pytest.mark.parametrize(
    ("first", "second", "due"),
    [
        (part(0, "a", "b", beyond="c"), part(2, "c", "d", beyond="e"), True),
        (part(0, "a", "b", beyond="x"), part(2, "c", "d", beyond="e"), False),  # of another chain from there on
        (part(0, "a", "b", beyond="c"), part(2, "c", "x", beyond="e"), False),  # ends with another block
        (part(0, "a", "b"), part(2, "c", "d", beyond="e"), False),
        (part(0, "a", "b", beyond=""), part(2, "", "d", beyond="e"), False),  # rows that name no block say nothing
        (part(0, "a", "b", beyond="c", grade=Grade.WITNESS), part(2, "c", "d", beyond="e"), False),
        (part(0, "a", "b", beyond="c"), part(2, "c", beyond="d"), False),  # not the last rows
    ],
)
def test_rows_confirm_rows_that_show_the_block_they_begin_with(first: Proved, second: Proved, due: bool) -> None:
    """Each response must show it, and the last row must be of the last block."""
    chain = OneChain(4, lambda row: bytes(row).decode())
    chain.last = "d"
    assert not chain.given(first)
    assert chain.given(second) == due


@pytest.mark.parametrize(
    ("under_way", "named", "later", "due"),
    [(False, "d", False, True), (True, "d", False, False), (False, "x", False, False), (False, "d", True, False)],
)
def test_another_method_confirms_rows_that_came_before(under_way: bool, named: str, later: bool, due: bool) -> None:
    """It must be asked alone, name the last block, and be the last one asked."""
    chain, request = OneChain(4, None), DueRequest(HeightRange(3, 4))
    chain.last = "d"
    assert chain.waits(request, under_way=True)
    chain.sent(1, request, under_way=under_way)
    chain.came(1, Due(HeightRange(3, 4), {}, hashes={3: named}))
    if later:
        chain.sent(2, RowsRequest(HeightRange(3, 4)), under_way=False)
    assert chain.given(part(0, "a", "b", "c", "d", grade=Grade.WITNESS)) == due
