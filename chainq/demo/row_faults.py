"""Faults of the stages `rows` (those of a range, before they are divided into pages) and `page` (those of a call)."""

from collections import Counter

from chainq.demo.exchange import Ask, Item, RpcError, edited, field
from chainq.demo.ids import scattered
from chainq.demo.registry import BLOCKS, LISTS, PAGE, RANGED, RANGES, ROWS, fault

Items = list[Item]

POOL = 4
"""Connections to the database of a deployed server."""

POOL_EMPTY = "Knex: Timeout acquiring a connection. The pool is probably full."
"""The message of a deployed server that has none left. It comes after 31 s there, at once here."""

TOO_HEAVY = "Defined query timeout of 5000ms exceeded when running query."
"""The message of a deployed server whose database gives up (docs/protocol.md, "Envelope and errors")."""

_DUPLICATE, _ORDER = 6, 7  # as in request_faults.py

# --- the rows of a range


@fault(ROWS, "HEIGHT", of=BLOCKS)
def missing_height(rows: Items, _: Ask, height: int) -> Items:
    """Leave out a block."""
    return [item for item in rows if item.height != height]


@fault(ROWS, of=RANGED)
def text_order(rows: Items, _: Ask, __: int) -> Items:
    """Heights are sorted as text: 10 before 9."""
    return sorted(rows, key=lambda item: str(item.height))


@fault(ROWS, of=LISTS)
def newest_first(rows: Items, _: Ask, __: int) -> Items:
    """Heights are sorted in descending order."""
    return rows[::-1]


@fault(ROWS, "N", of=RANGED)
def stored_again(rows: Items, _: Ask, height: int) -> Items:
    """Block N was stored again: a higher row id, so its rows come last."""
    return sorted(rows, key=lambda item: item.height == height)


@fault(ROWS, of=RANGED)
def first_block(rows: Items, _: Ask, __: int) -> Items:
    """Only the rows of the first height that has any."""
    return [item for item in rows if item.height == rows[0].height]


@fault(ROWS, "N", of=RANGED)
def height_cap(rows: Items, ask: Ask, most: int) -> Items:
    """Only N rows of a height, if the range has several heights."""
    if ask.end - ask.start < 2:
        return rows
    seen: Counter[int] = Counter()
    kept = []
    for item in rows:
        seen[item.height] += 1
        if seen[item.height] <= most:
            kept.append(item)
    return kept


@fault(ROWS, "N", of=RANGED)
def range_empty(rows: Items, _: Ask, most: int) -> Items:
    """Nothing, if the range has more than N rows."""
    return [] if len(rows) > most else rows


@fault(ROWS, of=RANGED)
def two_texts(rows: Items, _: Ask, __: int) -> Items:
    """Transitions of token_registry.aleo are listed for each of two texts of that program."""
    other = (b"program token_registry.aleo;\\n", b"program token_registry.aleo;\\n\\n")
    return [one for item in rows for one in dict.fromkeys((item, item._replace(row=item.row.replace(*other))))]


@fault(ROWS, of=LISTS)
def distinct(rows: Items, _: Ask, __: int) -> Items:
    """A transaction (of ownership rows: a transition) is listed once."""
    kept: dict[object, Item] = {}
    for item in rows:
        kept.setdefault(field(item.row, "transaction_id") or field(item.row, "transition_id") or item.row, item)
    return list(kept.values())


@fault(ROWS, "N", of=("ownership",))
def ownership_behind(rows: Items, ask: Ask, blocks: int) -> Items:
    """No ownership rows of the last N blocks."""
    return [item for item in rows if item.height <= ask.tip - blocks]


@fault(ROWS, of=RANGED)
def cached_rows(rows: Items, ask: Ask, _: int) -> Items:
    """After reorg-at, the old rows of heights that were requested before it."""
    cached = ask.memory.cached
    if ask.book is ask.memory.fork:
        heights = [height for height in ask.heights if (ask.handler, height) in cached]
        kept = [item for item in rows if item.height not in heights]
        kept += [item for height in heights for item in cached[ask.handler, height]]
        return sorted(kept, key=lambda item: item.height)
    for height in ask.heights:
        cached[ask.handler, height] = []
    for item in rows:
        cached[ask.handler, item.height].append(item)
    return rows


