"""Estimates the cost of the partitions of a plan from partitions of the same command, or from a sample of its rows."""

from collections.abc import Iterator

import msgspec

from chainq.catalog.methods import Column, Kind, Method
from chainq.fetching.calls import Asked
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.lake.export import ExportPlan
from chainq.lake.reads import read_method
from chainq.planning.chunking import Chunker, page_sizes
from chainq.planning.exchange import NOTHING_KNOWN, Known
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


ESTIMATES = Method(
    command="export",
    name="",
    group="Tools",
    purpose="list the partitions to write",
    columns=(
        Column("command", "string", "table"),
        Column("start", "number", "first height", Kind.HEIGHT),
        Column("end", "number", "height after the last one", Kind.HEIGHT),
        Column("reason", "string", "why it is written"),
        Column("calls", "number", "requests, 0 if the read of another table fills it", Kind.NUMBER),
        Column("bytes", "null or number", "size of the file, null if unknown", Kind.NUMBER),
    ),
)
"""The rows of `--dry-run` in the form that formats take."""


def estimates(plan: ExportPlan, service: Service) -> Iterator[Estimate]:
    """Yield the estimated cost of each partition of a plan.

    Without an earlier partition of a read, its calls are those of a plan for rows as dense as at some heights in the
    middle, which are requested. Raises ChainqError.
    """
    known: dict[str, tuple[int, int, int]] = {}  # heights, calls and bytes of a command
    for entry in plan.seen.inventory.valid.values():
        heights, calls, total = known.get(entry.spec.command, (0, 0, 0))
        known[entry.spec.command] = (heights + len(entry.spec.heights), calls + entry.calls, total + entry.size)
    reasons = {(todo.spec.command, todo.spec.start): todo for todo in plan.todo}
    samples: dict[str, Known] = {}
    for task in plan.tasks:
        todos = [reasons[table, task.spec.start] for table in task.tables]
        if earlier := [known[table] for table in task.tables if table in known]:
            calls = max(max(1, round(len(task.spec.heights) / heights * calls)) for heights, calls, _ in earlier)
        else:
            method, name = read_method(task.spec.command), task.spec.command
            learned = samples.get(name, NOTHING_KNOWN)
            if name not in samples:
                samples[name] = _sample(service, method, plan.heights)
            calls = _chunks(method, len(task.spec.heights), samples[name], learned) + _edge_calls(method)
        for spec, reason, _ in todos:
            heights, _, total = known.get(spec.command, (0, 0, 0))
            size = round(len(spec.heights) / heights * total) if heights else None
            yield Estimate(spec.command, spec.start, spec.end, reason, calls, size)
            calls = 0  # the same read fills the other tables


def _sample(service: Service, method: Method, heights: HeightRange) -> Known:
    """Return how dense rows are at as many heights in the middle as a first request asks for."""
    if not method.first_heights:
        return NOTHING_KNOWN  # the length of requests does not depend on it
    start = (heights.start + heights.end) // 2
    learned = [NOTHING_KNOWN]
    part = HeightRange(start, min(start + method.first_heights, heights.end))
    for _ in service.fetch_range(Query(method), part, Asked(learned=learned.append)):
        pass
    return learned[-1]


def _chunks(method: Method, left: int, density: Known, known: Known) -> int:
    """Return how many chunks some heights have if all rows are as dense. `known`: what the first chunk rests on."""
    chunker, count = Chunker(method, page_sizes(Query(method))[1], known), 0
    while left > 0:
        length, overlap = chunker.choose()
        rows = round(density.rows_per_height * (length + overlap))
        chunker.learn(HeightRange(0, length + overlap), rows, round(rows * density.row_bytes), complete=True)
        left, count = left - length, count + 1
    return count


def _edge_calls(method: Method) -> int:
    """Return how many calls a partition takes besides the calls for its chunks.

    Three are for the hashes of its first and last block (the last one before and after the rows). The others prove that
    its end was not truncated, which rows without heights show less well. Blocks need none of these calls.
    """
    if method.linked:
        return 0
    return 4 if method.height else 6
