"""Which kinds of servers keep the assumptions of the kernel (docs/completeness.md), so that no proof may be wrong."""

IN_ORDER = "page 0 lacks rows that are due before rows that it shows, and those are in order of height"
BEYOND_ORDER = {
    "start excluded": IN_ORDER,
    "page 0 skipped": IN_ORDER,
    "shards": IN_ORDER,
    "gaps in full pages": IN_ORDER,
    "few rows of a height": IN_ORDER,
    "each transaction once": IN_ORDER,
    "one height higher": IN_ORDER,
    "unordered": "the first rows of a shuffled list may be in order by chance",
    "reorg": "rows of the blocks that were replaced were there",
}
"""Servers that break the assumption of rule 1, and why no order shows it. Others must show it: full blocks, hashes."""


def promised(kind: str, command: str) -> bool:
    """Return whether servers of that kind keep the assumptions of the kernel for rows of that method."""
    if command == "blocks":  # each height has one, whatever their order
        return kind != "reorg"
    return kind not in BEYOND_ORDER


LOOKS_SOUND = {
    *("start excluded", "page 0 skipped", "one height higher"),
    *("gaps in full pages", "shards", "few rows of a height"),
}
"""They lack rows before others, in order: only the full blocks of a few heights show it."""


def shown(kind: str) -> bool:
    """Return whether a run finds out by what it requests, before it prints rows, that a server of that kind breaks the
    assumptions of the kernel, or that it keeps them."""
    return kind not in LOOKS_SOUND | {"reorg"}
