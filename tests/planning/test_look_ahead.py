"""What follows a last row: the guards that a model server seldom needs, each by itself."""

import pytest
from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.look_ahead import (
    MOST_WINDOWS,
    NARROWEST,
    Following,
    count_further,
    first_row_at_or_after,
    look_ahead,
    nothing_further,
)
from chainq.planning.server import ServerFacts
from chainq.planning.steps import Page, Request
from harness import stepwise
from harness.stepwise import drive

HEIGHTS = list(range(30))
PAGE = Page([Raw(b"%d" % height) for height in HEIGHTS], HEIGHTS)


def honest(request: Request, heights: list[int] = HEIGHTS) -> Page:
    """A response of a server with one row at each of these heights."""
    return stepwise.honest(request, heights)


@pytest.mark.parametrize(("cut_rows", "looks"), [(None, 2), (100, 4)])
def test_nothing_follows_when_several_responses_say_so(cut_rows: int | None, looks: int) -> None:
    """Two, at other rows; four of a server that was seen to truncate responses."""
    facts = ServerFacts(trusted_width=50, highest=29, cut_rows=cut_rows)
    found, requests = drive(look_ahead(PAGE, 40, facts), honest)
    assert found == Following(None, responses=looks)
    assert len({request.heights.start for request in requests}) == len(requests[:3])


def test_a_row_that_was_seen_is_not_believed_away() -> None:
    """Another response showed a row at height 35, below the horizon."""
    with pytest.raises(IncompleteError, match="no response shows a row after it, although there is one at 35"):
        drive(look_ahead(PAGE, 40, ServerFacts(trusted_width=50, highest=35)), honest)
    facts = ServerFacts(trusted_width=50, highest=40)  # beyond the horizon
    assert drive(look_ahead(PAGE, 40, facts), honest)[0].height is None


def test_a_search_without_an_end_is_given_up() -> None:
    """A server that shows rows over narrow ranges only, on a chain that is very wide."""
    with pytest.raises(IncompleteError, match=f"{MOST_WINDOWS + 1} requests returned no rows"):
        drive(first_row_at_or_after(30, 10**9, ServerFacts(tip=10**9)), honest)


def test_two_rows_leave_no_room_for_a_third() -> None:
    """Page 1 of one row shows the last row, and could not show the one that follows."""
    two = Page(PAGE.rows[:2], HEIGHTS[:2])
    found, _ = drive(look_ahead(two, 40, ServerFacts(trusted_width=50)), lambda request: honest(request, [0, 1, 5]))
    assert found.height == 5


def test_another_row_at_the_last_height_is_not_the_last_row() -> None:
    """The response had one row of that height; later responses show one too, but not the same."""

    def changed(request: Request) -> Page:
        page = honest(request)
        return page._replace(rows=[Raw(b"other") if bytes(row) == b"29" else row for row in page.rows])

    found, _ = drive(look_ahead(PAGE, 40, ServerFacts(trusted_width=50)), changed)
    assert not found.complete


def test_a_page_that_begins_elsewhere_tells_nothing() -> None:
    """Page 1 shows one known row, but not the last: the server divides pages in its own way."""

    def shifted(request: Request) -> Page:
        page = honest(request, [*HEIGHTS, 35])
        return Page(PAGE.rows[20:21], [20]) if request.page else page

    found, _ = drive(look_ahead(PAGE, 40, ServerFacts(trusted_width=50)), shifted)
    assert found.height == 35


@pytest.mark.parametrize("pages", [False, True])
def test_a_dense_height_that_comes_again_may_be_cut(*, pages: bool) -> None:
    """In the same place each time: only a page further on, or a row that follows in one response, shows its end."""

    def capped(request: Request) -> Page:
        page = honest(request, [5] * 90) if pages or not request.page else Page([], [])
        return Page(page.rows[:60], page.heights[:60])

    shown = capped(Request(HeightRange(0, 10), 500))
    assert not drive(look_ahead(shown, 10, ServerFacts(trusted_width=10)), capped)[0].complete
    followed = [*[5] * 60, 8]
    assert drive(look_ahead(shown, 10, ServerFacts()), lambda request: honest(request, followed))[0] == Following(8)
    assert drive(look_ahead(shown, 10, ServerFacts()), lambda request: honest(request, followed[:60]))[0].complete


def test_a_dense_height_before_the_last_one_is_not_requested_again() -> None:
    """Its rows are proved by the row after them."""
    heights = [*[5] * 60, 7, 8]
    shown = honest(Request(HeightRange(0, 8)), heights)
    found, requests = drive(look_ahead(shown, 10, ServerFacts()), lambda request: honest(request, heights))
    assert found == Following(8)
    assert {request.heights.start for request in requests} == {7}


def test_a_window_without_rows_is_looked_at_three_times() -> None:
    """Of a server that leaves out rows now and then."""
    seen: list[Request] = []

    def sporadic(request: Request) -> Page:
        seen.append(request)
        return honest(request, [35]) if seen.count(request) == 3 else Page([], [])

    assert drive(first_row_at_or_after(30, 90, ServerFacts(trusted_width=20, highest=29, tip=99)), sporadic)[0] == 35


def test_windows_leave_out_no_height() -> None:
    """A row at the first height of the second window, of a server that is empty where ranges are wider."""
    row = 30 + NARROWEST

    def narrow(request: Request) -> Page:
        return honest(request, [row]) if len(request.heights) <= NARROWEST else Page([], [])

    assert drive(first_row_at_or_after(30, 500, ServerFacts(tip=500)), narrow)[0] == row


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 20])
def test_rows_beyond_a_response_are_counted(rows: int) -> None:
    """At least one more is shown of a truncated response of any length, and none of a complete one."""
    page, heights = Page(PAGE.rows[:rows], HEIGHTS[:rows]), HeightRange(0, 30)
    assert drive(count_further(page, heights, ServerFacts()), honest)[0] > 0
    assert drive(count_further(page, heights, ServerFacts()), lambda request: honest(request, HEIGHTS[:rows]))[0] == 0


@pytest.mark.parametrize(("cut_rows", "looks"), [(None, 2), (100, 4)])
def test_counts_are_believed_when_several_agree(cut_rows: int | None, looks: int) -> None:
    """The last of them shows one row more: those before it were truncated."""
    page, heights = Page(PAGE.rows[:9], HEIGHTS[:9]), HeightRange(0, 30)
    facts = ServerFacts(cut_rows=cut_rows, honours_size=True)
    found, requests = drive(nothing_further(page, heights, facts), lambda _: Page(PAGE.rows[8:9], HEIGHTS[8:9]))
    assert (found, len(requests)) == (True, looks)
    shown = iter([*[1] * (looks - 1), 2])

    def truncated(_: Request) -> Page:
        rows = next(shown)
        return Page(PAGE.rows[8 : 8 + rows], HEIGHTS[8 : 8 + rows])

    assert not drive(nothing_further(page, heights, facts), truncated)[0]


def test_a_server_without_pages_counts_nothing() -> None:
    """Not even the last row comes again."""

    def without_pages(request: Request) -> Page:
        return Page([], []) if request.page else honest(request)

    assert drive(count_further(PAGE, HeightRange(0, 30), ServerFacts()), without_pages)[0] is None