@fault(ROWS, "N", of=("program_transactions",))
def busy_pool(rows: Items, ask: Ask, most: int) -> Items:
    """Error 0 for a page of a function's transactions that has rows of a block with more than N, if more than N are
    requested, or with more than 4 calls at a time."""
    sizes = Counter(item.height for item in rows)
    heavy = any(sizes[item.height] > most for item in rows[ask.offset : ask.offset + ask.limit])
    if heavy and (ask.limit > most or ask.calls > POOL):
        raise RpcError(0, POOL_EMPTY)
    return rows


@fault(ROWS, "N", of=("program_transactions",))
def heavy_block(rows: Items, ask: Ask, most: int) -> Items:
    """Error 0 for a page of a function's transactions that has more than 2 rows of a block with more than N."""
    sizes = Counter(item.height for item in rows)
    if sum(sizes[item.height] > most for item in rows[ask.offset : ask.offset + ask.limit]) > 2:
        raise RpcError(0, POOL_EMPTY)
    return rows


# --- the rows of a page


@fault(PAGE, "N", of=LISTS)
def shards(_: Items, ask: Ask, count: int) -> Items:
    """Heights are on N shards, each of which gives its part of the page size."""
    rows = ask.book.rows(ask.whole())
    offset, limit = ask.offset // count, min(ask.limit, max(1, ask.limit // count))
    given: Items = []
    for shard in range(count):
        given += [item for item in rows if item.height % count == shard][offset : offset + limit]
    return sorted(given, key=lambda item: item.height)


@fault(PAGE, "N", of=LISTS)
def heavy_empty(page: Items, _: Ask, most: int) -> Items:
    """Nothing, if the page would have more than N rows."""
    return [] if len(page) > most else page


@fault(PAGE, of=LISTS)
def short_pages(page: Items, ask: Ask, _: int) -> Items:
    """A full page lacks its last row."""
    return page[:-1] if len(page) >= ask.limit else page


@fault(PAGE, "N", of=LISTS)
def page_gaps(page: Items, ask: Ask, every: int) -> Items:
    """A full page lacks every N-th row."""
    full = len(page) >= ask.limit
    return [item for place, item in enumerate(page, 1) if not full or place % every]


@fault(PAGE, of=LISTS)
def reversed_pages(page: Items, _: Ask, __: int) -> Items:
    """The rows of a page come in descending order of height."""
    return page[::-1]


@fault(PAGE, "N", of=LISTS)
def long_row_ends(page: Items, _: Ask, most: int) -> Items:
    """No rows in a page after one of more than N bytes."""
    place = next((place for place, item in enumerate(page) if len(item.row) > most), len(page))
    return page[: place + 1]


@fault(PAGE, "N", of=LISTS)
def long_row_hides(page: Items, _: Ask, most: int) -> Items:
    """Neither a row of more than N bytes in a page nor those after it."""
    place = next((place for place, item in enumerate(page) if len(item.row) > most), len(page))
    return page[:place]


@fault(PAGE, of=LISTS)
def text_heights(page: Items, _: Ask, __: int) -> Items:
    """Every second row has its height as text; as a number, if it is text."""

    def other(height: int | str) -> int | str:
        return int(height) if isinstance(height, str) else str(height)

    return [item._replace(row=edited(item.row, "height", other)) if at % 2 else item for at, item in enumerate(page)]


@fault(PAGE, "N")
def heavy_rows(page: Items, _: Ask, most: int) -> Items:
    """Query timeout for responses of more than N rows."""
    if len(page) > most:
        raise RpcError(0, TOO_HEAVY)
    return page


@fault(PAGE, of=RANGES)
def neighbor_rows(page: Items, ask: Ask, _: int) -> Items:
    """Include the first row after the range."""
    if len(page) >= ask.limit:
        return page
    return page + ask.book.rows(ask._replace(start=ask.end, end=ask.end + 1, turn=0, late=0, limit=1))


@fault(PAGE, "SHARE")
def duplicate_rate(page: Items, ask: Ask, share: float) -> Items:
    """Share of rows that are sent twice."""
    return [
        item for at, one in enumerate(page) for item in [one] * (1 + ask.hit(share, _DUPLICATE, ask.number << 24 | at))
    ]


@fault(PAGE)
def shuffle_heights(page: Items, ask: Ask, _: int) -> Items:
    """Return rows in random order of height."""
    return [*scattered(page, ask.faults.word(_ORDER, ask.number))]


@fault(PAGE, "N")
def byte_cap(page: Items, _: Ask, most: int) -> Items:
    """Silently cap responses at N bytes of rows; never the first one."""
    size = 1
    for place, item in enumerate(page):
        size += len(item.row) + 1
        if place and size > most:
            return page[:place]
    return page
