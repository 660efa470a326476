"""Ranges without rows, where rows carry no height: what a run believes, and what it makes sure of."""

import pytest

from chainq.errors import IncompleteError, TooHeavyError
from chainq.heights.range import HeightRange
from chainq.planning.absence import DOUBTED, check_believed, check_bounds, is_empty, trust_width
from chainq.planning.server import ServerFacts
from chainq.planning.steps import Page, Request
from harness.stepwise import drive, honest

WIDE = HeightRange(3_000, 6_000)


class Limited:
    """A server with a row at each of some heights. `most`: wider ranges are empty (`empty`), or cut to this width."""

    def __init__(self, heights: list[int], most: int, *, empty: bool = True) -> None:
        self.heights, self.most, self.empty = heights, most, empty

    def __call__(self, request: Request) -> Page:
        looked_at = request.heights
        if len(looked_at) > self.most:
            looked_at = HeightRange(looked_at.start, looked_at.start + (0 if self.empty else self.most))
        return Page(honest(request._replace(heights=looked_at), self.heights).rows, [])


def facts(**known: object) -> ServerFacts:
    """What is known of a server whose pages hold 100 rows."""
    made = ServerFacts(page_size=100)
    for name, value in known.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("empty", [True, False])
def test_the_trusted_width_is_what_the_server_shows(*, empty: bool) -> None:
    """A row that is known comes at the far end of a request of 375 heights, not of 750 or more."""
    server = facts(witness=(5_000, b"5000"))
    drive(trust_width(3_000, server), Limited([5_000], 400, empty=empty))
    assert (server.trusted_width, server.misses_rows) == (375, True)


def test_a_width_that_is_too_heavy_is_not_trusted() -> None:
    """Before the known row lies a dense stretch: its failure is no error of the run, and no sign of missing rows."""

    def heavy(request: Request) -> Page:
        if len(request.heights) > 800:
            raise TooHeavyError("query timeout")
        return Limited([5_000], 9_999)(request)

    server = facts(witness=(5_000, b"5000"))
    drive(trust_width(3_000, server), heavy)
    assert (server.trusted_width, server.misses_rows) == (750, False)
    server = facts(believed=3_000)
    drive(check_believed(HeightRange(5_000, 5_001), server), heavy)
    assert server.trusted_width == 0


def test_no_width_is_trusted_beyond_the_chain() -> None:
    """Where the known row is at height 10, no request ends there that is wider than 11 heights."""
    server = facts(witness=(10, b"10"))
    _, requests = drive(trust_width(3_000, server), Limited([10], 4_000))
    assert (server.trusted_width, [request.heights.edges for request in requests]) == (11, [(0, 11)])


def test_a_doubt_that_found_rows_is_not_used_up() -> None:
    """However often wide ranges turn out to have rows, the next is doubted like the first."""
    server = facts()
    answer = Limited(list(range(3_000, 6_000, 20)), 400)
    for start in range(3_000, 5_000, 250):
        empty, _ = drive(is_empty(HeightRange(start, start + 750), server, doubtful=False), answer)
        assert empty is False
    assert server.misses_rows


def test_no_rows_over_a_trusted_width_are_believed_at_once() -> None:
    """The server showed a row at the far end of a range as wide."""
    server = facts(trusted_width=3_000, start_included=True)
    empty, requests = drive(is_empty(WIDE, server, doubtful=False), Limited([], 9_999))
    assert (empty, len(requests)) == (True, 1)


def test_a_run_without_rows_doubts_twice() -> None:
    """An honest server without rows is not asked for narrower ranges for ever."""
    server, counts = facts(), []
    for _ in range(DOUBTED + 1):
        empty, requests = drive(is_empty(WIDE, server, doubtful=False), Limited([], 9_999))
        assert empty is True
        counts.append(len(requests))
    assert counts[0] == counts[1] > 10 > counts[2]
    assert server.believed == len(WIDE)


def test_a_row_seen_meanwhile_settles_a_doubt() -> None:
    """Another chunk of the same run showed a row while this one looked into its parts."""
    server = facts()

    def answer(request: Request) -> Page:
        if len(request.heights) == 375:
            server.witness, server.start_included = (7_000, b"7000"), True
        return Limited([7_000], 9_999)(request)

    empty, requests = drive(is_empty(WIDE, server, doubtful=False), answer)
    assert (empty, server.believed, server.trusted_width) == (True, 0, 3_000)
    assert requests[-1].heights == HeightRange(4_001, 7_001)


@pytest.mark.parametrize("empty", [True, False])
def test_what_was_believed_is_made_sure_of(*, empty: bool) -> None:
    """The first rows do not come at the far end of a range as wide: others may have been missed before them."""
    server = facts(believed=3_000)
    with pytest.raises(IncompleteError, match="missing in ranges of 3000 heights"):
        drive(check_believed(HeightRange(7_000, 7_200), server), Limited([7_100, 7_150], 400, empty=empty))


def test_an_honest_server_confirms_what_was_believed() -> None:
    """Its responses may be cut: the pages after the first one come as far as the known row."""
    server = facts(believed=3_000)
    rows = [*range(6_500, 6_600), 7_100, 7_150]

    def capped(request: Request) -> Page:
        size = min(request.page_size or 60, 60)
        return Page(honest(request._replace(page_size=size), rows).rows, [])

    drive(check_believed(HeightRange(7_000, 7_200), server), capped)
    assert (server.trusted_width, server.believed) == (3_000, 0)


def test_rows_before_a_range_show_whether_start_is_included() -> None:
    """A dense height just below the range, which no page holds, does not make an honest server look wrong."""
    rows = [40] * 500
    server = facts()
    empty, _ = drive(is_empty(HeightRange(50, 60), server, doubtful=False), Limited(rows, 9_999))
    assert (empty, server.start_included, server.witness) == (True, True, (40, b"40"))


def test_a_server_that_leaves_out_start_is_found_out() -> None:
    """Its range is empty, and the range that starts below it has rows."""

    def answer(request: Request) -> Page:
        heights = HeightRange(request.heights.start + 1, max(request.heights.end, request.heights.start + 1))
        return Page(honest(request._replace(heights=heights), [3_000]).rows, [])

    with pytest.raises(IncompleteError, match="height 3000: its rows are missing"):
        drive(is_empty(HeightRange(3_000, 3_010), facts(), doubtful=False), answer)


def test_a_server_that_is_behind_once_is_not_blamed() -> None:
    """The rows of the first height are missing twice and come the third time."""
    calls: list[Request] = []

    def answer(request: Request) -> Page:
        calls.append(request)
        behind = request.heights.start == 3_000 and len(calls) < 6
        return Page([] if behind else honest(request, [3_000]).rows, [])

    server = facts()
    empty, _ = drive(is_empty(HeightRange(3_000, 3_010), server, doubtful=False), answer)
    assert (empty, server.sporadic) == (False, True)


def test_bounds_are_checked_at_a_height_that_has_rows() -> None:
    """The highest one; it is then known as one with rows."""
    server = facts()
    drive(check_bounds(HeightRange(0, 16), server), lambda request: Page(honest(request, [3, 9]).rows, []))
    assert (server.start_included, server.witness) == (True, (9, b"9"))
