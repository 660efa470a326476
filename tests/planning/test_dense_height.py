"""A single height that fills a response: by a larger page, else by walks through its pages."""

from collections.abc import Callable

import pytest

from chainq.errors import IncompleteError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning import dense_height
from chainq.planning.dense_height import prove_height
from chainq.planning.server import ServerFacts
from chainq.planning.steps import ChunkResult, ChunkSpec, Page, ProofKind, Request
from harness.stepwise import drive, honest

SIZE = 40
CHUNK = ChunkSpec(HeightRange(5, 6), 0, 6, 6, SIZE)  # the last height of a run
FOLLOWED = ChunkSpec(HeightRange(5, 6), 0, 10, 10, SIZE)


def prove(
    chunk: ChunkSpec, answer: Callable[[Request], Page], *, known: int = 1, too_heavy: bool = False
) -> tuple[ChunkResult, list[Request]]:
    """Prove height 5."""
    facts = ServerFacts()
    result, requests = drive(prove_height(chunk, facts, known=known, too_heavy=too_heavy), answer, facts)
    assert isinstance(result, ChunkResult)
    return result, requests


def walked(answer: Callable[[Request], Page], chunk: ChunkSpec = CHUNK) -> ChunkResult:
    """Prove height 5 in pages of ten rows."""
    return prove(chunk, answer, too_heavy=True)[0]


def rows_of(count: int, *others: int) -> Callable[[Request], Page]:
    """An honest server with so many rows at height 5."""
    return lambda request: honest(request, [*[5] * count, *others])


def test_a_full_page_is_followed_by_a_larger_one() -> None:
    """A walk takes many more requests."""
    result, requests = prove(CHUNK, rows_of(400))
    assert (len(result.rows), result.proof.kind) == (400, ProofKind.COUNTS)
    assert [request.page_size for request in requests[:2]] == [160, 640]


def test_a_response_that_lacks_known_rows_is_not_believed() -> None:
    """An earlier one showed six: the larger page was cut, however many counts then agree."""

    def cut(request: Request) -> Page:
        page = honest(request, [5] * 6)
        if request.page_size == 1 and request.page == 1:
            return Page([], [])
        return page if request.page_size != 4 * SIZE else Page(page.rows[:1], page.heights[:1])

    assert len(prove(CHUNK, cut, known=6)[0].rows) == 6


def test_a_cut_response_is_not_believed() -> None:
    """The count shows more rows."""

    def cut(request: Request) -> Page:
        page = honest(request, [5] * 60)
        return page if request.page else Page(page.rows[:20], page.heights[:20])

    assert len(prove(CHUNK, cut)[0].rows) == 60


def test_a_height_that_fits_a_page_is_walked_in_two() -> None:
    """Where no row follows, a second page shows that there is paging at all."""
    assert len(walked(rows_of(8)).rows) == 8


def test_a_server_without_pages_proves_nothing() -> None:
    """It shows the first page, and none after it: which rows it lacks, nobody can tell."""
    with pytest.raises(IncompleteError, match="there is no second page"):
        walked(lambda request: Page([], []) if request.page else rows_of(30)(request))


def test_pages_must_come_as_far_as_the_row_that_follows() -> None:
    """A server that ends its pages early is found out."""

    def early(request: Request) -> Page:
        return Page([], []) if request.page == 2 else rows_of(30, 8)(request)

    assert len(walked(rows_of(30, 8), FOLLOWED).rows) == 30
    with pytest.raises(IncompleteError, match="the row at height 8 is missing"):
        walked(early, FOLLOWED)


def test_a_page_in_the_middle_must_be_full() -> None:
    """Else it was cut, and the pages add up to too few rows."""

    def cut(request: Request) -> Page:
        page = rows_of(30)(request)
        return Page(page.rows[:4], page.heights[:4]) if request.page == 1 and request.page_size == 10 else page

    with pytest.raises(IncompleteError, match="differ in length"):
        walked(cut)


def test_every_walk_must_count_the_same() -> None:
    """The first walk sees 29 distinct rows of 30; a later one that counts 29 does not prove them complete."""
    pages: list[int] = []

    def shrinking(request: Request) -> Page:
        pages.append(request.page)
        page = rows_of(30)(request)
        if request.page == 2:  # one row of page 1 again, and then it is left out
            rows = [rows_of(30)(request._replace(page=1)).rows[0], *page.rows[1:]]
            return Page(rows, page.heights) if pages.count(2) == 1 else Page(page.rows[1:], page.heights[1:])
        return page

    with pytest.raises(IncompleteError, match="held 30 rows in total, and later 29"):
        walked(shrinking)


