"""Runs of a plan against model servers, without threads: planning is tested in process, thousands of runs a minute."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, cast

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.errors import ChainqError
from chainq.fetching.links import Links
from chainq.heights.range import HeightRange
from chainq.planning.exchange import NOTHING_KNOWN, DueRequest, Grade, Known, RowsRequest, TipRequest
from chainq.planning.kernel import Proved
from chainq.planning.range_plan import RangePlan
from chainq.query import Query
from harness.models.model import CROWDED, KINDS, NARROW, WRONG, Chain, Server, chain, combined
from harness.running.promises import shown

MOST_REQUESTS = 20_000
COMMANDS = ("records", "records", "records", "ownership", "address-transactions", "blocks")
# What nobody can see in rows that carry no height (docs/completeness.md): faults that hit the control request alike,
# and a row doubled where doubles are true.
_WITHOUT_HEIGHT = {"random cuts", "empty at times", "other ranges"}
BEYOND_PROOF = {"ownership": _WITHOUT_HEIGHT, "address-transactions": _WITHOUT_HEIGHT | {"doubled"}}
# Nor how wide a range the server looks at, where there are hardly any rows.
SILENT_WIDTHS = {"clamped", "empty when wide"}
ALWAYS_BELIEVED = {"address-transactions"}  # no other method names their rows
BELIEVED = 0.05  # of the heights of a run, at most: with more it does not count as one that ends in the truth
LEAST_DENSE = 0.3  # rows a height
DENSE = 3.0  # the same, where only a few heights are looked at, so that a run sees a row at all


@dataclass
class Outcome:
    """How a run ended: the rows it gave, its error, the number of requests, the page size that was asked for, and what
    it teaches the next one."""

    rows: list[bytes]
    results: list[Proved]
    error: ChainqError | None
    calls: int
    page_size: int
    known: Known


class Turns:
    """Workers without threads: they do one work after the other, in an order by chance."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._todo: list[tuple[Any, Callable[[], object]]] = []

    def submit(self, token: Any, work: Callable[[], object]) -> None:
        self._todo.append((token, work))

    def wait(self) -> tuple[Any, object]:
        token, work = self._todo.pop(self._rng.randrange(len(self._todo)))
        try:
            return token, work()
        except ChainqError as error:
            return token, error


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
    known: Known = NOTHING_KNOWN,
) -> Outcome:
    """Run a plan against a server; responses arrive in an order by chance."""
    method = BY_COMMAND[command] if isinstance(command, str) else command
    query = Query(method, page_size=page_size, reverse=reverse, limit=limit)

    def send(request: RowsRequest | TipRequest | DueRequest) -> Any:
        assert server.calls < MOST_REQUESTS, "the plan does not come to an end"
        if isinstance(request, TipRequest):
            return server.tip(end)
        if isinstance(request, DueRequest):
            return (server.row_ids if request.row_ids else server.due)(request)
        return (server.records if request.records else server.answer)(request)

    turns = cast("Any", Turns(server.rng))
    plan = RangePlan(query, HeightRange(start, end), send, turns, window=window, tip=tip, known=known)
    results: list[Proved] = []
    error: ChainqError | None = None
    links = Links(method, reverse) if method.linked else None
    try:
        for result, _ in plan.results():
            if links is not None:
                links.check(result.rows, result.row_heights)
            results.append(result)
            if limit is not None and sum(len(result.rows) for result in results) >= limit:
                break
    except ChainqError as failure:
        error = failure
    rows = [bytes(row) for result in results for row in result.rows]
    size = page_size or method.page_size or method.max_heights or 1
    return Outcome(rows, results, error, server.calls, size, plan.known)


def verdict(
    outcome: Outcome,
    made: Chain,
    heights: HeightRange,
    *,
    kept: bool = True,
    settled: int | None = None,
    orphans: Sequence[bytes] = (),
) -> str:
    """`truth`, `error` (what was given until then is a part of the truth), `belief` (other rows, with a warning that
    names their heights, or the truth of which too much rests on belief), or what is wrong.

    `kept`: whether the server keeps the assumptions of the kernel or is found out, so that every chunk that is not
    believed holds exactly the rows of its heights. `settled`: rows of heights from there on, and `orphans`, may be
    missing.
    """
    settled = heights.end if settled is None else settled
    due, unsettled = made.due(heights.start, settled), [*made.due(settled, heights.end), *orphans]
    given, wanted = Counter(map(numbered, outcome.rows)), Counter(map(numbered, due))
    given -= Counter(map(numbered, unsettled))
    for result in outcome.results if kept else ():
        if result.grade is not Grade.BELIEF and (wrong := _other_rows(result, made, settled)):
            return wrong
    believed = sum(len(result.heights) for result in outcome.results if result.grade is Grade.BELIEF)
    if outcome.error is not None and given <= wanted:
        return "error"
    if outcome.error is None and given == wanted:
        always = made.command in ALWAYS_BELIEVED
        return "truth" if always or believed <= BELIEVED * len(heights) else "belief"
    if believed:
        return "belief"
    if outcome.error is not None:
        return "wrong rows before an error"
    lost, more = sum((wanted - given).values()), sum((given - wanted).values())
    return f"silent: {lost} of {len(due)} rows lost, {more} too many"


