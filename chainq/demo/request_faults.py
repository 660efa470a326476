"""Faults of the stage `request`: the server hears another range, another page or another tip."""

from chainq.demo.exchange import Ask
from chainq.demo.registry import LISTS, RANGED, RANGES, REQUEST, fault, setting

_EMPTY, _CAP, _STALE, _LAG, _ELSEWHERE = 3, 4, 5, 8, 9  # so that shares of one server hit different calls

STALE_BLOCKS = 10
"""How far behind a stale tip is."""

# --- tips and forks


@fault(REQUEST, "SHARE", of=("latest",))
def stale_tip_rate(ask: Ask, share: float) -> Ask:
    """Share of latest/block calls with an old tip."""
    stale = ask.hit(share, _STALE)
    return ask._replace(tip=max(min(ask.tip, 0), ask.tip - STALE_BLOCKS)) if stale else ask


@fault(REQUEST, "CALLS", of=LISTS)
def late_records(ask: Ask, calls: int) -> Ask:
    """Calls until the records and transitions of a new block appear."""
    # Blocks below the tip of the first call are complete.
    with ask.memory.lock:
        tips = ask.memory.tips
        if not tips or ask.tip > tips[-1][0]:
            tips.append((ask.tip, ask.number))
        while len(tips) > 1 and ask.number - tips[1][1] >= calls:
            tips.pop(0)
        height, seen = tips[0]
    return ask._replace(tip=height if ask.number - seen >= calls else height - 1)


@fault(REQUEST, "N")
def lag_blocks(ask: Ask, blocks: int) -> Ask:
    """Hide the last N blocks from all methods but latest/block."""
    behind = ask.handler != "latest" and ask.hit(ask.faults.get("lag-rate", 1.0), _LAG)
    return ask._replace(tip=max(-1, ask.tip - blocks)) if behind else ask


setting("lag-rate", REQUEST, "SHARE", "Share of the calls that lag-blocks hits. Default: all.")


@fault(REQUEST, "HEIGHT")
def reorg_at(ask: Ask, height: int) -> Ask:
    """Replace the blocks from this height on."""
    if ask.number < ask.faults.get("reorg-after", 10):
        return ask
    with ask.memory.lock:
        ask.memory.fork = ask.memory.fork or ask.book.forked(height)
    return ask._replace(book=ask.memory.fork)


setting("reorg-after", REQUEST, "CALLS", "Calls before reorg-at takes effect. Default: 10.")


setting("seed", REQUEST, "SEED", "Decides which calls and rows the other faults hit.")


# --- ranges


@fault(REQUEST, "N", of=RANGES)
def empty_above(ask: Ask, heights: int) -> Ask:
    """Empty results for ranges of more than N heights."""
    return ask._replace(limit=0) if ask.end - ask.start > heights else ask


@fault(REQUEST, "N", of=RANGES)
def clamp_heights(ask: Ask, heights: int) -> Ask:
    """Silently serve only the first N heights of a range."""
    return ask._replace(end=min(ask.end, ask.start + heights))


@fault(REQUEST, of=RANGES)
def exclusive_start(ask: Ask, _: int) -> Ask:
    """Leave out the first height of a range."""
    return ask._replace(start=ask.start + 1)


@fault(REQUEST, of=RANGES)
def inclusive_end(ask: Ask, _: int) -> Ask:
    """Include the end height of a range."""
    return ask._replace(end=ask.end + 1)


@fault(REQUEST, "SHARE", of=(*RANGES, "program_transactions"))
def empty_rate(ask: Ask, share: float) -> Ask:
    """Share of empty results."""
    return ask._replace(limit=0) if ask.hit(share, _EMPTY) else ask


# --- pages


@fault(REQUEST, "[N]", of=LISTS)
def ignore_page_size(ask: Ask, rows: int) -> Ask:
    """Ignore the page size: pages have N rows, or as many as deployed servers give."""
    size = rows or ask.args["unread"]
    return ask._replace(size=size, step=size, limit=size if ask.limit else 0)


@fault(REQUEST, "N", of=LISTS)
def row_cap(ask: Ask, rows: int) -> Ask:
    """Silently cap responses at N rows."""
    double = "cap-varies" in ask.faults and ask.hit(0.5, _CAP)
    given = min(ask.size, rows * (1 + double))
    return ask._replace(step=given, limit=min(ask.limit, given))


setting("cap-varies", REQUEST, "", "Double the row cap of half of the calls, at random.")


@fault(REQUEST, of=LISTS)
def offset_by_asked(ask: Ask, _: int) -> Ask:
    """Page n starts at n times the size asked, although row-cap gives fewer rows."""
    return ask._replace(step=ask.size)


@fault(REQUEST, of=LISTS)
def no_pages(ask: Ask, _: int) -> Ask:
    """Empty results for every page but page 0."""
    return ask._replace(limit=0) if ask.page else ask


@fault(REQUEST, of=LISTS)
def repeat_pages(ask: Ask, _: int) -> Ask:
    """Ignore the page number."""
    return ask._replace(turn=0)


@fault(REQUEST, "N", of=LISTS)
def result_window(ask: Ask, rows: int) -> Ask:
    """No pages beyond the first N rows of a range."""
    return ask._replace(limit=max(0, min(ask.limit, rows - ask.offset)))


@fault(REQUEST, of=LISTS)
def page_0_empty(ask: Ask, _: int) -> Ask:
    """Page 0 is empty."""
    return ask if ask.page else ask._replace(limit=0)


@fault(REQUEST, of=LISTS)
def page_0_skipped(ask: Ask, _: int) -> Ask:
    """Page 0 has the rows of page 1."""
    return ask if ask.page else ask._replace(turn=1)


@fault(REQUEST, "N", of=LISTS)
def repeated_page(ask: Ask, number: int) -> Ask:
    """Page N has the rows of the page before it."""
    return ask._replace(turn=ask.turn - 1) if ask.page == number and ask.turn else ask


@fault(REQUEST, of=LISTS)
def late_pages(ask: Ask, _: int) -> Ask:
    """Every page but page 0 begins one row late."""
    return ask._replace(late=1) if ask.page else ask


# --- ranges of lists alone; blocks stay right, so that they can show what a list lacks


def _moved(ask: Ask, low: int, high: int) -> Ask:
    return ask._replace(start=max(0, ask.start + low), end=max(0, ask.end + high))


@fault(REQUEST, of=RANGED)
def shift_up(ask: Ask, _: int) -> Ask:
    """The range one height higher."""
    return _moved(ask, 1, 1)


@fault(REQUEST, of=RANGED)
def shift_down(ask: Ask, _: int) -> Ask:
    """The range one height lower."""
    return _moved(ask, -1, -1)


@fault(REQUEST, of=RANGED)
def last_height(ask: Ask, _: int) -> Ask:
    """The last height of a range is left out."""
    return _moved(ask, 0, -1)


@fault(REQUEST, of=RANGED)
def next_range(ask: Ask, _: int) -> Ask:
    """The rows of the next range too, as far as the page has room."""
    return _moved(ask, 0, ask.end - ask.start)


@fault(REQUEST, of=RANGED)
def end_ignored(ask: Ask, _: int) -> Ask:
    """The end of a range counts for page 0 only."""
    return ask._replace(end=max(ask.end, ask.tip + 1)) if ask.page else ask
