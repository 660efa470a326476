"""Estimates the cost of the partitions of a plan from existing partitions of the same command."""

from collections.abc import Iterator, Sequence

import msgspec

from chainq.catalog.methods import Method
from chainq.heights.grid import PartitionSpec
from chainq.lake.export import ExportPlan
from chainq.lake.reads import read_method
from chainq.planning.chunking import first_requests
from chainq.query import Query


class Estimate(msgspec.Struct, frozen=True):
    """A partition to write. `calls`: requests, 0 if the read of another table fills it. `bytes`: of its file, null
    without an earlier partition of its command."""

    command: str
    start: int
    end: int
    reason: str
    calls: int
    bytes: int | None


def estimates(plan: ExportPlan) -> Iterator[Estimate]:
    """Yield the estimated cost of each partition of a plan.

    Without an earlier partition of a command, calls are estimated from the number of heights: the first chunks of a
    range and the edges of the partition. The estimate is too high if chunks grow, in wide partitions.
    """
    known: dict[str, tuple[int, int, int]] = {}  # heights, calls and bytes of a command
    for entry in plan.seen.inventory.valid.values():
        heights, calls, total = known.get(entry.spec.command, (0, 0, 0))
        known[entry.spec.command] = (heights + len(entry.spec.heights), calls + entry.calls, total + entry.size)
    reasons = {(todo.spec.command, todo.spec.start): todo for todo in plan.todo}
    for task in plan.tasks:
        todos = [reasons[table, task.spec.start] for table in task.tables]
        calls = _calls(task.spec, [known[table] for table in task.tables if table in known])
        for spec, reason, _ in todos:
            heights, _, total = known.get(spec.command, (0, 0, 0))
            size = round(len(spec.heights) / heights * total) if heights else None
            yield Estimate(spec.command, spec.start, spec.end, reason, calls, size)
            calls = 0  # the same read fills the other tables


def _calls(spec: PartitionSpec, known: Sequence[tuple[int, int, int]]) -> int:
    """Return how many calls a partition of a read takes, from what is known about its tables, if anything."""
    if known:
        return max(max(1, round(len(spec.heights) / heights * calls)) for heights, calls, _ in known)
    method = read_method(spec.command)
    return sum(1 for _ in first_requests(Query(method), spec.heights)) + _edge_calls(method)


def _edge_calls(method: Method) -> int:
    """Return how many calls a partition takes besides the calls for its chunks.

    Three are for the hashes of its first and last block (the last one before and after the rows). The others prove that
    its end was not truncated, which rows without heights show less well. Blocks need none of these calls.
    """
    if method.linked:
        return 0
    return 4 if method.height else 6