def _other_rows(result: Proved, made: Chain, settled: int) -> str:
    """Return what is wrong with the rows of a chunk; empty if they are those of its settled heights, in order."""
    start, end = result.heights.edges
    given = [numbered(bytes(row)) for row in result.rows]
    there = [(numbered(row), height) for height in range(start, end) for row in made.due(height, height + 1)]
    lost = Counter(row for row, height in there if height < settled) - Counter(given)
    more = Counter(given) - Counter(row for row, _ in there)
    lie = dict(there)
    row_heights = [lie[row] for row in given if row in lie]
    if lost or more or row_heights not in (sorted(row_heights), sorted(row_heights, reverse=True)):
        how = f"{lost.total()} rows lost, {more.total()} too many, or out of order"
        return f"silent: {result.heights}, proved by {result.grade}: {how}"
    return ""


def numbered(row: bytes) -> bytes:
    """A row with its height as a number: servers may send it as text in one response, and as a number in another."""
    return re.sub(rb'"height":"([0-9]+)"', rb'"height":\1', row) if b'"height":"' in row else row


def attempt(
    seed: int,
    kind: str,
    *,
    partitions: bool = False,
    rows: int = 20_000,
    lengths: Sequence[int] = (40, 200, 1500, 5000),
) -> tuple[str, Outcome]:
    """One run against a server of that kind, all else by chance: the verdict, and how it ended.

    `rows`: about the most on its chain, `lengths`: its numbers of heights; more take longer, and show little more.

    With `partitions` two runs, one after the other; the second one is told what the first has learned.
    """
    rng = Random(seed)  # noqa: S311  # a seed is to be repeated
    heights = rng.choice(lengths)
    density = min(rng.choice([0.05, 0.3, 1, 5, 20]), rows / heights)
    command = rng.choice(COMMANDS)
    if kind == "two at once" or kind in BEYOND_PROOF.get(command, ()):
        command = rng.choice(["records", "blocks"])
    if kind in SILENT_WIDTHS and command in BEYOND_PROOF:
        density = max(density, LEAST_DENSE)
    if kind in NARROW:
        heights, density = min(heights, 1500), max(density, DENSE)
    made = chain(rng, heights, density, command=command)
    names = rng.sample(list(KINDS), 2) if kind == "two at once" else [kind]
    faults = combined(rng, *names) if len(names) > 1 else (KINDS | NARROW | WRONG)[kind](rng)
    server = Server(made, faults, rng)
    # Before height 0 there is nothing to ask for, so nobody sees that a server leaves out rows of height 0 alone.
    start = max(int(faults.exclusive), rng.choice([0, rng.randrange(heights)]))
    end = rng.choice([heights, rng.randint(start, heights + 20), max(start, heights - faults.unsettled)])
    options: dict[str, Any] = {
        "command": command,
        "page_size": rng.choice([rows // 40, rows // 10]),
        "reverse": rng.random() < 0.2,
        "tip": made.tip if end == heights or rng.random() < 0.5 else None,
        "window": rng.choice([1, 4, 10]),
    }
    middle = rng.randint(start, max(start, end)) if partitions else start
    outcome = drive(server, start, middle, **options)
    if outcome.error is None:
        before = outcome
        outcome = drive(server, middle, end, **options, known=outcome.known)
        outcome.rows[:0], outcome.results[:0] = before.rows, before.results
    # What `--lag` would leave out, and blocks that came meanwhile, may be missing, but not come twice.
    settled, kept = max(start, min(end, heights - faults.unsettled)), all(map(shown, names))
    asked = HeightRange(start, max(start, end))
    return verdict(outcome, made, asked, kept=kept, settled=settled, orphans=server.orphans), outcome


def crowded(seed: int, kind: str) -> tuple[str, Outcome]:
    """One run of a method without heights, in many small chunks; some heights hold more rows than a response."""
    rng = Random(seed)  # noqa: S311  # as above
    heights = rng.choice([200, 600])
    made = chain(rng, heights, rng.choice([1, 3, 8]), command="ownership", bursts=False)
    for height in rng.sample(range(heights), rng.choice([0, 2, 10])):
        pad = b"x" * rng.choice([1, 50, 300])
        numbers = range(rng.choice([20, 60, 150, 400]))
        made.rows[height] += [
            b'{"transition_id":"more%d","output_index":%d,"pad":"%b"}' % (height, number, pad) for number in numbers
        ]
    server = Server(made, CROWDED[kind](rng), rng)
    size, window = rng.choice([100, 100, 250]), rng.choice([3, 4, 10, 10])
    outcome = drive(server, 0, heights, command="ownership", page_size=size, window=window, tip=made.tip)
    return verdict(outcome, made, HeightRange(0, heights)), outcome
