"""The values that planning exchanges with whoever sends requests: requests, what answers them, proofs.

All of them are plain and can be pickled, so that another process or machine can fetch and prove a range.
"""

from collections.abc import Generator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from msgspec import Raw

from chainq.errors import (
    BrokenBodyError,
    GatewayError,
    ResponseError,
    ServiceError,
    TooHeavyError,
    UnreachableError,
)
from chainq.heights.range import HeightRange

DIVISIBLE = (TooHeavyError, GatewayError, BrokenBodyError)
"""Failures that a request for fewer rows may avoid."""
UNAVAILABLE = (ServiceError, UnreachableError, ResponseError)
"""Failures of another method, without which rows can be had."""

Key = tuple[str, ...]
"""What identifies a row in every method that has it: the values of `Method.identity`."""


class RowsRequest(NamedTuple):
    """One call of the method: its heights, and the page of `page_size` rows where the method has pages."""

    heights: HeightRange
    page_size: int | None = None
    page: int = 0


class TipRequest(NamedTuple):
    """The tip height, -1 for a chain without blocks."""


class DueRequest(NamedTuple):
    """What another method says of these heights: the full blocks which rows are due, or, of `located`, `records` where
    some rows lie: its page of `page_size` rows."""

    heights: HeightRange
    located: bool = False
    page_size: int = 100
    page: int = 0


class Wait(NamedTuple):
    """Nothing to send: resume when other responses have come, or when none is under way."""


class HandBack(NamedTuple):
    """Nothing to send: the heights from `end` on are not asked for, and are a chunk of their own."""

    end: int


class Due(NamedTuple):
    """What another method says of the rows of these heights.

    `at`: the height of every row that is due. `shown`: of rows elsewhere, which are there, though not all of them may
    be named. `hashes`: of blocks. `strict`: a row that is due and missing contradicts the other method; else the server
    may not list it.
    """

    heights: HeightRange
    at: Mapping[Key, int]
    shown: Mapping[Key, int] = {}
    hashes: Mapping[int, str] = {}
    strict: bool = True


class Located(NamedTuple):
    """Rows of `records` in some heights: what identifies each, its height, and whether they came in order."""

    keys: list[Key]
    heights: list[int]
    ordered: bool = True


class Grade(StrEnum):
    """What a proof rests on (docs/completeness.md)."""

    ORDER = "order"  # a response shows a row beyond; or, of blocks, every height once
    WITNESS = "witness"  # another method of the service names the rows that are due
    BELIEF = "belief"  # neither: several responses agree
    HASH = "hash"  # order, and each block makes its own hash (`chainq.fetching.hashed`, not the kernel)


class Proof(NamedTuple):
    """What the completeness of rows rests on, and from how many responses."""

    grade: Grade
    responses: int = 1

    def __str__(self) -> str:
        return f"{self.grade} ({self.responses} response{'' if self.responses == 1 else 's'})"


class ChunkResult(NamedTuple):
    """All rows of `heights`. `row_heights`: the height of each row, empty if rows carry none. `confirmed`: these are
    the last rows, and all rows are of the chain of the last block (`one_chain`)."""

    heights: HeightRange
    rows: list[Raw]
    row_heights: list[int]
    proof: Proof
    confirmed: bool = False


class Known(NamedTuple):
    """What a range teaches about the next ones of the same method and run, as plain values; 0 for nothing.

    `rows_per_height` and `row_bytes` decide how long chunks are at first. `shown_width`: the widest request, in
    heights, that showed a row at its far end.
    """

    rows_per_height: float = 0.0
    row_bytes: float = 0.0
    shown_width: int = 0


NOTHING_KNOWN = Known()

T = TypeVar("T")
Asking = Generator[RowsRequest | TipRequest | DueRequest | Wait | HandBack, Any, T]
"""Yields requests; is sent what answers each, or has its failure thrown in; and returns a T."""
