"""Fetches a method that has pages but no heights: `chainTransactionsForProgram`, ordered by height, ties at random.

Page k holds the places [k*P, (k+1)*P) of the whole list, and a block's rows hold the same places in every answer; only
which row of a block stands at which of its places changes. So a block that lies inside one page is exact, and one that
an edge cuts is taken whole from one answer to a window (a page size and page number) that covers it.
"""

from collections.abc import Iterator
from itertools import count

from msgspec import Raw

from chainq.dialects import Dialect, Value
from chainq.errors import IncompleteError
from chainq.fetch import Batch
from chainq.methods import Method, Role
from chainq.named import in_place
from chainq.pool import in_order
from chainq.rows import Picker, text_of
from chainq.rpc import Connection, decode_rows


class PageFetch:
    """One run over all pages. `limit`: rows after which no further call is made."""

    def __init__(
        self,
        connection: Connection,
        dialect: Dialect,
        method: Method,
        arguments: dict[Role, Value],
        *,
        page_size: int | None = None,
        limit: int | None = None,
        concurrency: int = 8,
    ) -> None:
        self._connection, self._dialect, self._method, self._arguments = connection, dialect, method, arguments
        self._page_size = page_size or method.page_size or 1
        self._largest = method.page_size_max or self._page_size
        self._ahead = 1 if limit is not None else concurrency
        self._pick = Picker(["finalizedAt"])

    def __iter__(self) -> Iterator[Batch]:
        """Batches of whole blocks in the order of the chain. Raises ChainqError."""
        first = self._page(0, self._page_size)
        if not first:
            return
        second = self._page(1, min(self._page_size, len(first)))
        if second and len(first) > self._page_size:
            raise self._failure("a page is longer than asked for, and not the last", "")
        if second:
            # The server's own cap may be lower than we ask for; then it is the page size, windows included.
            if len(first) < self._page_size:
                self._largest = self._page_size = len(first)
            yield from self._joined(first, second)
        else:
            yield Batch(self._sorted(first))

    def _joined(self, first: list[Raw], second: list[Raw]) -> Iterator[Batch]:
        """Walk the pages; hold back the last block of each until the next page tells where it ends."""
        size = self._page_size
        held: list[Raw] = []
        held_at = 0  # place of the first held row in the whole list
        cut = False  # whether an edge of pages lies inside what is held
        for number, page in enumerate(self._pages(first, second)):
            if number and len(held) + held_at != number * size:
                raise self._failure(f"page {number - 1} had other than {size} rows", "the chain changed meanwhile?")
            start = 0
            if held and not self._together(held[-1], page[0]):
                yield Batch(self._block(held, held_at, cut))
                held, held_at, cut = [], number * size, False
            cut = cut or bool(held)
            for place in range(1, len(page)):
                if not self._together(page[place - 1], page[place]):
                    yield Batch(self._block(held + page[start:place], held_at, cut))
                    held, held_at, cut, start = [], number * size + place, False, place
            held = held + page[start:]
        yield Batch(self._block(held, held_at, cut))

    def _pages(self, first: list[Raw], second: list[Raw]) -> Iterator[list[Raw]]:
        yield first
        yield second
        jobs = ((lambda number=number: self._page(number, self._page_size)) for number in count(2))
        for page in in_order(self._ahead, jobs, self._ahead):
            if not page:
                return
            yield page

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

    def _block(self, rows: list[Raw], at: int, cut: bool) -> list[Raw]:
        """The rows of the places from `at` on, taken from one answer where an edge of pages cuts them."""
        if cut:
            end = at + len(rows)
            for size in range(self._largest, len(rows) - 1, -1):
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
