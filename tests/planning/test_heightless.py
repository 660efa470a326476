"""Rows without heights: the last heights of a chunk by themselves, and counts."""

from chainq.heights.range import HeightRange
from chainq.planning.heightless import prove_heightless
from chainq.planning.server import ServerFacts
from chainq.planning.steps import ChunkResult, ChunkSpec, Page, ProofKind, Request
from harness.stepwise import Answer, drive, honest

CHUNK = ChunkSpec(HeightRange(0, 16), 0, 16, 16, 100)
EACH = list(range(16))  # a row at each height


def prove(answer: Answer, facts: ServerFacts, chunk: ChunkSpec = CHUNK) -> tuple[ChunkResult, list[Request]]:
    """Prove the beginning of a chunk, from responses that show no heights."""
    result, requests = drive(
        prove_heightless(chunk, facts, repeats=False), lambda request: Page(answer(request).rows, [])
    )
    assert isinstance(result, ChunkResult)
    return result, requests


def shown(request: Request, heights: list[int], most: int) -> Page:
    """An honest response, cut to so many rows."""
    page = honest(request, heights)
    return Page(page.rows[:most], page.heights[:most])


def test_last_heights_that_are_cut_alike_prove_nothing() -> None:
    """All rows are there, and both responses end at the cap."""
    result, _ = prove(lambda request: shown(request, [15] * 40, 20), ServerFacts(start_included=True))
    assert (result.rows, result.heights.end <= 15) == ([], True)


def test_a_large_row_may_end_a_response_and_its_last_heights_alike() -> None:
    """It does not fit a response any more; a page that begins with the row before it shows it."""

    def before_it(request: Request) -> Page:
        page = honest(request, [1, 2, 3, 12, 13, 14, 15, 15, 15])
        return page if request.page else Page([row for row in page.rows if bytes(row) != b"15''"], [])

    facts = ServerFacts(start_included=True, trusted_width=16)
    result, requests = prove(before_it, facts)
    assert Request(HeightRange(8, 16), 4, 1) in requests
    assert result.heights.end < 16


def test_last_heights_with_other_rows_show_a_cut_between_heights() -> None:
    """A cap ends the response after a whole height, alike each time, of a service that ignores page sizes."""
    rows = [height for height in EACH for _ in range(5)]
    facts = ServerFacts(start_included=True, trusted_width=16, honours_size=False)
    result, _ = prove(lambda request: shown(request._replace(page_size=None), rows, 20), facts)
    assert (len(result.rows), len(result.heights)) == (20, 4)


def test_a_cut_response_does_not_make_a_service_unordered() -> None:
    """Its last heights have rows that the response lacks."""
    facts = ServerFacts(start_included=True)
    result, _ = prove(lambda request: shown(request, EACH, 12 if len(request.heights) == 16 else 99), facts)
    assert (len(result.rows), result.heights, result.proof.kind) == (8, HeightRange(0, 8), ProofKind.TAIL)
    assert facts.ordered
    assert not facts.notes


def test_narrower_responses_must_add_up_where_rows_are_out_of_order() -> None:
    """The service leaves out a row of wide ranges, and counts without it."""

    def leaving_out(request: Request) -> Page:
        return honest(request, [height for height in EACH if height != 3 or len(request.heights) < 8])

    facts = ServerFacts(start_included=True, ordered=False, trusted_width=100)
    result, _ = prove(leaving_out, facts)
    assert result.heights == HeightRange(0, 4)
    assert len(result.rows) == 4


def test_a_full_page_is_divided_at_once() -> None:
    """It holds less than the chunk, and its last rows need not be looked at."""
    _, requests = prove(
        lambda request: honest(request, EACH), ServerFacts(start_included=True), CHUNK._replace(page_size=10)
    )
    assert requests[:2] == [Request(HeightRange(0, 16), 10), Request(HeightRange(0, 8), 10)]


def test_a_height_whose_rows_come_and_go_is_requested_again() -> None:
    """One response lacks its rows, as of a server that is behind; the third shows them."""
    calls: list[Request] = []

    def answer(request: Request) -> Page:
        calls.append(request)
        return Page([], []) if len(calls) in {1, 3} else honest(request, [5, 5])

    facts = ServerFacts(start_included=True)
    result, _ = prove(answer, facts, CHUNK._replace(heights=HeightRange(5, 6)))
    assert (len(result.rows), facts.sporadic) == (2, True)
    assert "responses to one range differ" in facts.notes[0]
