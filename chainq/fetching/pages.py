"""Fetches a method that has pages but no heights: `chainTransactionsForProgram`, ordered by height, ties at random.

Page k holds the places [k*P, (k+1)*P) of the whole list, and a block's rows hold the same places in every answer; only
which row of a block stands at which of its places changes. So a block that lies inside one page is exact, and one that
an edge cuts is taken whole from one answer to a window (a page size and page number) that covers it.
"""

from collections.abc import Iterator
from functools import partial
from itertools import count

from msgspec import Raw

from chainq.catalog.dialects import Dialect
from chainq.catalog.methods import Role
from chainq.errors import BrokenBodyError, GatewayError, IncompleteError, TooHeavyError
from chainq.planning.ordering import in_place
from chainq.planning.query import Batch, Query
from chainq.rows.fields import Picker, integer_of, text_of
from chainq.transport.connection import Connection
from chainq.transport.jsonrpc import decode_rows
from chainq.transport.threads import in_order


class PageFetch:
    """One run over all pages."""

    def __init__(self, connection: Connection, dialect: Dialect, query: Query, concurrency: int = 8) -> None:
        self._connection, self._dialect = connection, dialect
        self._method, self._arguments = query.method, query.arguments
        self._page_size = query.page_size or query.method.page_size or 1
        self._largest = dialect.page_size_max(query.method) or self._page_size
        self._ahead = 1 if query.limit is not None else concurrency
        self._pick = Picker(["finalizedAt"])

    def __iter__(self) -> Iterator[Batch]:
        """Batches of whole blocks in the order of the chain. Raises ChainqError."""
        first = self._first()
        if not first:
            return
        asked, found = self._page_size, len(first)
        second = self._page(1, min(asked, found))
        if not second:
            yield Batch(self._sorted(first))
            return
        if found > asked:
            raise self._failure(f"a page of {asked} rows holds {found}, and is not the last", "")
        if found < asked:  # the server's own cap is lower than we ask for: it is the page size, windows included
            self._largest = self._page_size = found
        yield from self._joined(self._pages(first))

    def _first(self) -> list[Raw]:
        """Page 0, as large as the server can bear."""
        while True:
            try:
                return self._page(0, self._page_size)
            except (TooHeavyError, GatewayError, BrokenBodyError):
                self._shrink()

    def _shrink(self) -> None:
        """To be called while a failed page is handled: choose pages that divide the failed ones evenly."""
        smaller = next((size for size in range(self._page_size // 2, 0, -1) if self._page_size % size == 0), 0)
        if not smaller:
            raise
        self._page_size = smaller

    def _pages(self, first: list[Raw]) -> Iterator[tuple[int, list[Raw]]]:
        """Pages with the place of their first row; in smaller ones from where the server finds them too heavy."""
        yield 0, first
        at = len(first)
        while True:
            size = self._page_size
            jobs = (partial(self._page, number, size) for number in count(at // size))
            try:
                for page in in_order(self._ahead, jobs, self._ahead):
                    if not page:
                        return
                    yield at, page
                    at += size
            except (TooHeavyError, GatewayError, BrokenBodyError):
                self._shrink()

    def _joined(self, pages: Iterator[tuple[int, list[Raw]]]) -> Iterator[Batch]:
        """Hold back the last block of each page until the next tells where it ends."""
        held: list[Raw] = []
        held_at = 0  # place of the first held row in the whole list
        cut = False  # whether an edge of pages lies inside what is held
        for at, page in pages:
            if held_at + len(held) != at:
                raise self._failure(f"the page before row {at} had other than the rows asked for", "run it again")
            if held and self._earlier(page[0], held[-1]):
                raise self._failure(f"row {at} is older than the one before it", "the service seems to ignore `page`")
            start = 0
            if held and not self._together(held[-1], page[0]):
                yield Batch(self._block(held, held_at, cut))
                held, held_at, cut = [], at, False
            cut = cut or bool(held)
            for place in range(1, len(page)):
                if not self._together(page[place - 1], page[place]):
                    yield Batch(self._block(held + page[start:place], held_at, cut))
                    held, held_at, cut, start = [], at + place, False, place
            held = held + page[start:]
            if len(held) > max(self._largest, self._page_size):
                raise self._failure(
                    f"the block at row {held_at} holds more than the {self._largest} rows of a page",
                    "or `page` is ignored",
                )
        yield Batch(self._block(held, held_at, cut))

    def _page(self, number: int, size: int) -> list[Raw]:
        arguments = {**self._arguments, Role.PAGE: number, Role.SIZE: size}
        name, params = self._dialect.call(self._method, arguments)
        return self._connection.call(name, params, decode_rows, f"page {number} of {size} rows")

    def _time(self, row: Raw) -> str:
        return text_of(self._pick(row)[0])

    def _together(self, one: Raw, other: Raw) -> bool:
        """Whether two neighbours may stand in one block. A row without a time may stand in any."""
        times = self._time(one), self._time(other)
        return times[0] == times[1] or "" in times

    def _earlier(self, one: Raw, other: Raw) -> bool:
        """Whether the first of two rows was finalized before the second, as far as both tell."""
        times = integer_of(self._pick(one)[0]), integer_of(self._pick(other)[0])
        return times[0] is not None and times[1] is not None and times[0] < times[1]

    def _block(self, rows: list[Raw], at: int, cut: bool) -> list[Raw]:
        """The rows of the places from `at` on, taken from one answer where an edge of pages cuts them."""
        if cut:
            end = at + len(rows)
            for size in range(len(rows), self._largest + 1):  # the smallest: the lightest for the server
                if at // size == (end - 1) // size:
                    break
            else:
                raise self._failure(f"the {len(rows)} rows of the block at row {at} fit no page", "")
            number = at // size
            window = self._page(number, size)
            inside = window[at - number * size : end - number * size]
            if sorted(map(self._time, inside)) != sorted(map(self._time, rows)):
                raise self._failure(f"the rows {at} to {end - 1} changed while they were read", "run it again")
            rows = inside
        return self._sorted(rows)

    def _sorted(self, rows: list[Raw]) -> list[Raw]:
        """Rows of one block by their index; rows of several blocks stay in the order of the blocks."""
        blocks: list[list[Raw]] = []
        for row in rows:
            if blocks and self._together(blocks[-1][-1], row):
                blocks[-1].append(row)
            else:
                blocks.append([row])
        return [row for block in blocks for row in in_place(block, self._method.order or "")]

    def _failure(self, what: str, hint: str) -> IncompleteError:
        return IncompleteError(f"{self._method.name}: {what}", hint)
