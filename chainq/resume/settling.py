"""The height up to which the rows of a response are settled, because the service has written them. Pure.

An indexer writes rows in order. So if a response shows a row, the service has written all rows before it
(docs/completeness.md, "Following the tip").
"""

from collections import Counter
from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from chainq import tuning
from chainq.catalog.methods import Method
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.exchange import Grade
from chainq.query import Batch
from chainq.resume.history import digests
from chainq.rows.fields import Picker, integer_of

_NAMED = 8  # heights or stretches of them that a warning names


class UnsteadyError(Exception):
    """Responses contradict each other, which may happen while the service indexes a block."""

    def __init__(self, error: IncompleteError) -> None:
        super().__init__(error)
        self.error = error


def shown_to(method: Method, batch: Batch) -> int | None:
    """Return the height below which the service has written all rows of a batch, or None if that is unknown.

    It is the end of the batch if the server showed a row above it, else the height after its last row: heights above
    may still get rows. It is unknown for rows without a height and for a batch without rows.
    """
    if batch.heights is None:
        return None
    if batch.proof is not None and batch.proof.grade is not Grade.BELIEF:
        return batch.heights.end
    if not batch.shown:
        return None
    if method.height is None or method.linked or batch.scanned is not None:
        return batch.heights.end
    last = integer_of(Picker([method.height])(batch.rows[-1])[0])
    return None if last is None else last + 1


def new_positions(
    method: Method, batch: Batch, heights: HeightRange, deep: int | None
) -> dict[int, list[str] | UnsetType]:
    """Return where to record positions in a batch of `heights`, each with the rows that are not settled there.

    `deep`: the end of what can be settled, None if nothing of the batch can. Blocks are settled at once. Of other
    rows the heights that the service may not have written yet, at most tuning.TAIL of them, are looked at again.
    """
    if deep is None:
        return {heights.end: digests(batch.rows)}
    if method.linked:
        return {heights.end: UNSET}
    settled = max(shown_to(method, batch) or heights.start, deep - tuning.TAIL)
    positions: dict[int, list[str] | UnsetType] = {}
    if settled > heights.start:
        positions[min(settled, heights.end)] = UNSET
    if settled < heights.end:
        positions[heights.end] = []
    return positions


def late_heights(method: Method, batches: Iterable[Batch], late: Counter[str]) -> str:
    """Return the heights of late rows as text: `height 5`, `heights 5, 7-9`. `late`: their digests, with counts.

    Rows of some methods have no height; for these it returns all heights of their batch.
    """
    left, found = late.copy(), set[int]()
    for batch in batches:
        for row, digest in zip(batch.rows, digests(batch.rows), strict=True):
            if left[digest]:
                left[digest] -= 1
                height = None if method.height is None else integer_of(Picker([method.height])(row)[0])
                meant = batch.heights if height is None else HeightRange(height, height + 1)
                found.update(range(*meant.edges) if meant else ())
    starts = [height for height in sorted(found) if height - 1 not in found]
    ends = [height for height in sorted(found) if height + 1 not in found]
    spans = [f"{start}" if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True)]
    more = ", …" if len(spans) > _NAMED else ""
    return f"height{'s' if len(found) > 1 else ''} {', '.join(spans[:_NAMED])}{more}"
