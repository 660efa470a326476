"""Chooses what to request next, so that the kernel (`evidence.py`) can prove more. It may choose badly without harm.

`pursue` is a generator for some heights. It yields requests until the kernel can prove the first of these heights. It
requests, in this order:

1.  The heights and a few beyond. A row there proves them.
2.  If no row is there: the heights up to a row that responses for the heights above show, after these arrived.
3.  If that does not show this row: narrower ranges from the row downwards. They find the cause of the failure, or show
    that it is a single height, or more heights than the server reads.
4.  The due rows, from another method: at a single height that fills a response, at heights that the server does not
    show, at the tip, and everywhere if rows are not in order.
5.  Without such a method, repeated responses (belief).
"""

from chainq import tuning
from chainq.heights.range import HeightRange
from chainq.planning.exchange import (
    DIVISIBLE,
    UNAVAILABLE,
    Asking,
    Due,
    DueRequest,
    HandBack,
    Located,
    RowsRequest,
    TipRequest,
    Wait,
)
from chainq.planning.facts import Facts, look_at_row_ids, settle, shown
from chainq.planning.naming import collect, due_rows
from chainq.planning.spot_checks import spot_check, spread
from chainq.rows.sorting import Page


def pursue(heights: HeightRange, overlap: int, facts: Facts, *, rest: bool = False) -> Asking[None]:
    """Request until the kernel proves the first of the heights.

    `rest`: a response has shown where their first row is, and nothing beyond. Raises IncompleteError if no request
    helps, and the failures of requests.
    """
    start, end, ev = heights.start, heights.end, facts.evidence
    ev.alone |= not (facts.locate or facts.blocks)
    yield from settle(facts)
    if (yield from _known_before(start, end, overlap, facts)):
        return
    page: Page | None = Page([], [])
    if not rest:
        page, end = yield from _request(start, end, overlap, facts)
        if end < heights.end:
            yield HandBack(end)
        yield from _check(start, end, page, facts)
        yield from _check_cut(start, end, page, facts)
    reach = ev.reach(start, end)
    if reach == end or (reach > start and ev.with_heights):
        facts.note_dense(page, reach)
        yield from spot_check(HeightRange(start, reach), end, page, facts)
    elif not ev.order.usable:
        yield from collect(start, end, facts)
    elif reach == start and facts.filled_by(start, page):
        yield from _dense(start, overlap, facts)
    else:
        yield Wait()
        if ev.reach(start, end) == start:
            yield from (_follow(start, end, facts) if ev.with_heights else _bridge(start, end, overlap, page, facts))


def _known_before(start: int, end: int, overlap: int, facts: Facts) -> Asking[bool]:
    """Request the rows of heights that a plain request is known not to prove; return whether the first is such."""
    if start == facts.dense:
        if end > start + 1:  # its responses are large, and those of the heights above show rows beyond it
            yield HandBack(start + 1)
        yield from _dense(start, overlap, facts)
        return True
    if facts.named.start <= start < facts.named.end:
        end = min(end, facts.named.end)
    elif (doubt := facts.evidence.doubted(start)) is not None:
        end = min(end, doubt.end)
    elif facts.evidence.order.usable:
        return False
    yield from collect(start, end, facts)
    return True


def _check(start: int, end: int, page: Page | None, facts: Facts) -> Asking[None]:
    """Check what the response alone does not show: the rows of the first height, and whether order is numeric."""
    empty = page is not None and not page.rows
    if facts.bare or (not facts.checked and (start == facts.start or empty)):
        yield from _check_start(start, end, page, facts)
    elif facts.locate:
        yield from _locate_across(start, end, page, facts)


def _check_cut(start: int, end: int, page: Page | None, facts: Facts) -> Asking[None]:
    """Look at the row ids of heights without rows below the end of a response that was cut: rows may come later."""
    ev = facts.evidence
    yield from settle(facts)
    if page is None or not page.rows or not facts.full(page) or not facts.blocks or not facts.ranked:
        return
    if ev.with_heights:
        have = set(page.heights)
        bare = next((at for at in range(start, page.heights[-1]) if at not in have), page.heights[-1])
        heights = HeightRange(bare, page.heights[-1] + 1)
    else:
        heights = HeightRange(start, end + 1)
    if len(heights) > tuning.MOST_ROW_IDS:
        ev.doubt(HeightRange(*heights.edges))
    elif len(heights) > 1 and (yield from look_at_row_ids(heights, facts)) and not ev.with_heights:
        ev.doubt(HeightRange(start, end))


