"""Proofs of chunks whose rows carry a height: the guards that a model server seldom needs, each by itself."""

import pytest

from chainq.errors import IncompleteError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.completeness import prove_rows
from chainq.planning.counts import prove_by_counts
from chainq.planning.server import ServerFacts
from chainq.planning.steps import ChunkResult, ChunkSpec, Page, ProofKind, Request, Unsettled
from harness.stepwise import Answer, drive, honest

CHUNK = ChunkSpec(HeightRange(10, 20), 4, 100, 100, 50)
EMPTY = Page([], [])


def prove(chunk: ChunkSpec, answer: Answer, facts: ServerFacts) -> tuple[ChunkResult, list[Request]]:
    """Prove a chunk that can be proved."""
    result, requests = drive(prove_rows(chunk, facts), answer, facts)
    assert isinstance(result, ChunkResult)
    return result, requests


def facts(**known: int | bool) -> ServerFacts:
    """What is known of a server in the middle of a run."""
    return ServerFacts(**{"tip": 99, "start_included": True, "order_seen": True, "trusted_width": 200, **known})  # type: ignore[arg-type]


def test_a_full_chunk_is_proved_by_counts_where_rows_are_out_of_order() -> None:
    """The row of a later height in a larger page would prove nothing there."""
    result, requests = prove(
        CHUNK._replace(full=True), lambda request: honest(request, [10, 12, 15]), facts(ordered=False)
    )
    assert result.proof.kind is ProofKind.COUNTS
    assert requests[0].page_size == CHUNK.page_size


def test_a_response_as_long_as_one_that_was_cut_proves_what_is_below_its_last_row() -> None:
    """Nothing else is requested: a look at what follows would tell what is known."""
    result, requests = prove(CHUNK, lambda request: honest(request, [10, 12, 15, 18]), facts(cut_rows=4))
    assert (result.heights, len(requests)) == (HeightRange(10, 18), 1)


@pytest.mark.parametrize("tip", [10, 12, 19])
def test_an_empty_response_near_the_tip_is_looked_at_again(tip: int) -> None:
    """Only above the tip there are no rows for certain."""
    calls = 0

    def empty_once(request: Request) -> Page:
        nonlocal calls
        calls += 1
        return EMPTY if calls == 1 else honest(request, [10])

    result, _ = prove(CHUNK._replace(first=True, run_end=tip + 1, horizon=tip + 1), empty_once, facts(tip=tip))
    assert result.row_heights == [10]
    assert prove(CHUNK, lambda _: EMPTY, facts(tip=9))[0].proof.kind is ProofKind.TAIL


def test_a_row_between_two_chunks_is_an_error() -> None:
    """After the last row of the chunks before, but below this chunk: a response lacked it."""

    def appearing(request: Request) -> Page:
        return honest(request, [5, 7, 30]) if request.heights.start < 10 else EMPTY

    with pytest.raises(IncompleteError, match="height 7: its rows appear in only one response"):
        prove(CHUNK._replace(first=True, anchor=5), appearing, facts())


def test_a_chunk_without_rows_waits_for_its_turn() -> None:
    """Only after the last row before it can be shown again."""
    assert drive(prove_rows(CHUNK, facts()), lambda _: EMPTY)[0] == Unsettled()


def test_rows_of_one_height_do_not_show_the_order() -> None:
    """The response began with its highest rows and was cut there: rows below them come when requested."""

    def highest_first(request: Request) -> Page:
        page = honest(request, [10, 10, 14, 14, 14])
        if len(set(page.heights)) == 1 or request.page:
            return page
        return Page(page.rows[2:], page.heights[2:]) if request.page_size == 50 else page

    known = facts(order_seen=False)
    result, _ = prove(CHUNK._replace(run_end=20, horizon=20), highest_first, known)
    assert not known.ordered
    assert result.row_heights[:2] == [10, 10]


def test_a_heavy_height_of_an_unknown_order_is_proved_by_itself() -> None:
    """No request reaches beyond it: that a later row comes last is not known."""
    seen: list[Request] = []

    def heavy(request: Request) -> Page:
        seen.append(request)
        if (request.page_size or 0) > 20:
            raise TooHeavyError("query timeout")
        return honest(request, [10] * 30 + [11])

    chunk = CHUNK._replace(heights=HeightRange(10, 11), page_size=60)
    known = facts(order_seen=False)
    result, _ = drive(prove_rows(chunk, known), heavy, known)
    assert len(result.rows) == 30
    assert max(request.heights.end for request in seen if (request.page_size or 0) <= 20) == 11


def test_a_height_that_fills_a_page_is_the_end_of_what_is_full() -> None:
    """The rest of the chunk begins with it, and no later height."""
    result, _ = prove(CHUNK, lambda request: honest(request, [10, *[12] * 60]), facts())
    assert (result.heights, result.full_until) == (HeightRange(10, 12), 13)


def test_too_wide_a_range_is_not_one_without_rows() -> None:
    """By counts too: a server that is empty where ranges are wide."""
    known = ServerFacts(ordered=False, tip=99)

    def narrow(request: Request) -> Page:
        return honest(request, [13]) if len(request.heights) <= 64 else EMPTY

    result, _ = drive(prove_by_counts(CHUNK._replace(heights=HeightRange(0, 200)), known), narrow, known)
    assert result.row_heights == [13]


def test_facts_of_a_server() -> None:
    """Widths up to the last row shown; whether rows of the first height came; the last row proved."""
    known = ServerFacts()
    known.see(Request(HeightRange(10, 90)), honest(Request(HeightRange(10, 90)), [12, 30]))
    assert (known.trusted_width, known.highest, known.start_included, known.order_seen) == (21, 30, False, True)
    known.see(Request(HeightRange(12, 13)), honest(Request(HeightRange(12, 13)), [12]))
    assert known.start_included
    known.proved(HeightRange(10, 40), [12, 30])
    known.proved(HeightRange(0, 10), [4])
    assert (known.proved_start, known.proved_rows, known.proved_last) == (0, 3, 30)
