"""Finds the row that follows a last row, or makes sure that none does (docs/completeness.md, "The rule")."""

from typing import NamedTuple

from chainq.errors import IncompleteError
from chainq.heights.range import HeightRange
from chainq.planning.server import ServerFacts, start_left_out
from chainq.planning.steps import DIVISIBLE, Asking, Page, Request, TipRequest

ATTEMPTS = 6  # requests for rows that are known to exist, before a server that does not show them is given up
AGREEING = 2  # responses, before it is believed that nothing follows: one may be cut just after the last row
CONFIRMATIONS = 4  # looks, each of one response or more, at a server that was seen to cut responses
ROWS = 12  # at the end of a response that are asked for again, and as many after them
MOST_WINDOWS = 1000  # requests for heights without rows in one proof
NARROWEST = 64  # heights of such a request, where no wider one has shown a row
WIDTHS = (16, 1)  # heights of requests for any row at all, in a run that has not seen one
PARTS = 8  # of each width


class Following(NamedTuple):
    """What follows a last row: the next row's height, None where there is none up to the horizon.

    `complete`: whether the response held all rows of its last height. `responses`: how many this took.
    """

    height: int | None
    complete: bool = True
    responses: int = 1


def look_ahead(page: Page, horizon: int, server: ServerFacts) -> Asking[Following]:
    """Find out what follows the last row of a page, up to `horizon` (excluded).

    "Nothing" is believed when several responses said so, and never where a row is known further on. Raises
    IncompleteError where known rows are not shown again.
    """
    looks = responses = 0
    while responses < AGREEING or (server.cut_rows is not None and looks < CONFIRMATIONS):
        looks += 1  # each at other rows
        following = yield from _look_once(page, max(horizon, page.heights[-1] + 1), server, looks * ROWS)
        responses += following.responses
        if following.height is not None or not following.complete:
            return following._replace(responses=responses)
    if page.heights[-1] < server.highest < horizon:
        raise IncompleteError(
            f"height {page.heights[-1]}: no response shows a row after it, although there is one at {server.highest}",
            "run the command again",
        )
    return Following(None, responses=responses)


def _shown(request: Request) -> Asking[Page]:
    """Return the response to a request, one without rows where it fails for its size."""
    try:
        page: Page = yield request
    except DIVISIBLE:
        return Page([], [])
    return page


def _look_once(page: Page, horizon: int, server: ServerFacts, most: int) -> Asking[Following]:
    """Look once: of the last rows, n of them, page 1 of n - 1 rows begins with the last row, and the next follows.

    A server that does not page that way is asked for the last height again, and for what comes after it.
    """
    last = page.heights[-1]
    start = page.heights[-min(len(page.rows), most)] if page.rows else last
    rows = len(page.heights) - page.heights.index(start)  # all rows of that first height too
    if rows > 2 * most:  # a dense height: the last one alone, if it is another
        start, rows = last, len(page.heights) - page.heights.index(last)
    dense = rows > 2 * most  # a cap may cut its rows in the same place each time
    responses = 0
    if rows > 2:  # page 1 of fewer than two rows has no room for a following one
        responses = 1
        shown = yield from _shown(Request(HeightRange(start, horizon), rows - 1, 1))
        known = {bytes(row) for row in page.rows[-rows:]}
        if not shown.rows_at(last) <= known:  # the response lacked it
            return Following(None, complete=False)
        if shown.ordered and shown.heights and shown.heights[0] == last and bytes(shown.rows[0]) in known:
            after = [height for height in shown.heights if height > last]
            complete = len(shown.heights) - len(after) == 1
            if after or not complete:
                return Following(after[0] if after else None, complete)
            if horizon - start <= server.trusted_width:
                return Following(None)
            dense = False
    elif 0 < len(page.rows) <= 2:  # perhaps a cap: page 1 shows rows beyond these, if any
        responses = 1
        shown = yield from _shown(Request(HeightRange(start, horizon), rows, 1))
        if not shown.rows_at(last) <= page.rows_at(last):
            return Following(None, complete=False)
        dense = last in shown.heights
    following = yield from _again(page, horizon, server, dense=dense)
    return following._replace(responses=responses + following.responses)


