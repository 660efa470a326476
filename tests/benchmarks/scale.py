"""What a whole chain takes, computed from measured figures, and simulated for two of its rows.

    python tests/benchmarks/scale.py

The simulation runs the planner in process against a model of an honest server, with a clock of its own: a call takes
`SECONDS`, ten are under way at a time, and calls start no closer to one another than the server's limit allows.
"""

import sys
from heapq import heappop, heappush
from math import ceil
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from calls import chain

from chainq.catalog.methods import BY_COMMAND
from chainq.defaults import CONCURRENCY
from chainq.heights.range import HeightRange
from chainq.planning.exchange import DueRequest, TipRequest
from chainq.planning.range_plan import RangePlan
from chainq.query import Query
from harness.model import Faults, Server

BLOCKS, RECORDS = 20_000_000, 1_000_000_000
A_MINUTE = 200  # calls of one method from one address (docs/protocol.md, "Rate limits")
SECONDS = 0.5  # that a call takes
SAMPLE = 100  # full responses of a simulation


class Table(NamedTuple):
    """A table of the chain. `rows`: in all; `per_call`: rows of a response; `row_bytes`: of the sample chain;
    `more`: calls for each of those of full responses, as docs/performance.md has measured them; `cpu`: seconds of
    processor time for 10,000 rows to jsonl."""

    command: str
    rows: int
    per_call: int
    row_bytes: int
    more: float
    cpu: float


TABLES = (
    Table("blocks", BLOCKS, 1000, 970, 1.0, 0.08),
    Table("records", RECORDS, 10_000, 605, 1.03, 0.04),
    Table("ownership", RECORDS, 10_000, 364, 1.6, 0.1),
    Table("full-blocks", BLOCKS, 250, 52_000, 1.0, 2.0),
)


def calls_of(table: Table) -> int:
    """Return the calls that a whole table takes."""
    return ceil(table.rows / table.per_call * table.more)


def simulated(command: str, numbers: list[int]) -> tuple[int, float]:
    """Return the calls, and the minutes by the clock of the model, for a chain with so many rows at each height."""
    made, method, window = chain(numbers), BY_COMMAND[command], CONCURRENCY + 2
    plan = RangePlan(Query(method, verify=False), HeightRange(0, len(numbers)), tip=made.tip, window=window)
    server = Server(made, Faults(stable=True), Random(7))  # noqa: S311  # a seed is to be repeated
    under_way: list[tuple[float, int, Any]] = []
    now, free, sent, waiting = 0.0, 0.0, 0, list[tuple[int, Any]]()
    while not plan.done:
        for _ in plan.ready():
            pass
        waiting += plan.requests()
        while waiting and len(under_way) < CONCURRENCY:
            number, request = waiting.pop(0)
            start = max(now, free)
            free, sent = start + 60 / A_MINUTE, sent + 1
            heappush(under_way, (start + SECONDS, number, request))
        if under_way:
            now, number, request = heappop(under_way)
            plan.receive(number, _outcome(plan, server, request))
    return sent, now / 60


def _outcome(plan: RangePlan, server: Server, request: Any) -> Any:
    if isinstance(request, TipRequest):
        return server.tip(0)  # a server without faults
    if isinstance(request, DueRequest):
        return server.due(request.heights)
    return plan.page(request, server.answer(request))


def main() -> None:
    """Print what each table takes, and the two simulated rows."""
    say = sys.stdout.write
    say("| table | rows | calls | hours at 200 calls a minute | TB | hours of one core | limit |\n")
    say("|---|---|---|---|---|---|---|\n")
    for table in TABLES:
        hours, cores = calls_of(table) / A_MINUTE / 60, table.rows / 10_000 * table.cpu / 3600
        size, limit = table.rows * table.row_bytes / 1e12, "the service" if hours > cores else "the processor"
        row = f"{table.rows:,} | {calls_of(table):,} | {hours:.1f} | {size:.2f} | {cores:.1f} | {limit}"
        say(f"| `{table.command}` | {row} |\n")
    say("\n| simulated | calls | minutes | computed | ratio |\n|---|---|---|---|---|\n")
    dice = Random(7)  # noqa: S311  # as above
    records = [int(dice.expovariate(BLOCKS / RECORDS)) for _ in range(SAMPLE * TABLES[1].per_call * BLOCKS // RECORDS)]
    for table, numbers in ((TABLES[0], [1] * (SAMPLE * TABLES[0].per_call)), (TABLES[1], records)):
        calls, minutes = simulated(table.command, numbers)
        computed = sum(numbers) / table.per_call * table.more / A_MINUTE
        row = f"{calls} | {minutes:.2f} | {computed:.2f} | {minutes / computed:.2f}"
        say(f"| `{table.command}`, {sum(numbers):,} rows | {row} |\n")


if __name__ == "__main__":
    main()
