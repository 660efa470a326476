"""The rows of one command of a service, in order of height, whatever the service does wrong.

Rows come as they do for the command itself: proved complete, in few calls. Where the proof fails, the height that it
fails at is searched by halves, and its rows are taken as one response holds them: so that they can be compared, and
the fault be named, and the heights after it are read as before.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from msgspec import Raw

from chainq.catalog.methods import BY_COMMAND, Method, Role
from chainq.errors import IncompleteError
from chainq.fetching.service import Service
from chainq.heights.range import HeightRange
from chainq.planning.query import Query
from chainq.rows.fields import Picker, integer_of
from chainq.transport.jsonrpc import decode_rows
from chainq.transport.threads import in_order

WINDOW = 64  # heights of the first request of a search for a fault
FEW = 2  # requests at a time for all but full blocks, which are the slowest by far; more would only fill the memory
LARGEST = 100_000  # rows that a single height is asked for


class Part(NamedTuple):
    """The rows of `heights`, each with its height, None where it has none to be read.

    `doubt`: why rows may be missing, empty where all are there.
    """

    heights: HeightRange
    rows: list[tuple[int | None, Raw]]
    doubt: str = ""


class RangeFeed:
    """The rows of a command with a height range; `parts` yields them. Raises ChainqError where the service fails."""

    def __init__(self, service: Service, command: str, heights: HeightRange) -> None:
        self._service, self._method = service, BY_COMMAND[command]
        self._height = Picker([self._method.height]) if self._method.height else None
        self._concurrency = None if command == "full-blocks" else FEW
        self.parts = self._all(heights)

    def pull(self) -> Part | None:
        """Return the rows of the next heights, None at the end."""
        return next(self.parts, None)

    def fetch(self, heights: HeightRange) -> list[Part]:
        """Return the rows of some heights in a run of their own."""
        return list(self._all(heights))

    def all_rows(self) -> list[tuple[int | None, Raw]]:
        """Return all rows that are left."""
        return [row for part in self.parts for row in part.rows]

    def single(self, height: int, doubt: str = "") -> Part:
        """Return the rows of one height as one response holds them, in doubt only if a page follows.

        That is enough here: whoever compares them with the full block sees what is missing.
        """
        heights = HeightRange(height, height + 1)
        rows = self._page(heights, 0, LARGEST)
        more = self._method.page_size is not None and rows and self._page(heights, 1, len(rows))
        return Part(heights, [(height, row) for row in rows], doubt if more else "")

    def _page(self, heights: HeightRange, page: int, size: int) -> list[Raw]:
        query = Query(self._method, page=page, page_size=size)
        return [row for batch in self._service.fetch_one_page(query, heights) for row in batch.rows]

    def _all(self, heights: HeightRange) -> Iterator[Part]:
        at = heights.start
        while at < heights.end:
            try:
                for part in self._proved(HeightRange(at, heights.end)):
                    yield part
                    at = part.heights.end
                return
            except IncompleteError:
                pass
            for part in self._around(HeightRange(at, heights.end)):
                yield part
                at = part.heights.end

    def _around(self, heights: HeightRange) -> Iterator[Part]:
        """Yield parts up to and including the first height whose rows cannot be proved complete; or, where a second
        attempt proves all of a part that failed, up to the end of that."""
        at, width, until = heights.start, WINDOW, heights.end
        while at < until:
            part = HeightRange(at, min(at + width, until))
            try:
                proved = list(self._proved(part))
            except IncompleteError as error:
                if len(part) == 1:
                    yield self.single(at, error.message)
                    return
                width, until = max(1, len(part) // 2), min(part.end, until)
            else:
                yield from proved
                at, width = part.end, width * 2 if until == heights.end else width

    def _proved(self, heights: HeightRange) -> Iterator[Part]:
        query = Query(self._method, verify=False)
        for batch in self._service.fetch_range(query, heights, concurrency=self._concurrency):
            if batch.heights is not None:
                yield Part(batch.heights, [(self._height_of(row), row) for row in batch.rows])

    def _height_of(self, row: Raw) -> int | None:
        return integer_of(self._height(row)[0]) if self._height else None


class ListFeed:
    """The transaction lists of blocks, one call for each.

    Rejected: `Service.fetch_lookups`, which ends at the first list that is wrong.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._method: Method = BY_COMMAND["transactions"]
        self._dialect = service.dialect_for(self._method)

    def pull(self, heights: HeightRange, row_ids: dict[int, int]) -> Part:
        """Return the transactions of blocks. `row_ids`: of the blocks, by height; a block without one is left out where
        the dialect needs it."""
        jobs = (partial(self._list, height, row_ids.get(height)) for height in range(heights.start, heights.end))
        threads = self._service.connection.endpoint.concurrency
        found = in_order(threads, jobs, threads + 2)
        return Part(heights, [row for rows in found for row in rows])

    def _list(self, height: int, row_id: int | None) -> list[tuple[int | None, Raw]]:
        sent = row_id if self._dialect.transactions_by_row_id else height
        if sent is None:
            return []
        name, params = self._dialect.call(self._method, {Role.HEIGHT: sent})
        rows = self._service.connection.call(name, params, decode_rows, f"height {height}", divisible=False)
        return [(height, row) for row in rows]