def _check_start(start: int, end: int, page: Page | None, facts: Facts) -> Asking[None]:
    """Request, from another method, the due rows from the first height of the run to the first row shown (if none is
    shown, to some heights above): a service may leave out rows of `start`, or its first rows. In reverse, that is done
    once at other heights if none has rows.

    A service may also lack all that is below some height. If it has full blocks, and none there, order proves nothing
    up to the first row.
    """
    facts.checked = True
    ev = facts.evidence
    if facts.locate and not (yield from _locate_across(start, end, page, facts)):
        # From height 0 on nothing shows whether ranges are shifted downwards.
        yield from _locate(start or end, facts, max(tuning.SEVERAL, spread(page, end - start)))
    known = ev.known_row(start)
    seen = page is None or known == (start, start + 1)
    width = max(known[0] + 1 - start, tuning.LARGER * spread(page, end - start)) if known else end
    if end - start <= tuning.FEW_BLOCKS:  # so that the last ones need no other request
        width = end - start
    width = min(tuning.NAMED_BLOCKS, end - start, width)
    due: Due | None = None
    while facts.blocks and width and not due:
        due = yield from due_rows(HeightRange(start, start + width), facts)
        if (
            due and due.kinds and not seen and start in due.at.values()
        ):  # it may list these: does it list some separately?
            yield from shown(HeightRange(start, start + 1), facts)
        width //= 2
    if start and ev.with_heights and not seen and not due:
        yield from shown(HeightRange(start - 1, start + 1), facts)
    if facts.absent == start and not seen:
        known = ev.known_row(start)
        facts.bare = known is None
        ev.doubt(HeightRange(start, known[1] - 1 if known else end))


def _request(start: int, end: int, overlap: int, facts: Facts) -> Asking[tuple[Page | None, int]]:
    """Request heights and their overlap, or fewer if a response fails because of its size. Return no page if a
    response for one height fails."""
    while True:
        end = min(end, start + facts.pace.widest)
        reach = _clip(start, end + overlap, facts)
        try:
            page: Page = yield RowsRequest(HeightRange(start, max(end, reach)), facts.size)
        except DIVISIBLE:
            if end - start > 1:
                end = (start + end) // 2
                overlap = min(overlap, end - start)
            elif overlap:
                overlap = 0
            else:
                return None, end
        else:
            if not facts.full(page) or facts.evidence.with_heights or end - start == 1:
                return page, end
            if facts.locate:
                facts.dense = yield from _locate_rows(HeightRange(start, max(end, reach)), len(page.rows))
            if facts.evidence.reach(start, end) > start or facts.dense == start:
                return page, end if facts.dense > start else start + 1
            end = (start + end) // 2
            overlap = min(overlap, end - start)


def _locate_rows(heights: HeightRange, rows: int) -> Asking[int]:
    """Find the heights of the rows of a full response with `records`; return the last one, -1 if unknown."""
    try:
        located: Located = yield DueRequest(heights, located=True, page_size=rows)
    except UNAVAILABLE:
        return -1
    return located.heights[-1] if located.heights else -1


def _clip(start: int, reach: int, facts: Facts) -> int:
    """Return the end of the heights starting at `start` that one request may cover."""
    top = facts.top
    return min(reach, start + facts.pace.widest, reach if top is None else max(facts.end, top))


def _top(facts: Facts) -> Asking[int]:
    """Return the height after the tip."""
    if facts.tip is None:
        facts.tip = yield TipRequest()
    return facts.top or 0


def _follow(start: int, end: int, facts: Facts) -> Asking[None]:
    """Request heights up to a row that is known beyond them, or to the tip if none is known."""
    width = max(1, end - start)
    while (known := _known_beyond(start, facts)) is None:
        wide = width > tuning.WIDE and not facts.widened
        facts.widened |= wide
        due = facts.misses or wide or width <= end - start
        if due and (yield from _misses(HeightRange(start, end), facts, wide=wide)):
            return (yield from collect(start, end, facts))  # a wider range would be empty, too
        top = yield from _top(facts)
        reach = min(_clip(start, start + width, facts), top)
        if start >= top:
            return
        if end < top and width <= facts.pace.widest and (yield from _shown(HeightRange(start, reach), facts)):
            return
        if (end >= top or width > facts.pace.widest or reach == top) and _known_beyond(start, facts) is None:
            return (yield from collect(start, min(end, top), facts))  # what is there was requested
        width *= tuning.WIDER
    if facts.evidence.reach(start, end) == start:
        for _ in range(2 if known[1] - start <= facts.pace.widest else 0):
            if (yield from _shown(HeightRange(start, known[1]), facts)):
                return
        yield from _narrow(start, end, known, facts)


def _misses(heights: HeightRange, facts: Facts, *, wide: bool) -> Asking[bool]:
    """Return whether the service leaves out rows of wide ranges: another method names a row of these heights, and only
    a request for its height shows it. Once that was so, or before a `wide` request, the other method is asked at
    the start of other heights, too.
    """
    ev, start = facts.evidence, heights.start
    if (facts.misses or wide) and facts.blocks and not ev.due(start):
        yield from due_rows(HeightRange(start, min(heights.end, start + tuning.NAMED_BLOCKS)), facts)
    missing = ev.missing(heights)[1]
    if missing and not facts.misses and len(heights) > 1:
        yield from shown(HeightRange(missing[0], missing[0] + 1), facts)
        facts.misses = len(ev.missing(heights)[1]) < len(missing)
        if facts.misses:
            facts.note("the service leaves out rows of wide ranges: its full blocks name the rows that are due")
    return facts.misses and bool(missing)


