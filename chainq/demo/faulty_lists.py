"""Applies the faults of lists (`list_faults.py`) to the rows of a range: pure functions of the request.

Rows are bytes, so that the model servers of the tests are wrong in the same way as `chainq serve`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from chainq.demo.list_faults import KINDS, ListFault

POOL = 4
"""Connections to the database of a deployed server."""

POOL_EMPTY = "Knex: Timeout acquiring a connection. The pool is probably full."
"""The message of a deployed server that has none left. It comes after 31 s there, at once here."""


class PoolEmptyError(Exception):
    """The call gets a JSON-RPC error with code 0 and POOL_EMPTY."""

    def __init__(self) -> None:
        super().__init__(POOL_EMPTY)


class Item(NamedTuple):
    """A row (its JSON text) and the height of its block; in lists without heights, any number that grows with it."""

    height: int
    row: bytes


class Asked(NamedTuple):
    """One call of a list.

    `handler`: the list (`wire.py`). `start`, `end`: the range, None for a list without one. `page`: its number.
    `offset`, `limit`: its rows within the range. `tip`: the tip height. `calls`: calls in progress now.
    """

    handler: str
    start: int | None
    end: int | None
    page: int
    offset: int
    limit: int
    tip: int
    calls: int = 1

    @property
    def heights(self) -> range:
        """The range; empty for a list without one."""
        return range(self.start or 0, self.end or 0)


class FaultyLists:
    """The lists of a server with some of these faults. Immutable, so threads may share it."""

    def __init__(self, faults: Iterable[ListFault]) -> None:
        self._faults = tuple(faults)
        self.names = {fault.name for fault in self._faults}

    def _of(self, asked: Asked) -> list[ListFault]:
        return [fault for fault in self._faults if asked.start is not None or not KINDS[fault.name].ranged]

    def served(self, asked: Asked) -> Asked:
        """Return the range, and which of its rows, that the server returns for a call."""
        for name, number in self._of(asked):
            if name in _RANGES:
                asked = _RANGES[name](asked, number)
        return asked

    def whole(self, asked: Asked) -> bool:
        """Return whether `page` needs all rows of the range, not only the rows up to the end of the page."""
        return any(name in _LISTS or name == "shards" for name, _ in self._of(asked))

    def page(self, rows: list[Item], asked: Asked) -> list[bytes]:
        """Return the rows of a call, selected from the rows of the range of `served`. Raises PoolEmptyError."""
        shards = 1
        for name, number in self._of(asked):
            if name in _LISTS:
                rows = _LISTS[name](rows, asked, number)
            shards = number if name == "shards" else shards
        page = _page(rows, asked, shards)
        for name, number in self._of(asked):
            if name in _PAGES:
                page = _PAGES[name](page, asked, number)
        return [item.row for item in page]


# --- ranges


def _moved(asked: Asked, low: int, high: int) -> Asked:
    start, end = asked.heights.start, asked.heights.stop
    return asked._replace(start=max(0, start + low), end=max(0, end + high))


def _end_ignored(asked: Asked, _: int) -> Asked:
    return asked._replace(end=max(asked.heights.stop, asked.tip + 1)) if asked.page else asked


def _repeated(asked: Asked, number: int) -> Asked:
    return asked._replace(offset=max(0, asked.offset - asked.limit)) if asked.page == number else asked


def _late(asked: Asked, _: int) -> Asked:
    return asked._replace(offset=asked.offset + 1) if asked.page else asked


def _page_0_skipped(asked: Asked, _: int) -> Asked:
    return asked if asked.page else asked._replace(offset=asked.offset + asked.limit)


_RANGES: dict[str, Callable[[Asked, int], Asked]] = {
    "shift-up": lambda asked, _: _moved(asked, 1, 1),
    "shift-down": lambda asked, _: _moved(asked, -1, -1),
    "last-height": lambda asked, _: _moved(asked, 0, -1),
    "next-range": lambda asked, _: _moved(asked, 0, len(asked.heights)),
    "end-ignored": _end_ignored,
    "page-0-empty": lambda asked, _: asked if asked.page else asked._replace(limit=0),
    "page-0-skipped": _page_0_skipped,
    "repeated-page": _repeated,
    "late-pages": _late,
}

# --- lists


def _height_cap(rows: list[Item], asked: Asked, number: int) -> list[Item]:
    if len(asked.heights) < 2:
        return rows
    seen: Counter[int] = Counter()
    kept = []
    for item in rows:
        seen[item.height] += 1
        if seen[item.height] <= number:
            kept.append(item)
    return kept


def _distinct(rows: list[Item], _: Asked, __: int) -> list[Item]:
    kept: dict[bytes, Item] = {}
    for item in rows:
        found = re.search(rb'"transaction_id":"([^"]*)"', item.row) or re.search(
            rb'"transition_id":"([^"]*)"', item.row
        )
        kept.setdefault(found[1] if found else item.row, item)
    return list(kept.values())


def _two_texts(rows: list[Item], _: Asked, __: int) -> list[Item]:
    """Return the rows of a server on which the program was deployed again, with a longer text."""
    other = (b"program token_registry.aleo;\\n", b"program token_registry.aleo;\\n\\n")
    return [one for item in rows for one in dict.fromkeys((item, item._replace(row=item.row.replace(*other))))]


def _ownership_behind(rows: list[Item], asked: Asked, number: int) -> list[Item]:
    behind = asked.handler == "ownership"
    return [item for item in rows if not behind or item.height <= asked.tip - number]


def _busy_pool(rows: list[Item], asked: Asked, number: int) -> list[Item]:
    sizes = Counter(item.height for item in rows)
    heavy = any(sizes[item.height] > number for item in rows[asked.offset : asked.offset + asked.limit])
    if asked.start is None and heavy and (asked.limit > number or asked.calls > POOL):
        raise PoolEmptyError
    return rows


def _heavy_block(rows: list[Item], asked: Asked, number: int) -> list[Item]:
    sizes = Counter(item.height for item in rows)
    heavy = sum(sizes[item.height] > number for item in rows[asked.offset : asked.offset + asked.limit])
    if asked.start is None and heavy > 2:
        raise PoolEmptyError
    return rows


_LISTS: dict[str, Callable[[list[Item], Asked, int], list[Item]]] = {
    "text-order": lambda rows, _, __: sorted(rows, key=lambda item: str(item.height)),
    "newest-first": lambda rows, _, __: rows[::-1],
    "stored-again": lambda rows, _, number: sorted(rows, key=lambda item: item.height == number),
    "first-block": lambda rows, _, __: [item for item in rows if item.height == rows[0].height],
    "height-cap": _height_cap,
    "range-empty": lambda rows, _, number: [] if len(rows) > number else rows,
    "two-texts": _two_texts,
    "distinct": _distinct,
    "ownership-behind": _ownership_behind,
    "busy-pool": _busy_pool,
    "heavy-block": _heavy_block,
}

# --- pages


def _page(rows: Sequence[Item], asked: Asked, shards: int) -> list[Item]:
    """Return a page to which each shard contributes its own full page of rows, merged by height."""
    if shards == 1:
        return [*rows[asked.offset : asked.offset + asked.limit]]
    offset, limit = asked.offset // shards, min(asked.limit, max(1, asked.limit // shards))
    given: list[Item] = []
    for shard in range(shards):
        given += [item for item in rows if item.height % shards == shard][offset : offset + limit]
    return sorted(given, key=lambda item: item.height)


def _short(page: list[Item], asked: Asked, _: int) -> list[Item]:
    return page[:-1] if len(page) >= asked.limit else page


def _gaps(page: list[Item], asked: Asked, number: int) -> list[Item]:
    full = len(page) >= asked.limit
    return [item for place, item in enumerate(page, 1) if not full or place % number]


def _to_long_row(page: list[Item], number: int, *, shown: bool) -> list[Item]:
    for place, item in enumerate(page):
        if len(item.row) > number:
            return page[: place + shown]
    return page


def _text_heights(page: list[Item], _: Asked, __: int) -> list[Item]:
    return [item._replace(row=_other_height(item.row)) if place % 2 else item for place, item in enumerate(page)]


def _other_height(row: bytes) -> bytes:
    """Return a row with its height as text, or as a number if it is text."""
    other = re.sub(rb'"height":(\d+)', rb'"height":"\1"', row, count=1)
    return other if other != row else re.sub(rb'"height":"(\d+)"', rb'"height":\1', row, count=1)


_PAGES: dict[str, Callable[[list[Item], Asked, int], list[Item]]] = {
    "heavy-empty": lambda page, _, number: [] if len(page) > number else page,
    "short-pages": _short,
    "page-gaps": _gaps,
    "reversed-pages": lambda page, _, __: page[::-1],
    "long-row-ends": lambda page, _, number: _to_long_row(page, number, shown=True),
    "long-row-hides": lambda page, _, number: _to_long_row(page, number, shown=False),
    "text-heights": _text_heights,
}
