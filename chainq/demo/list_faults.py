"""The faults of lists, as values: simple mistakes of a server in ranges, pages or rows.

A list is the result of a method with pages: records, ownership rows, transitions, and the transactions of an address or
a function. Each faulty response has HTTP 200 and rows that look right. `faulty_lists.py` applies the faults; several
may be combined.
"""

import re
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of fault. `text`: for the help. `number`: whether it takes an N. `ranged`: it concerns height ranges, so
    lists without one (the transactions of a function) cannot have it."""

    text: str
    number: bool = False
    ranged: bool = False


KINDS = {
    # Ranges.
    "shift-up": Kind("The range one height higher.", ranged=True),
    "shift-down": Kind("The range one height lower.", ranged=True),
    "last-height": Kind("The last height of a range is left out.", ranged=True),
    "next-range": Kind("The rows of the next range too, as far as the page has room.", ranged=True),
    "end-ignored": Kind("The end of a range counts for page 0 only.", ranged=True),
    # The rows of a range, before they are divided into pages.
    "text-order": Kind("Heights are sorted as text: 10 before 9.", ranged=True),
    "newest-first": Kind("Heights are sorted in descending order."),
    "stored-again": Kind("Block N was stored again: a higher row id, so its rows come last.", number=True, ranged=True),
    "first-block": Kind("Only the rows of the first height that has any.", ranged=True),
    "height-cap": Kind("Only N rows of a height, if the range has several heights.", number=True, ranged=True),
    "range-empty": Kind("Nothing, if the range has more than N rows.", number=True, ranged=True),
    "two-texts": Kind(
        "Transitions of token_registry.aleo are listed for each of two texts of that program.", ranged=True
    ),
    "distinct": Kind("A transaction (of ownership rows: a transition) is listed once."),
    "ownership-behind": Kind("No ownership rows of the last N blocks.", number=True, ranged=True),
    "cached-rows": Kind("After --reorg-at, the old rows of heights that were requested before it.", ranged=True),
    # Pages.
    "page-0-empty": Kind("Page 0 is empty."),
    "page-0-skipped": Kind("Page 0 has the rows of page 1."),
    "repeated-page": Kind("Page N has the rows of the page before it.", number=True),
    "late-pages": Kind("Every page but page 0 begins one row late."),
    "shards": Kind("Heights are on N shards, each of which gives its part of the page size.", number=True),
    # The rows of one page.
    "heavy-empty": Kind("Nothing, if the page would have more than N rows.", number=True),
    "busy-pool": Kind(
        "Error 0 for a page of a function's transactions that has rows of a block with more than N, if more than N are"
        " requested, or with more than 4 calls at a time.",
        number=True,
    ),
    "heavy-block": Kind(
        "Error 0 for a page of a function's transactions that has more than 2 rows of a block with more than N.",
        number=True,
    ),
    "short-pages": Kind("A full page lacks its last row."),
    "page-gaps": Kind("A full page lacks every N-th row.", number=True),
    "reversed-pages": Kind("The rows of a page come in descending order of height."),
    "long-row-ends": Kind("No rows in a page after one of more than N bytes.", number=True),
    "long-row-hides": Kind("Neither a row of more than N bytes in a page nor those after it.", number=True),
    "text-heights": Kind("Every second row has its height as text; as a number, if it is text."),
    "null-lists": Kind("null for an empty list."),
}
"""By name, as `--fault` takes it."""


class ListFault(NamedTuple):
    """One fault: its name, a key of KINDS, and its N (0 if it has none)."""

    name: str
    number: int = 0


def parse_fault(text: str) -> ListFault:
    """Return the fault that `NAME` or `NAME:N` names. Raises ValueError."""
    found = re.fullmatch(r"([a-z0-9-]+)(?::(.+))?", text)
    kind = found and KINDS.get(found[1])
    if not found or not kind:
        raise ValueError(f"expected NAME or NAME:N, where NAME is one of {', '.join(KINDS)}")
    name, given = found[1], found[2] or ""
    number = int(given) if re.fullmatch("[0-9]{1,9}", given) else 0
    if kind.number and not number:
        raise ValueError(f"{name} takes a number of 1 or more, such as {name}:5")
    if given and not kind.number:
        raise ValueError(f"{name} takes no number")
    return ListFault(name, number)
