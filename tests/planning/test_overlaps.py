"""Responses without heights that overlap: where they are divided, and which responses that takes."""

from random import Random

import pytest
from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND
from chainq.heights.range import HeightRange
from chainq.planning.overlaps import rows_before
from chainq.planning.range_plan import RangePlan
from chainq.planning.steps import ChunkResult, Known, Page, ProofKind, Request
from harness.attempts import drive, verdict
from harness.model import Faults, Server, chain


def rows(text: str) -> list[Raw]:
    """A row for each letter."""
    return [Raw(letter.encode()) for letter in text]


@pytest.mark.parametrize(
    ("response", "following", "before"),
    [
        ("abcde", "dexyz", "abc"),
        ("abcde", "edxyz", "abc"),  # rows of one height in another order
        ("abcdd", "ddxyz", "abc"),  # equal rows, of a method that has them
        ("abc", "dexyz", None),  # it may be cut
        ("abcde", "", None),
        ("de", "dexyz", None),  # both may be cut alike
        ("abdce", "dexyz", None),  # one of them lacks a row
    ],
)
def test_a_response_is_divided_where_the_next_one_begins(response: str, following: str, before: str | None) -> None:
    """Only if it ends with rows of the next one, and holds others before them."""
    found = rows_before(rows(response), rows(following))
    assert found == (None if before is None else rows(before))


class Plan:
    """A plan in the middle of a range: a row at each height. `sent`: by the start of a chunk."""

    def __init__(self) -> None:
        known = Known(rows_per_height=1.0, row_bytes=10.0, trusted_width=1000)
        self.plan = RangePlan(BY_COMMAND["ownership"], HeightRange(0, 2000), page_size=200, known=known, tip=1999)
        self.plan.server.start_included, self.plan.server.proved_start = True, 0
        self.sent = {request.heights.start: (number, request) for number, request in self.requests()}

    def requests(self) -> list[tuple[int, Request]]:
        """The requests to send now."""
        return [(number, request) for number, request in self.plan.requests() if isinstance(request, Request)]

    def receive(self, start: int, end: int | None = None) -> list[ChunkResult]:
        """Receive the response to a chunk, cut at a height; what is complete then."""
        number, request = self.sent[start]
        heights = range(start, end or request.heights.end)
        self.plan.receive(number, Page([Raw(b'{"nonce":%d}' % height) for height in heights], []))
        self.again = self.requests()
        return list(self.plan.ready())


def test_a_chunk_is_proved_by_the_two_after_it() -> None:
    """The next one shows its end, and the one after that shows that the next was not cut before the overlap ended."""
    plan = Plan()
    first, second, third = sorted(plan.sent)[:3]
    assert plan.sent[first][1].heights.end > second
    assert plan.receive(first) == []
    assert plan.receive(second) == []
    (result,) = plan.receive(third)
    assert (result.heights, len(result.rows)) == (HeightRange(first, second), second - first)
    assert (result.proof.kind, result.proof.responses) == (ProofKind.OVERLAP, 2)


def test_a_response_that_ends_before_the_next_one_begins_is_requested_again() -> None:
    """Its chunk alone, and it is not given."""
    plan = Plan()
    first, second, third = sorted(plan.sent)[:3]
    assert plan.receive(first, second - 1) == []
    assert plan.receive(second) == []
    assert [request.heights for _, request in plan.again if request.heights.start == first] == [
        HeightRange(first, second)
    ]
    assert plan.receive(third) == []


def test_a_next_response_that_may_be_cut_inside_the_overlap_proves_nothing() -> None:
    """Rows of the next chunk would be taken for this one's."""
    plan = Plan()
    first, second, third = sorted(plan.sent)[:3]
    assert plan.receive(first) == []
    assert plan.receive(second, third - 1) == []
    assert plan.receive(third) == []


@pytest.mark.parametrize("command", ["ownership", "address-transactions"])
def test_chunks_without_heights_take_one_call_each(command: str) -> None:
    """And a few to begin and end."""
    rng = Random(5)  # noqa: S311  # a seed is to be repeated
    made = chain(rng, 20_000, 5.0, command=command, bursts=False)
    outcome = drive(Server(made, Faults(), rng), 0, 20_000, command=command, tip=made.tip)
    due = made.due(0, 20_000)
    assert verdict(outcome, due) == "truth"
    assert outcome.calls <= len(due) / 10_000 + 10
