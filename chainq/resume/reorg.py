"""Finds reorgs: blocks whose hash is no longer the recorded one."""

from chainq.errors import IncompleteError
from chainq.resume.checkpoint import Mark
from chainq.text.sanitize import excerpt


def check_block(mark: Mark, found: str | None) -> None:
    """Raise IncompleteError where the chain's block before `mark.next` is no longer the recorded one."""
    if mark.hash and found != mark.hash:
        raise IncompleteError(
            f"the chain is no longer the one recorded: block {mark.next - 1} was {excerpt(mark.hash, 80)} and is"
            f" {excerpt(found, 80) if found else 'missing'}",
            "--rewind N goes back N blocks, to before the change",
        )
