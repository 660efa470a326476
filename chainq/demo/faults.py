"""The faults of servers: each was seen on a deployed one (docs/protocol.md), comes from a proxy in front of one, or is
an honest mistake that one could make.

First the plants: faults of a row of a block, the same in every response, which only a comparison with the full blocks
shows. Those are right, except for the faults of whole blocks. A seed decides which row or field is hit.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import accumulate, groupby, islice, takewhile
from typing import Any

import orjson

from chainq.demo import ids, registry
from chainq.demo.ids import mix, scattered
from chainq.demo.registry import FAULTS as FAULTS
from chainq.demo.registry import NO_FAULTS as NO_FAULTS
from chainq.demo.registry import Answer, Ask, Fault, Item, Items, Reply, edited, fault, field
from chainq.demo.registry import Faults as Faults
from chainq.demo.results import DIALECTS

BLOCKS = ("blocks", "full_blocks", "block")
_PARAMS = {method.handler: method.params for method in DIALECTS["chain"].values()}
RANGES = [handler for handler, params in _PARAMS.items() if "start" in params]
LISTS = [handler for handler, params in _PARAMS.items() if "page" in params]
RANGED = [handler for handler in RANGES if handler in LISTS]
"""Handlers of `results.py`: of blocks, of all ranges, of all lists with pages, of lists with a range and pages."""

# --- rows that the server does not list


@fault("rows", of=("transitions", "transactions"))
def deployed_lists(rows: Items, _: int, ask: Ask) -> Items:
    """Leave out of lists what deployed servers do not list."""
    if ask.handler == "transitions":  # fees, and a program that the table of programs lacks
        unlisted = re.compile(rb'"function_name":"fee_|"program":"program tile_gallery\.aleo;')
        return [item for item in rows if not unlisted.search(item.row)]
    # a rejected transaction has the type of its inner one
    return [item._replace(row=re.sub(rb'"Execute"(?=.*"rejected")', b'"Fee"', item.row)) for item in rows]


# --- rows that are wrong

ALTERED = {
    "record": ("program_id", "timestamp", "block_hash", "transaction_id", "function_name", "record_ciphertext"),
    "ownership": ("output_index", "transition_id"),
    "transition": ("transaction_id", "function_name", "tpk", "tcm", "timestamp"),
    "transaction": ("type", "status", "index"),
    "block": ("transactions_root", "finalize_root", "coinbase_target", "proof_target", "last_coinbase_timestamp"),
}
"""What of a row `altered-…` may change: never its identity, but for ownership, which has nothing else to compare."""

_ACTIONS = {
    "lost": "Never return one {} row of a block.",
    "doubled": "Return one {} row of a block twice.",
    "altered": "Return one {} row of a block with another value in a field.",
    "misplaced": "Return one {} row of a block among those of the next block.",
}
_IMPOSSIBLE = ("misplaced-ownership", "misplaced-block")  # ownership rows name no block
KINDS = [kind for row in ALTERED for kind in (f"{action}-{row}" for action in _ACTIONS) if kind not in _IMPOSSIBLE]
KINDS += ["link", "time", "round", "checksum", "count"]
"""Every kind of plant, in the order that decides which row a seed hits."""


def _planted(kind: str, rows: Items, height: int, ask: Ask) -> Items:
    """Return the rows of a range with one row of a block wrong."""
    action, _, name = kind.partition("-")
    word = _word(ask, kind, height)
    near = rows
    if action == "misplaced" and height not in ask.heights:
        near = ask.book.rows(ask.whole()._replace(start=height, end=height + 1))
    own = sorted((item for item in near if item.height == height), key=lambda item: item.position)
    if not own:
        return rows
    hit, put = own[word % len(own)], Items()
    if action == "doubled":
        put = [hit, hit._replace(position=own[-1].position + 1)]
        if word >> 32 & 1 and name != "block":  # with another row id, like a row that was stored twice
            put[1] = put[1]._replace(row=edited(hit.row, "id", lambda number: number + 500_000_000))
    elif action == "altered":
        changed = ALTERED[name][(word >> 16) % len(ALTERED[name])]
        put = [hit._replace(row=edited(hit.row, changed, partial(_changed, word >> 24)))]
    found = [one for item in rows for one in (put if item is hit else [item])]
    if action == "misplaced" and height + 1 in ask.heights:
        moved = edited(hit.row, "height", lambda old: type(old)(height + 1))
        found = sorted([*found, Item(height + 1, len(rows), moved)], key=lambda item: item.height)
    return found


def _word(ask: Ask, kind: str, height: int) -> int:
    return mix(height << 8 | KINDS.index(kind), mix(ask.faults.get("seed", 0), 0x91A7))


def _changed(word: int, value: Any) -> Any:
    """Return another value of the same kind: a number plus one, a text with one other character near its end."""
    if isinstance(value, int):
        return value + 1
    if not value:
        return "another"
    if value.isdecimal():
        return str(int(value) + 1)
    at = len(value) - 1 - word % min(20, len(value))
    return value[:at] + ("p" if value[at] == "q" else "q") + value[at + 1 :]


for _kind in KINDS[:-5]:
    _action, _, _row = _kind.partition("-")
    _of = ("blocks", "block") if _row == "block" else (_row if _row == "ownership" else f"{_row}s",)
    FAULTS[_kind] = Fault(_ACTIONS[_action].format(_row), "HEIGHT", "rows", partial(_planted, _kind), _of)


def _all(rows: Items, height: int, name: str, change: Callable[[Any], Any]) -> Items:
    return [item._replace(row=edited(item.row, name, change)) if item.height == height else item for item in rows]


@fault("rows", "N", of=BLOCKS)
def link(rows: Items, height: int, _: Ask) -> Items:
    """Give block N a wrong previous_hash."""
    return _all(rows, height, "previous_hash", lambda _: ids.BLOCK.text(height))


@fault("rows", "N", of=BLOCKS)
def time(rows: Items, height: int, _: Ask) -> Items:
    """Give block N a time before that of the block before it."""
    return _all(rows, height, "timestamp", lambda old: type(old)(int(old) - 20))  # more than two blocks are apart


@fault("rows", "N", of=BLOCKS)
def round(rows: Items, height: int, _: Ask) -> Items:  # noqa: A001  # the name of the field
    """Give block N a lower round than that of the block before it."""
    return _all(rows, height, "round", lambda old: type(old)(int(old) - 3))


@fault("rows", "HEIGHT", of=BLOCKS)
def checksum(rows: Items, height: int, ask: Ask) -> Items:
    """Put a wrong character into the previous_state_root of a block."""
    return _all(rows, height, "previous_state_root", partial(_changed, _word(ask, "checksum", height)))


@fault("rows", "HEIGHT", of=("transactions", "full_blocks"))
def count(rows: Items, height: int, ask: Ask) -> Items:
    """Leave a gap in the numbers of the transactions of a block."""
    own = [item for item in rows if item.height == height]
    if not own:
        return rows
    hit = max(own, key=lambda item: item.position)
    last = hit.row.rindex(b'"index":', 0, hit.row.rindex(b'"transaction":')) if ask.handler == "full_blocks" else 0
    gap = hit.row[:last] + edited(hit.row[last:], "index", lambda index: index + 1)
    return [hit._replace(row=gap) if item is hit else item for item in rows]


STALE_BLOCKS = 10
"""How far behind a stale tip is."""

# --- JSON-RPC and HTTP


@fault("body", "N")
def database_down(answer: Answer, calls: int, ask: Ask) -> Answer:
    """JSON-RPC error 57P01 for the first N calls."""
    text = 'select * from "block" order by "height" - terminating connection due to administrator command'
    down = orjson.dumps({"code": "57P01", "message": text})
    return answer._replace(key="error", value=down) if ask.number < calls else answer


@fault("body")
def null_lists(answer: Answer, _: int, __: Ask) -> Answer:
    """null for an empty list."""
    return answer._replace(value=b"null") if answer.value == b"[]" else answer


@fault("body", "SHARE")
def wrong_id_rate(answer: Answer, share: float, ask: Ask) -> Answer:
    """Share of responses with a wrong id."""
    return answer._replace(id=f"{answer.id}0") if ask.hit(share, 2) else answer


@fault("HTTP", "SHARE")
def fail_rate(reply: Reply, share: float, ask: Ask) -> Reply:
    """Share of 503 responses."""
    return registry.page(503, "503 Service Temporarily Unavailable") if ask.hit(share, 0) else reply


@fault("HTTP", "N")
def rate_limit(reply: Reply, most: int, ask: Ask) -> Reply:
    """HTTP 429 after N calls of a method, without JSON."""
    now = ask.memory.clock()
    method = str(ask.args.get("method"))
    with ask.memory.lock:
        since, calls = ask.memory.windows.get(method, (now, 0))
        if now - since >= ask.faults.get("rate-window", 60.0):
            since, calls = now, 0
        ask.memory.windows[method] = since, calls + 1
    wait = ask.faults.get("retry-after", None)
    headers = {} if wait is None else {"Retry-After": f"{wait:.0f}"}
    return reply if calls < most else Reply(429, registry.HTML, b"Too many requests, please try again later", headers)


@fault("HTTP", "SHARE")
def truncate_rate(reply: Reply, share: float, ask: Ask) -> Reply:
    """Share of bodies that end early, although Content-Length says otherwise."""
    return reply._replace(cut=reply.status == 200 and ask.hit(share, 1))


@fault("HTTP")
def gzip(reply: Reply, _: int, __: Ask) -> Reply:
    """Compress responses for clients that accept it."""
    return reply._replace(gzip=True)


@fault("HTTP", "SECONDS")
def latency(reply: Reply, seconds: float, _: Ask) -> Reply:
    """Seconds before each response."""
    return reply._replace(latency=seconds)


# --- another tip


@fault("request", "SHARE", of=("latest",))
def stale_tip_rate(ask: Ask, share: float) -> Ask:
    """Share of latest/block calls with an old tip."""
    return ask._replace(tip=max(min(ask.tip, 0), ask.tip - STALE_BLOCKS)) if ask.hit(share, 5) else ask


@fault("request", "CALLS", of=LISTS)
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


@fault("request", "N")
def lag_blocks(ask: Ask, blocks: int) -> Ask:
    """Hide the last N blocks from all methods but latest/block."""
    behind = ask.handler != "latest" and ask.hit(ask.faults.get("lag-rate", 1.0), 8)
    return ask._replace(tip=max(-1, ask.tip - blocks)) if behind else ask


# --- another range


@fault("request", "N", of=RANGES)
def empty_above(ask: Ask, heights: int) -> Ask:
    """Empty results for ranges of more than N heights."""
    return ask._replace(limit=0) if ask.end - ask.start > heights else ask


@fault("request", "N", of=RANGES)
def clamp_heights(ask: Ask, heights: int) -> Ask:
    """Silently serve only the first N heights of a range."""
    return ask._replace(end=min(ask.end, ask.start + heights))


@fault("request", of=RANGES)
def exclusive_start(ask: Ask, _: int) -> Ask:
    """Leave out the first height of a range."""
    return ask._replace(start=ask.start + 1)


@fault("request", of=RANGES)
def inclusive_end(ask: Ask, _: int) -> Ask:
    """Include the end height of a range."""
    return ask._replace(end=ask.end + 1)


@fault("request", of=RANGED)
def shift_up(ask: Ask, _: int) -> Ask:
    """The range of a list one height higher; blocks stay right, so that they can show what the list lacks."""
    return ask._replace(start=ask.start + 1, end=ask.end + 1)


@fault("request", "SHARE", of=(*RANGES, "program_transactions"))
def empty_rate(ask: Ask, share: float) -> Ask:
    """Share of empty results."""
    return ask._replace(limit=0) if ask.hit(share, 3) else ask


# --- another page


@fault("request", "N", of=LISTS)
def ignore_page_size(ask: Ask, rows: int) -> Ask:
    """Ignore the page size: pages have N rows."""
    return ask._replace(size=rows, offset=ask.page * rows, limit=rows if ask.limit else 0)


@fault("request", "N", of=LISTS)
def row_cap(ask: Ask, rows: int) -> Ask:
    """Silently cap responses at N rows."""
    double = "cap-varies" in ask.faults and ask.hit(0.5, 4)
    given = min(ask.size, rows * (1 + double))
    return ask._replace(offset=ask.page * given, limit=min(ask.limit, given))


@fault("request", of=LISTS)
def offset_by_asked(ask: Ask, _: int) -> Ask:
    """Page n starts at n times the size asked, although row-cap gives fewer rows."""
    return ask._replace(offset=ask.page * ask.size)


@fault("request", of=LISTS)
def no_pages(ask: Ask, _: int) -> Ask:
    """Empty results for every page but page 0."""
    return ask._replace(limit=0) if ask.page else ask


@fault("request", of=LISTS)
def repeat_pages(ask: Ask, _: int) -> Ask:
    """Ignore the page number."""
    return ask._replace(offset=0)


@fault("request", "N", of=LISTS)
def result_window(ask: Ask, rows: int) -> Ask:
    """No pages beyond the first N rows of a range."""
    return ask._replace(limit=max(0, min(ask.limit, rows - ask.offset)))


@fault("request", of=LISTS)
def page_0_skipped(ask: Ask, _: int) -> Ask:
    """Page 0 has the rows of page 1."""
    return ask if ask.page else ask._replace(offset=ask.limit)


@fault("request", of=LISTS)
def late_pages(ask: Ask, _: int) -> Ask:
    """Every page but page 0 begins one row late."""
    return ask._replace(offset=ask.offset + 1) if ask.page else ask


# --- the rows of a range, before they are divided into pages


@fault("rows", "HEIGHT", of={"block", *RANGES}.difference(LISTS))
def missing_height(rows: Items, height: int, _: Ask) -> Items:
    """Leave out a block."""
    return [item for item in rows if item.height != height]


@fault("rows", of=RANGED)
def text_order(rows: Items, _: int, __: Ask) -> Items:
    """Heights are sorted as text: 10 before 9."""
    return sorted(rows, key=lambda item: str(item.height))


@fault("rows", of=LISTS)
def newest_first(rows: Items, _: int, __: Ask) -> Items:
    """Heights are sorted in descending order."""
    return rows[::-1]


@fault("rows", "N", of=RANGED)
def stored_again(rows: Items, height: int, _: Ask) -> Items:
    """Block N was stored again: a higher row id, so its rows come last."""
    return sorted(rows, key=lambda item: item.height == height)


@fault("rows", of=RANGED)
def first_block(rows: Items, _: int, __: Ask) -> Items:
    """Only the rows of the first height that has any."""
    return [item for item in rows if item.height == rows[0].height]


@fault("rows", "N", of=RANGED)
def height_cap(rows: Items, most: int, ask: Ask) -> Items:
    """Only N rows of a height, if the range has several heights."""
    capped = [item for _, own in groupby(rows, lambda item: item.height) for item in islice(own, most)]
    return capped if ask.end - ask.start > 1 else rows


@fault("rows", "N", of=RANGED)
def range_empty(rows: Items, most: int, _: Ask) -> Items:
    """Nothing, if the range has more than N rows."""
    return [] if len(rows) > most else rows


@fault("rows", of=RANGED)
def two_texts(rows: Items, _: int, __: Ask) -> Items:
    """Transitions of token_registry.aleo are listed for each of two texts of that program."""
    other = (b"program token_registry.aleo;\\n", b"program token_registry.aleo;\\n\\n")
    return [one for item in rows for one in dict.fromkeys((item, item._replace(row=item.row.replace(*other))))]


@fault("rows", of=LISTS)
def distinct(rows: Items, _: int, __: Ask) -> Items:
    """A transaction (of ownership rows: a transition) is listed once."""
    kept: dict[object, Item] = {}
    for item in rows:
        kept.setdefault(field(item.row, "transaction_id") or field(item.row, "transition_id") or item.row, item)
    return list(kept.values())


@fault("rows", "N", of=("ownership",))
def ownership_behind(rows: Items, blocks: int, ask: Ask) -> Items:
    """No ownership rows of the last N blocks."""
    return [item for item in rows if item.height <= ask.tip - blocks]


@fault("rows", "N", of=("program_transactions",))
def heavy_block(rows: Items, most: int, ask: Ask) -> Items:
    """Error 0 for a page of a function's transactions that has more than 2 rows of a block with more than N."""
    sizes = Counter(item.height for item in rows)
    if sum(sizes[item.height] > most for item in ask.cut(rows)) > 2:
        # The message of a deployed server that has no connection left. It comes after 31 s there, at once here.
        raise registry.RpcError(0, "Knex: Timeout acquiring a connection. The pool is probably full.")
    return rows


