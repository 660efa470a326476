"""Detects reorgs: a block whose hash differs from the one that was recorded."""

from chainq.errors import IncompleteError
from chainq.resume.checkpoint import Position
from chainq.text.sanitize import excerpt


def check_block(position: Position, found: str | None, *, checkpoint: bool = True) -> None:
    """Compare the hash of the last block below `position` with the one found now, None for a block that is gone.

    `checkpoint`: whether a checkpoint recorded it, and not only this run. Raises IncompleteError where they differ; a
    position without a hash matches anything.
    """
    if position.hash and found != position.hash:
        now = f"is {excerpt(found, 80)}" if found else "is gone"
        recorded = f"{'the checkpoint recorded' if checkpoint else 'this run has seen'} {excerpt(position.hash, 80)}"
        raise IncompleteError(
            f"reorg: block {position.next - 1} {now}, {recorded}",
            "--rewind N goes back N blocks" if checkpoint else "rows already written may belong to replaced blocks",
        )
