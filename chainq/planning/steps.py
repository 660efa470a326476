"""The values that planning exchanges with whoever sends requests: requests, pages of rows, chunks and their proofs.

All of them are plain and can be pickled, so that another process or machine can fetch and prove a chunk.
"""

from collections.abc import Generator
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from msgspec import Raw

from chainq.errors import BrokenBodyError, GatewayError, TooHeavyError
from chainq.heights.range import HeightRange

DIVISIBLE = (TooHeavyError, GatewayError, BrokenBodyError)
"""Failures that a request for fewer rows may avoid."""


class Request(NamedTuple):
    """One call of the method: its heights, and the page of `page_size` rows where the method has pages."""

    heights: HeightRange
    page_size: int | None = None
    page: int = 0


class TipRequest(NamedTuple):
    """The tip height, -1 for a chain without blocks."""


class OverlapRequest(NamedTuple):
    """Which rows of the response received last come before `heights`, where the next chunk begins: a list of them, None
    where the responses to the next chunks do not show that. It is not sent; the plan holds these responses."""

    heights: HeightRange


class Page(NamedTuple):
    """The rows of one response, sorted by height and inside a height by the method's order.

    `heights`: the height of each row; empty where rows of the method carry none. `ordered`: whether the rows came in
    height order.
    """

    rows: list[Raw]
    heights: list[int]
    ordered: bool = True

    def rows_at(self, height: int) -> set[bytes]:
        """Return the rows of a height."""
        return {bytes(row) for row, at in zip(self.rows, self.heights, strict=False) if at == height}


class ProofKind(StrEnum):
    """How a chunk was proved complete (docs/completeness.md)."""

    OVERLAP = "overlap"  # the response shows a row at or beyond the end of the chunk, or rows of the next chunk
    TAIL = "tail"  # a second response shows the last row again, and none after it
    COUNTS = "counts"  # a second page, one row shorter than the response, holds exactly one row
    EXACT = "exact heights"  # every height came once
    WALK = "walk"  # the pages of one height, until as many distinct rows were seen as the pages add up to


class Proof(NamedTuple):
    """How a chunk was proved complete, and from how many responses."""

    kind: ProofKind
    responses: int = 1

    def __str__(self) -> str:
        return f"{self.kind} ({self.responses} response{'s' if self.responses > 1 else ''})"


class Known(NamedTuple):
    """What a range teaches about the next ones of the same method and run, as plain values; 0 for nothing.

    `rows_per_height` and `row_bytes` decide how long chunks are at first. `trusted_width`: as in `ServerFacts`. Not
    `start_included`: near empty heights it is a weak finding, and each range makes sure of it again.
    """

    rows_per_height: float = 0.0
    row_bytes: float = 0.0
    trusted_width: int = 0


NOTHING_KNOWN = Known()


class ChunkSpec(NamedTuple):
    """A chunk to fetch and prove.

    `overlap`: how many heights beyond its end a request reaches, for a row that proves the response complete; but not
    beyond `run_end`, the end of the run. `horizon`: where the search for a following row ends. `first`: all heights
    before the chunk are proved (in reverse: all after it). `anchor`: then the height of the last row before the chunk,
    None where there is none. `doubtful`: an earlier response showed rows of these heights, or of some next to them.
    `full`: a response to the whole chunk is likely to fill its page.
    """

    heights: HeightRange
    overlap: int
    run_end: int
    horizon: int
    page_size: int | None = None
    first: bool = False
    anchor: int | None = None
    doubtful: bool = False
    full: bool = False


class ChunkResult(NamedTuple):
    """All rows of `heights`, which may end before the chunk does: the rest is still to be fetched.

    `row_heights`: the height of each row, empty where rows carry none. `beyond`: the rows that the response showed
    after `heights`; all of them, but for those of the last height shown. `more`: the rest of the chunk
    is known to hold rows. `full_until`: the rest up to this height is likely to fill a response; 0 where that is not
    known.
    """

    heights: HeightRange
    rows: list[Raw]
    row_heights: list[int]
    proof: Proof
    beyond: Page | None = None
    more: bool = False
    full_until: int = 0


class Unsettled(NamedTuple):
    """A chunk without rows: to be proved empty when its turn comes, and the last row before it is known."""


T = TypeVar("T")
Asking = Generator[Request | TipRequest | OverlapRequest, Any, T]
"""Yields requests; is sent the Page (or tip height, or rows) that answers each, or has its failure thrown in; and
returns a T."""

Steps = Asking[ChunkResult | Unsettled]
"""The proof of a chunk."""