# --- the rows of a page


@fault("page", "N", of=LISTS)
def shards(_: Items, count: int, ask: Ask) -> Items:
    """Heights are on N shards, each of which gives its part of the page size."""
    rows = ask.book.rows(ask.whole())
    part = ask._replace(offset=ask.offset // count, limit=min(ask.limit, max(1, ask.limit // count)))
    given = [item for shard in range(count) for item in part.cut([row for row in rows if row.height % count == shard])]
    return sorted(given, key=lambda item: item.height)


@fault("page", of=LISTS)
def short_pages(page: Items, _: int, ask: Ask) -> Items:
    """A full page lacks its last row."""
    return page[:-1] if len(page) >= ask.limit else page


@fault("page", "N", of=LISTS)
def page_gaps(page: Items, every: int, ask: Ask) -> Items:
    """A full page lacks every N-th row."""
    return [item for place, item in enumerate(page, 1) if len(page) < ask.limit or place % every]


@fault("page", "N", of=LISTS)
def long_row_hides(page: Items, most: int, _: Ask) -> Items:
    """Neither a row of more than N bytes in a page nor those after it."""
    return [*takewhile(lambda item: len(item.row) <= most, page)]


@fault("page", "N")
def heavy_rows(page: Items, most: int, _: Ask) -> Items:
    """Query timeout for responses of more than N rows."""
    if len(page) > most:
        raise registry.RpcError(0, registry.TOO_HEAVY)
    return page


@fault("page", "SHARE")
def duplicate_rate(page: Items, share: float, ask: Ask) -> Items:
    """Share of rows that are sent twice."""
    return [item for at, one in enumerate(page) for item in [one] * (1 + ask.hit(share, 6, ask.number << 24 | at))]


@fault("page")
def shuffle_heights(page: Items, _: int, ask: Ask) -> Items:
    """Return rows in random order of height."""
    return [*scattered(page, ask.faults.word(7, ask.number))]


@fault("page", "N")
def byte_cap(page: Items, most: int, _: Ask) -> Items:
    """Silently cap responses at N bytes of rows; never the first one."""
    ends = accumulate(len(item.row) + 1 for item in page)
    return page[: max(1, sum(end < most for end in ends))]


FAULTS |= {
    "rate-window": Fault("Length of the window of rate-limit. Default: 60.", "SECONDS", "HTTP"),
    "retry-after": Fault("Retry-After of rate-limit, in seconds. Default: no such header.", "SECONDS", "HTTP"),
    "lag-rate": Fault("Share of the calls that lag-blocks hits. Default: all.", "SHARE", "request"),
    "cap-varies": Fault("Double the row cap of half of the calls, at random.", "", "request"),
    "seed": Fault("Decides which calls and rows the other faults hit.", "SEED", "request"),
}


def listed_faults() -> list[tuple[str, str]]:
    """Return all faults as `--fault` takes them, each with its help."""
    return [(registry.as_written(name), one.help) for name, one in FAULTS.items()]