def _again(page: Page, horizon: int, server: ServerFacts, *, dense: bool) -> Asking[Following]:
    """Look by requests for the last height, and for what comes after it.

    `dense`: that its rows come again does not prove them complete, unless the same response shows a row after them.
    """
    last = page.heights[-1]
    known = page.rows_at(last)
    size, responses = len(known) + ROWS, 0
    width = horizon - last
    complete = True
    for _ in range(ATTEMPTS):
        responses += 1
        try:
            shown: Page = yield Request(HeightRange(last, last + width), size)
        except DIVISIBLE:
            width = max(1, width // 8)
            continue
        if not shown.heights or shown.heights[0] != last:
            width = max(1, width // 8)  # too wide for the server, or a response that lacks rows now and then
            continue
        complete = not known or shown.rows_at(last) == known
        if shown.heights[-1] > last:
            return Following(next(height for height in shown.heights if height > last), complete, responses)
        if dense or not complete:
            return Following(None, complete=False, responses=responses)
        break
    else:
        raise IncompleteError(
            f"height {last}: its rows are missing in {ATTEMPTS} later responses", "run the command again"
        )
    found = yield from first_row_at_or_after(last + 1, horizon, server)
    responses += last + 1 < horizon
    if known and found is not None and found < last + width:
        # The response had room for that row and lacks it: it is cut, perhaps just where the first one was.
        complete = False
        for _ in range(AGREEING):
            responses += 1
            shown = yield from _shown(Request(HeightRange(last, found + 1), size))
            if shown.rows_at(last) != known:
                break
            if complete := found in shown.heights:
                break
    return Following(found, complete, responses)


def first_row_at_or_after(
    start: int, horizon: int, server: ServerFacts, *, thorough: bool = True
) -> Asking[int | None]:
    """Return the height of the first row from `start` on, None where there is none up to `horizon` (excluded).

    A row that comes back proves that nothing lies before it, however wide the request. That no row comes back is
    believed over the trusted width only: wider stretches are gone through in windows of that width, each three times,
    as far as the tip.
    Not `thorough`: one request only, and None says nothing.
    """
    if start >= horizon:
        return None
    page: Page = yield from _shown(Request(HeightRange(start, horizon), ROWS))
    if page.heights or not thorough:
        return page.heights[0] if page.heights else None
    first = start
    if horizon - start > server.trusted_width:
        yield from _earn_width(server)
        if server.trusted_width < NARROWEST:
            yield from _show_width(HeightRange(start, horizon), server)
    narrow = server.trusted_width or NARROWEST
    if horizon - start > narrow:
        horizon = yield from _below_tip(horizon, server)
    windows = 0
    while start < horizon:
        end = min(horizon, start + narrow)
        windows += 1
        if windows > MOST_WINDOWS:
            raise IncompleteError(
                f"heights {start}-{horizon - 1}: {windows} requests returned no rows, which does not prove that there"
                " are none",
                "narrow the range to heights that have rows",
            )
        for _ in range(3):
            page = yield Request(HeightRange(start, end), ROWS)
            if page.heights:
                server.gap = HeightRange(first, page.heights[0])
                return page.heights[0]
        start = end
        narrow = max(narrow, server.trusted_width)
    return None


def _earn_width(server: ServerFacts) -> Asking[None]:
    """Make the server show a row at the far end of all heights proved so far: the last of their pages holds it."""
    if server.proved_start is None or server.page_size is None or not server.proved_rows:
        return
    heights = HeightRange(server.proved_start, server.proved_last + 1)
    if len(heights) > server.trusted_width:
        yield from _shown(Request(heights, server.page_size, (server.proved_rows - 1) // server.page_size))


def _show_width(heights: HeightRange, server: ServerFacts) -> Asking[None]:
    """Have the server show the highest known row at the far end of a request as wide as a window, or of narrower ones.

    Where no row is known yet, some narrow parts of the heights may show one.
    """
    if server.highest < 0:
        for part in narrow_parts(heights):
            if (yield Request(part, ROWS)).rows:
                break
    width = min(NARROWEST, server.highest + 1)
    while width > server.trusted_width:
        yield from _shown(Request(HeightRange(server.highest + 1 - width, server.highest + 1), server.page_size))
        width //= 2


def _below_tip(horizon: int, server: ServerFacts) -> Asking[int]:
    """Return the horizon, or the height after the tip where that is lower: above it there are no rows."""
    if server.tip is None:
        server.tip = yield TipRequest()
    return horizon if server.top is None else min(horizon, server.top)


def narrow_parts(heights: HeightRange) -> list[HeightRange]:
    """Return parts of a range, spread over it: a few of each width, the widest first."""
    steps = [(width, max(width, len(heights) // PARTS)) for width in WIDTHS if width < len(heights)]
    return [
        HeightRange(start, min(start + width, heights.end))
        for width, step in steps
        for start in range(heights.start, heights.end, step)
    ]


def count_further(page: Page, heights: HeightRange, server: ServerFacts) -> Asking[int | None]:
    """Return how many rows exist beyond a response (as far as one more response tells).

    None where that cannot be known, since the server's pages do not follow the size that is asked for.
    """
    count = len(page.rows)
    if count < 3:  # page 1 of n - 1 rows would have no room for another row
        shown: Page = yield Request(heights, max(1, count), min(1, count))
        return len(shown.rows)
    if server.honours_size is None:
        one: Page = yield Request(heights, 1)
        server.honours_size = len(one.rows) == 1
    if not server.honours_size:
        return None
    shown = yield Request(heights, count - 1, 1)
    if not shown.rows:
        return None
    return len(shown.rows) - 1


def nothing_further(page: Page, heights: HeightRange, server: ServerFacts) -> Asking[bool]:
    """Return whether several counts agree that no rows exist beyond a response: one may be cut as the response was."""
    for _ in range(AGREEING if server.cut_rows is None else CONFIRMATIONS):
        if (yield from count_further(page, heights, server)) != 0:
            return False
    return True


def check_start(height: int, server: ServerFacts) -> Asking[None]:
    """Make sure that rows of a height come when the range starts there. Raises IncompleteError."""
    shown: Page = yield Request(HeightRange(height, height + 1), server.page_size)
    for _ in range(ATTEMPTS):
        if shown.rows:
            return
        shown = yield Request(HeightRange(height, height + 1), server.page_size)
    raise start_left_out(HeightRange(height, height + 1))
