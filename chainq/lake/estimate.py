"""What the partitions of a plan will take, by what those of the same command took that are there already."""

from collections.abc import Iterator

import msgspec

from chainq.catalog.methods import BY_COMMAND, Method
from chainq.lake.export import ExportPlan
from chainq.planning.chunking import first_requests


class Estimate(msgspec.Struct, frozen=True):
    """A partition to write. `calls`: requests; `bytes`: of its file, null where none of its command is known."""

    command: str
    start: int
    end: int
    reason: str
    calls: int
    bytes: int | None


def estimates(plan: ExportPlan) -> Iterator[Estimate]:
    """Yield what each partition of a plan will take.

    Before the first partition of a command its calls are a guess, by the number of heights: the first chunks of a range
    and the edges of the partition. Where chunks grow, in wide partitions, it is too high.
    """
    for todo in plan.todo:
        spec = todo.spec
        known = [entry for entry in plan.inventory.valid.values() if entry.spec.command == spec.command]
        heights = sum(len(entry.spec.heights) for entry in known)
        if heights:
            share = len(spec.heights) / heights
            calls = max(1, round(share * sum(entry.calls for entry in known)))
            size: int | None = round(share * sum(entry.size for entry in known))
        else:
            method = BY_COMMAND[spec.command]
            chunks = sum(1 for _ in first_requests(method, spec.heights, None))
            calls, size = chunks + _edge_calls(method), None
        yield Estimate(spec.command, spec.start, spec.end, todo.reason, calls, size)


def _edge_calls(method: Method) -> int:
    """Return how many calls a partition takes beside those for its chunks.

    Three for the hashes of its first and last block, the last one before the rows and after them; the others prove that
    nothing was cut at its end, where rows without heights tell less. Blocks prove all that by themselves.
    """
    if method.linked:
        return 0
    return 4 if method.height else 6
