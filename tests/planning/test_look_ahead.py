"""What follows a last row: the guards that a model server seldom needs, each by itself."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from chainq.errors import IncompleteError
from chainq.planning.look_ahead import MOST_WINDOWS, Asking, Following, first_row_at_or_after, look_ahead
from chainq.planning.server import ServerFacts
from chainq.planning.steps import Page, Request

HEIGHTS = list(range(30))
PAGE = Page([Raw(b"%d" % height) for height in HEIGHTS], HEIGHTS)


def honest(request: Request, heights: list[int] = HEIGHTS) -> Page:
    """A response of a server with one row at each of these heights."""
    due = [height for height in heights if request.heights.start <= height < request.heights.end]
    size = request.page_size or len(due)
    due = due[request.page * size :][:size]
    return Page([Raw(b"%d" % height) for height in due], due)


def drive(asking: Asking[Any], answer: Callable[[Request], Page]) -> tuple[Any, list[Request]]:
    """Run to the end: what is returned, and the requests."""
    requests: list[Request] = []
    page: Page | None = None
    while True:
        try:
            request = asking.send(page)
        except StopIteration as stop:
            return stop.value, requests
        assert isinstance(request, Request)
        requests.append(request)
        page = answer(request)


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
        drive(first_row_at_or_after(30, 10**9, ServerFacts()), honest)
