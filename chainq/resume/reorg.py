"""Detects reorgs: a block whose hash differs from the one that was recorded."""

from chainq.errors import IncompleteError
from chainq.resume.history import Position
from chainq.text.sanitize import excerpt


def check_block(position: Position, found: str | None, *, recorded: bool = True, checkpoint: bool = True) -> None:
    """Compare the hash of the last block below `position` with the one found now, None for a block that is gone.

    `recorded`: whether a checkpoint recorded it, and not only this run; `checkpoint`: whether there is one to go back
    in. Raises IncompleteError where they differ; a position without a hash matches anything.
    """
    if position.hash and found != position.hash:
        now = f"is {excerpt(found, 80)}" if found else "is gone"
        before = f"{'the checkpoint recorded' if recorded else 'this run has seen'} {excerpt(position.hash, 80)}"
        raise IncompleteError(
            f"reorg: block {position.next - 1} {now}, {before}",
            "--rewind N goes back N blocks"
            if checkpoint
            else "rows that are already written may be of blocks that are gone",
        )
