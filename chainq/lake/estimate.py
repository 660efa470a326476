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
    known: dict[str, tuple[int, int, int]] = {}  # heights, calls and bytes of a command
    for entry in plan.inventory.valid.values():
        heights, calls, total = known.get(entry.spec.command, (0, 0, 0))
        known[entry.spec.command] = (heights + len(entry.spec.heights), calls + entry.calls, total + entry.size)
    for spec, reason, _ in plan.todo:
        size: int | None
        heights, calls, total = known.get(spec.command, (0, 0, 0))
        if heights:
            share = len(spec.heights) / heights
            calls, size = max(1, round(share * calls)), round(share * total)
        else:
            method = BY_COMMAND[spec.command]
            chunks = sum(1 for _ in first_requests(method, spec.heights, None))
            calls, size = chunks + _edge_calls(method), None
        yield Estimate(spec.command, spec.start, spec.end, reason, calls, size)


def _edge_calls(method: Method) -> int:
    """Return how many calls a partition takes beside those for its chunks.

    Three for the hashes of its first and last block, the last one before the rows and after them; the others prove that
    nothing was cut at its end, where rows without heights tell less. Blocks prove all that by themselves.
    """
    if method.linked:
        return 0
    return 4 if method.height else 6
