"""The values that planning exchanges with the code that sends requests: requests, their outcomes, proofs; and what is
said of blocks and rows that a service lacks.

All are plain and can be pickled, so another process or machine can fetch and prove a range.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from chainq import tuning
from chainq.errors import (
    BrokenBodyError,
    GatewayError,
    ResponseError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.heights.range import HeightRange

if TYPE_CHECKING:
    from chainq.planning.kernel import Kinds

DIVISIBLE = (TooHeavyError, GatewayError, BrokenBodyError)
"""Failures that a request for fewer rows may avoid."""
UNAVAILABLE = (ServiceError, UnreachableError, ResponseError)
"""Failures of another method that is not needed to read the rows."""

NO_VERIFY = "chainq blocks and chainq full-blocks read such rows unchecked with --no-verify"

Key = tuple[str, ...]
"""What identifies a row in every method that has it: the values of `Method.identity`."""


class RowsRequest(NamedTuple):
    """One call of the method: its heights, and the page of `page_size` rows if the method has pages. `records`: of that
    method instead, whose rows have the heights that those of `ownership` lack."""

    heights: HeightRange
    page_size: int | None = None
    page: int = 0
    records: bool = False


class TipRequest(NamedTuple):
    """The tip height, -1 for a chain without blocks."""


class DueRequest(NamedTuple):
    """What another method shows for these heights: full blocks name the due rows; if `row_ids`, block summaries show
    their row ids."""

    heights: HeightRange
    row_ids: bool = False


class Due(NamedTuple):
    """The rows that another method names at these heights.

    `at`: the height of every due row. `hashes`: of blocks. `kinds`: of rows whose kinds a server may not list at all
    (`Transition.kinds` of `rows/block.py`); a row that has none must come.
    """

    heights: HeightRange
    at: Mapping[Key, int]
    hashes: Mapping[int, str] = {}
    kinds: Mapping[Key, tuple[str, ...]] = {}


class Grade(StrEnum):
    """What a proof rests on (docs/completeness.md)."""

    ORDER = "order"  # a response shows a row beyond; for blocks, every height once
    WITNESS = "witness"  # another method of the service names the rows that are due
    BELIEF = "belief"  # neither: several responses agree
    HASH = "hash"  # order, and each block makes its own hash (`chainq.fetching.links`, not the kernel)


class Proof(NamedTuple):
    """The grade of the proof that rows are complete, and from how many responses."""

    grade: Grade
    responses: int = 1

    def __str__(self) -> str:
        return f"{self.grade} ({self.responses} response{'' if self.responses == 1 else 's'})"


class Known(NamedTuple):
    """What a range learned that the next ranges of the same method and run use, as plain values; 0 if unknown.

    `rows_per_height` and `row_bytes` set the first chunk lengths. `shown_width`: the widest request, in heights, that
    showed a row at its far end. `kinds`: which kinds of rows the service lists.
    """

    rows_per_height: float = 0.0
    row_bytes: float = 0.0
    shown_width: int = 0
    kinds: "Kinds | None" = None


NOTHING_KNOWN = Known()


def behind(first: int, top: int) -> str:
    """Return what to do if a server is behind and lacks rows from `first` on; empty far from the tip.

    `top`: the height after the highest known block.
    """
    blocks = max(tuning.BELOW_TIP, top - first)
    near = top - first <= tuning.NEAR_TIP
    return f"if a server is behind, end {blocks} blocks below the tip (--end -{blocks} or --lag {blocks})" * near


def lacking(heights: list[int], tip: int) -> str:
    """Return that blocks do not come which must exist, for they are not above the tip."""
    return f"missing {listed(heights)}, though the tip is {tip}"


def listed(heights: list[int]) -> str:
    """Return heights as text: `height 5`, `heights 5, 7, 9 and 40 more`."""
    shown = ", ".join(map(str, heights[:5]))
    more = f" and {len(heights) - 5:,} more" if len(heights) > 5 else ""
    return f"{'height' if len(heights) == 1 else 'heights'} {shown}{more}"