def repeating(*others: int, later: int = 30, more: bool = True) -> Callable[[Request], Page]:
    """A server with 30 rows at height 5, of which its first page 1 repeats one of page 0. Once they were counted it has
    `later` rows there, and the `others` only with `more`."""
    pages: list[int] = []

    def answer(request: Request) -> Page:
        counted = 3 in pages
        page = rows_of(later if counted else 30, *others * (more or not counted))(request)
        if request.page == 1 and not counted:
            page = page._replace(rows=[*rows_of(1)(request._replace(page=0)).rows, *page.rows[1:]])
        pages.append(request.page)
        return page

    return answer


def test_a_walk_ends_when_all_rows_were_seen() -> None:
    """Then their number is made sure of: the last one is at its position, and none after it."""
    result, requests = prove(FOLLOWED, repeating(8), too_heavy=True)
    assert len(result.rows) == 30
    assert [(request.heights.start, request.page) for request in requests] == [
        (6, 0), (5, 0), (5, 1), (5, 2), (5, 3), (5, 0), (5, 1), (5, 29), (5, 30),
    ]  # fmt: skip


def test_rows_that_came_during_the_walks_are_an_error() -> None:
    """As many were seen as there were at first: one of them may be new, and another missing."""
    with pytest.raises(IncompleteError, match="add up to 30 rows, and pages of one row do not"):
        walked(repeating(8, later=31), FOLLOWED)


def test_the_row_that_follows_must_not_vanish() -> None:
    """It shows that the pages do not end early."""
    with pytest.raises(IncompleteError, match="add up to 30 rows, and pages of one row do not"):
        walked(repeating(8, more=False), FOLLOWED)


def test_a_height_without_rows_is_proved_by_the_row_that_follows() -> None:
    """A gateway failed, and the height holds nothing."""
    assert walked(rows_of(0, 8), FOLLOWED).rows == []


def test_pages_of_an_ignored_size_are_walked_on() -> None:
    """Ten rows to a page, and page 1 of the first walk repeats one: three walks more show no further row."""
    answer = repeating(8)
    result, requests = prove(FOLLOWED, lambda request: answer(request._replace(page_size=10)), too_heavy=True)
    assert len(result.rows) == 30
    assert [request.page for request in requests[-9:]] == 3 * [0, 1, 2]


def test_pages_that_are_shorter_than_their_steps_are_found_out() -> None:
    """Of a service that ignores the page size: ten rows to a page, of which seven come."""

    def capped(request: Request) -> Page:
        page = rows_of(27)(request._replace(page_size=10))
        return Page(page.rows[:7], page.heights[:7])

    with pytest.raises(IncompleteError, match="add up to 21 rows, and pages of one row do not"):
        walked(capped)


def test_a_last_page_that_is_cut_is_found_out() -> None:
    """It looks like the end, for the page after it begins beyond the last row."""

    def cut(request: Request) -> Page:
        page = rows_of(18)(request)
        return Page(page.rows[:4], page.heights[:4]) if (request.page_size, request.page) == (10, 1) else page

    with pytest.raises(IncompleteError, match="add up to 14 rows, and pages of one row do not"):
        walked(cut)


def test_rows_that_differ_between_responses_are_an_error() -> None:
    """More distinct rows than the pages have room for."""
    calls = 0

    def changing(request: Request) -> Page:
        nonlocal calls
        calls += 1
        page = rows_of(30)(request)
        if request.page == 1:  # the first walk repeats a row, the second shows two new ones
            known = rows_of(30)(request._replace(page=0)).rows
            return page._replace(rows=[*known[:1], *page.rows[1:]]) if calls < 6 else other(page)
        return page

    def other(page: Page) -> Page:
        return page._replace(rows=[type(row)(bytes(row) + b"!") for row in page.rows])

    with pytest.raises(IncompleteError, match="differ between responses"):
        walked(changing)


def test_pages_that_never_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same page again and again, or ever new rows."""
    with pytest.raises(IncompleteError, match="do not end"):
        walked(lambda request: rows_of(30)(request._replace(page=0)))
    monkeypatch.setattr(dense_height, "MOST_PAGES", 5)
    with pytest.raises(IncompleteError, match="do not end"):
        walked(rows_of(2000))


def test_pages_that_are_too_heavy_become_smaller() -> None:
    """Down to the smallest; then the failure ends the proof."""

    def heavy(request: Request) -> Page:
        if (request.page_size or 0) > 100:
            raise TooHeavyError("query timeout")
        return rows_of(300)(request)

    chunk = CHUNK._replace(page_size=1000)
    assert len(prove(chunk, heavy)[0].rows) == 300
    with pytest.raises(TooHeavyError):
        prove(chunk._replace(page_size=500), heavy, too_heavy=True)