def _known_beyond(start: int, facts: Facts) -> tuple[int, int] | None:
    """Return where the lowest known row above a height is; also None while rows have not shown a usable order."""
    return facts.evidence.known_row(start + 1) if facts.evidence.order.seen else None


def _shown(heights: HeightRange, facts: Facts) -> Asking[bool]:
    """Request heights; return whether their first rows are proved then, by name if the first height fills a page."""
    page = yield from shown(heights, facts)
    if facts.evidence.reach(*heights.edges) == heights.start and facts.filled_by(heights.start, page):
        yield from collect(heights.start, heights.start + 1, facts)
    return facts.evidence.reach(*heights.edges) > heights.start


def _narrow(start: int, end: int, known: tuple[int, int], facts: Facts) -> Asking[None]:
    """Find the lowest height whose requests show a known row beyond; request the rows below with another method."""
    ev = facts.evidence
    bad, good = start, known[0]
    while good - bad > 1:
        middle = (bad + good) // 2
        if known[1] - middle <= facts.pace.widest:
            yield from shown(HeightRange(middle, known[1]), facts)
        if ev.reach(middle, good) > middle:
            good = middle
            known = ev.known_row(good) or known
        else:
            bad = middle
        if ev.reach(start, end) > start:
            return
    if start < bad < start + facts.pace.widest:
        yield from shown(HeightRange(start, bad + 1), facts)
        if ev.reach(start, end) > start:
            return
    yield from collect(start, min(end, good), facts)


def _dense(start: int, overlap: int, facts: Facts) -> Asking[None]:
    """Request all rows of a height that fills a response: with a larger page that shows a row beyond, else by name."""
    reach = _clip(start, start + 1 + max(1, overlap), facts)
    yield from shown(HeightRange(start, reach), facts, (facts.size or 1) * tuning.LARGER)
    if facts.evidence.reach(start, start + 1) == start:
        yield from collect(start, start + 1, facts)


# Rows without heights


def _locate(start: int, facts: Facts, width: int) -> Asking[None]:
    """Find where the first rows starting at a height are, with `records`."""
    ev = facts.evidence
    while facts.locate:
        top = yield from _top(facts)
        try:
            yield DueRequest(HeightRange(start, max(start + 1, min(start + width, top))), located=True)
        except UNAVAILABLE:
            facts.locate = False
        if start + width >= top or ev.reach(start, start + 1) > start or ev.known_row(start) is not None:
            return
        width *= tuning.WIDER


def _locate_across(start: int, end: int, page: Page | None, facts: Facts) -> Asking[bool]:
    """Find where rows around a power of ten are, with `records`, if heights cross one and their order is not known to
    be numeric; return whether that was so."""
    power = 10 ** len(str(start))
    if facts.evidence.order.numeric or power >= end:
        return False
    width = max(tuning.SEVERAL, spread(page, end - start))
    yield from _locate(max(1, start, power - width), facts, 2 * width)
    return True


def _bridge(start: int, end: int, overlap: int, page: Page | None, facts: Facts) -> Asking[None]:
    """Request a response that shows rows on both sides of the end of some heights."""
    ev, width = facts.evidence, spread(page, end - start)
    top = yield from _top(facts)
    if end >= top:
        return (yield from _tail(start, top, width, facts)) if start < top else None
    if ev.known_row(end) is None:
        yield from _locate(end, facts, 2 * overlap + width)
    known = ev.known_row(end)
    if ev.reach(start, end) > start:
        return None
    if known is None and facts.locate:  # there is no row from there to the tip
        return (yield from _tail(start, top, width, facts))
    if known is None:
        return (yield from collect(start, end, facts))
    if known[1] - (end - width) <= facts.pace.widest:
        yield from shown(HeightRange(end - width, known[1]), facts)
    if ev.reach(start, end) == start and not (yield from _is_cut(start, end, page, facts)):
        yield from _narrow(start, end, known, facts)
    return None


def _is_cut(start: int, end: int, page: Page | None, facts: Facts) -> Asking[bool]:
    """Find the end of a response that shows no row near its end, with `records`; return whether that proves some."""
    if not facts.locate or page is None or not page.rows:
        return False
    last = yield from _locate_rows(HeightRange(start, end), len(page.rows))
    if facts.evidence.reach(start, end) == start:
        return False
    facts.pace.cut(HeightRange(start, last), len(page.rows))
    return True


def _tail(start: int, top: int, width: int, facts: Facts) -> Asking[None]:
    """Request the full blocks of the last rows before the tip, from the tip downwards."""
    ev, at, width = facts.evidence, top, min(tuning.NAMED_BLOCKS, width)
    while facts.names(at - 1) and at > start and ev.reach(start, top) == start and top - at < tuning.MOST_EMPTY:
        low = max(start, at - width)
        if (yield from due_rows(HeightRange(low, at), facts)) is None:
            width = max(1, width // 2)
        else:
            at, width = low, tuning.NAMED_BLOCKS
    if ev.reach(start, top) == start:
        yield from collect(start, top, facts)
