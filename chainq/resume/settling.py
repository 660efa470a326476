"""Up to which height the rows of a response are settled: which heights the service has written already. Pure.

An indexer writes rows in order. So where a response shows a row, the service has written all rows before it
(docs/completeness.md, "Following the tip").
"""

from msgspec import UNSET, UnsetType

from chainq.catalog.methods import Method
from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.query import Batch
from chainq.planning.steps import ProofKind
from chainq.resume.history import TAIL, digests
from chainq.rows.fields import Picker, integer_of


class UnsteadyError(Exception):
    """Responses contradict each other, as they may while the service takes a block in."""

    def __init__(self, error: IncompleteError) -> None:
        super().__init__(error)
        self.error = error


def shown_to(method: Method, batch: Batch) -> int | None:
    """Return the height below which the service has written all rows of a batch; None where the batch does not tell.

    That is its end where the server showed a row above it, else the height after its last row: the heights above may
    get rows yet. Rows without a height, and a batch without rows, do not tell.
    """
    if batch.heights is None:
        return None
    if batch.proof is not None and batch.proof.kind is ProofKind.OVERLAP:
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

    `deep`: the end of what can be settled, None where nothing of the batch can. Blocks are settled at once. Of other
    rows the heights that the service may not have written yet, at most TAIL of them, are looked at again.
    """
    if deep is None:
        return {heights.end: digests(batch.rows)}
    if method.linked:
        return {heights.end: UNSET}
    settled = max(shown_to(method, batch) or heights.start, deep - TAIL)
    positions: dict[int, list[str] | UnsetType] = {}
    if settled > heights.start:
        positions[min(settled, heights.end)] = UNSET
    if settled < heights.end:
        positions[heights.end] = []
    return positions
