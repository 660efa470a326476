"""What `chainq show HEIGHT` says of the hash of a block, if aleo-sdk is installed."""

from chainq.hashes import sdk
from chainq.rows.fields import Picker, text_of
from chainq.show.parts import BlockParts, Parts
from chainq.text.humanize import counts
from chainq.text.sanitize import excerpt


def hash_words(parts: Parts) -> str:
    """Return whether a block makes its own hash, by its summary and its contents; empty if nothing can be said."""
    if not isinstance(parts, BlockParts) or not sdk.installed():
        return ""
    from chainq.hashes.check import check_row
    from chainq.hashes.trees import NotAnElementError, element

    names = ("block_hash", "previous_hash")
    for name, value in zip(names, Picker(names)(parts.summary), strict=True):
        try:
            element(text_of(value))
        except NotAnElementError:
            return f"hash not verified: {name} is made up, as in the sample chain"
    found = [check_row(bytes(parts.summary), full=False), check_row(bytes(parts.block), full=True)]
    for wrong in (one for checked in found for one in checked.wrong):
        expected, stated = (excerpt(text or "nothing") for text in (wrong.expected, wrong.found))
        return f"hash does not hold ({wrong.check}): expected {expected}, found {stated}"
    words = ["hash verified"] if all(checked.proved for checked in found) else []
    if skipped := found[1].skipped:
        words.append(f"not checked: {counts(skipped.items())}")
    return "; ".join(words)
